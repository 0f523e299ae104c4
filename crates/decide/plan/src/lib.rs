// SPDX-License-Identifier: MIT OR Apache-2.0
//! From findings, a goal, named settings or a profile to ordered changes.
//!
//! ```text
//! findings ─┐            ┌─ left: owner, reboot, security, choice
//! named ────┼─ wants ────┤
//! profile ──┘            └─ places ─ lock-out ─ conflicts ─┐
//! interrupts, XPS, RPS ─ placement ────────────────────────┴─ order ─ Plan ─ script
//! ```
//!
//! Pure: no I/O, no clock, no randomness. Each change is one value at one place; what is as wanted
//! already is counted and not written, so that a plan of a machine that was changed by it is empty.

#![forbid(unsafe_code)]

mod beside;
mod by_hand;
mod conflict;
mod device;
mod draft;
mod ethtool;
mod guard;
mod named;
mod order;
mod placement;
mod plan;
mod profile;
mod request;
mod resolve;
mod script;
mod want;
mod words;

#[cfg(test)]
mod tests;

pub use by_hand::BootTool;
pub use guard::dropped_links;
pub use named::was_named;
pub use plan::plan;
pub use profile::{Profile, ProfileError};
pub use request::{Named, Queues, Refusal, Request, check};
pub use script::{script, undo_script};
pub use want::reshapes_cpus;
