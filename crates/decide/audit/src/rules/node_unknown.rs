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

/// One finding for all of them.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    if !context.places.has_far_nodes() || firmware::tells_no_nodes(context) {
        return Vec::new();
    }
    let functions = context.machine.functions.iter();
    let unknown: Vec<&Function> =
        functions.filter(|function| function.node.is_none() && is_worth(function)).collect();
    if unknown.is_empty() {
        return Vec::new();
    }
    // In a guest the host decides, and the guest's own map may not be that of the hardware.
    let severity = if context.is_guest() { Severity::Note } else { Severity::Medium };
    let mut draft = Draft::new("device-node-unknown", severity, "{devices}: node unknown")
        .about_all(unknown.iter().map(|function| context.devices.label(function.address)))
        .confidence(Confidence::Sure)
        .values("-1", "the node of its root complex")
        .because("neither {devices} nor a bridge above tells its node, so that neither the kernel nor a person can place work near");
    for function in unknown.iter().take(8) {
        draft =
            draft.evidence(format!("/sys/bus/pci/devices/{}/numa_node", function.address), "-1");
    }
    vec![draft]
}

/// Drives and ports; the chipset's own SATA and network functions are slow and on no node's side.
fn is_worth(function: &Function) -> bool {
    is_held(function)
        && !is_integrated(function)
        && matches!(role(function), Role::Nvme | Role::Storage | Role::Network | Role::Gpu)
}
