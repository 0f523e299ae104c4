// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong without being a bug.

use std::process::ExitCode;

/// How a run ended, by the exit code that scripts see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Ended {
    /// Done.
    Well = 0,
    /// Findings at or above `--fail-on`, or something that is not as it was set.
    Findings = 3,
    /// Something that was asked for by name is not possible here.
    Impossible = 4,
    /// A change failed, and all of it was taken back.
    Undone = 5,
    /// A change failed, and so did taking it back: a person must look.
    Stuck = 6,
    /// A load failed: it has no number.
    Failed = 8,
    /// Interrupted, and taken back.
    Interrupted = 130,
}

impl From<Ended> for ExitCode {
    fn from(ended: Ended) -> Self {
        Self::from(ended as u8)
    }
}

/// The exit code of `exec` where nearside itself failed, as that of `env`.
pub(crate) const EXEC_FAILED: u8 = 125;

/// An error that a person can do something about.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Expected {
    /// What was typed is not what the verb takes.
    #[error("{what}")]
    Usage {
        /// What failed, where, why.
        what: String,
        /// What to do next.
        help: String,
    },
    /// Something that the verb needs is missing: a file, a permission, a kernel feature.
    #[error("{what}")]
    Precondition {
        /// What failed, where, why.
        what: String,
        /// What to do next.
        help: String,
    },
    /// A change failed, and all of it was taken back.
    #[error("{what}")]
    Undone {
        /// What failed, where, why.
        what: String,
        /// What to do next.
        help: String,
    },
    /// A change failed, and so did taking it back.
    #[error("{what}")]
    Stuck {
        /// What failed, where, why.
        what: String,
        /// What to do next.
        help: String,
    },
    /// `exec` could not start its command.
    #[error("{what}")]
    NotStarted {
        /// What failed, where, why.
        what: String,
        /// What to do next.
        help: String,
        /// 125, 126 or 127, as `env` has them.
        code: u8,
    },
    /// Nobody reads our output any more.
    #[error("the reader of the output has gone")]
    ClosedPipe,
    /// clap has an answer of its own: help, version, or a usage error with its own words.
    #[error("{0}")]
    Arguments(#[from] clap::Error),
}

impl Expected {
    pub(crate) fn usage(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Usage { what: what.into(), help: help.into() }
    }

    pub(crate) fn precondition(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Precondition { what: what.into(), help: help.into() }
    }

    /// The same error where the exit code would else be taken for that of a command.
    pub(crate) fn in_exec(self) -> Self {
        match self {
            Self::Usage { what, help } | Self::Precondition { what, help } => {
                Self::NotStarted { what, help, code: EXEC_FAILED }
            }
            other => other,
        }
    }
}

impl From<report::UnknownDevice> for Expected {
    fn from(unknown: report::UnknownDevice) -> Self {
        Self::usage(
            format!("this machine has no device called {:?}", unknown.asked),
            format!("name a drive, NIC, GPU or PCI address; there are {}", unknown.known),
        )
    }
}

impl From<std::io::Error> for Expected {
    /// Writing the answer failed.
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::precondition(
                format!("cannot write the output: {error}"),
                "look at where it goes: a full disk, a file that may not be written to",
            ),
        }
    }
}
