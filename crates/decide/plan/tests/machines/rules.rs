// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds for any plan.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Machine, Nic};
use nearside_plan::Request;
use setting::{Ethtool, Movers, Place, Plan, Planned};
use units::{Cpu, CpuSet, NodeId, PciAddress};

use crate::Seen;

/// Places in the order in which each may undo those after it.
fn phase(planned: &Planned) -> usize {
    let setting = planned.setting.as_str();
    match &planned.place {
        Place::Ethtool { what: Ethtool::Channels } => 0,
        Place::Ethtool { what: Ethtool::Rings } => 1,
        Place::Interrupt { .. } => 2,
        Place::File { .. } if setting == "xps-placement" => 3,
        Place::File { .. } if setting == "rps-placement" => 4,
        _ => usize::MAX,
    }
}

/// (first, second): the second would be undone, or refused, before the first.
const PAIRS: [(&str, &str); 7] = [
    ("nic-ntuple", "rps-flow-count"),
    ("block-scheduler", "block-nr-requests"),
    ("block-scheduler-scsi", "block-nr-requests"),
    ("cpufreq-governor", "energy-performance-preference"),
    ("cpufreq-governor", "energy-performance-bias"),
    ("cpufreq-governor", "min-performance"),
    ("rps-sock-flow-entries", "rps-flow-count"),
];

pub(crate) fn ordered(plan: &Plan) -> Result<(), String> {
    let phases: Vec<usize> =
        plan.changes.iter().map(phase).filter(|phase| *phase != usize::MAX).collect();
    if !phases.is_sorted() {
        return Err(format!("channels, rings, interrupts, XPS, RPS are mixed: {phases:?}"));
    }
    nothing_is_moved_again(plan)?;
    let at = |setting: &str| {
        let is_it = |(_, planned): &(usize, &Planned)| planned.setting == setting;
        let places: Vec<usize> =
            plan.changes.iter().enumerate().filter(is_it).map(|(at, _)| at).collect();
        Some((*places.first()?, *places.last()?))
    };
    for (first, second) in PAIRS {
        if let (Some((_, last)), Some((start, _))) = (at(first), at(second))
            && last > start
        {
            return Err(format!("{second} comes before {first}"));
        }
    }
    for (a, b) in
        [("dirty-ratio", "dirty-bytes"), ("dirty-background-ratio", "dirty-background-bytes")]
    {
        if at(a).is_some() && at(b).is_some() {
            return Err(format!("{a} and {b} zero each other"));
        }
    }
    Ok(())
}

/// No change moves a value that was written before it, but for limits that zero each other and for a
/// table that makes room for its channels.
fn nothing_is_moved_again(plan: &Plan) -> Result<(), String> {
    let movers = Movers::of(&plan.changes);
    let place: BTreeMap<*const Planned, usize> =
        plan.changes.iter().enumerate().map(|(at, planned)| (&raw const *planned, at)).collect();
    for (at, planned) in plan.changes.iter().enumerate() {
        let is_room = planned.place == Place::Ethtool { what: Ethtool::ReceiveSpread };
        let is_later = |mover: &&Planned| place.get(&(&raw const **mover)) > Some(&at);
        if let Some(mover) = movers.that_move(planned).find(is_later).filter(|_| !is_room) {
            return Err(format!("{planned:#?} is moved by the later {mover:#?}"));
        }
    }
    Ok(())
}

/// Nothing that guards the machine is written, no path leaves the kernel's folders, and no link
/// that is in use is dropped unasked.
pub(crate) fn safe(seen: &Seen, request: &Request, plan: &Plan) -> Result<(), String> {
    for planned in &plan.changes {
        if let Place::File { path } = &planned.place {
            let is_kernel =
                ["/sys/", "/proc/sys/", "/proc/irq/"].iter().any(|top| path.starts_with(top));
            if !is_kernel || path.contains("..") || setting::keeps_safe(path) {
                return Err(format!("{path} is written"));
            }
        }
        if planned.because.is_empty() || planned.cost.is_empty() {
            return Err(format!("no reason or no cost: {planned:#?}"));
        }
        if planned.from.as_deref() == Ok(planned.to.as_str()) && !is_reset(plan, planned) {
            return Err(format!("nothing changes: {planned:#?}"));
        }
        let drops = planned.drops_link.as_ref().filter(|_| request.devices.is_empty());
        let in_use =
            |name: &&String| seen.machine.nics.iter().any(|nic| nic.name == **name && nic.in_use);
        if let Some(name) = drops.filter(in_use) {
            return Err(format!("the link of {name} may drop"));
        }
    }
    Ok(())
}

