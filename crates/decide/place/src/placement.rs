// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is asked of a placement, and what it is.

use std::num::NonZeroU32;

use units::CpuSet;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ask {
    /// How many whole cores; all that may be used where not told.
    pub cores: Option<NonZeroU32>,
    /// How many threads of each core, its first ones; all where not told.
    pub threads_per_core: Option<NonZeroU32>,
    /// The CPUs to choose among. Isolated ones are used only where they are named here.
    pub among: Option<CpuSet>,
    /// What is asked of memory.
    pub policy: Policy,
    /// Whether cores that serve the devices' interrupts are used.
    pub interrupts: Interrupts,
}

/// Where pages come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// From the nodes and from nowhere else (`MPOL_BIND`).
    #[default]
    Bind,
    /// From the nodes while they have some (`MPOL_PREFERRED`, `MPOL_PREFERRED_MANY`).
    Prefer,
    /// From the node of the CPU that asks (`MPOL_LOCAL`).
    Local,
}

/// What becomes of cores that serve the devices' interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interrupts {
    /// They are used as any other.
    #[default]
    Share,
    /// They are left out as long as others remain.
    Avoid,
}

/// Where a command runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    /// The CPUs; never empty.
    pub cpus: CpuSet,
    /// The cores that those are threads of, in the order in which they were chosen; empty where
    /// cores were not asked for.
    pub cores: Vec<CpuSet>,
    /// The nodes near the devices.
    pub nodes: CpuSet,
    /// Where memory comes from.
    pub memory: Memory,
    /// Why, in sentences.
    pub because: Vec<String>,
    /// CPUs and nodes that were near and are not used.
    pub left_out: Vec<LeftOut>,
    /// What a person should know before relying on it, in sentences.
    pub doubts: Vec<String>,
}

/// Where memory comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Memory {
    /// How strictly.
    pub policy: Policy,
    /// The nodes; empty for [`Policy::Local`].
    pub nodes: CpuSet,
}

/// What was near and is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// `CPUs` or `memory of nodes`.
    pub what: &'static str,
    /// Which.
    pub which: CpuSet,
    /// Why: `offline`, `isolated`, ...
    pub why: String,
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.what, self.which, self.why)
    }
}
