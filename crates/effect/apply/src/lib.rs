// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel knobs: written under a journal, read back, undone exactly.
//!
//! ```text
//! Plan ─ places looked up, bytes before read ─> journal ─ fsync ─> write ─> read back ─> receipts
//! journal ─ whose value is it? ─> bytes from before
//! ```
//!
//! [`apply`] carries a plan out, [`verify`] compares, [`revert`] takes back. All three take a
//! [`Kernel`]: the live machine, or `simulated::Simulated` for tests, which the program is built
//! without (feature `simulated`). A replayed machine is none.
//!
//! Changes name devices by what cannot move and places by what they mean; both are looked up at
//! each write. Nothing is believed before it is read back, and nothing is taken back that somebody
//! else has set since.
//!
//! It decides nothing: what to change, and in which order, is the plan's.

#![forbid(unsafe_code)]

mod banned;
mod carry;
mod classify;
mod come;
mod errno;
mod error;
mod express;
mod hold;
mod kernel;
mod live;
mod lookup;
mod owner;
mod pairs;
mod prepare;
mod receipts;
#[cfg(any(test, feature = "simulated"))]
pub mod simulated;
mod spot;
mod steering;
mod undo;
mod verify;
mod waiting;
mod witness;

#[cfg(test)]
mod tests;

pub use carry::{apply, settle};
pub use error::ApplyError;
pub use hold::HOLD_VERB;
pub use kernel::{Kernel, ServiceOrder};
pub use live::{hold_idle_latency, persist, take_back};
pub use receipts::{Ending, OnFailure, Options, Receipt, Receipts};
pub use undo::{Force, Reverted, Reverts, Selection, applied_plan, revert};
pub use verify::{Standing, Verified, verify};
pub use waiting::{Unconfirmed, confirm, due_s, guarded_by, nothing_waits, waiting};
