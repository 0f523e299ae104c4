// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where CPUs, nodes and packages lie, worked out once for all rules.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Machine, Thread};
use units::{Cpu, CpuSet, NodeId, PackageId};

/// Online CPUs by node and package.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    nodes: BTreeMap<NodeId, CpuSet>,
    near: BTreeMap<NodeId, CpuSet>,
    packages: BTreeMap<PackageId, CpuSet>,
    package_of: BTreeMap<NodeId, PackageId>,
    node_of: BTreeMap<u32, NodeId>,
}

impl Places {
    /// Sorts the online CPUs of `machine`.
    pub(crate) fn of(machine: &Machine) -> Self {
        let mut places = Self::default();
        for thread in machine.cpus.threads.iter().filter(|thread| thread.online) {
            places.add(thread, machine.cpus.isolated.contains(thread.cpu));
        }
        for (node, cpus) in &places.nodes {
            // A node whose CPUs are all isolated still has to serve its devices.
            places.near.entry(*node).or_insert_with(|| cpus.clone());
        }
        places
    }

    fn add(&mut self, thread: &Thread, isolated: bool) {
        if let Ok(package) = thread.package {
            self.packages.entry(package).or_default().insert(thread.cpu);
        }
        let Some(node) = thread.node else { return };
        self.nodes.entry(node).or_default().insert(thread.cpu);
        self.node_of.insert(thread.cpu.0, node);
        if let Ok(package) = thread.package {
            self.package_of.entry(node).or_insert(package);
        }
        if thread.rank == 0 && !isolated {
            self.near.entry(node).or_default().insert(thread.cpu);
        }
    }

    /// Nodes that have online CPUs, with those CPUs.
    pub(crate) fn nodes(&self) -> &BTreeMap<NodeId, CpuSet> {
        &self.nodes
    }

    /// Packages with their online CPUs.
    pub(crate) fn packages(&self) -> &BTreeMap<PackageId, CpuSet> {
        &self.packages
    }

    /// Whether there is more than one node to be far from.
    pub(crate) fn has_far_nodes(&self) -> bool {
        self.nodes.len() > 1
    }

    /// The online CPUs of `node`.
    pub(crate) fn cpus(&self, node: NodeId) -> Option<&CpuSet> {
        self.nodes.get(&node)
    }

    /// The CPUs of `node` that should serve a device there: one thread a core, isolated ones left
    /// out unless there are no others.
    pub(crate) fn near(&self, node: NodeId) -> Option<&CpuSet> {
        self.near.get(&node)
    }

    /// The package that `node` lies in.
    pub(crate) fn package(&self, node: NodeId) -> Option<PackageId> {
        self.package_of.get(&node).copied()
    }

    /// The node of a CPU.
    pub(crate) fn node_of(&self, cpu: Cpu) -> Option<NodeId> {
        self.node_of.get(&cpu.0).copied()
    }

    /// The nodes that `cpus` lie on.
    pub(crate) fn nodes_of(&self, cpus: &CpuSet) -> BTreeSet<NodeId> {
        cpus.iter().filter_map(|cpu| self.node_of(cpu)).collect()
    }
}
