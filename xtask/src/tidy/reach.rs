// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who may touch the machine: `capture` and `effect`, and `cli` for the files that a person names.
//!
//! Read from the text and not left to clippy's `disallowed_methods`: that lint takes functions one
//! by one, not whole modules, and would have to be switched off in every test and in each of the
//! crates that may.

use std::path::Path;

use anyhow::Result;

use super::{Complaints, source};
use crate::project;

/// Ways out of the process.
const WAYS: [&str; 10] = [
    "std::{",
    "std::fs",
    "std::net",
    "std::process",
    "std::env::",
    "File::open",
    "Command::new",
    "SystemTime",
    "Instant::now",
    "rustix::",
];

/// Folders that may: they are the door, the hand, the store and the program itself.
const MAY: [&str; 5] = [
    "crates/capture/root/",
    "crates/effect/",
    "crates/keep/",
    "crates/output/cli/",
    "crates/output/serve/",
];

/// Made-up machines are written into a folder for the tools that judge them.
const WRITES: &str = "crates/capture/synthetic/src/write.rs";

pub(super) fn check() -> Result<Complaints> {
    let mut complaints = Complaints::new();
    for file in project::files()?.iter().filter(|file| is_inside(file)) {
        let Some(text) = project::text(file) else { continue };
        for (number, line) in source::without_tests(&text).lines().enumerate() {
            if let Some(way) = way(line) {
                complaints.push(format!("{}:{}: {way} reaches out", file.display(), number + 1));
            }
        }
    }
    Ok(complaints)
}

/// The way out that a line of code takes; names are imported one by one, so that none hides.
fn way(line: &str) -> Option<&'static str> {
    let code = line.split("//").next().unwrap_or_default();
    WAYS.into_iter().find(|way| code.contains(way))
}

/// Whether a file is code of a crate that reaches out through others only.
fn is_inside(file: &Path) -> bool {
    let path = file.to_string_lossy();
    let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
    path.starts_with("crates/")
        && path.contains("/src/")
        && path.ends_with(".rs")
        && !is_test
        && path != WRITES
        && !MAY.iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_out_are_seen() {
        assert_eq!(way("use std::fs::File;"), Some("std::fs"));
        assert_eq!(way("use std::{fs, io};"), Some("std::{"));
        assert_eq!(way("    let now = std::time::SystemTime::now();"), Some("SystemTime"));
        assert_eq!(way("use std::io; // not std::fs"), None);
    }

    #[test]
    fn new_crates_are_held_to_it_unless_named() {
        assert!(is_inside("crates/decide/plan/src/lib.rs".as_ref()));
        assert!(is_inside("crates/capture/synthetic/src/build.rs".as_ref()));
        assert!(!is_inside(WRITES.as_ref()) && !is_inside("crates/effect/apply/src/a.rs".as_ref()));
        assert!(!is_inside("crates/decide/audit/tests/corpus.rs".as_ref()));
    }
}
