// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stands in a node's box: cores, CPU numbers, memory, devices.

use std::collections::BTreeMap;

use machine::Machine;
use units::{Bytes, Cpu, CpuSet, NodeId};

use crate::layout::{Devices, Group};
use crate::style::Line;
use crate::{frame, marks, words};

use super::devices;

/// Columns of the labels in a box.
pub(crate) const LABEL: usize = 8;

/// The lines of a node's box.
pub(crate) fn body(
    machine: &Machine,
    node: NodeId,
    devices: &Devices<'_>,
    columns: usize,
) -> Vec<Line> {
    let mut lines = marks::lines(&marks::stretches(machine, |t| t.node == Some(node)), columns);
    let cpus: CpuSet = cpus_where(machine, |thread| thread.node == Some(node));
    lines.extend(frame::field("CPUs", &cpus.to_string(), LABEL, columns));
    let memory = memory_text(machine, node, &cpus);
    lines.extend(frame::field("memory", &memory, LABEL, columns));
    lines.extend(devices::rows(machine, devices, columns));
    lines
}

/// The lines of a box of packages without nodes.
pub(crate) fn packages_body(machine: &Machine, group: &Group, columns: usize) -> Vec<Line> {
    let inside = |thread: &machine::Thread| {
        thread.package.as_ref().is_ok_and(|package| group.packages.contains(package))
    };
    let mut lines = marks::lines(&marks::stretches(machine, inside), columns);
    let cpus = cpus_where(machine, inside);
    lines.extend(frame::field("CPUs", &cpus.to_string(), LABEL, columns));
    let caches = l3_text(machine, &cpus);
    if !caches.is_empty() {
        lines.extend(frame::field("cache", &caches, LABEL, columns));
    }
    lines
}

fn cpus_where(machine: &Machine, belongs: impl Fn(&machine::Thread) -> bool) -> CpuSet {
    machine.cpus.threads.iter().filter(|thread| belongs(thread)).map(|thread| thread.cpu).collect()
}

fn memory_text(machine: &Machine, node: NodeId, cpus: &CpuSet) -> String {
    let mut text = memory(machine, node);
    let caches = l3_text(machine, cpus);
    if !caches.is_empty() {
        text.push_str("   ");
        text.push_str(&caches);
    }
    text
}

/// `31.6 GiB, 28.5 GiB free`.
pub(crate) fn memory(machine: &Machine, node: NodeId) -> String {
    let Some(node) = machine.nodes.iter().find(|other| other.id == node) else {
        return "unknown".to_owned();
    };
    let free = node.memory_free.as_ref().ok().filter(|free| free.0 > 0);
    let mut text = match &node.memory {
        Ok(Bytes(0)) => "none: this node has CPUs only".to_owned(),
        size => words::memory(size),
    };
    if node.memory.as_ref().is_ok_and(|size| size.0 > 0) {
        text.extend(free.map(|free| format!(", {free} free")));
    }
    text
}

/// `L3 2 × 32 MiB`; the part of a larger cache where it spans more than these CPUs.
pub(crate) fn l3_text(machine: &Machine, cpus: &CpuSet) -> String {
    let mut sizes: BTreeMap<(Option<Bytes>, bool), usize> = BTreeMap::new();
    for cache in machine.caches.iter().filter(|cache| cache.level == 3 && cache.cpus.overlaps(cpus))
    {
        let whole = cache.cpus.is_subset(cpus) || beyond_is_offline(machine, &cache.cpus, cpus);
        *sizes.entry((cache.size.as_ref().ok().copied(), whole)).or_default() += 1;
    }
    let part = |((size, whole), number): (&(Option<Bytes>, bool), &usize)| {
        let size = size.map_or_else(|| "size unknown".to_owned(), |size| size.to_string());
        let times = if *number > 1 { format!("{number} × ") } else { String::new() };
        format!("L3 {times}{size}{}", if *whole { "" } else { " shared with another node" })
    };
    sizes.iter().map(part).collect::<Vec<_>>().join(", ")
}

fn beyond_is_offline(machine: &Machine, cache: &CpuSet, cpus: &CpuSet) -> bool {
    cache.minus(cpus).iter().all(|cpu: Cpu| machine.cpus.offline.contains(cpu))
}
