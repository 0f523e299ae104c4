// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a source of facts could not be opened at all.

use std::path::PathBuf;

use crate::FormatError;
use crate::archive::ArchiveError;

/// Why a root could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Nothing at that path, or it may not be read.
    #[error("cannot open {path}: {source}", path = .path.display())]
    Io {
        /// What was to be opened.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A device, a FIFO or a socket.
    #[error("cannot open {path}: neither a folder nor a plain file", path = .0.display())]
    Kind(PathBuf),
    /// An archive was refused.
    #[error("cannot open {path}: {source}", path = .path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// Why.
        source: ArchiveOpenError,
    },
    /// Neither `sys/devices`, `sys/class`, `proc/cpuinfo` nor `proc/interrupts` below it.
    #[error("{path} holds no machine: neither sys/devices, sys/class, proc/cpuinfo nor proc/interrupts", path = .0.display())]
    NoRoot(PathBuf),
    /// More than one root; the names to choose from.
    #[error("{path} holds {n} machines: {names}", path = .path.display(), n = .roots.len(), names = names(.roots))]
    Several {
        /// The folder or archive.
        path: PathBuf,
        /// Folders below it, each a root.
        roots: Vec<String>,
    },
    /// None of its roots, or several, are called so.
    #[error("{path} holds no one machine called {which:?}; it holds: {names}", path = .path.display(), names = names(.roots))]
    NoSuch {
        /// The folder or archive.
        path: PathBuf,
        /// What was asked for.
        which: String,
        /// Folders below it, each a root.
        roots: Vec<String>,
    },
}

/// Why an archive was refused: as an archive, or as a capture.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveOpenError {
    /// It is hostile, damaged, cut or no archive.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// It is a capture that this version cannot read.
    #[error(transparent)]
    Format(#[from] FormatError),
}

impl OpenError {
    /// What to do next.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Io { .. } => "look at the path and its permissions",
            Self::Kind(_) => "give a folder, or an archive as a plain file",
            Self::Archive { source: ArchiveOpenError::Archive(error), .. } => error.help(),
            Self::Archive { source: ArchiveOpenError::Format(error), .. } => error.help(),
            Self::NoRoot(_) => "give the folder that holds sys and proc, or one above it",
            Self::Several { .. } | Self::NoSuch { .. } => {
                "name one of them, or the end of its name"
            }
        }
    }
}

/// As many names as a screen holds.
const NAMES: usize = 20;

/// Names to choose from. They are as strange as who made the archive wanted them.
fn names(roots: &[String]) -> String {
    let shown = |name: &String| match name.escape_debug().to_string() {
        plain if plain == *name => plain,
        odd => format!("\"{odd}\""),
    };
    match roots {
        [] => "none".to_owned(),
        few if few.len() <= NAMES => few.iter().map(shown).collect::<Vec<_>>().join(", "),
        many => {
            let first: Vec<_> = many.iter().take(NAMES).map(shown).collect();
            format!("{} and {} more", first.join(", "), many.len() - NAMES)
        }
    }
}
