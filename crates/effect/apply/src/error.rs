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
    /// A transaction waits for a person's word: what is changed beside it would hide its values from
    /// what takes them back.
    #[error(
        "transaction {0} waits to be confirmed or taken back, and nothing is changed meanwhile"
    )]
    Waits(u64),
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
    /// No transaction waits for a confirmation.
    #[error("nothing waits for a confirmation")]
    NothingWaits,
    /// More than one waits, and none was named.
    #[error("transactions {} wait for a confirmation", listed(.0))]
    SeveralWait(Vec<u64>),
    /// It has been taken back, by itself or by a person.
    #[error("transaction {0} has been taken back already")]
    AlreadyBack(u64),
    /// It has been confirmed before.
    #[error("transaction {0} is confirmed already")]
    AlreadyConfirmed(u64),
    /// It was cut short: nobody knows what a confirmation would keep.
    #[error("transaction {0} was cut short and cannot be confirmed")]
    CutShort(u64),
    /// Nothing takes it back by itself.
    #[error("transaction {0} does not wait for a confirmation")]
    DoesNotWait(u64),
}

fn listed(ids: &[u64]) -> String {
    ids.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
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
            Self::Unfinished(_) | Self::CutShort(_) => "`nearside revert` takes it back",
            Self::Waits(_) => {
                "`nearside apply --confirm` keeps it, `nearside revert` takes it back"
            }
            Self::NothingWaits => {
                "what was not confirmed in time has been taken back; `nearside revert --list` shows \
                 what is applied"
            }
            Self::SeveralWait(_) => "name one: nearside apply --confirm N",
            Self::AlreadyBack(_) => "make it again, and confirm it in time",
            Self::AlreadyConfirmed(_) | Self::DoesNotWait(_) => {
                "it stays; `nearside revert --list` shows what is applied"
            }
            Self::NoTransaction(_) | Self::NothingOf { .. } => {
                "`nearside revert --list` lists what there is"
            }
        }
    }
}
