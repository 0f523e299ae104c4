// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a caller wants, and what it is told.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use journal::Guard;
use setting::{Outcome, Planned, Undone};

/// What to do when a change fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// Take all of the transaction back.
    #[default]
    Undo,
    /// Leave it, and go on with the others.
    KeepGoing,
}

/// How a plan is to be carried out.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What to do when a change fails.
    pub on_failure: OnFailure,
    /// Time of the transaction, as the journal is to hold it (RFC 3339).
    pub at: String,
    /// Why: the command as typed.
    pub why: String,
    /// What takes it back unless it is confirmed.
    pub guard: Option<Guard>,
    /// Turns true when the person wants it to end: it is all taken back then.
    pub stop: Arc<AtomicBool>,
}

/// What came of one value of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Catalogue entry.
    pub setting: String,
    /// Device as the plan called it; none for the machine.
    pub device: Option<String>,
    /// Where it was written.
    pub path: String,
    /// The value from before.
    pub before: String,
    /// The value wanted.
    pub wanted: String,
    /// What came.
    pub outcome: Outcome,
    /// What else a person should know, in a sentence.
    pub note: Option<String>,
    /// What came of taking it back, where the whole transaction was.
    pub undone: Option<Undone>,
}

impl Receipt {
    /// A receipt of a planned change at a path, with nothing read and nothing written.
    pub(crate) fn of(planned: &Planned, path: String) -> Self {
        Self {
            setting: planned.setting.clone(),
            device: planned.device.as_ref().map(|device| device.name.clone()),
            path,
            before: String::new(),
            wanted: planned.to.clone(),
            outcome: Outcome::Equal,
            note: None,
            undone: None,
        }
    }
}

/// What came of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipts {
    /// Its transaction; none where nothing had to be written.
    pub transaction: Option<u64>,
    /// What came of each value, those first that needed no write.
    pub receipts: Vec<Receipt>,
    /// How it ended.
    pub ending: Ending,
    /// Whether it ended because the person wanted it to.
    pub is_interrupted: bool,
}

/// How a plan ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All of it was tried; with [`OnFailure::KeepGoing`] some may have failed.
    Done,
    /// A change failed, and nothing is left of the others (exit code 5).
    Undone,
    /// A change failed, and undoing failed too: a person must look (exit code 6).
    Stuck,
}
