// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way from an engine to a device, as far as it is a choice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::range;
use crate::WorkloadError;

/// The way to the device. What is chosen here changes results, and so belongs to the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Access {
    /// Through which interface of the kernel.
    pub path: Path,
    /// Whether the page cache is passed by.
    pub cache: Cache,
    /// How completions are noticed.
    pub polling: Polling,
    /// Who submits.
    pub submission: Submission,
    /// Whether waiting counts as I/O wait.
    pub io_wait: IoWait,
    /// For how many completions a thread waits.
    pub wait: Wait,
}

/// An interface of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// Files and block devices.
    #[default]
    Block,
    /// NVMe commands to `/dev/ngXnY`, past the block layer.
    Passthrough,
}

/// What becomes of the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cache {
    /// It is passed by (`O_DIRECT`).
    #[default]
    Direct,
    /// It is used.
    Buffered,
}

/// How completions are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Polling {
    /// By interrupts.
    #[default]
    Interrupt,
    /// By asking the device without pause (`IORING_SETUP_IOPOLL`).
    Polled,
    /// By sleeping part of the expected time, then asking (`IORING_SETUP_HYBRID_IOPOLL`).
    Hybrid,
}

/// Who submits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Submission {
    /// The thread itself.
    #[default]
    Thread,
    /// A thread of the kernel that looks for work (`IORING_SETUP_SQPOLL`), on a CPU of its own.
    KernelThread,
}

/// Whether waiting for completions counts as I/O wait, which keeps CPUs from deeper sleep and may
/// raise their frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IoWait {
    /// It counts, as kernels before 6.15 have it.
    #[default]
    Counted,
    /// It does not (`IORING_ENTER_NO_IOWAIT`).
    NotCounted,
}

/// For how many completions a thread waits when its queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Wait {
    /// For one; then it takes all there are.
    #[default]
    One,
    /// For several: cheaper, and it makes latencies longer.
    Batch {
        /// How many, at most the depth.
        completions: u32,
    },
}

impl Access {
    pub(super) fn check(self) -> Result<(), WorkloadError> {
        if self.path == Path::Passthrough && self.cache == Cache::Buffered {
            return Err(WorkloadError::Excludes {
                one: "passthrough",
                other: "buffered access",
                why: "NVMe commands know no page cache",
            });
        }
        if self.polling != Polling::Interrupt && self.cache == Cache::Buffered {
            return Err(WorkloadError::Excludes {
                one: "polling",
                other: "buffered access",
                why: "only direct operations can be polled for",
            });
        }
        match self.wait {
            Wait::Batch { completions: 0 } => {
                Err(range("the completions waited for", 0, "1 or more"))
            }
            _ => Ok(()),
        }
    }
}
