// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong in the lab.

use std::io;
use std::path::{Path, PathBuf};

/// The lab's own result.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a machine was not described, built, started or reached.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A machine's file is not understood.
    #[error("{}: {message}", file.display())]
    Machine {
        /// The TOML file.
        file: PathBuf,
        /// What is wrong and where.
        message: String,
    },
    /// There is no machine of this name.
    #[error("no machine {name:?}; there are: {}", known.join(", "))]
    NoMachine {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A machine has no device of this id.
    #[error("{machine} has no device {id:?}")]
    NoDevice {
        /// The machine.
        machine: String,
        /// What was asked for.
        id: String,
    },
    /// A program that builds or runs guests is not installed.
    #[error("no {tool} on the PATH; Debian's package {package} has it")]
    NoTool {
        /// The program.
        tool: &'static str,
        /// The package.
        package: &'static str,
    },
    /// The images were never built.
    #[error("the lab's images are not built; run `cargo xtask lab build`")]
    NotBuilt,
    /// A program failed.
    #[error("{program} failed ({status}): {stderr}")]
    Program {
        /// Its command line.
        program: String,
        /// How it ended.
        status: String,
        /// The end of what it said.
        stderr: String,
    },
    /// A package, or a file of one, is not what it should be.
    #[error("{}: {message}", file.display())]
    Package {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// Reading or writing failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// QEMU refused a command.
    #[error("QEMU refuses {command}: {message}")]
    Qmp {
        /// The command's name.
        command: String,
        /// QEMU's words.
        message: String,
    },
    /// A device's registers were not found in QEMU's memory.
    #[error("the registers of {device} were found {found} times in QEMU's memory")]
    Registers {
        /// The device's id.
        device: String,
        /// How often.
        found: usize,
    },
    /// The guest ended, hung or panicked; its folder is kept.
    #[error("{what} after {seconds:.0} s ({cpu_seconds:.0} s of CPU); see {}\n{tail}", log.display())]
    Guest {
        /// What happened.
        what: String,
        /// Since the start of what was waited for.
        seconds: f64,
        /// That QEMU used since it was started.
        cpu_seconds: f64,
        /// The guest's serial log.
        log: PathBuf,
        /// Its last lines.
        tail: String,
    },
    /// A command in the guest failed.
    #[error("in the guest, status {status}: {command}\n{stderr}")]
    Command {
        /// The script's first line.
        command: String,
        /// Its exit status.
        status: i32,
        /// What it said.
        stderr: String,
    },
}

/// Names the path of a failed reading or writing.
pub(crate) trait At<T> {
    fn at(self, path: impl AsRef<Path>) -> Result<T>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: impl AsRef<Path>) -> Result<T> {
        self.map_err(|source| Error::Io { path: path.as_ref().to_owned(), source })
    }
}
