// SPDX-License-Identifier: MIT OR Apache-2.0
//! What differs from the tree of the beginning.

use std::collections::BTreeMap;

/// Files by real path; none is one that went away.
#[derive(Debug, Clone, Default)]
pub(super) struct Overlay {
    files: BTreeMap<String, Option<Vec<u8>>>,
}

impl Overlay {
    /// What stands at a path, if that differs from the beginning. What lies in a folder that went
    /// away went with it.
    pub(super) fn get(&self, path: &str) -> Option<&Option<Vec<u8>>> {
        if let Some(own) = self.files.get(path) {
            return Some(own);
        }
        let above = path.match_indices('/').skip(1).filter_map(|(at, _)| path.get(..at));
        above.filter_map(|folder| self.files.get(folder)).find(|entry| entry.is_none())
    }

    pub(super) fn put(&mut self, path: &str, bytes: Vec<u8>) {
        self.files.insert(path.to_owned(), Some(bytes));
    }

    /// Takes a file or a folder away, with all that was put below it.
    pub(super) fn remove(&mut self, path: &str) {
        let below = format!("{path}/");
        self.files.retain(|other, _| !other.starts_with(&below));
        self.files.insert(path.to_owned(), None);
    }

    /// Takes back that something went away or was put: it is as in the beginning, or not there.
    pub(super) fn forget(&mut self, path: &str) {
        let below = format!("{path}/");
        self.files.retain(|other, _| other != path && !other.starts_with(&below));
    }

    /// Names directly in a folder, and whether they are there.
    pub(super) fn children<'a>(&'a self, folder: &str) -> impl Iterator<Item = (&'a str, bool)> {
        let prefix = format!("{folder}/");
        let end = format!("{folder}0");
        self.files.range(prefix.clone()..end).filter_map(move |(path, entry)| {
            let rest = path.get(prefix.len()..)?;
            match rest.split_once('/') {
                Some((name, _)) => entry.is_some().then_some((name, true)),
                None => Some((rest, entry.is_some())),
            }
        })
    }

    pub(super) fn touched(&self) -> impl Iterator<Item = &String> {
        self.files.keys()
    }

    /// Only what lies below a path.
    pub(super) fn below(&self, top: &str) -> Self {
        let files = self.files.iter().filter(|(path, _)| path.starts_with(top));
        Self { files: files.map(|(path, entry)| (path.clone(), entry.clone())).collect() }
    }
}
