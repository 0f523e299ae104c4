// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every source file has and has not: a licence line, a sentence of purpose, no loose ends.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Complaints;
use crate::project;

const LICENCE: &str = "// SPDX-License-Identifier: MIT OR Apache-2.0\n";

pub(super) fn check() -> Result<Complaints> {
    let files = project::files()?;
    let mut complaints = split_modules(&files);
    complaints.extend(orphans(&files, &project::text));
    for file in files {
        let Some(text) = project::text(&file) else { continue };
        let name = file.display();
        if file.extension().is_some_and(|extension| extension == "rs") {
            if !text.starts_with(LICENCE) {
                complaints.push(format!("{name}: the first line is not {}", LICENCE.trim()));
            }
            if !text.lines().nth(1).unwrap_or_default().starts_with("//!") {
                complaints.push(format!("{name}: the second line says no purpose (//!)"));
            }
        }
        for (number, line) in text.lines().enumerate() {
            if let Some(word) = loose_end(line) {
                complaints.push(format!("{name}:{}: {word}", number + 1));
            }
        }
    }
    Ok(complaints)
}

/// Modules of a crate whose file lies beside their folder: all of a module is found in one place,
/// `cpu/mod.rs` and what it names.
fn split_modules(files: &[PathBuf]) -> Complaints {
    let folders: BTreeSet<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    let sources =
        files.iter().filter(|file| file.components().any(|part| part.as_os_str() == "src"));
    sources
        .filter(|file| folders.contains(file.with_extension("").as_path()))
        .map(|file| format!("{}: belongs into its folder, as mod.rs", file.display()))
        .collect()
}

/// Files below a `src` that no module names: the compiler never sees them, and a merge may bring
/// back one that was taken away.
fn orphans(files: &[PathBuf], text: &dyn Fn(&Path) -> Option<String>) -> Complaints {
    let sources = files.iter().filter(|file| {
        file.components().any(|part| part.as_os_str() == "src")
            && file.extension().is_some_and(|extension| extension == "rs")
    });
    let is_named = |file: &Path| {
        let is_root =
            matches!(file.file_name().and_then(|name| name.to_str()), Some("lib.rs" | "main.rs"));
        let module = if file.ends_with("mod.rs") { file.parent() } else { Some(file) };
        let (Some(module), false) = (module, is_root) else { return true };
        let (Some(name), Some(folder)) =
            (module.file_stem().and_then(|s| s.to_str()), module.parent())
        else {
            return true;
        };
        let above = ["mod.rs", "lib.rs", "main.rs"].map(|above| folder.join(above));
        let declares = |line: &str| {
            let rest =
                line.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub ");
            rest.strip_prefix("mod ").and_then(|rest| rest.strip_prefix(name)) == Some(";")
        };
        above.iter().filter_map(|above| text(above)).any(|text| text.lines().any(declares))
    };
    sources
        .filter(|file| !is_named(file))
        .map(|file| format!("{}: no module names it", file.display()))
        .collect()
}

/// Words that a finished line does not have. Put together here, so that this file has none.
fn loose_end(line: &str) -> Option<String> {
    let words =
        [["TO", "DO"], ["FIX", "ME"], ["XX", "X:"], ["to", "do!("], ["unimple", "mented!("]];
    words.iter().map(|parts| parts.concat()).find(|word| line.contains(word.as_str()))
}

/// A file's text up to the module of its tests. A module that only names a file of tests
/// (`mod tests;`) ends nothing: code may follow it.
pub(super) fn without_tests(text: &str) -> &str {
    const TESTS: &str = "#[cfg(test)]\nmod ";
    let is_module = |at: &usize| {
        let line = text[at + TESTS.len()..].lines().next();
        line.is_some_and(|line| line.trim_end().ends_with('{'))
    };
    let mut places = text.match_indices(TESTS).map(|(at, _)| at);
    places.find(is_module).map_or(text, |end| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_lies_in_its_folder() {
        let files = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(split_modules(&files(&["a/src/x/mod.rs", "a/src/x/y.rs"])), [""; 0]);
        assert_eq!(split_modules(&files(&["tests/x.rs", "tests/x/y.rs"])), [""; 0]);
        assert_eq!(split_modules(&files(&["a/src/x.rs", "a/src/x/y.rs"])).len(), 1);
    }

    #[test]
    fn a_file_that_no_module_names_is_seen() {
        let files = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let text = |file: &Path| {
            let text = match file.to_str()? {
                "a/src/lib.rs" => "mod x;\npub(crate) mod y;\nmod gone_by;\n",
                "a/src/x/mod.rs" => "pub mod z;\n",
                _ => return None,
            };
            Some(text.to_owned())
        };
        let named =
            ["a/src/lib.rs", "a/src/x/mod.rs", "a/src/x/z.rs", "a/src/y.rs", "a/tests/t.rs"];
        assert_eq!(orphans(&files(&named), &text), [""; 0]);
        for orphan in ["a/src/gone.rs", "a/src/x/gone.rs", "a/src/gone/mod.rs"] {
            assert_eq!(orphans(&files(&[orphan]), &text).len(), 1, "{orphan}");
        }
    }

    #[test]
    fn only_a_module_with_a_body_ends_the_code() {
        let named = "#[cfg(test)]\nmod tests;\nfn after() {}\n";
        assert_eq!(without_tests(named), named);
        let both = format!("{named}#[cfg(test)]\nmod unit {{}}\n");
        assert_eq!(without_tests(&both), both);
        let body = format!("{named}#[cfg(test)]\nmod unit {{\n}}\n");
        assert_eq!(without_tests(&body), named);
    }
}
