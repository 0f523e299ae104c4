// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong with a store.

use std::io;
use std::path::{Path, PathBuf};

/// Why a store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be used.
    #[error("cannot {what} {}: {source}", .path.display())]
    Io {
        /// What was done to it.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The index could not be used, not even made again.
    #[error("cannot use the index {}: {source}", .path.display())]
    Index {
        /// Its file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// A run's id cannot be a file's name.
    #[error("{0:?} is no id of a run")]
    Id(String),
    /// Another run has that id.
    #[error("another run is called {0}")]
    Taken(String),
    /// No run has that id, nor one that begins so.
    #[error("no run is called {0:?}")]
    Absent(String),
    /// Several runs have ids that begin so.
    #[error("{0:?} could be {1} runs")]
    Ambiguous(String, usize),
    /// A file is no record of a run.
    #[error("{}: {what}", .path.display())]
    Unread {
        /// Which.
        path: PathBuf,
        /// Why.
        what: String,
    },
}

impl Error {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }

    pub(crate) fn unread(path: &Path, what: impl ToString) -> Self {
        Self::Unread { path: path.to_owned(), what: what.to_string() }
    }
}
