// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is near a device: its node, the CPUs that may work for it, and its neighbours.

use std::collections::{BTreeMap, BTreeSet};

use units::{Cpu, CpuSet, NodeId, PciAddress};

use crate::below::{self, Below};
use crate::{Drive, Machine, NodeFrom};

/// What is near a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Near {
    /// The device as it was asked for.
    pub device: String,
    /// Its PCI function, where it has one.
    pub function: Option<PciAddress>,
    /// Its node.
    pub node: Option<NodeId>,
    /// Where the node came from.
    pub node_from: NodeFrom,
    /// The hardware below it, of a volume, a partition, or a link without hardware of its own.
    pub below: Vec<Below>,
    /// CPUs of the node; those of `local_cpulist` where the node is unknown.
    pub cpus: CpuSet,
    /// Those of `cpus` that are online, allowed to this process and not isolated.
    pub usable: CpuSet,
    /// `usable` by core: sibling threads together, cores by their first thread.
    pub cores: Vec<CpuSet>,
    /// Other drives, NICs and GPUs on the node, by name.
    pub others: Vec<String>,
    /// Distances from the node to every node, itself included.
    pub distances: Vec<(NodeId, u32)>,
}

impl Machine {
    /// What is near a device, named as a person names it: a drive (`nvme0n1`), a controller
    /// (`nvme0`), a NIC, a GPU, an RDMA device, a PCI address with or without its domain, or what
    /// lies over drives or NICs ([`Machine::below`]).
    pub fn near(&self, device: &str) -> Option<Near> {
        let (function, node) = self.place_of(device)?;
        let function = function.and_then(|address| self.function(address));
        let below = self.below(device);
        let entry = node.and_then(|id| self.nodes.iter().find(|entry| entry.id == id));
        let local = || function.map(|function| function.local_cpus.clone()).unwrap_or_default();
        let cpus = entry.map_or_else(local, |entry| entry.cpus.clone());
        let usable = self.usable(&cpus);
        Some(Near {
            device: device.to_owned(),
            function: function.map(|function| function.address),
            node,
            node_from: match function {
                Some(function) => function.node_from,
                None if node.is_some() => below::node_from(self, &below),
                None => NodeFrom::default(),
            },
            below,
            cores: self.by_core(&usable),
            usable,
            cpus,
            others: node.map(|node| self.devices_on(node, device)).unwrap_or_default(),
            distances: entry.map(|entry| entry.distances.clone()).unwrap_or_default(),
        })
    }

    /// The function at an address.
    pub fn function(&self, address: PciAddress) -> Option<&crate::Function> {
        // Functions are kept by address.
        let found = self.functions.binary_search_by_key(&address, |function| function.address);
        found.ok().and_then(|index| self.functions.get(index))
    }

    /// The function and node of a device by any of its names. Of several devices below a volume or a
    /// link: no function, and the node that all of them are on.
    pub fn place_of(&self, device: &str) -> Option<(Option<PciAddress>, Option<NodeId>)> {
        let device = device.strip_prefix("/dev/").unwrap_or(device);
        let drive = || {
            let drive = self.drives.iter().find(|drive| drive.name == device)?;
            let place = below::below_drive(drive);
            Some((place.function, place.node))
        };
        let controller = || {
            let mut all = self.drives.iter().flat_map(|drive| &drive.controllers);
            all.find(|each| each.name == device).map(|each| (each.function, each.node))
        };
        let nic = || {
            let nic = self.nics.iter().find(|nic| nic.name == device)?;
            Some((nic.function, nic.node))
        };
        let gpu = || {
            let gpu = self.gpus.iter().find(|gpu| gpu.name == device)?;
            Some((Some(gpu.function), gpu.node))
        };
        let rdma = || {
            let rdma = self.rdma.iter().find(|rdma| rdma.name == device)?;
            Some((rdma.function, rdma.node))
        };
        let address = || {
            let function = self.function(device.parse().ok()?)?;
            Some((Some(function.address), function.node))
        };
        let stacked = || match self.below(device).as_slice() {
            [] => None,
            [one] => Some((one.function, one.node)),
            several => Some((None, below::common_node(several))),
        };
        let found = drive().or_else(controller).or_else(stacked).or_else(nic);
        found.or_else(gpu).or_else(rdma).or_else(address)
    }

    /// Those of `cpus` that are online, allowed and not isolated.
    pub fn usable(&self, cpus: &CpuSet) -> CpuSet {
        cpus.and(&self.cpus.online).and(&self.cpus.allowed).minus(&self.cpus.isolated)
    }

    fn by_core(&self, cpus: &CpuSet) -> Vec<CpuSet> {
        let mut cores: BTreeMap<Cpu, CpuSet> = BTreeMap::new();
        for thread in self.cpus.threads.iter().filter(|thread| cpus.contains(thread.cpu)) {
            cores.entry(thread.core).or_default().insert(thread.cpu);
        }
        cores.into_values().collect()
    }

    /// Names of drives, NICs and GPUs on a node, but for `except`.
    fn devices_on(&self, node: NodeId, except: &str) -> Vec<String> {
        let on_node = |drive: &&Drive| drive.controllers.iter().any(|each| each.node == Some(node));
        let drives = self.drives.iter().filter(on_node).map(|drive| &drive.name);
        let nics = self.nics.iter().filter(|nic| nic.node == Some(node)).map(|nic| &nic.name);
        let gpus = self.gpus.iter().filter(|gpu| gpu.node == Some(node)).map(|gpu| &gpu.name);
        let names: BTreeSet<&String> =
            drives.chain(nics).chain(gpus).filter(|name| *name != except).collect();
        names.into_iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Function, Node, Thread};

    fn node(id: u32, cpus: &str) -> Node {
        Node {
            distances: vec![(NodeId(0), 10), (NodeId(1), 21)],
            ..Node::new(NodeId(id), CpuSet::from_list(cpus).unwrap())
        }
    }

    fn thread(cpu: u32, core: u32) -> Thread {
        Thread { core: Cpu(core), ..Thread::new(Cpu(cpu)) }
    }

    fn machine() -> Machine {
        let mut function = Function::new("0000:17:00.0".parse().unwrap());
        function.node = Some(NodeId(0));
        function.node_from = NodeFrom::Own;
        let mut machine = Machine {
            nodes: vec![node(0, "0-3,8-11"), node(1, "4-7,12-15")],
            functions: vec![function],
            ..Machine::default()
        };
        machine.cpus.online = CpuSet::from_list("0-15").unwrap();
        machine.cpus.allowed = CpuSet::from_list("0-2,8-11").unwrap();
        machine.cpus.isolated = CpuSet::from_list("2").unwrap();
        machine.cpus.threads = (0..16).map(|cpu| thread(cpu, cpu % 8)).collect();
        machine
    }

    #[test]
    fn usable_cpus_are_online_allowed_and_not_isolated() {
        let near = machine().near("17:00.0").unwrap();
        assert_eq!(near.node, Some(NodeId(0)));
        assert_eq!(near.usable.to_string(), "0-1,8-11");
        let cores: Vec<String> = near.cores.iter().map(ToString::to_string).collect();
        assert_eq!(cores, ["0,8", "1,9", "10", "11"]);
        assert_eq!(near.distances, [(NodeId(0), 10), (NodeId(1), 21)]);
    }

    #[test]
    fn what_is_no_device_has_no_place() {
        assert_eq!(machine().near("nvme9n1"), None);
        assert_eq!(machine().near("0000:ff:00.0"), None);
    }
}