/// No interrupt of a device is moved that the audit has nothing against, unless the reason says so, or
/// names the device on the same node that is moved, whose cores it shares.
pub(crate) fn found(seen: &Seen, request: &Request, plan: &Plan) -> Result<(), String> {
    let findings = seen.findings(request);
    let is_irq = |one: &&Planned| matches!(one.place, Place::Interrupt { .. });
    for planned in plan.changes.iter().filter(is_irq) {
        let Some(device) = &planned.device else { continue };
        let of_kind = || findings.iter().filter(|finding| finding.id == planned.setting);
        let is_found = of_kind().any(|one| audit::is_about(one, &seen.machine, &device.name));
        let is_told = ["the audit does not find this", "shares the cores"]
            .iter()
            .any(|reason| planned.because.contains(reason));
        if !is_found && !is_told && !is_reset(plan, planned) {
            return Err(format!("the audit has nothing against it: {planned:#?}"));
        }
    }
    Ok(())
}

/// Whether a change comes before it that moves it.
fn is_reset(plan: &Plan, planned: &Planned) -> bool {
    Movers::of(&plan.changes).that_move(planned).next().is_some()
}

pub(crate) fn on_good_cpus(after: &Seen, plan: &Plan) -> Result<(), String> {
    let cpus = &after.machine.cpus;
    let good = cpus.online.minus(&cpus.isolated);
    for planned in plan.changes.iter().filter(|one| matches!(one.place, Place::Interrupt { .. })) {
        let to = CpuSet::from_list(&planned.to).map_err(|error| error.to_string())?;
        if to.is_empty() || !to.is_subset(&good) {
            return Err(format!("CPUs {to} are not all online and free: {planned:#?}"));
        }
    }
    Ok(())
}

/// The queues of a node's ports are on its cores, and no core has two more than another.
pub(crate) fn fair(after: &Seen, plan: &Plan) -> Result<(), String> {
    let machine = &after.machine;
    let is_moved = |nic: &&Nic| {
        plan.changes.iter().any(|one| {
            one.setting == "nic-irq-placement"
                && matches!(one.place, Place::Interrupt { queue: Some(_), .. })
                && one.device.as_ref().is_some_and(|device| device.name == nic.name)
        })
    };
    let nodes: BTreeSet<NodeId> =
        machine.nics.iter().filter(is_moved).filter_map(|nic| nic.node).collect();
    for node in nodes {
        let mut counts = free_cores(machine, node);
        for queue in queues(machine, node) {
            // A node without free CPUs of its own borrows those of the nearest.
            let Some(count) = core(machine, queue).and_then(|core| counts.get_mut(&core)) else {
                continue;
            };
            *count += 1;
        }
        let (most, least) = (counts.values().max(), counts.values().min());
        if let (Some(most), Some(least)) = (most, least)
            && most - least > 1
        {
            return Err(format!("node {node}: {most} queues on one core, {least} on another"));
        }
    }
    Ok(())
}

/// The CPU of each queue of the ports of a node that work.
fn queues(machine: &Machine, node: NodeId) -> Vec<Cpu> {
    let ports: BTreeSet<PciAddress> = machine
        .nics
        .iter()
        .filter(|nic| nic.node == Some(node) && nic.state == "up")
        .filter_map(|nic| nic.function)
        .collect();
    let mut seen: BTreeSet<(PciAddress, u32)> = BTreeSet::new();
    let mut cpus = Vec::new();
    for irq in &machine.irqs {
        let Some(source) = irq.source.as_ref().filter(|source| source.is_io) else { continue };
        let (Some(at), Some(queue)) = (source.function, source.queue) else { continue };
        if ports.contains(&at) && seen.insert((at, queue)) {
            cpus.extend(irq.affinity.as_ref().ok().and_then(CpuSet::first));
        }
    }
    cpus
}

fn core(machine: &Machine, cpu: Cpu) -> Option<Cpu> {
    let thread = machine.cpus.threads.iter().find(|thread| thread.cpu == cpu)?;
    Some(thread.core)
}

/// Cores of a node of which no thread is isolated, none of them used yet.
fn free_cores(machine: &Machine, node: NodeId) -> BTreeMap<Cpu, usize> {
    let entry = machine.nodes.iter().find(|entry| entry.id == node);
    let usable = entry.map(|entry| machine.usable(&entry.cpus)).unwrap_or_default();
    let cpus = &machine.cpus;
    let apart = cpus.isolated.or(&cpus.nohz_full);
    let threads = || cpus.threads.iter();
    let disturbed: BTreeSet<Cpu> =
        threads().filter(|one| apart.contains(one.cpu)).map(|one| one.core).collect();
    let free = threads().filter(|one| usable.contains(one.cpu) && !disturbed.contains(&one.core));
    free.map(|one| (one.core, 0)).collect()
}
