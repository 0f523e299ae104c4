// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of this repository that a page names, and that are not there.

use anyhow::Result;

use super::Complaints;
use crate::project;

/// Folders at the top; what stands below others is no file of ours.
const FOLDERS: [&str; 9] =
    ["catalogue/", "crates/", "dist/", "docs/", "fuzz/", "lab/", "schemas/", "tests/", "xtask/"];

pub(super) fn check() -> Result<Complaints> {
    let pages = project::files()?;
    let pages = pages.iter().filter(|file| file.extension().is_some_and(|end| end == "md"));
    let mut complaints = Complaints::new();
    for page in pages {
        let text = project::text(page).unwrap_or_default();
        let dead = named(&text).filter(|path| !project::top().join(path).exists());
        complaints.extend(dead.map(|path| format!("{}: there is no {path}", page.display())));
    }
    Ok(complaints)
}

/// Paths in backticks that begin with a folder of ours, without patterns and words to be filled in.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let is_path = |word: &&str| {
        let is_plain =
            word.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter));
        let is_form = |part: &str| {
            part.split('.').next().is_some_and(|stem| {
                stem.len() > 1 && stem.chars().all(|letter| letter.is_ascii_uppercase())
            })
        };
        is_plain
            && !word.split('/').any(is_form)
            && FOLDERS.iter().any(|folder| word.starts_with(folder))
    };
    text.split('`').skip(1).step_by(2).filter(is_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_ours_alone_are_looked_for() {
        let text = "see `docs/design/lab.md`, `/etc/nearside`, `crates/*/src`, `fuzz/artifacts/TARGET/` and `tests/x y` or crates/no";
        assert_eq!(named(text).collect::<Vec<_>>(), ["docs/design/lab.md"]);
    }
}
