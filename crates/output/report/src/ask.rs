// SPDX-License-Identifier: MIT OR Apache-2.0
//! What drawings ask of the machine, in the shape in which they need the answer.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Function, Machine};
use units::{CpuSet, NodeId, PackageId, PciAddress, Transfers};

/// A link and the best that card and slot could do together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkView {
    pub(crate) speed: Option<Transfers>,
    pub(crate) width: Option<u8>,
    pub(crate) best_speed: Option<Transfers>,
    pub(crate) best_width: Option<u8>,
    pub(crate) limit: Option<Limit>,
}

/// Who holds a link below its best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Card,
    Slot,
    Training,
    Unknown,
}

impl LinkView {
    pub(crate) fn is_below_best(&self) -> bool {
        self.limit.is_some()
    }
}

/// The link above a function.
pub(crate) fn link(function: &Function) -> Option<LinkView> {
    let link = function.link.as_ref()?;
    let own = (link.own.speed.as_ref().ok().copied(), link.own.width.as_ref().ok().copied());
    let mut view = LinkView {
        speed: link.speed.as_ref().ok().copied(),
        width: link.width.as_ref().ok().copied(),
        best_speed: own.0,
        best_width: own.1,
        limit: None,
    };
    let slower = matches!((view.speed, view.best_speed), (Some(now), Some(best)) if now < best);
    let narrower = matches!((view.width, view.best_width), (Some(now), Some(best)) if now < best);
    if slower || narrower {
        let above = link.above.as_ref();
        let slot_speed = above.and_then(|side| side.speed.as_ref().ok().copied());
        let slot_width = above.and_then(|side| side.width.as_ref().ok().copied());
        let held = (!slower || slot_speed.is_some() && slot_speed <= view.speed)
            && (!narrower || slot_width.is_some() && slot_width <= view.width);
        view.limit = Some(match above {
            None => Limit::Unknown,
            Some(_) if held => Limit::Slot,
            Some(_) => Limit::Training,
        });
    }
    Some(view)
}

/// A pattern and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) word: String,
    pub(crate) why: String,
}

/// How CPU numbers step through packages or nodes.
pub(crate) fn numbering(_machine: &Machine) -> Told {
    Told { word: "undecided".to_owned(), why: String::new() }
}

/// How the threads of a core are numbered.
pub(crate) fn siblings(_machine: &Machine) -> Told {
    Told { word: "other".to_owned(), why: String::new() }
}

/// Whether packages are split into nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SubNuma {
    pub(crate) kind: String,
    pub(crate) per_package: u32,
    pub(crate) why: String,
}

pub(crate) fn sub_numa(_machine: &Machine) -> SubNuma {
    SubNuma { kind: "none".to_owned(), per_package: 1, why: String::new() }
}

/// What a root complex could be asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RootLanes {
    pub(crate) root: String,
    pub(crate) node: Option<NodeId>,
    pub(crate) lanes: u32,
    pub(crate) bytes_per_second: f64,
    pub(crate) used_by: Vec<LaneUser>,
}

/// One function's part in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LaneUser {
    pub(crate) function: PciAddress,
    pub(crate) speed: Transfers,
    pub(crate) width: u8,
    pub(crate) bytes_per_second: f64,
}

pub(crate) fn lanes(_machine: &Machine) -> Vec<RootLanes> {
    Vec::new()
}

/// CPUs near a node for work: online, allowed, not isolated; first threads of cores, then the rest.
pub(crate) fn usable(machine: &Machine, cpus: &CpuSet) -> (CpuSet, CpuSet) {
    let set = &machine.cpus;
    let allowed = if set.allowed.is_empty() { &set.online } else { &set.allowed };
    let usable = cpus.and(&set.online).and(allowed).minus(&set.isolated);
    let mut seen = BTreeSet::new();
    let mut first = CpuSet::default();
    for thread in machine.cpus.threads.iter().filter(|thread| usable.contains(thread.cpu)) {
        if seen.insert(thread.core) {
            first.insert(thread.cpu);
        }
    }
    let rest = usable.minus(&first);
    (first, rest)
}

/// The packages that the CPUs of a node sit in.
pub(crate) fn packages_of_nodes(machine: &Machine) -> BTreeMap<NodeId, Vec<PackageId>> {
    let mut packages: BTreeMap<NodeId, Vec<PackageId>> = BTreeMap::new();
    for thread in &machine.cpus.threads {
        if let (Some(node), Ok(package)) = (thread.node, &thread.package) {
            let known = packages.entry(node).or_default();
            if !known.contains(package) {
                known.push(*package);
            }
        }
    }
    for known in packages.values_mut() {
        known.sort_unstable();
    }
    packages
}
