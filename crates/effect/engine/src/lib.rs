// SPDX-License-Identifier: MIT OR Apache-2.0
//! The storage engine: carries a workload out on block devices and files, and says what came.
//!
//! ```text
//! Workload ─> targets (guarded) ─> threads, each: draw ─> queue ─> tally ─> sum ─> Outcome
//!                                                  │
//!                              io_uring │ NVMe commands │ io_submit │ pread
//! ```
//!
//! A thread keeps its operations in flight by itself: it draws them, hands them to its own queue and
//! counts what comes, and shares nothing with the others while it works. What the kernel has is used
//! and told; what it has not is done without and told too. [`run`] wants the live root, and writes only
//! to what [`guard()`] lets it, or to a file that the run itself makes.
//!
//! It decides nothing about where threads belong ([`Seat`]s are given to it), and it prints nothing.

// The exceptions are named where they are declared: each is small, and every block says why it is
// sound.

#[expect(unsafe_code, reason = "io_setup, io_submit, io_getevents and io_destroy")]
mod aio;
mod before;
mod clock;
mod content;
mod counters;
mod draw;
mod error;
mod flags;
mod gate;
mod guard;
#[expect(unsafe_code, reason = "mbind, FIEMAP, BLKDISCARD and timers, which no safe crate offers")]
mod kernel;
mod kernel_threads;
mod look;
#[cfg(test)]
mod made;
#[expect(unsafe_code, reason = "entries name memory that the kernel writes to")]
mod nvme;
mod pace;
mod positioned;
mod queue;
#[expect(unsafe_code, reason = "memory that is shared with the kernel")]
mod region;
#[expect(unsafe_code, reason = "entries name memory that the kernel writes to")]
mod ring;
mod seat;
mod session;
mod sum;
mod target;
mod trim;
mod verify;
mod way;
mod worker;

pub use error::Error;
pub use guard::{Guard, Refused, Why, guard, identity};
pub use seat::Seat;
pub use session::{Finished, Request, Seen, run};
pub use target::Made;

/// The way that is asked by name, where it is not to be the best one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fallback {
    /// The best that the kernel allows.
    #[default]
    None,
    /// `io_submit`, not io_uring.
    Aio,
    /// `pread`: neither io_uring nor `io_submit`.
    Positioned,
}
