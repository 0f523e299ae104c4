// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts of a network port that are taken on other nodes than the port's own, or all by one CPU.
//!
//! Not flagged: ports whose node is unknown or whose link is down; managed vectors; vectors of
//! channels that were given up, which carry nothing; paravirtual ports whose function tells no node
//! of its own, and those whose driver gives every CPU a queue by design. These are the ports that a
//! plan for a goal leaves as well.

use std::collections::BTreeMap;

use machine::{Fact, Irq, Nic, NicKind, NodeFrom, Why};
use setting::{Confidence, Goal, Severity};
use units::{BitRate, CpuSet, NodeId};

use super::irqbalance;
use crate::context::Context;
use crate::devices;
use crate::draft::Draft;
use crate::lines;
use crate::words;

/// A port's movable interrupts against its node.
struct Placement<'a> {
    node: NodeId,
    /// Online CPUs of the node.
    local: CpuSet,
    /// Those of `local` that should take interrupts.
    wanted: CpuSet,
    all: Vec<&'a Irq>,
    far: Vec<(&'a Irq, CpuSet)>,
}

/// Findings: one a port.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let ports = context.machine.nics.iter().filter(|nic| is_placed(context, nic));
    ports.filter_map(|nic| judge(context, nic)).collect()
}

/// Whether a port's interrupts belong on its node.
fn is_placed(context: &Context<'_>, nic: &Nic) -> bool {
    let node_from = || Some(context.devices.function(nic.function?)?.node_from);
    devices::is_up(nic)
        && match nic.kind {
            NicKind::Physical | NicKind::VirtualFunction => true,
            NicKind::Paravirtual => {
                node_from() == Some(NodeFrom::Own) && !is_spread_on_purpose(context, nic)
            }
            _ => false,
        }
}

/// virtio-net gives every CPU a queue of its own where there are as many.
fn is_spread_on_purpose(context: &Context<'_>, nic: &Nic) -> bool {
    let queues = queues(context, nic);
    let mut all = CpuSet::new();
    let mut is_apart = |queue: &Vec<&Irq>| {
        let may = queue.first().and_then(|irq| irq.affinity.as_ref().ok());
        let own = may.map(|cpus| cpus.and(&context.machine.cpus.online)).unwrap_or_default();
        let apart = !all.overlaps(&own);
        all = all.or(&own);
        apart
    };
    queues.len() >= context.machine.cpus.online.len() && queues.iter().all(&mut is_apart)
}

/// Movable interrupts of each queue that carries packets, by queue.
fn queues<'a>(context: &Context<'a>, nic: &Nic) -> Vec<Vec<&'a Irq>> {
    let movable = nic.function.map(|function| context.movable_irqs(function)).unwrap_or_default();
    let queue = |irq: &Irq| irq.source.as_ref().and_then(|source| source.queue);
    let is_numbered = movable.iter().all(|irq| queue(irq).is_some());
    let mut queues: BTreeMap<(bool, u32), Vec<&'a Irq>> = BTreeMap::new();
    for irq in movable {
        let key = queue(irq).map_or((true, irq.number), |queue| (false, queue));
        queues.entry(key).or_default().push(irq);
    }
    let carrying = nic.rx_queues.len().max(nic.tx_queues.len());
    let most = if carrying > 0 && is_numbered { carrying } else { usize::MAX };
    queues.into_values().take(most).collect()
}

/// The fact `nic-irqs`: near, far, spread, one CPU.
pub(crate) fn summary(context: &Context<'_>, nic: &Nic) -> Fact<String> {
    let placement = placement(context, nic).ok_or(Why::Absent)?;
    let mut union = CpuSet::new();
    for irq in &placement.all {
        union = union.or(&context.target(irq));
    }
    let word = match (placement.far.len(), placement.all.len()) {
        (0, all) if union.len() == 1 && all > 1 => "one CPU",
        (0, _) => "near",
        (far, all) if far == all => "far",
        _ => "spread",
    };
    Ok(word.to_owned())
}

fn placement<'a>(context: &Context<'a>, nic: &Nic) -> Option<Placement<'a>> {
    let function = nic.function?;
    let node = nic.node.or(context.devices.function(function)?.node)?;
    let local = context.places.cpus(node)?.clone();
    let all: Vec<&Irq> = queues(context, nic).into_iter().flatten().collect();
    let targets = all.iter().map(|irq| (*irq, context.target(irq)));
    let far = targets.filter(|(_, cpus)| !cpus.is_empty() && !cpus.is_subset(&local)).collect();
    let wanted = context.places.near(node)?.clone();
    (!all.is_empty()).then_some(Placement { node, local, wanted, all, far })
}

fn judge(context: &Context<'_>, nic: &Nic) -> Option<Draft> {
    if !context.places.has_far_nodes() {
        return None;
    }
    let placement = placement(context, nic)?;
    if placement.far.is_empty() {
        return piled(context, nic, &placement);
    }
    let severity = severity(context.goal, nic, placement.far.len(), placement.all.len())?;
    let Placement { node, far, all, wanted, .. } = &placement;
    let mut cpus = CpuSet::new();
    for irq in all {
        cpus = cpus.or(&context.target(irq));
    }
    let title = format!(
        "{{devices}}: {} on other nodes than the NIC's, node {node}",
        words::share(far.len(), all.len(), "queue interrupt", "is taken", "are taken")
    );
    let is_sure = nic.speed.is_ok() && nic.kind == NicKind::Physical;
    let confidence = if is_sure { Confidence::Sure } else { Confidence::Likely };
    let draft = Draft::new("nic-irq-placement", severity, title)
        .about(&nic.name)
        .confidence(confidence)
        .values(words::cpus(&cpus), wanted.to_string())
        .weighed(weight(severity, nic))
        .because(because(context, nic, &placement))
        .change(by_hand(context, nic, &placement));
    let far: Vec<&Irq> = placement.far.iter().map(|(irq, _)| *irq).collect();
    Some(evidence(context, draft, nic, &placement, &far))
}

