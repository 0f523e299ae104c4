// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receive packet steering that sends packets to other nodes' CPUs.

use machine::{Fact, Nic, Why};
use setting::Severity;

use crate::context::Context;
use crate::devices;
use crate::draft::Draft;
use crate::lines;
use crate::words;

/// Findings: one a port.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    if !context.places.has_far_nodes() {
        return Vec::new();
    }
    devices::working_ports(context.machine).filter_map(|nic| judge(context, nic)).collect()
}

/// The fact `rps`: off, near, far.
pub(crate) fn summary(context: &Context<'_>, nic: &Nic) -> Fact<String> {
    let known = devices::known_sets(nic.rx_queues.iter().map(|queue| &queue.rps))?;
    if known.iter().all(|cpus| cpus.is_empty()) {
        return Ok("off".to_owned());
    }
    let local = nic.node.and_then(|node| context.places.cpus(node)).ok_or(Why::Absent)?;
    let is_near = known.iter().all(|cpus| cpus.is_subset(local));
    Ok(if is_near { "near" } else { "far" }.to_owned())
}

fn judge(context: &Context<'_>, nic: &Nic) -> Option<Draft> {
    let node = nic.node?;
    let local = context.places.cpus(node)?;
    let wanted = context.places.near(node)?;
    let steered = nic.rx_queues.iter().filter_map(|queue| Some((queue, queue.rps.as_ref().ok()?)));
    let online = &context.machine.cpus.online;
    let far: Vec<_> = steered.filter(|(_, cpus)| !cpus.and(online).is_subset(local)).collect();
    let (_, first) = far.first()?;
    let severity = if devices::is_fast(nic) { Severity::Medium } else { Severity::Low };
    let title = format!(
        "{{devices}}: RPS hands the packets of {} to CPUs of other nodes",
        words::count(far.len(), "receive queue")
    );
    let because = format!(
        "{} hangs on node {node} ({}); RPS hands its packets to {}: each that \
         lands on another node costs an interrupt there and a move of its memory",
        nic.name,
        words::some_cpus(local),
        words::cpus(first)
    );
    let mask = context.mask(wanted);
    let mut draft = Draft::new("rps-placement", severity, title)
        .about(&nic.name)
        .values(words::cpus(first), wanted.to_string())
        .weighed(match severity {
            Severity::Medium => "a port of 10 Gb/s or more",
            _ => "a port of less than 10 Gb/s, or one that does not tell",
        })
        .because(because)
        .on_node(context, nic.function, node);
    for (queue, _) in far.iter().take(6) {
        let file = format!("queues/rx-{}/rps_cpus", queue.number);
        draft = draft.evidence(lines::port(&nic.name, &file));
    }
    let line = format!(
        "for f in /sys/class/net/{}/queues/rx-*/rps_cpus; do echo {mask} > $f; done",
        nic.name
    );
    Some(draft.change([line]))
}
