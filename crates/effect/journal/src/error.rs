// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a journal could not be read or written.

use std::io::ErrorKind;
use std::path::PathBuf;

/// Why a journal could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The file or its folder cannot be read or written.
    #[error("cannot {what} {path}: {source}", path = .path.display())]
    Io {
        /// `read`, `lock`, `append to`, ...
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Another process holds it, and the caller did not want to wait.
    #[error("{path} is held by another nearside{}", holder(.pid))]
    Held {
        /// The journal.
        path: PathBuf,
        /// The process that holds it, where it is told.
        pid: Option<u32>,
    },
    /// A record in the middle is not what was written.
    #[error(
        "line {line}: the checksum does not match the record; the journal was altered or damaged"
    )]
    Checksum {
        /// Line, from 1.
        line: usize,
    },
    /// A line in the middle is no record.
    #[error("line {line}: no record: {why}")]
    Malformed {
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A record is missing, doubled or in the wrong place.
    #[error("line {line}: record {found} where {expected} should be; lines are missing or doubled")]
    Sequence {
        /// Line, from 1.
        line: usize,
        /// Number that should be there.
        expected: u64,
        /// Number that is there.
        found: u64,
    },
    /// A record speaks of a transaction or change that was never begun.
    #[error(
        "line {line}: speaks of change {index} of transaction {transaction}, which was never intended"
    )]
    Dangling {
        /// Line, from 1.
        line: usize,
        /// Transaction named.
        transaction: u64,
        /// Change named.
        index: usize,
    },
    /// The first line is not that of a journal.
    #[error("line 1: not a nearside journal")]
    NotJournal,
    /// A newer nearside wrote it.
    #[error("the journal has the format {found:?}; this nearside knows {known:?}")]
    Newer {
        /// Format that it has.
        found: String,
        /// Format that is known.
        known: String,
    },
    /// It is longer than any journal of ours.
    #[error("the journal has more than {most} bytes")]
    TooLong {
        /// The most that is read.
        most: u64,
    },
}

impl JournalError {
    /// What to do next.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Io { source, .. } => match source.kind() {
                ErrorKind::PermissionDenied => "the journal is root's: sudo",
                ErrorKind::IsADirectory => "give the path of a file with --journal",
                ErrorKind::NotADirectory => "a part of the path is a file; give another --journal",
                ErrorKind::ReadOnlyFilesystem | ErrorKind::StorageFull => {
                    "give a path with --journal that can be written to, on a disk with room"
                }
                _ => "look at the path, and at the disk that it is on",
            },
            Self::Held { .. } => "wait for the other one to end, or look at it with ps",
            Self::Newer { .. } => "use the nearside that wrote it to revert",
            Self::NotJournal => "give the path of a journal",
            _ => "keep a copy of the file; its lines tell every value from before",
        }
    }
}

fn holder(pid: &Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}
