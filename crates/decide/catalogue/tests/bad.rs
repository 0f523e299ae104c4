// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each file of `tests/bad` is a catalogue file that is wrong in one way. It ends with the exact
//! words that a person gets for it, as comments with `#> `.

use std::path::Path;

use nearside_catalogue::Catalogue;

#[test]
fn each_bad_file_gets_its_exact_words() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut files = toml_files(&folder, "");
    files.extend(toml_files(&folder.join("vendors"), "vendors/"));
    files.extend(toml_files(&folder.join("command-line"), "command-line/"));
    assert!(files.len() > 30, "the samples are missing");
    let wrong: Vec<String> =
        files.iter().filter_map(|(name, text)| difference(name, text)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a file should get and what it gets, when these differ.
fn difference(name: &str, text: &str) -> Option<String> {
    let wanted: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#> ")).collect();
    let got = match Catalogue::with_folder([(name.to_owned(), text.to_owned())]) {
        Ok(_) => "accepted".to_owned(),
        Err(complaints) => complaints.to_string(),
    };
    (got != wanted.join("\n")).then(|| format!("## {name}\n{got}"))
}

/// (name, text) of the TOML files of a folder, by name.
fn toml_files(folder: &Path, prefix: &str) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder).expect("the samples lie beside the test");
    let mut files: Vec<(String, String)> = entries
        .filter_map(|entry| {
            let path = entry.expect("readable").path();
            let name = path.file_name()?.to_str()?.to_owned();
            let text = std::fs::read_to_string(&path).ok()?;
            name.ends_with(".toml").then(|| (format!("{prefix}{name}"), text))
        })
        .collect();
    files.sort();
    files
}
