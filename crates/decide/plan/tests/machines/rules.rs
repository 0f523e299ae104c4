// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds for any plan.

use std::collections::BTreeMap;

use nearside_plan::Request;
use setting::{Ethtool, Place, Plan, Planned};
use units::{Cpu, CpuSet, NodeId};

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
const PAIRS: [(&str, &str); 6] = [
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

/// Nothing that guards the machine is written, no path leaves the kernel's folders, and no link
/// that is in use is dropped unasked.
pub(crate) fn safe(seen: &Seen, request: &Request, plan: &Plan) -> Result<(), String> {
    for planned in &plan.changes {
        if let Place::File { path } = &planned.place {
            let is_kernel =
                ["/sys/", "/proc/sys/", "/proc/irq/"].iter().any(|top| path.starts_with(top));
            if !is_kernel || path.contains("..") || catalogue::keeps_safe(path) {
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

/// Whether a change of channels comes before it on its device.
fn is_reset(plan: &Plan, planned: &Planned) -> bool {
    plan.changes.iter().any(|one| {
        one.place == Place::Ethtool { what: Ethtool::Channels } && one.device == planned.device
    })
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

/// The queues of a node's ports are on its cores, no core having two more than another.
pub(crate) fn fair(after: &Seen, plan: &Plan) -> Result<(), String> {
    let machine = &after.machine;
    let moved = plan.changes.iter().filter(|one| one.setting == "nic-irq-placement");
    let nodes: Vec<NodeId> = moved
        .filter_map(|one| {
            machine.nics.iter().find(|nic| Some(&nic.name) == one.device.as_ref().map(|d| &d.name))
        })
        .filter_map(|nic| nic.node)
        .collect();
    let mut counts: BTreeMap<NodeId, BTreeMap<Cpu, usize>> = BTreeMap::new();
    for planned in plan.changes.iter().filter(|one| one.setting == "nic-irq-placement") {
        let Place::Interrupt { queue: Some(_), ordinal: 0 } = planned.place else { continue };
        let Ok(cpu) = planned.to.parse() else { continue };
        let thread = machine.cpus.threads.iter().find(|thread| thread.cpu == Cpu(cpu));
        if let Some((node, core)) = thread.and_then(|thread| Some((thread.node?, thread.core))) {
            *counts.entry(node).or_default().entry(core).or_default() += 1;
        }
    }
    for (node, cores) in counts.into_iter().filter(|(node, _)| nodes.contains(node)) {
        // Interrupts that were where they belong are no change: they are missing in the count.
        let total: usize = cores.values().sum();
        let most = cores.values().max().copied().unwrap_or(0);
        let all = free_cores(after, node);
        if most > total.div_ceil(all.max(1)) + 1 {
            return Err(format!(
                "node {node}: {most} queues on one of {all} cores, {total} in all"
            ));
        }
    }
    Ok(())
}

fn free_cores(after: &Seen, node: NodeId) -> usize {
    let machine = &after.machine;
    let entry = machine.nodes.iter().find(|entry| entry.id == node);
    let usable = entry.map(|entry| machine.usable(&entry.cpus)).unwrap_or_default();
    let threads = machine.cpus.threads.iter().filter(|thread| usable.contains(thread.cpu));
    threads.map(|thread| thread.core).collect::<std::collections::BTreeSet<_>>().len()
}
