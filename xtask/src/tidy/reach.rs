// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who may touch the machine: `capture` and `effect`, and `cli` for the files that a person names.

use std::path::Path;

use anyhow::Result;

use super::{Complaints, source};
use crate::project;

/// Ways out of the process.
const WAYS: [&str; 9] = [
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

pub(super) fn check() -> Result<Complaints> {
    let mut complaints = Complaints::new();
    for file in project::files()?.iter().filter(|file| is_inside(file)) {
        let Some(text) = project::text(file) else { continue };
        for (number, line) in source::without_tests(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if let Some(way) = WAYS.iter().find(|way| code.contains(**way)) {
                complaints.push(format!("{}:{}: {way} reaches out", file.display(), number + 1));
            }
        }
    }
    Ok(complaints)
}

fn is_inside(file: &Path) -> bool {
    let pure =
        ["crates/base/", "crates/decide/", "crates/output/report/", "crates/capture/linux/src/"];
    let path = file.to_string_lossy();
    path.ends_with(".rs")
        && path.contains("/src/")
        && pure.iter().any(|folder| path.starts_with(folder))
}
