// SPDX-License-Identifier: MIT OR Apache-2.0
//! `placement/1`: where a command runs, why, and what was left out.

use machine::{End, Site, Target};
use place::{Placement, Policy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::topology::{Unknown, node_from, unknown};

/// The document `placement/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementDocument {
    /// Name and version of this format: `placement/1`.
    pub schema: String,
    /// What was named, and the devices that it came down to.
    pub near: Vec<PlacementTarget>,
    /// Nodes near the devices: a kernel list.
    pub nodes: String,
    /// The CPUs: a kernel list, never empty.
    pub cpus: String,
    /// The cores of those CPUs in the order in which they were chosen, each a kernel list; empty
    /// where cores were not asked for.
    pub cores: Vec<String>,
    /// Where memory comes from.
    pub memory: PlacementMemory,
    /// Why, in sentences.
    pub because: Vec<String>,
    /// What was near and is not used.
    pub left_out: Vec<PlacementLeftOut>,
    /// What a person should know before relying on it.
    pub doubts: Vec<String>,
    /// What could not be read.
    pub unknown: Vec<Unknown>,
}

/// A name, and the devices that it came down to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementTarget {
    /// As it was named.
    pub asked: String,
    /// The steps from the name to the devices.
    pub way: Vec<String>,
    /// The devices.
    pub devices: Vec<PlacementDevice>,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementDevice {
    /// Its name.
    pub name: String,
    /// Its PCI function; null where it has none.
    pub function: Option<String>,
    /// Its node; null when unknown.
    pub node: Option<u32>,
    /// `own`, `parent`, `local-cpus`, `proximity`, `only`, `unknown`.
    pub node_from: String,
    /// Why it is only likely that this is the device; null where it is sure.
    pub doubt: Option<String>,
}

/// Where memory comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementMemory {
    /// `bind`, `prefer`, `local`.
    pub policy: String,
    /// The nodes: a kernel list; empty for `local`.
    pub nodes: String,
}

/// What was near and is not used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementLeftOut {
    /// `CPUs`, `memory of nodes`.
    pub what: String,
    /// Which: a kernel list.
    pub which: String,
    /// Why.
    pub why: String,
}

/// The document of a placement.
pub fn placement(site: &Site, placement: &Placement) -> PlacementDocument {
    let left_out = placement.left_out.iter().map(|left| PlacementLeftOut {
        what: left.what.to_owned(),
        which: left.which.to_string(),
        why: left.why.clone(),
    });
    PlacementDocument {
        schema: "placement/1".to_owned(),
        near: site.targets.iter().map(target).collect(),
        nodes: placement.nodes.to_string(),
        cpus: placement.cpus.to_string(),
        cores: placement.cores.iter().map(ToString::to_string).collect(),
        memory: PlacementMemory {
            policy: policy(placement.memory.policy).to_owned(),
            nodes: placement.memory.nodes.to_string(),
        },
        because: placement.because.clone(),
        left_out: left_out.collect(),
        doubts: placement.doubts.clone(),
        unknown: unknown(&site.machine.unknown),
    }
}

fn target(target: &Target) -> PlacementTarget {
    PlacementTarget {
        asked: target.asked.clone(),
        way: target.way.clone(),
        devices: target.ends.iter().map(device).collect(),
    }
}

fn device(end: &End) -> PlacementDevice {
    PlacementDevice {
        name: end.device.clone(),
        function: end.function.map(|address| address.to_string()),
        node: end.node.map(|node| node.0),
        node_from: node_from(end.node_from).to_owned(),
        doubt: end.doubt.clone(),
    }
}

fn policy(policy: Policy) -> &'static str {
    match policy {
        Policy::Bind => "bind",
        Policy::Prefer => "prefer",
        Policy::Local => "local",
    }
}
