// SPDX-License-Identifier: MIT OR Apache-2.0
//! What follows from numbers that were measured.
//!
//! ```text
//! rates second by second ─> mser (where the warm-up ends) ─> five windows ─> Steady (verdict)
//! Environment ────────────> what speaks against the numbers of its run
//! cells of a sweep ───────> the depth beyond which more brings no more
//! ```
//!
//! Pure functions: no I/O, no clock, no randomness that is not passed in. Seconds of one run depend on
//! one another and are never taken for so many samples: a run is one number.

#![forbid(unsafe_code)]

mod knee;
mod mser;
mod steady;
mod surroundings;

pub use knee::{Knee, Point, Why as KneeWhy, is_past, knee};
pub use mser::{Cut, mser};
pub use steady::{Limits, steady};
pub use surroundings::doubts;
