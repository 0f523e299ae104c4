// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transmit queues that are picked by CPUs of another node than the one that takes their interrupt.
//!
//! XPS gives every CPU a queue, those of far nodes too: that is right. Wrong is a queue whose own
//! interrupt lies on another node than all CPUs that use it, while other queues' lie near them.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Fact, Nic};
use setting::{Confidence, Evidence, Severity};
use units::CpuSet;

use crate::context::Context;
use crate::devices;
use crate::draft::Draft;
use crate::words;

/// A transmit queue whose users and whose interrupt share no node.
struct Crossed<'a> {
    number: u32,
    users: &'a CpuSet,
    irq: &'a machine::Irq,
    taken: CpuSet,
}

/// Findings: one a port.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    if !context.places.has_far_nodes() {
        return Vec::new();
    }
    devices::working_ports(context.machine).filter_map(|nic| judge(context, nic)).collect()
}

/// The fact `xps`: matched, far, off.
pub(crate) fn summary(context: &Context<'_>, nic: &Nic) -> Fact<String> {
    let known = devices::known_sets(nic.tx_queues.iter().map(|queue| &queue.xps))?;
    let word = match () {
        () if known.iter().all(|cpus| cpus.is_empty()) => "off",
        () if crossed(context, nic).is_empty() => "matched",
        () => "far",
    };
    Ok(word.to_owned())
}

fn crossed<'a>(context: &Context<'a>, nic: &'a Nic) -> Vec<Crossed<'a>> {
    let Some(function) = nic.function else { return Vec::new() };
    let queue = |irq: &machine::Irq| irq.source.as_ref().and_then(|source| source.queue);
    let by_queue: BTreeMap<u32, &machine::Irq> =
        context.io_irqs(function).filter_map(|irq| Some((queue(irq)?, irq))).collect();
    let check = |number: u32, users: &'a CpuSet| {
        let irq = by_queue.get(&number)?;
        let taken = context.target(irq);
        let (from, to) = (context.places.nodes_of(users), context.places.nodes_of(&taken));
        let apart = !from.is_empty() && !to.is_empty() && from.is_disjoint(&to);
        apart.then_some(Crossed { number, users, irq, taken })
    };
    let queues = nic.tx_queues.iter();
    queues.filter_map(|queue| check(queue.number, queue.xps.as_ref().ok()?)).collect()
}

fn judge(context: &Context<'_>, nic: &Nic) -> Option<Draft> {
    let crossed = crossed(context, nic);
    // One node's queues can only serve the others from afar: that is no fault of the map.
    let taken: BTreeSet<_> =
        crossed.iter().flat_map(|queue| context.places.nodes_of(&queue.taken)).collect();
    let first = crossed.first()?;
    if taken.len() < 2 && nic.node.is_some_and(|node| taken.contains(&node)) {
        return None;
    }
    let title = format!(
        "{{devices}}: {} by CPUs of another node than the one that takes the interrupt",
        words::share(crossed.len(), nic.tx_queues.len(), "transmit queue", "is used", "are used")
    );
    let because = format!(
        "queue {} is used by {}, and its completions are handled on {}",
        first.number,
        words::cpus(first.users),
        words::cpus(&first.taken)
    );
    let mut draft = Draft::new("xps-placement", Severity::Low, title)
        .about(&nic.name)
        .confidence(Confidence::Likely)
        .values(
            format!("{} crossed", words::count(crossed.len(), "queue")),
            "each queue's CPUs on its interrupt's node",
        )
        .weighed("completions cross, and packets that come in do not")
        .because(because);
    let mut lines = Vec::new();
    for queue in &crossed {
        let path = format!("/sys/class/net/{}/queues/tx-{}/xps_cpus", nic.name, queue.number);
        lines.push(format!("echo {} > {path}", context.mask(&queue.taken)));
        draft = draft.evidence(Evidence::file(path)).aimed(context, queue.irq);
    }
    Some(draft.change(lines))
}
