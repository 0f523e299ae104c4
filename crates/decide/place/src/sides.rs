// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which nodes the devices are on, and which CPUs belong to them.

use std::collections::BTreeMap;

use machine::{End, Machine, Node, NodeFrom, Site};
use units::{Cpu, CpuSet, NodeId};

use crate::Refusal;

/// The place of one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) device: String,
    /// Its node or, where that is not told or has no CPUs, those that its CPUs are on.
    pub(crate) nodes: CpuSet,
    pub(crate) cpus: CpuSet,
    pub(crate) because: String,
}

/// The places of all devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sides(Vec<Side>);

/// Finds the place of every end of every target.
pub(crate) fn of(site: &Site) -> Result<Sides, Refusal> {
    let ends = site.targets.iter().flat_map(|target| &target.ends);
    ends.map(|end| side(&site.machine, end)).collect::<Result<_, _>>().map(Sides)
}

fn side(machine: &Machine, end: &End) -> Result<Side, Refusal> {
    let device = end.device.clone();
    if machine.nodes.is_empty() {
        let because =
            format!("{device}: the kernel shows no NUMA nodes, so that all CPUs are near");
        return Ok(Side {
            device,
            nodes: CpuSet::new(),
            cpus: machine.cpus.online.clone(),
            because,
        });
    }
    match end.node.and_then(|id| machine.nodes.iter().find(|node| node.id == id)) {
        Some(node) if node.cpus.is_empty() => by_distance(machine, device, node),
        Some(node) => Ok(Side {
            because: format!("{device} is on node {}, {}", node.id, known_by(end.node_from)),
            device,
            nodes: set(node.id),
            cpus: node.cpus.clone(),
        }),
        None => by_local_cpus(machine, end),
    }
}

fn known_by(from: NodeFrom) -> &'static str {
    match from {
        NodeFrom::Own => "as the firmware says",
        NodeFrom::Parent => "as the firmware says for a bridge above it",
        NodeFrom::LocalCpus => "which has the CPUs that the kernel calls local to it",
        NodeFrom::Proximity => "by the ACPI proximity of its host bridge",
        NodeFrom::Only => "the only node with CPUs",
        NodeFrom::Unknown => "as the kernel says",
    }
}

/// A node without CPUs (a GPU's memory, CXL): those with CPUs at the least distance are near.
fn by_distance(machine: &Machine, device: String, node: &Node) -> Result<Side, Refusal> {
    let near = nearest(machine, node.id, |node| !node.cpus.is_empty());
    let Some((nodes, distance)) = near else {
        return Err(Refusal::NodeWithoutCpus { device, node: node.id });
    };
    let because = format!(
        "{device} is on node {}, which has no CPUs; nearest to it is node {nodes}, at distance \
         {distance}",
        node.id
    );
    Ok(Side { device, cpus: cpus_of(machine, &nodes), nodes, because })
}

/// Without a node the kernel may still call some CPUs local. All CPUs tell nothing.
fn by_local_cpus(machine: &Machine, end: &End) -> Result<Side, Refusal> {
    let (device, local) = (end.device.clone(), &end.local_cpus);
    if local.is_empty() || machine.cpus.online.is_subset(local) {
        return Err(Refusal::NodeUnknown { device });
    }
    let near = machine.nodes.iter().filter(|node| node.cpus.overlaps(local));
    let nodes: CpuSet = near.map(|node| Cpu(node.id.0)).collect();
    let because = format!(
        "{device}: the firmware tells no node, and the kernel calls CPUs {local} local to it"
    );
    Ok(Side { device, nodes, cpus: local.clone(), because })
}

/// The nodes at the least distance from `from` that have what is wanted, and that distance.
pub(crate) fn nearest(
    machine: &Machine,
    from: NodeId,
    wanted: impl Fn(&Node) -> bool,
) -> Option<(CpuSet, u32)> {
    let start = machine.nodes.iter().find(|node| node.id == from)?;
    let is_wanted = |id: NodeId| machine.nodes.iter().any(|node| node.id == id && wanted(node));
    let there: Vec<_> = start.distances.iter().filter(|(id, _)| is_wanted(*id)).collect();
    let least = there.iter().map(|(_, distance)| *distance).min()?;
    let nodes = there.iter().filter(|(_, distance)| *distance == least);
    Some((nodes.map(|(id, _)| Cpu(id.0)).collect(), least))
}

/// A set of one node.
pub(crate) fn set(node: NodeId) -> CpuSet {
    [Cpu(node.0)].into_iter().collect()
}

fn cpus_of(machine: &Machine, nodes: &CpuSet) -> CpuSet {
    let inside = machine.nodes.iter().filter(|node| nodes.contains(Cpu(node.id.0)));
    inside.fold(CpuSet::new(), |all, node| all.or(&node.cpus))
}

impl Sides {
    /// All nodes near a device.
    pub(crate) fn nodes(&self) -> CpuSet {
        self.0.iter().fold(CpuSet::new(), |all, side| all.or(&side.nodes))
    }

    /// All CPUs near a device.
    pub(crate) fn cpus(&self) -> CpuSet {
        self.0.iter().fold(CpuSet::new(), |all, side| all.or(&side.cpus))
    }

    /// What is near to what, once for each reason: 24 drives of a volume are a line, not 24.
    pub(crate) fn because(&self, site: &Site) -> Vec<String> {
        let way = site.targets.iter().flat_map(|target| target.way.iter().cloned());
        let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
        for side in &self.0 {
            let rest = side.because.strip_prefix(side.device.as_str()).unwrap_or(&side.because);
            match reasons.iter_mut().find(|(reason, _)| reason == rest) {
                Some((_, devices)) => devices.push(&side.device),
                None => reasons.push((rest.to_owned(), vec![&side.device])),
            }
        }
        let told = reasons.into_iter().map(|(rest, devices)| match devices.as_slice() {
            [one] => format!("{one}{rest}"),
            several => format!("{}{}", several.join(", "), plural(&rest)),
        });
        way.chain(told).collect()
    }

    /// What is only likely, and what lies on several nodes.
    pub(crate) fn doubts(&self, site: &Site) -> Vec<String> {
        let ends = site.targets.iter().flat_map(|target| &target.ends);
        let likely = ends.filter_map(|end| {
            let doubt = end.doubt.as_ref()?;
            Some(format!("that {} is meant is only likely: {doubt}", end.device))
        });
        let mut doubts: Vec<String> = likely.collect();
        let mut by_nodes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for side in &self.0 {
            by_nodes.entry(side.nodes.to_string()).or_default().push(&side.device);
        }
        if by_nodes.len() > 1 {
            let parts = by_nodes
                .iter()
                .map(|(nodes, devices)| format!("{} on node {nodes}", devices.join(", ")));
            let parts: Vec<String> = parts.collect();
            doubts.push(format!(
                "the devices are on different nodes, so that no CPU is near all of them: {}",
                parts.join("; ")
            ));
        }
        doubts.dedup();
        doubts
    }

    /// The devices' names.
    pub(crate) fn devices(&self) -> String {
        self.0.iter().map(|side| side.device.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// A reason of one device as that of several.
fn plural(rest: &str) -> String {
    let rest = rest.replacen(" is on ", " are on ", 1);
    rest.replace("above it", "above them")
        .replace("local to it", "local to them")
        .replace("nearest to it", "nearest to them")
}
