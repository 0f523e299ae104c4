// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPU numbers that step through packages or nodes, which makes pinning by number miss.
//!
//! The published ladder gained 58 % by this step alone, with sub-NUMA on and 128 unpinned jobs. A
//! machine with one domain leaves it undecided.

use machine::NumberingKind;
use setting::{Confidence, Evidence, Goal, Severity};

use crate::context::Context;
use crate::draft::Draft;
use crate::lines;
use crate::words;

/// One finding for the machine.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let numbering = context.machine.numbering();
    if numbering.kind != NumberingKind::RoundRobin {
        return Vec::new();
    }
    let pinned = signs(context);
    let severity = match (context.is_guest(), context.goal) {
        (true, _) => Severity::Low,
        (false, Goal::Balanced) if pinned.is_none() => Severity::Low,
        (false, _) => Severity::Medium,
    };
    let mut because = format!(
        "{}: {}; a range such as 0-7, a taskset, or a pool of threads spreads over all of them",
        numbering.why,
        example(context)
    );
    if let Some((sign, _)) = &pinned {
        because.push_str(&format!("; work is pinned here ({sign})"));
    }
    let mut draft = Draft::new(
        "madt-core-enumeration",
        severity,
        format!("CPUs are numbered round-robin over {}", domains(context)),
    )
    .confidence(Confidence::Likely)
    .values("round-robin", "linear")
    .weighed(weight(severity, pinned.is_some()))
    .because(because);
    draft = draft
        .evidences(lines::numbering(context.machine))
        .evidences(pinned.map(|(_, path)| Evidence::file(path)));
    vec![draft.change([])]
}

fn weight(severity: Severity, is_pinned: bool) -> &'static str {
    match (severity, is_pinned) {
        (Severity::Medium, true) => "CPUs are named by number here",
        (Severity::Medium, false) => {
            "it costs what is placed by ranges of CPU numbers, and nothing here says that any is"
        }
        _ => "nothing here is placed by CPU number, as far as can be seen",
    }
}

/// `2 packages`, `4 nodes`.
fn domains(context: &Context<'_>) -> String {
    let (packages, nodes) = (context.places.packages().len(), context.places.nodes().len());
    if nodes > packages { words::count(nodes, "node") } else { words::count(packages, "package") }
}

/// What says that work is pinned by CPU number: (sign, file).
fn signs(context: &Context<'_>) -> Option<(String, &'static str)> {
    let cpus = &context.machine.cpus;
    if !cpus.isolated.is_empty() {
        return Some((
            format!("isolated CPUs {}", cpus.isolated),
            "/sys/devices/system/cpu/isolated",
        ));
    }
    if !cpus.nohz_full.is_empty() {
        return Some((
            format!("nohz_full CPUs {}", cpus.nohz_full),
            "/sys/devices/system/cpu/nohz_full",
        ));
    }
    None
}

/// `node 0 has CPUs 0,2,4,6, node 1 has CPUs 1,3,5,7`.
fn example(context: &Context<'_>) -> String {
    let nodes = context.places.nodes();
    let part = |(node, cpus): (&units::NodeId, &units::CpuSet)| {
        format!("node {node} has CPUs {}", words::first_cpus(cpus))
    };
    nodes.iter().take(2).map(part).collect::<Vec<_>>().join(", ")
}
