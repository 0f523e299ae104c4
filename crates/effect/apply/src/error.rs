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
    /// The kernel does not tell this boot from another.
    #[error("cannot read /proc/sys/kernel/random/boot_id: {0}")]
    NoBoot(machine::Why),
    /// A transaction was cut short and is still in the journal.
    #[error("transaction {0} was cut short and is not undone")]
    Unfinished(u64),
    /// There is no such transaction.
    #[error("the journal has no transaction {0}")]
    NoTransaction(u64),
}

impl ApplyError {
    /// What to do next.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Journal(error) | Self::TakenBack(error) => error.help(),
            Self::LeftBehind(_) => {
                "look at the disk that holds the journal, then `nearside revert`"
            }
            Self::NoBoot(_) => "this needs a kernel with /proc mounted",
            Self::Unfinished(_) => "`nearside revert` takes it back",
            Self::NoTransaction(_) => "`nearside revert --dry-run` lists what there is",
        }
    }
}
