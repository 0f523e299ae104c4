// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices for I/O whose node nobody tells, on a machine with several.
//!
//! Not flagged: one node, devices whose node could be inferred, machines whose firmware tells none
//! at all (the rule on misleading firmware says so once).

use machine::Function;
use setting::{Confidence, Severity};

use super::firmware;
use crate::context::Context;
use crate::devices::{Role, is_held, is_integrated, role};
use crate::draft::Draft;
use crate::lines;

const ID: &str = "device-node-unknown";

/// One finding for those that nothing tells of, one for those that a bridge tells of.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    if !context.places.has_far_nodes() || firmware::tells_no_nodes(context) {
        return Vec::new();
    }
    let functions = context.machine.functions.iter().filter(|function| is_worth(function));
    let nowhere = functions.filter(|function| firmware::is_nowhere(context, function));
    let (unknown, inferred): (Vec<_>, Vec<_>) =
        nowhere.partition(|function| function.node.is_none());
    let mut drafts = Vec::new();
    if !unknown.is_empty() {
        drafts.push(draft(context, &unknown));
    }
    if !context.is_guest() {
        drafts.extend(inferred.iter().map(|function| untold(context, function)));
    }
    drafts
}

fn draft(context: &Context<'_>, unknown: &[&Function]) -> Draft {
    // In a guest the host decides, and the guest's own map may not be that of the hardware.
    let severity = if context.is_guest() { Severity::Note } else { Severity::Medium };
    let labels = unknown.iter().map(|function| context.devices.label(function.address));
    let mut draft = Draft::new(ID, severity, "{devices}: Nothing tells the node")
        .about_all(labels)
        .confidence(Confidence::Sure)
        .values("-1", "the node of its root complex")
        .weighed(match severity {
            Severity::Note => "a guest sees what its host tells it",
            _ => "nothing can be placed near the device",
        })
        .because(
            "neither the firmware nor a bridge above says which node is near {devices}, so that \
             neither the kernel nor a person can place work there",
        );
    for function in unknown.iter().take(8) {
        draft = draft.evidence(lines::function(function.address, "numa_node"));
    }
    draft
}

/// The port above tells, but the kernel goes by the device's own word.
fn untold(context: &Context<'_>, function: &Function) -> Draft {
    let node = function.node.map_or_else(String::new, |node| node.to_string());
    let because = format!(
        "the kernel takes {{devices}} to be on no node, so that its driver's memory and interrupts \
         go anywhere; the ports above it are on node {node}"
    );
    Draft::new(
        ID,
        Severity::Low,
        format!("{{devices}}: The firmware tells no node, and the port above is on node {node}"),
    )
    .about(context.devices.label(function.address))
    .confidence(Confidence::Likely)
    .values("-1", node)
    .weighed("the port above tells, so that a person can place work")
    .because(because)
    .evidence(lines::function(function.address, "numa_node"))
    .evidence(lines::local_cpus(function.address))
}

/// Drives and ports; the chipset's own SATA and network functions are slow and on no node's side.
fn is_worth(function: &Function) -> bool {
    is_held(function)
        && !is_integrated(function)
        && matches!(role(function), Role::Nvme | Role::Storage | Role::Network | Role::Gpu)
}
