// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was done in one direction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Latency;

/// What operations do.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Discards.
    Trim,
    /// Reads and writes that the tool did not tell apart (fio's `unified_rw_reporting`).
    Mixed,
}

/// The results of one direction, of all threads and targets together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Direction {
    /// Which.
    pub kind: Kind,
    /// Operations that ended well within the time that counts.
    pub operations: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// The time that counts, in seconds: from the end of the ramp to the end of the run.
    pub seconds: f64,
    /// Operations a second.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// From when an operation was meant to start: in open loop its place in the schedule, in closed
    /// loop the moment of its submission. In open loop of all that were meant to start within the time
    /// that counts, those included that ended after it, so that there can be more than `operations`.
    /// None where the tool told none.
    pub latency: Option<Latency>,
    /// From the moment of submission, in open loop; none in closed loop, where it is the latency.
    #[serde(default)]
    pub service: Option<Latency>,
    /// CPU time of the threads that did it, user and system, in ns an operation. None where the tool
    /// does not tell, or where several directions shared the threads.
    #[serde(default)]
    pub cpu_ns_per_op: Option<f64>,
    /// Operations of an open loop that were submitted later than meant, for the queue was full or the
    /// thread was not there. None in closed loop.
    #[serde(default)]
    pub late: Option<u64>,
    /// What happened second by second, the ramp included.
    #[serde(default)]
    pub series: Vec<Second>,
}

/// What ended within one second of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Second {
    /// Operations.
    pub operations: u64,
    /// Bytes.
    pub bytes: u64,
    /// The longest latency, in ns; none where nothing ended or the tool does not tell.
    #[serde(default)]
    pub max_ns: Option<u64>,
}
