// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a machine cannot give, and what to do then.

use units::NodeId;

use crate::LeftOut;

/// Why there is no placement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing tells where a device is.
    #[error("the node of {device} is unknown: neither the firmware nor the bridges above tell it")]
    NodeUnknown {
        /// The device.
        device: String,
    },
    /// A device's node has no CPUs, and no distances tell which CPUs are near.
    #[error("node {node} of {device} has no CPUs, and no distances tell which are near")]
    NodeWithoutCpus {
        /// The device.
        device: String,
        /// Its node.
        node: NodeId,
    },
    /// All CPUs near the devices are left out.
    #[error("no CPU near {devices} can be used: {}", listed(.left_out))]
    NoCpus {
        /// The devices' names.
        devices: String,
        /// What was near, and why it cannot be used.
        left_out: Vec<LeftOut>,
    },
    /// Fewer cores are near than were asked for.
    #[error("{wanted} cores are asked for and {there} near {devices} can be used{}", kept(.left_out))]
    FewCores {
        /// The devices' names.
        devices: String,
        /// How many were asked for.
        wanted: u32,
        /// How many there are.
        there: usize,
        /// What was near, and why it cannot be used.
        left_out: Vec<LeftOut>,
    },
    /// No node near the devices may be asked for memory.
    #[error("no memory near {devices} can be used: {}", listed(.left_out))]
    NoMemory {
        /// The devices' names.
        devices: String,
        /// What was near, and why it cannot be used.
        left_out: Vec<LeftOut>,
    },
}

impl Refusal {
    /// What to do next.
    pub fn help(&self) -> String {
        if let Self::NoCpus { left_out, .. } = self
            && let Some(unnamed) = left_out.iter().find(|out| out.why == NOT_NAMED)
        {
            return format!("name some of CPUs {} with --cpus, or leave it out", unnamed.which);
        }
        let help = match self {
            Self::NodeUnknown { .. } => {
                "`nearside explain node-unknown` says what firmware and slot can do; to choose by \
                 hand: numactl --physcpubind=CPUS --membind=NODE COMMAND"
            }
            Self::NodeWithoutCpus { .. } => {
                "choose by hand: numactl --physcpubind=CPUS --membind=NODE COMMAND"
            }
            Self::NoCpus { .. } => {
                "widen the cpuset or affinity that this shell runs in, or name isolated CPUs with \
                 --cpus LIST"
            }
            Self::FewCores { .. } => {
                "ask for fewer, or widen the cpuset or affinity that this shell runs in"
            }
            Self::NoMemory { .. } => {
                "widen the cpuset's cpuset.mems, or take memory where the CPUs are: --memory local"
            }
        };
        help.to_owned()
    }
}

/// Why a CPU is left out that was not named where others were.
pub(crate) const NOT_NAMED: &str = "not among the CPUs named";

fn listed(left_out: &[LeftOut]) -> String {
    left_out.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn kept(left_out: &[LeftOut]) -> String {
    if left_out.is_empty() { String::new() } else { format!("; left out are {}", listed(left_out)) }
}
