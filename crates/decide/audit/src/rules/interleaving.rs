// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several packages that show as one node.
//!
//! Not flagged: front-side-bus machines, which have one node by nature; guests, whose host decides;
//! `numa=off`, which the rule on the command line names.

use setting::{Confidence, Severity};

use crate::context::Context;
use crate::draft::Draft;
use crate::layout;
use crate::lines;
use crate::words;

/// One finding for the machine.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let (packages, nodes) = (context.places.packages(), context.places.nodes());
    let (state, _) = layout::interleaving(context.machine);
    if state != Some("on") || context.is("desktop") {
        return Vec::new();
    }
    // Several domains in the SRAT and one node would be the kernel's doing.
    let domains: std::collections::BTreeSet<u32> =
        context.machine.acpi.srat_cpus.iter().flatten().map(|(_, domain)| *domain).collect();
    let confidence = match (&context.machine.acpi.srat_cpus, domains.len()) {
        (Ok(_), 2..) => Confidence::Unsure,
        (Ok(_), _) => Confidence::Sure,
        (Err(_), _) => Confidence::Likely,
    };
    let cpus = nodes.values().next().map(ToString::to_string).unwrap_or_default();
    let node = nodes.keys().next().copied().unwrap_or(units::NodeId(0));
    let because = format!(
        "{} share node {node} (CPUs {cpus}): memory alternates between packages line by line, so \
         that half of all accesses and of all transfers by devices cross the link between them",
        words::count(packages.len(), "package")
    );
    let mut draft = Draft::new(
        "node-interleaving",
        Severity::High,
        format!("{} show as one NUMA node", words::count(packages.len(), "package")),
    )
    .confidence(confidence)
    .values("on", "off")
    .weighed("half of all accesses to memory cross between packages, whatever is placed where")
    .because(because)
    .evidence(lines::node_cpus(node));
    let firsts = packages.values().take(8).filter_map(units::CpuSet::first);
    draft = draft.evidences(firsts.map(lines::package));
    vec![draft.change([])]
}
