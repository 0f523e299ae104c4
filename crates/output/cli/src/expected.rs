// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong without being a bug, and the exit code of each.
//!
//! An error is printed as what failed, where and why in one line, then what to do next as `help:`.

use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::args;

/// How a run ended, by the exit code that scripts see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Ended {
    /// Done.
    Well = 0,
    /// Findings at or above `--fail-on`.
    Findings = 3,
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

    /// Prints the error and gives its exit code.
    pub(crate) fn report(self) -> ExitCode {
        let (code, help) = match &self {
            Self::Usage { help, .. } => (2, help.as_str()),
            Self::Precondition { help, .. } => (4, help.as_str()),
            Self::NotStarted { help, code, .. } => (*code, help.as_str()),
            Self::ClosedPipe => return ExitCode::SUCCESS,
            Self::Arguments(error) if error.use_stderr() => {
                let misused = misused(error);
                let misused = if args::is_exec() { misused.in_exec() } else { misused };
                return misused.report();
            }
            Self::Arguments(error) => {
                let shown = error.print().and_then(|()| std::io::stdout().flush());
                return shown.map_or_else(|error| Self::from(error).report(), |()| 0.into());
            }
        };
        crate::terminal::hint(&format!("nearside: {self}"));
        if !help.is_empty() {
            crate::terminal::hint(&format!("help: {help}"));
        }
        code.into()
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

/// What clap says of a wrong argument, in the two lines that every error has.
fn misused(error: &clap::Error) -> Expected {
    if matches!(error.kind(), ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand) {
        return Expected::usage("no command is named", "`nearside generate -h` lists them");
    }
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let first = paragraphs.next().unwrap_or_default().trim_start_matches("error: ");
    let what = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let tips: Vec<_> =
        text.lines().filter_map(|line| line.trim_start().strip_prefix("tip: ")).collect();
    let help = match tips.as_slice() {
        [] => format!("`{} -h` shows what it takes", command_in(&text)),
        tips => tips.join("; "),
    };
    Expected::usage(what, help)
}

/// The command of a usage line: `Usage: nearside audit --goal <GOAL>` gives `nearside audit`.
/// Without one it is the verb that was typed.
fn command_in(text: &str) -> String {
    let Some(usage) = text.lines().find_map(|line| line.strip_prefix("Usage: ")) else {
        let words = std::iter::once("nearside".to_owned()).chain(args::typed_verb());
        return words.collect::<Vec<_>>().join(" ");
    };
    let is_verb = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase());
    let verbs: Vec<_> = usage.split_whitespace().skip(1).take_while(is_verb).collect();
    ["nearside"].into_iter().chain(verbs).collect::<Vec<_>>().join(" ")
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
