// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that is unevenly spread over nodes or channels.
//!
//! Not flagged: guests, whose modules are made up; a difference that the kernel's own reservations
//! explain; machines with one module in one slot.

use std::collections::BTreeMap;

use machine::{Dimm, Machine, Why};
use setting::{Confidence, Evidence, Severity};
use units::{Bytes, NodeId};

use crate::context::Context;
use crate::draft::Draft;
use crate::lines;

/// What the memory of a machine looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Population {
    /// Nothing tells.
    Unknown(Why),
    /// Alike on every node and channel.
    Even,
    /// Not alike, and how.
    Uneven { reason: String, severity: Severity, evidence: Vec<Evidence>, confidence: Confidence },
}

/// Looks at nodes first, then at channels.
pub(crate) fn judge(context: &Context<'_>) -> Population {
    let machine = context.machine;
    let nodes = node_memory(context);
    if let Some(uneven) = uneven_nodes(&nodes) {
        return uneven;
    }
    if let Some(uneven) = uneven_modules(&machine.dimms) {
        return uneven;
    }
    if nodes.is_empty() && machine.dimms.is_empty() {
        return Population::Unknown(Why::Absent);
    }
    Population::Even
}

/// One finding for the machine.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    if context.is_guest() || context.is("desktop") {
        return Vec::new();
    }
    let Population::Uneven { reason, severity, evidence, confidence } = judge(context) else {
        return Vec::new();
    };
    let because = format!(
        "{reason}: transfers that land on the poorer part share fewer channels or cross to another node"
    );
    let draft = Draft::new(
        "memory-population",
        severity,
        format!("Memory is unevenly populated: {reason}"),
    )
    .confidence(confidence)
    .weighed(weight(severity))
    .values(reason, "the same modules on every channel of every node")
    .because(because)
    .evidences(evidence);
    vec![draft]
}

fn weight(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "a node has no memory at all, or half of the channels are empty",
        _ => "part of the machine has less memory than the rest, and no part has none",
    }
}

/// Memory of the nodes with CPUs.
fn node_memory(context: &Context<'_>) -> Vec<(NodeId, Bytes)> {
    let with_cpus = |machine: &Machine| {
        let nodes = machine.nodes.iter().filter(|node| context.places.cpus(node.id).is_some());
        nodes.filter_map(|node| Some((node.id, *node.memory.as_ref().ok()?))).collect()
    };
    with_cpus(context.machine)
}

/// Node 0 lacks what firmware and kernel keep, a few GiB: a quarter less is more than that, unless
/// the nodes are small.
fn uneven_nodes(nodes: &[(NodeId, Bytes)]) -> Option<Population> {
    let (poor, least) = nodes.iter().min_by_key(|(_, memory)| *memory)?;
    let (rich, most) = nodes.iter().max_by_key(|(_, memory)| *memory)?;
    let slack = Bytes((most.0 / 4).max(8 << 30));
    if most.0 - least.0 <= slack.0 {
        return None;
    }
    let severity = if *least == Bytes(0) { Severity::High } else { Severity::Medium };
    Some(Population::Uneven {
        reason: format!("node {poor} has {least}, node {rich} has {most}"),
        severity,
        evidence: nodes.iter().take(8).map(|(node, _)| lines::node_memory(*node)).collect(),
        confidence: Confidence::Sure,
    })
}

/// Channels are told by the bank locator of most servers: `P0 CHANNEL A`, `NODE 1 CHANNEL 2 DIMM 0`.
fn uneven_modules(dimms: &[Dimm]) -> Option<Population> {
    let mut channels: BTreeMap<String, u64> = BTreeMap::new();
    for dimm in dimms {
        let size = channels.entry(channel(&dimm.bank)?).or_default();
        *size = size.saturating_add(dimm.size.0);
    }
    let empty = channels.values().filter(|size| **size == 0).count();
    let least = channels.values().filter(|size| **size > 0).min()?;
    let most = channels.values().max()?;
    let total = channels.len();
    let reason = match (empty, least == most) {
        (0, true) => return None,
        (0, false) => format!("channels hold between {} and {}", Bytes(*least), Bytes(*most)),
        _ => format!("{empty} of {total} memory channels are empty"),
    };
    // Half the channels are half the bandwidth; one of eight is one eighth.
    let severity = if empty * 2 >= total { Severity::High } else { Severity::Medium };
    let line = |dimm: &Dimm| lines::module(dimm).meaning(format!("{}: {}", dimm.bank, dimm.size));
    let evidence = dimms.iter().map(line).take(12).collect();
    Some(Population::Uneven { reason, severity, evidence, confidence: Confidence::Likely })
}

/// The part of a bank locator that names its channel, and what comes before it.
fn channel(bank: &str) -> Option<String> {
    let upper = bank.to_uppercase().replace(['_', '-'], " ");
    let at = upper.find("CHANNEL")?;
    let (before, rest) = upper.split_at_checked(at)?;
    let name = rest.trim_start_matches("CHANNEL").split_whitespace().next()?;
    Some(format!("{}channel {name}", before.trim_start()))
}
