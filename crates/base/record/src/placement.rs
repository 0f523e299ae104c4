// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the threads of a run were, their memory, and the interrupts that they met.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Cpu, CpuSet, NodeId};

/// Where a run took place. Read back from the kernel, not what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// What was asked: `near`, `far`, `spread`, a CPU list; none where nothing was.
    #[serde(default)]
    pub asked: Option<String>,
    /// One a thread, in the order of their numbers; empty where the tool does not tell.
    #[serde(default)]
    pub threads: Vec<PlacedThread>,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PlacedThread {
    /// Its number in the run, from 0.
    pub thread: u32,
    /// The targets that it works on, by their place in the workload.
    pub targets: Vec<u32>,
    /// The CPU that it is bound to; none where it may move.
    #[schemars(with = "Option<u32>")]
    pub cpu: Option<Cpu>,
    /// The node of that CPU.
    #[schemars(with = "Option<u32>")]
    pub node: Option<NodeId>,
    /// The node that its buffers are on; none where that is left to the kernel or unknown.
    #[schemars(with = "Option<u32>")]
    pub memory_node: Option<NodeId>,
    /// The hardware queue that its CPU submits to, and who hears of completions.
    #[serde(default)]
    pub interrupts: Vec<QueueInterrupt>,
}

/// A hardware queue's interrupt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueInterrupt {
    /// The block device.
    pub device: String,
    /// The hardware queue, as `/sys/block/X/mq` numbers it.
    pub queue: u32,
    /// The interrupt's number; none where it could not be told.
    pub irq: Option<u32>,
    /// The CPUs that it comes to (`effective_affinity_list`); none where unknown.
    #[schemars(with = "Option<String>")]
    pub cpus: Option<CpuSet>,
}
