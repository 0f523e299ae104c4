// SPDX-License-Identifier: MIT OR Apache-2.0
//! Firmware that tells the kernel nonsense about places: no node for any device, a CPU on two
//! nodes, functions of one card on different nodes.

use std::collections::BTreeMap;

use machine::{Function, NodeFrom};
use setting::{Confidence, Severity};
use units::NodeId;

use crate::context::Context;
use crate::devices::is_integrated;
use crate::draft::Draft;
use crate::lines;
use crate::words;

const ID: &str = "misleading-firmware";

/// One finding a kind of nonsense.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    drafts.extend(no_nodes(context));
    drafts.extend(overlapping(context));
    drafts.extend(split_cards(context));
    drafts.extend(context.machine.functions.iter().filter_map(|function| moved(context, function)));
    drafts
}

/// Whether no function of a machine with several nodes says where it is. A guest's functions say
/// so when its host gives them a place, which few do.
pub(crate) fn tells_no_nodes(context: &Context<'_>) -> bool {
    let functions = &context.machine.functions;
    let silent = functions.iter().filter(|function| is_nowhere(context, function)).count();
    // A damaged or odd capture may leave one or two with a node of their own.
    context.places.has_far_nodes()
        && !context.is_guest()
        && functions.len() >= 4
        && (functions.len() - silent) * 20 <= functions.len()
}

/// Whether the kernel says -1 of a function: then it counts the CPUs of all nodes as local
/// (arch/x86/include/asm/topology.h, `cpumask_of_node`). A tree that lacks `numa_node` shows no
/// node either, and says nothing of the firmware.
pub(crate) fn is_nowhere(context: &Context<'_>, function: &Function) -> bool {
    function.node_from != NodeFrom::Own && context.places.nodes_of(&function.local_cpus).len() > 1
}

fn no_nodes(context: &Context<'_>) -> Option<Draft> {
    if !tells_no_nodes(context) {
        return None;
    }
    let functions = &context.machine.functions;
    let silent = functions.iter().filter(|function| is_nowhere(context, function)).count();
    let because = format!(
        "{silent} of {} say numa_node -1 on a machine with {}: drivers put their memory and \
         interrupts anywhere, and nobody can tell which CPUs are near",
        words::count(functions.len(), "PCI function"),
        words::count(context.places.nodes().len(), "node")
    );
    let mut draft =
        Draft::new(ID, Severity::Medium, "The firmware tells no node for its PCI devices")
            .values(
                format!("-1 for {silent} of {}", functions.len()),
                "a node for each root complex",
            )
            .weighed("nothing can be placed near any device")
            .because(because);
    for function in functions.iter().filter(|function| is_nowhere(context, function)).take(4) {
        draft = draft.evidence(lines::function(function.address, "numa_node"));
    }
    Some(draft)
}

fn overlapping(context: &Context<'_>) -> Option<Draft> {
    let nodes = &context.machine.nodes;
    for (index, node) in nodes.iter().enumerate() {
        let Some(other) =
            nodes.iter().skip(index + 1).find(|other| other.cpus.overlaps(&node.cpus))
        else {
            continue;
        };
        let both = node.cpus.and(&other.cpus);
        let because = format!(
            "firmware puts {} on node {} and on node {}: one of them is wrong, and so is all that is said of places by it",
            words::cpus(&both),
            node.id,
            other.id
        );
        return Some(
            Draft::new(
                ID,
                Severity::Medium,
                format!("Nodes {} and {} share {}", node.id, other.id, words::cpus(&both)),
            )
            .values(format!("{} on two nodes", words::cpus(&both)), "each CPU on one node")
            .weighed("what is placed by these nodes may be far away")
            .because(because)
            .evidence(lines::node_cpus(node.id))
            .evidence(lines::node_cpus(other.id)),
        );
    }
    None
}

/// Functions of one card by their nodes. Devices that are part of the root complex share a device
/// number without being one card.
fn split_cards(context: &Context<'_>) -> Vec<Draft> {
    let mut cards: BTreeMap<_, Vec<&Function>> = BTreeMap::new();
    for function in &context.machine.functions {
        let at = function.address;
        let is_card =
            function.parent.is_some() && !is_integrated(function) && function.class.base != 0x06;
        if is_card && function.node_from == NodeFrom::Own && function.physical_function.is_none() {
            cards.entry(at.card()).or_default().push(function);
        }
    }
    let differs = |functions: &&Vec<&Function>| {
        functions.windows(2).any(|pair| match pair {
            [a, b] => a.node != b.node,
            _ => false,
        })
    };
    cards.values().filter(differs).map(|functions| split(context, functions)).collect()
}

fn split(context: &Context<'_>, functions: &[&Function]) -> Draft {
    let names: Vec<String> =
        functions.iter().map(|function| context.devices.label(function.address)).collect();
    let nodes: std::collections::BTreeSet<NodeId> =
        functions.iter().filter_map(|function| function.node).collect();
    let because = format!(
        "{} are functions of one card in one slot, and firmware puts them on {}: at least one is wrong",
        words::names(&names),
        words::numbers("node", &nodes)
    );
    let mut draft = Draft::new(
        ID,
        Severity::Low,
        format!(
            "{{devices}}: The firmware puts functions of one card on {}",
            words::numbers("node", &nodes)
        ),
    )
    .about_all(names)
    .confidence(Confidence::Sure)
    .values(words::numbers("node", &nodes), "one node")
    .weighed("one card alone")
    .because(because);
    for function in functions {
        draft = draft.evidence(lines::function(function.address, "numa_node"));
    }
    draft
}

/// A device on another node than the bridge that it hangs from: one of the two is wrong.
fn moved(context: &Context<'_>, function: &Function) -> Option<Draft> {
    let own = |function: &Function| function.node.filter(|_| function.node_from == NodeFrom::Own);
    let bridge = context.devices.above(function.address).find(|above| own(above).is_some())?;
    let (node, above) = (own(function)?, own(bridge)?);
    let speaks = function.address.function == 0 && function.physical_function.is_none();
    if node == above || context.is_guest() || !speaks {
        return None;
    }
    let because = format!(
        "{{devices}} says node {node}, the port {} that it hangs from says node {above}: one of them \
         is wrong, and work placed by the wrong one is far away",
        bridge.address
    );
    let draft = Draft::new(
        ID,
        Severity::Medium,
        format!("{{devices}}: The firmware says node {node}, and node {above} for the port above"),
    )
    .about(context.devices.label(function.address))
    .values(format!("node {node}"), format!("node {above}, or the other way round"))
    .weighed("what is placed near this device may be far away")
    .confidence(Confidence::Likely)
    .because(because);
    Some(
        draft
            .evidence(lines::function(function.address, "numa_node"))
            .evidence(lines::function(bridge.address, "numa_node")),
    )
}
