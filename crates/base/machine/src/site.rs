// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a placement rests on: the devices that somebody named, and the part of a machine around them.

use units::{CpuSet, NodeId, PciAddress};

use crate::{Fact, Machine, NodeFrom};

/// The part of a machine that a placement needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// CPU sets, nodes, and the functions that lead to the devices. Threads and L3 caches of the
    /// CPUs near them, and their interrupts, only where these were asked for.
    pub machine: Machine,
    /// What was named, in that order.
    pub targets: Vec<Target>,
    /// Nodes whose memory this process may use: `Mems_allowed_list` of its status, or its cpuset.
    pub memory_allowed: Fact<CpuSet>,
}

/// What somebody named, and the devices that it comes down to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// As it was named: `nvme0n1`, `eth0`, `/srv/data`.
    pub asked: String,
    /// The devices at the end of the way, each once; never empty.
    pub ends: Vec<End>,
    /// The steps from the name to the devices, in words; empty where the name is the device.
    pub way: Vec<String>,
}

/// A device with a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Its name: `nvme0n1`, `eth0`, `0000:17:00.0`.
    pub device: String,
    /// The PCI function that it is or hangs from.
    pub function: Option<PciAddress>,
    /// Its node; unknown where neither the firmware nor anything above it tells.
    pub node: Option<NodeId>,
    /// How the node is known.
    pub node_from: NodeFrom,
    /// `local_cpulist` of the function; empty where there is none.
    pub local_cpus: CpuSet,
    /// Why it is only likely that the way ends here; `None` where that is sure.
    pub doubt: Option<String>,
}

/// A name that leads to no device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// As it was named.
    pub asked: String,
    /// The steps that could be taken, in words.
    pub way: Vec<String>,
    /// Why the way ends.
    pub why: LostWhy,
}

/// Why a way ends before a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LostWhy {
    /// The machine has nothing of that name.
    NoSuchName,
    /// There is no hardware below it, or none that can be told: the reason in words.
    NoDevice(String),
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.why {
            LostWhy::NoSuchName => write!(f, "this machine has no device called {:?}", self.asked),
            LostWhy::NoDevice(why) => {
                write!(f, "no device is known below {}: ", self.asked)?;
                self.way.iter().try_for_each(|step| write!(f, "{step}; "))?;
                f.write_str(why)
            }
        }
    }
}

impl std::error::Error for Lost {}
