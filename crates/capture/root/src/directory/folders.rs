// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folders of a copied tree that are open, so that a file in one of them is a single step away.
//!
//! Readers ask for the files of one folder after another. A folder is entered from the one above
//! it, without following links, so that where it really is needs no question to the kernel.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Folders kept open at once; a process may have 1,024 files unless told otherwise.
const MOST: usize = 64;

/// The longest path that Linux takes (`PATH_MAX`), its final NUL left out.
const LONGEST: usize = 4095;

/// A folder that is open.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) fd: OwnedFd,
    /// Its path from the root without links, where that is known.
    pub(super) real: Option<String>,
}

impl Folder {
    /// The folder `name` in this one, which must be a plain name.
    pub(super) fn enter(&self, name: &str) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty())?;
        Ok(Self { fd, real: self.below(name) })
    }

    /// Where `name` in this folder is.
    pub(super) fn below(&self, name: &str) -> Option<String> {
        Some(format!("{}/{name}", self.real.as_ref()?.trim_end_matches('/')))
    }
}

/// The folders that were asked for last, by the path as it was asked.
#[derive(Debug, Default)]
pub(super) struct Folders {
    open: Mutex<HashMap<String, Arc<Folder>>>,
}

impl Folders {
    pub(super) fn get(&self, path: &str) -> Option<Arc<Folder>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(path).map(Arc::clone)
    }

    pub(super) fn keep(&self, path: &str, folder: Folder) -> Arc<Folder> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MOST {
            open.clear();
        }
        let folder = Arc::new(folder);
        open.insert(path.to_owned(), Arc::clone(&folder));
        folder
    }
}

/// A path's folder and its last part, where that is a plain name.
pub(super) fn split(path: &str) -> Option<(&str, &str)> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_plain = !matches!(name, "" | "." | "..") && path.len() <= LONGEST;
    is_plain.then_some((if above.is_empty() { "/" } else { above }, name))
}
