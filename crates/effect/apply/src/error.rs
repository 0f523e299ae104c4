// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why changes could not be tried at all.

use journal::JournalError;

/// Why changes could not be tried, or not be told to the journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal failed after writes were made; they were taken back.
    #[error("the changes were taken back, since the journal failed: {0}")]
    TakenBack(JournalError),
    /// The journal failed after writes were made, and taking them back failed too.
    #[error("changes may be left behind: the journal failed ({0}), and so did taking them back")]
    LeftBehind(JournalError),
    /// Changes were taken back, and the journal does not know it.
    #[error("the changes were taken back, but the journal could not be told: {0}")]
    Untold(JournalError),
    /// The kernel does not tell this boot from another.
    #[error("cannot read /proc/sys/kernel/random/boot_id: {0}")]
    NoBoot(machine::Why),
    /// A transaction was cut short and is still in the journal.
    #[error("transaction {0} was cut short and is not undone")]
    Unfinished(u64),
    /// There is no such transaction.
    #[error("the journal has no transaction {0}")]
    NoTransaction(u64),
    /// The journal has no change of a setting or device.
    #[error("the journal has no change of {asked:?}")]
    NothingOf {
        /// What was asked for.
        asked: String,
        /// What it has changes of.
        known: Vec<String>,
    },
}

impl ApplyError {
    /// What to do next.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Journal(error) | Self::TakenBack(error) | Self::Untold(error) => error.help(),
            Self::LeftBehind(_) => {
                "look at the disk that holds the journal, then `nearside revert`"
            }
            Self::NoBoot(_) => "this needs a kernel with /proc mounted",
            Self::Unfinished(_) => "`nearside revert` takes it back",
            Self::NoTransaction(_) | Self::NothingOf { .. } => {
                "`nearside revert --list` lists what there is"
            }
        }
    }
}
