// SPDX-License-Identifier: MIT OR Apache-2.0
//! The write-ahead record of every change: what was there before, what was wanted, what came.
//!
//! One record a line, each valid JSON with a checksum of its own, in an append-only file:
//!
//! ```text
//! begin ─ intend ... intend ─ ready ── one fsync ── receipt ... receipt ─ end
//!                                                  undoing ─ undo ... undo
//! ```
//!
//! What a dead process leaves is recognised: a torn last line is cut, anything wrong before it is
//! refused by name. One process at a time holds the journal.
//!
//! It knows no kernel and writes no knob: `apply` does.

#![forbid(unsafe_code)]

mod error;
#[doc(hidden)]
pub mod fuzz;
mod line;
mod medium;
mod raw;
mod read;
mod record;
mod state;
mod write;

#[cfg(test)]
mod tests;

pub use error::JournalError;
pub use medium::{FileMedium, Medium, MemoryMedium, Wait};
pub use raw::Raw;
pub use read::{Contents, parse};
pub use record::{Begin, Due, End, Guard, Intent, Kept, Owner, Receipt, Record, Undoing, Witness};
pub use state::{Entry, Transaction};
pub use write::Journal;
