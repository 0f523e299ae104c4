// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names in a function's folder, listed once, so that no file is opened that is not there.

use machine::{Fact, Why};
use root::Dir;

/// Names in a folder, sorted.
#[derive(Debug, Default)]
pub(crate) struct Files(Vec<String>);

impl Files {
    /// Lists a folder.
    pub(crate) fn of(dir: &Dir<'_>) -> Fact<Self> {
        // A root promises sorted names; a search must not depend on a stranger's promise.
        let mut names = dir.list()?;
        names.sort_unstable();
        Ok(Self(names))
    }

    /// Whether the folder holds `name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.binary_search_by(|entry| entry.as_str().cmp(name)).is_ok()
    }

    /// The text of a file that is there.
    pub(crate) fn text(&self, dir: &Dir<'_>, name: &str) -> Fact<String> {
        if self.has(name) { dir.text(name) } else { Err(Why::Absent) }
    }

    /// All names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}
