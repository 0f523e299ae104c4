// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a file may be. Functions have their budget from clippy (`too_many_lines`).

use std::path::Path;

use anyhow::Result;

use super::{Complaints, source};
use crate::project;

/// Lines of a file without its tests.
const FILE: usize = 600;
/// Lines of a `main.rs`.
const MAIN: usize = 60;
/// Lines of documentation at the top of a crate.
const CRATE_DOC: usize = 5;

pub(super) fn check() -> Result<Complaints> {
    let mut complaints = Complaints::new();
    for file in project::files()?.iter().filter(|file| file.extension().is_some_and(|e| e == "rs"))
    {
        let Some(text) = project::text(file) else { continue };
        let lines = source::without_tests(&text).lines().count();
        let budget = if file.ends_with("main.rs") { MAIN } else { FILE };
        if lines > budget && !is_test(file) {
            complaints.push(format!("{}: {lines} lines, budget {budget}", file.display()));
        }
        let doc = text.lines().filter(|line| line.starts_with("//!")).count();
        if file.ends_with("src/lib.rs") && doc < CRATE_DOC {
            complaints.push(format!("{}: {doc} lines of crate documentation", file.display()));
        }
    }
    Ok(complaints)
}

/// A folder or a file of tests.
fn is_test(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
}
