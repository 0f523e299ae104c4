// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured, and the record of it: `run/1`.
//!
//! ```text
//! Workload (what is asked) ─┐
//! Placement, Environment ───┼─> Run ─> Outcome: Measured (numbers) | Failed | Cancelled (none)
//! Engine and its flags ─────┘
//! ```
//!
//! Plain data shared by the engines and importers (`effect`), the store (`keep`), the statistics
//! (`decide`) and the printers (`output`). These types are the format: a field may be added, with a
//! default, and none may change its meaning. What is not known is null, never zero. A run that failed
//! has no number, by its type.

#![forbid(unsafe_code)]

mod check;
mod direction;
mod environment;
mod error;
mod histogram;
mod latency;
mod measured;
mod placement;
mod run;
mod steady;
mod workload;

pub use direction::{Direction, Kind, Second};
pub use environment::{Environment, LinkState, Steal, Temperature, Throttling, Unknown};
pub use error::{FormatError, WorkloadError};
pub use histogram::{Histogram, Unfit};
pub use latency::{Latency, PERCENTS, Percentile};
pub use measured::{
    Agreement, Counted, DeviceCounters, Doubt, DoubtKind, DriveState, Flag, FlagState, Measured,
};
pub use placement::{PlacedThread, Placement, QueueInterrupt};
pub use run::{Engine, Failed, Failure, FailureKind, Outcome, Run, SCHEMA};
pub use steady::{Course, Steady};
pub use workload::{
    Access, BlockShare, Blocks, Cache, Division, IoWait, Limits, Mix, Pace, Path, Pattern, Polling,
    Sharing, Submission, Target, Verify, Wait, WhenFull, Workload,
};
