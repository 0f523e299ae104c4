// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs of others: where they are, and why they could not be used.

use std::env;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Why a program could not be driven at all. That its work failed is the outcome of a run.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// It is not on the PATH.
    #[error("there is no {0} on the PATH")]
    Absent(String),
    /// It could not be started.
    #[error("cannot run {}: {source}", .program.display())]
    NotStarted {
        /// Its path.
        program: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// It is too old, or does not say how old it is.
    #[error("{} is {found}; driven are fio-3.1 and newer", .program.display())]
    Version {
        /// Its path.
        program: PathBuf,
        /// What it says.
        found: String,
    },
    /// Its files could not be written or read.
    #[error("cannot use {}: {source}", .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A target is not there, and the tool would make a file of it.
    #[error("{} is not there, and fio would make a file of it", .0.display())]
    Target(PathBuf),
    /// A file has less than is to be read of it, and the tool would make another one.
    #[error(
        "{} has {bytes} bytes of the {wanted} that are asked, and fio would put another file in its \
         place",
        .path.display()
    )]
    Short {
        /// It.
        path: PathBuf,
        /// What it has.
        bytes: u64,
        /// What is asked, the offset included.
        wanted: u64,
    },
    /// A host's name is none.
    #[error("{0:?} is no host: name it as HOST, or ip:HOST,PORT")]
    Host(String),
}

impl DriveError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn not_started(program: &Path) -> impl FnOnce(io::Error) -> Self {
        let program = program.to_owned();
        move |source| Self::NotStarted { program, source }
    }
}

/// The first file of that name in the folders of PATH that can be run.
pub(crate) fn find(name: &str) -> Result<PathBuf, DriveError> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let is_program = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|there| there.is_file() && there.permissions().mode() & 0o111 != 0)
    };
    let mut programs = env::split_paths(&folders).map(|folder| folder.join(name));
    programs.find(is_program).ok_or_else(|| DriveError::Absent(name.to_owned()))
}
