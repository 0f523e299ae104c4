// SPDX-License-Identifier: MIT OR Apache-2.0
//! The numbers of a run that went well, and what speaks against them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Direction, Steady};

/// The numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// The time that counts, in seconds.
    pub seconds: f64,
    /// One a direction that was asked for.
    pub directions: Vec<Direction>,
    /// CPU time of the engine's threads, user and system, in ns an operation of any direction; kernel
    /// threads that submit for it included. None where the tool does not tell.
    #[serde(default)]
    pub cpu_ns_per_op: Option<f64>,
    /// Operations in flight, on average over time; none where the tool does not tell.
    #[serde(default)]
    pub mean_depth: Option<f64>,
    /// Operations of an open loop whose time came and that were never submitted: whether they would
    /// have read or written is drawn at submission. None in closed loop and where the tool does not tell.
    #[serde(default)]
    pub missed: Option<u64>,
    /// What the kernel counted at the devices beside what the engine did.
    #[serde(default)]
    pub devices: Vec<DeviceCounters>,
    /// Whether the rate had settled; none where there is no series.
    #[serde(default)]
    pub steady: Option<Steady>,
    /// What the engine used of the kernel, and what it could not.
    #[serde(default)]
    pub flags: Vec<Flag>,
    /// The state that the drives were in.
    #[serde(default)]
    pub drive_state: DriveState,
    /// What speaks against the numbers; empty where nothing does.
    #[serde(default)]
    pub doubts: Vec<Doubt>,
}

/// Operations and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counted {
    /// Operations.
    pub operations: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A device's counters (`/sys/block/X/stat`) over the run, beside the engine's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceCounters {
    /// The block device.
    pub device: String,
    /// Reads that it completed.
    pub read: Counted,
    /// Writes that it completed.
    pub written: Counted,
    /// Discards that it completed.
    pub trimmed: Counted,
    /// Reads of the engine on it, the ramp and reading back what was written included.
    pub own_read: Counted,
    /// Writes of the engine on it, the ramp included.
    pub own_written: Counted,
    /// Discards of the engine on it, the ramp included.
    pub own_trimmed: Counted,
    /// What follows.
    pub agreement: Agreement,
}

/// Whether a device did what the engine says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// The same bytes within a percent.
    Same,
    /// The device moved fewer bytes: something before it answered.
    Fewer,
    /// The device moved more bytes: somebody else used it too.
    More,
    /// There is nothing to compare: the kernel does not count, or not this device.
    Unknown,
}

/// Something of the kernel that an engine can use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flag {
    /// The kernel's name for it: `IORING_SETUP_DEFER_TASKRUN`.
    pub name: String,
    /// Whether it was used.
    pub state: FlagState,
}

/// Whether something was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "class")]
pub enum FlagState {
    /// It was.
    Used,
    /// The kernel refused it.
    Refused {
        /// The kernel's word: `EINVAL`, `EPERM`, `ENOMEM`.
        errno: String,
    },
    /// It was not asked for.
    NotAsked,
}

/// What had been written to a drive before; it decides how fast it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DriveState {
    /// Purged, and not written since.
    Fresh,
    /// Written over from beginning to end.
    Filled,
    /// Written with this workload until its rate had settled.
    Steady,
    /// Nobody knows.
    #[default]
    Unknown,
}

/// Something that speaks against the numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Doubt {
    /// What it is.
    pub kind: DoubtKind,
    /// The target; none where it is about the run.
    #[serde(default)]
    pub target: Option<String>,
    /// What it means for this run, in a sentence.
    pub text: String,
}

/// What can speak against numbers.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum DoubtKind {
    /// Reads of a file's holes: no device is asked.
    Hole,
    /// Reads of extents that were allocated and never written: no device is asked.
    Unwritten,
    /// Reads that the page cache can answer.
    PageCache,
    /// Reads of blocks that the drive holds to be unused: it answers without its medium.
    Trimmed,
    /// No device is behind it: a file system in memory.
    Memory,
    /// The device counted something else than the engine.
    Counters,
    /// The rate had not settled.
    Unsteady,
    /// Open loop: too many operations were submitted late for the run to count as paced.
    Late,
    /// The depth asked was not reached.
    Depth,
    /// It was too short, or did too little, to mean anything.
    Short,
    /// A drive or a CPU slowed itself down.
    Throttled,
    /// The hypervisor gave CPU time to others.
    Stolen,
    /// The engine fell back to another way than was asked.
    Fallback,
    /// What the tool says contradicts itself.
    Contradiction,
    /// Its threads did not all run from beginning to end.
    Uneven,
    /// Other load was there at the same time.
    Beside,
    /// Its latencies are not of the whole way, or could not be put together.
    Latency,
}

impl DoubtKind {
    /// Whether it means that no device was measured.
    pub fn is_no_device(self) -> bool {
        use DoubtKind::{Hole, Memory, PageCache, Trimmed, Unwritten};
        matches!(self, Hole | Unwritten | PageCache | Trimmed | Memory)
    }
}
