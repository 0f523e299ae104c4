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
    fn only_a_module_with_a_body_ends_the_code() {
        let named = "#[cfg(test)]\nmod tests;\nfn after() {}\n";
        assert_eq!(without_tests(named), named);
        let both = format!("{named}#[cfg(test)]\nmod unit {{}}\n");
        assert_eq!(without_tests(&both), both);
        let body = format!("{named}#[cfg(test)]\nmod unit {{\n}}\n");
        assert_eq!(without_tests(&body), named);
    }
}
