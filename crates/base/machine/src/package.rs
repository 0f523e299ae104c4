// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packages: what a person calls sockets, gathered from the threads.

use std::collections::{BTreeMap, BTreeSet};

use units::{CpuSet, NodeId, PackageId};

use crate::{Cache, Machine, Node, Thread};

/// A package and what is on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its number; `None` gathers the CPUs whose package the kernel does not tell.
    pub id: Option<PackageId>,
    /// Numbers of its dies, where the kernel tells them.
    pub dies: BTreeSet<u32>,
    /// Nodes that have CPUs of it, ascending.
    pub nodes: Vec<NodeId>,
    /// Its cores.
    pub cores: u32,
    /// Its online CPUs.
    pub cpus: CpuSet,
}

impl Machine {
    /// The packages of the online CPUs, by number; CPUs of unknown package come first, as one.
    pub fn packages(&self) -> Vec<Package> {
        let mut groups: BTreeMap<Option<PackageId>, Vec<&Thread>> = BTreeMap::new();
        for thread in self.cpus.threads.iter().filter(|thread| thread.online) {
            groups.entry(thread.package.clone().ok()).or_default().push(thread);
        }
        groups.into_iter().map(|(id, threads)| package(id, &threads)).collect()
    }

    /// How many cores are online.
    pub fn cores(&self) -> usize {
        self.cpus.threads.iter().filter(|thread| thread.online && thread.rank == 0).count()
    }

    /// Nodes that have CPUs, by number.
    pub fn nodes_with_cpus(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| !node.cpus.is_empty())
    }

    /// L3 caches by first CPU; none where the kernel shows none.
    pub fn l3_domains(&self) -> impl Iterator<Item = &Cache> {
        self.caches.iter().filter(|cache| cache.level == 3)
    }
}

fn package(id: Option<PackageId>, threads: &[&Thread]) -> Package {
    let nodes: BTreeSet<NodeId> = threads.iter().filter_map(|thread| thread.node).collect();
    let cores: BTreeSet<_> = threads.iter().map(|thread| thread.core).collect();
    Package {
        id,
        dies: threads.iter().filter_map(|thread| thread.die.clone().ok()).collect(),
        nodes: nodes.into_iter().collect(),
        cores: u32::try_from(cores.len()).unwrap_or(u32::MAX),
        cpus: threads.iter().map(|thread| thread.cpu).collect(),
    }
}
