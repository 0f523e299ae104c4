// SPDX-License-Identifier: MIT OR Apache-2.0
//! What follows from numbers that were measured.
//!
//! ```text
//! rates second by second ─> mser (where the warm-up ends) ─> five windows ─> Steady (verdict)
//! ```
//!
//! Pure functions: no I/O, no clock, no randomness that is not passed in. Seconds of one run depend on
//! one another and are never taken for so many samples: a run is one number.

#![forbid(unsafe_code)]

mod mser;
mod steady;

pub use mser::{Cut, mser};
pub use steady::{Limits, steady};