/// All of several queues wait for one CPU, although the node has more.
fn piled(context: &Context<'_>, nic: &Nic, placement: &Placement<'_>) -> Option<Draft> {
    let mut cpus = CpuSet::new();
    for irq in &placement.all {
        cpus = cpus.or(&irq.affinity.as_ref().ok()?.and(&context.machine.cpus.online));
    }
    let (count, cores) = (queues(context, nic).len(), placement.wanted.len());
    if count < 2 || cores < 2 || cpus.len() != 1 {
        return None;
    }
    let severity = match nic.speed {
        // One core can take all that a slower port brings.
        Ok(BitRate(speed)) if speed < 10_000_000_000 => return None,
        Ok(_) => Severity::Medium,
        Err(_) => Severity::Low,
    };
    let title = format!("{{devices}}: All {count} queues are served by one CPU, {cpus}");
    let because = format!(
        "the {count} queues of {} wait for CPU {cpus}, and {cores} cores of node {} could serve them",
        nic.name, placement.node
    );
    let draft = Draft::new("nic-irq-placement", severity, title)
        .about(&nic.name)
        .confidence(Confidence::Likely)
        .values(words::cpus(&cpus), placement.wanted.to_string())
        .weighed(match severity {
            Severity::Low => "the port does not tell how fast it is",
            _ => "one core takes all that a port of 10 Gb/s or more brings",
        })
        .because(because)
        .change(by_hand(context, nic, placement));
    Some(evidence(context, draft, nic, placement, &placement.all))
}

/// At 100 Gb/s the published study gained 80 % at MTU 1500 (50 to 90 Gb/s, EPYC 7551); slower
/// ports are far from what one far core can take.
fn severity(goal: Goal, nic: &Nic, far: usize, all: usize) -> Option<Severity> {
    let most = far.saturating_mul(2) >= all;
    match nic.speed {
        Ok(BitRate(speed)) if speed >= 40_000_000_000 && most => Some(Severity::High),
        Ok(BitRate(speed)) if speed >= 10_000_000_000 => Some(Severity::Medium),
        Ok(_) => (goal == Goal::Latency).then_some(Severity::Low),
        Err(_) => Some(Severity::Low),
    }
}

fn weight(severity: Severity, nic: &Nic) -> &'static str {
    match severity {
        Severity::High => "a port of 40 Gb/s or more, and at least half of its interrupts",
        Severity::Medium => "a port of 10 Gb/s or more",
        _ if nic.speed.is_err() => "the port does not tell how fast it is",
        _ => "a far core can take all that a port of less than 10 Gb/s brings",
    }
}

fn because(context: &Context<'_>, nic: &Nic, placement: &Placement<'_>) -> String {
    let mut elsewhere = CpuSet::new();
    for (_, cpus) in &placement.far {
        elsewhere = elsewhere.or(&cpus.minus(&placement.local));
    }
    let nodes = context.places.nodes_of(&elsewhere);
    let (queues, cores) = (placement.all.len(), placement.wanted.len());
    let mut text = format!(
        "{} hangs on node {} ({}); what arrives {}is handled on {} ({}), so that \
         each of those packets crosses to another node's cache and memory",
        nic.name,
        placement.node,
        words::some_cpus(&placement.local),
        if placement.far.len() < queues { "on these queues " } else { "" },
        words::numbers("node", nodes),
        words::some_cpus(&elsewhere),
    );
    if queues > cores {
        text.push_str(&format!(
            "; with {queues} queues for {cores} near cores, fewer queues (ethtool -L) would do"
        ));
    }
    if placement.all.iter().any(|irq| context.is_balanced(irq.number)) {
        text.push_str("; irqbalance runs and would move them again");
    }
    text
}

/// What the vendor's set_irq_affinity_cpulist.sh does, in one line.
fn by_hand(context: &Context<'_>, nic: &Nic, placement: &Placement<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let balanced = placement.all.iter().copied().filter(|irq| context.is_balanced(irq.number));
    let balanced: Vec<&Irq> = balanced.collect();
    if !balanced.is_empty() {
        lines.extend(irqbalance::spare(&balanced));
    }
    let cpus: Vec<String> = placement.wanted.iter().map(|cpu| cpu.to_string()).collect();
    let irqs: Vec<String> = placement.all.iter().map(|irq| irq.number.to_string()).collect();
    lines.push(format!("# or: set_irq_affinity_cpulist.sh {} {}", cpus.join(","), nic.name));
    lines.push(format!(
        "cpus=({}); i=0; for irq in {}; do echo ${{cpus[i++ % {}]}} > /proc/irq/$irq/smp_affinity_list; done",
        cpus.join(" "),
        irqs.join(" "),
        cpus.len().max(1)
    ));
    lines
}

fn evidence(
    context: &Context<'_>,
    draft: Draft,
    nic: &Nic,
    placement: &Placement<'_>,
    irqs: &[&Irq],
) -> Draft {
    let node = placement.node;
    let mut draft = draft.on_node(context, nic.function, node).evidence(lines::node_cpus(node));
    for irq in irqs.iter().take(6) {
        draft = draft.aimed(context, irq);
    }
    draft
}
