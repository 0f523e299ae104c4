// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every source file has and has not: a licence line, a sentence of purpose, no loose ends.

use anyhow::Result;

use super::Complaints;
use crate::project;

const LICENCE: &str = "// SPDX-License-Identifier: MIT OR Apache-2.0\n";

pub(super) fn check() -> Result<Complaints> {
    let mut complaints = Complaints::new();
    for file in project::files()? {
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

/// Words that a finished line does not have. Put together here, so that this file has none.
fn loose_end(line: &str) -> Option<String> {
    let words =
        [["TO", "DO"], ["FIX", "ME"], ["XX", "X:"], ["to", "do!("], ["unimple", "mented!("]];
    words.iter().map(|parts| parts.concat()).find(|word| line.contains(word.as_str()))
}

/// A file's text up to its tests.
pub(super) fn without_tests(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod ").map_or(text, |end| &text[..end])
}
