// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs, cores and caches.

use units::{Bytes, Cpu, CpuSet, NodeId, PackageId};

use crate::{Fact, Why};

/// The CPU sets of the machine, and its threads.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cpus {
    /// `cpu/online`; where the file is missing, the CPUs of /proc/cpuinfo.
    pub online: CpuSet,
    /// Present and not online.
    pub offline: CpuSet,
    /// What this process may use: cgroup v1 or v2 cpuset and scheduler affinity.
    pub allowed: CpuSet,
    /// `cpu/isolated` (isolcpus, cpuset partitions).
    pub isolated: CpuSet,
    /// `cpu/nohz_full`.
    pub nohz_full: CpuSet,
    /// One entry a present CPU, ascending by number.
    pub threads: Vec<Thread>,
    /// SMT as `cpu/smt/control` has it.
    pub smt: Smt,
}

/// One logical CPU and where it sits.
#[derive(Debug, Clone, PartialEq)]
pub struct Thread {
    /// The kernel's number.
    pub cpu: Cpu,
    /// Whether it is online. An offline CPU has no topology files on most kernels.
    pub online: bool,
    /// `topology/physical_package_id`; unknown when -1 or missing.
    pub package: Fact<PackageId>,
    /// `topology/die_id`; unknown when -1 or missing.
    pub die: Fact<u32>,
    /// `topology/cluster_id`; unknown when -1 or missing.
    pub cluster: Fact<u32>,
    /// First CPU of `topology/core_cpus_list` (`thread_siblings_list` before 5.3): names the core.
    pub core: Cpu,
    /// Place among its core's threads, 0 for the first.
    pub rank: u32,
    /// The node whose `cpulist` holds it.
    pub node: Option<NodeId>,
    /// Performance, efficiency, or the same as all others.
    pub kind: CoreKind,
}

impl Thread {
    /// An online thread of which only its number is known: the one thread of a core.
    pub fn new(cpu: Cpu) -> Self {
        Self {
            cpu,
            online: true,
            package: Err(Why::Absent),
            die: Err(Why::Absent),
            cluster: Err(Why::Absent),
            core: cpu,
            rank: 0,
            node: None,
            kind: CoreKind::Uniform,
        }
    }
}

/// Kinds of core in a hybrid processor, from `/sys/devices/cpu_core`, `cpu_atom`, `cpu_lowpower`,
/// or `cpu_capacity`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum CoreKind {
    /// All cores are alike.
    #[default]
    Uniform,
    /// The fast kind.
    Performance,
    /// The small kind.
    Efficiency,
    /// The smallest kind (Intel LP-E).
    LowPower,
}

/// Simultaneous multithreading.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Smt {
    /// The most threads a core has; 0 when no CPU could be read.
    pub threads_per_core: u32,
    /// `cpu/smt/control`: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`; empty if unreadable.
    pub state: String,
}

/// A cache and the CPUs that share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// 1 to 4.
    pub level: u8,
    /// Data, instruction or both.
    pub kind: CacheKind,
    /// Size.
    pub size: Fact<Bytes>,
    /// `shared_cpu_list`.
    pub cpus: CpuSet,
}

/// What a cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CacheKind {
    /// Data.
    Data,
    /// Instructions.
    Instruction,
    /// Both.
    Unified,
}
