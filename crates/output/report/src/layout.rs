// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where everything goes in a drawing: packages with their nodes, and devices by home.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Drive, Function, Gpu, Machine, Nic, NicKind, Node, NodeKind};
use units::{NodeId, PackageId, PciAddress};

use crate::ask;
use crate::names::natural;

/// Packages that share nodes, and those nodes. Usually one package; several where the firmware
/// interleaves nodes over packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) packages: BTreeSet<PackageId>,
    pub(crate) nodes: BTreeSet<NodeId>,
}

/// Groups by their lowest node, then package.
pub(crate) fn groups(machine: &Machine) -> Vec<Group> {
    let by_node = ask::packages_of_nodes(machine);
    let mut groups: Vec<Group> = Vec::new();
    for (node, packages) in &by_node {
        join(&mut groups, packages.iter().copied().collect(), Some(*node));
    }
    for thread in &machine.cpus.threads {
        let Ok(package) = thread.package else { continue };
        if !groups.iter().any(|group| group.packages.contains(&package)) {
            join(&mut groups, BTreeSet::from([package]), None);
        }
    }
    for node in machine.nodes.iter().filter(|node| has_cpus(machine, node)) {
        if !groups.iter().any(|group| group.nodes.contains(&node.id)) {
            join(&mut groups, BTreeSet::new(), Some(node.id));
        }
    }
    groups.sort_by_key(|group| (group.nodes.first().copied(), group.packages.first().copied()));
    groups
}

fn join(groups: &mut Vec<Group>, packages: BTreeSet<PackageId>, node: Option<NodeId>) {
    let touching = |group: &Group| !group.packages.is_disjoint(&packages);
    let (joined, apart): (Vec<Group>, Vec<Group>) = groups.drain(..).partition(touching);
    let mut group = Group { packages, nodes: node.into_iter().collect() };
    for other in joined {
        group.packages.extend(other.packages);
        group.nodes.extend(other.nodes);
    }
    *groups = apart;
    groups.push(group);
}

fn has_cpus(machine: &Machine, node: &Node) -> bool {
    node.kind == NodeKind::Ordinary
        && (!node.cpus.is_empty() || machine.cpus.threads.iter().any(|t| t.node == Some(node.id)))
}

/// Nodes that hold memory and no CPUs, or nothing.
pub(crate) fn memory_only(machine: &Machine) -> Vec<&Node> {
    machine.nodes.iter().filter(|node| !has_cpus(machine, node)).collect()
}

/// The devices of one home: a node, or no known node.
#[derive(Debug, Default)]
pub(crate) struct Devices<'a> {
    pub(crate) drives: Vec<&'a Drive>,
    pub(crate) nics: Vec<&'a Nic>,
    pub(crate) gpus: Vec<&'a Gpu>,
    /// Storage, network and accelerator functions that no drive, NIC or GPU was found for.
    pub(crate) others: Vec<&'a Function>,
}

impl Devices<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.drives.is_empty()
            && self.nics.is_empty()
            && self.gpus.is_empty()
            && self.others.is_empty()
    }
}

/// Devices by home; those without a known node under `None`.
pub(crate) fn devices(machine: &Machine) -> BTreeMap<Option<NodeId>, Devices<'_>> {
    let mut homes: BTreeMap<Option<NodeId>, Devices<'_>> = BTreeMap::new();
    for drive in &machine.drives {
        homes.entry(drive_home(drive)).or_default().drives.push(drive);
    }
    for nic in machine.nics.iter().filter(|nic| has_home(nic)) {
        homes.entry(nic.node).or_default().nics.push(nic);
    }
    for home in homes.values_mut() {
        home.drives.sort_by(|a, b| natural(&a.name, &b.name));
        home.nics.sort_by(|a, b| natural(&a.name, &b.name));
    }
    for gpu in &machine.gpus {
        homes.entry(gpu.node).or_default().gpus.push(gpu);
    }
    for function in unclaimed(machine) {
        homes.entry(function.node).or_default().others.push(function);
    }
    homes
}

/// The first node that a path of the drive is on.
pub(crate) fn drive_home(drive: &Drive) -> Option<NodeId> {
    drive.controllers.iter().find_map(|controller| controller.node)
}

/// Whether a network device is a thing with a place, not made of others.
pub(crate) fn has_home(nic: &Nic) -> bool {
    matches!(nic.kind, NicKind::Physical | NicKind::VirtualFunction | NicKind::Paravirtual)
}

fn unclaimed(machine: &Machine) -> impl Iterator<Item = &Function> {
    let claimed: BTreeSet<PciAddress> = claimed(machine);
    machine.functions.iter().filter(move |function| {
        is_io(function)
            && !claimed.contains(&function.address)
            && function.physical_function.is_none()
    })
}

fn claimed(machine: &Machine) -> BTreeSet<PciAddress> {
    let paths = machine.drives.iter().flat_map(|drive| &drive.controllers);
    let hidden = machine.drives.iter().filter_map(|drive| drive.hidden_by.as_ref());
    paths
        .filter_map(|path| path.function)
        .chain(hidden.map(|hidden| hidden.function))
        .chain(machine.nics.iter().filter_map(|nic| nic.function))
        .chain(machine.gpus.iter().map(|gpu| gpu.function))
        .collect()
}

/// Storage, network, 3D and accelerator functions; not the VGA that a management controller shows,
/// and not the chipset's IDE and SATA controllers, which most servers have and do not use. What
/// cannot be read may be anything.
fn is_io(function: &Function) -> bool {
    if !function.is_readable() {
        return true;
    }
    match (function.class.base, function.class.sub) {
        (0x01, 0x01 | 0x06) => false,
        (0x01 | 0x02 | 0x12, _) | (0x03, 0x02) => true,
        _ => false,
    }
}

/// Things of the same key, so that one line can speak of them all; in the order of the first of
/// each set.
pub(crate) fn alike<'a, T, K: Ord>(items: &[&'a T], key: impl Fn(&T) -> K) -> Vec<Vec<&'a T>> {
    let mut places: BTreeMap<K, usize> = BTreeMap::new();
    let mut sets: Vec<Vec<&'a T>> = Vec::new();
    for item in items {
        let place = *places.entry(key(item)).or_insert(sets.len());
        match sets.get_mut(place) {
            Some(set) => set.push(item),
            None => sets.push(vec![item]),
        }
    }
    sets
}
