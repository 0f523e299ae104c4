// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fingerprint of what a run took place in: what else than the workload could change its result.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run took place in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Hash of the topology (`topology/1` without what changes by itself); the same machine in the
    /// same firmware state has the same.
    pub topology_hash: Option<String>,
    /// Vendor and product of the host.
    pub host: Option<String>,
    /// Version and date of the firmware.
    pub firmware: Option<String>,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// The kernel's command line.
    #[serde(default)]
    pub command_line: Option<String>,
    /// Settings of the kernel that bear on the workload: the path and the content, trimmed.
    #[serde(default)]
    pub knobs: BTreeMap<String, String>,
    /// How warm devices and CPUs were.
    #[serde(default)]
    pub temperatures: Vec<Temperature>,
    /// What slowed itself down.
    #[serde(default)]
    pub throttling: Vec<Throttling>,
    /// CPU time that the hypervisor gave to others.
    #[serde(default)]
    pub steal: Option<Steal>,
    /// Links of the devices.
    #[serde(default)]
    pub links: Vec<LinkState>,
    /// What could not be read, and why.
    #[serde(default)]
    pub unknown: Vec<Unknown>,
}

/// A temperature before and after the run, in thousandths of a degree Celsius.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Temperature {
    /// Of what: `nvme0`, `package 0`.
    pub what: String,
    /// Before.
    pub before_mc: Option<i64>,
    /// After.
    pub after_mc: Option<i64>,
}

/// How often something slowed itself down within the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Throttling {
    /// What: `cpu 3`, `nvme0`.
    pub what: String,
    /// Events within the run, as its counter tells; none where it has no counter.
    pub events: Option<u64>,
}

/// Time stolen from this guest within the run, of all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steal {
    /// Stolen, in seconds of CPU.
    pub stolen_seconds: f64,
    /// Of all CPU time, idle included, in percent.
    pub percent: f64,
}

/// How a function's link was trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkState {
    /// PCI address.
    pub function: String,
    /// Speed before the run, in GT/s.
    pub speed_gts: Option<f64>,
    /// Lanes before the run.
    pub width: Option<u8>,
    /// Whether it was the same after the run.
    pub kept: Option<bool>,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unknown {
    /// What.
    pub what: String,
    /// Why: absent, denied, not supported.
    pub why: String,
}
