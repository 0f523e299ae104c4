// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CPUs of a node that may take interrupts, in the order in which they are given out.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Machine, Node};
use units::{Cpu, CpuSet, NodeId};

/// The CPUs of one node for interrupts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pool {
    /// One CPU a core, round through the L3 domains; then the second threads in the same order.
    pub(crate) slots: Vec<Cpu>,
    /// All of them.
    pub(crate) cpus: CpuSet,
    /// Where an interrupt may be without being moved: those, and CPUs of the node that this process
    /// alone may not use.
    pub(crate) wide: CpuSet,
    /// How many cores there are.
    pub(crate) cores: usize,
    /// The next slot to be given out.
    next: usize,
}

impl Pool {
    /// The next CPU in turn.
    pub(crate) fn take(&mut self) -> Option<Cpu> {
        let slot = self.slots.get(self.next % self.slots.len().max(1)).copied();
        self.next = self.next.wrapping_add(1);
        slot
    }
}

/// Pools by node, made when first asked for.
#[derive(Debug)]
pub(crate) struct Pools<'a> {
    machine: &'a Machine,
    core_of: BTreeMap<u32, (Cpu, u32)>,
    pools: BTreeMap<NodeId, Pool>,
}

impl<'a> Pools<'a> {
    pub(crate) fn of(machine: &'a Machine) -> Self {
        let threads = machine.cpus.threads.iter();
        let core_of = threads.map(|thread| (thread.cpu.0, (thread.core, thread.rank))).collect();
        Self { machine, core_of, pools: BTreeMap::new() }
    }

    /// The pool for devices on `node`: of the nearest node with CPUs where it has none that may
    /// take interrupts.
    pub(crate) fn near(&mut self, node: NodeId) -> Option<&mut Pool> {
        let nodes = &self.machine.nodes;
        let own = nodes.iter().find(|entry| entry.id == node)?;
        let mut candidates: Vec<(u32, &Node)> = vec![(0, own)];
        for (id, distance) in &own.distances {
            let other = nodes.iter().find(|entry| entry.id == *id && *id != node);
            candidates.extend(other.map(|other| (*distance, other)));
        }
        candidates.sort_by_key(|(distance, node)| (*distance, node.id));
        let found = candidates.into_iter().find(|(_, node)| !self.pool(node).slots.is_empty());
        let id = found?.1.id;
        self.pools.get_mut(&id)
    }

    /// The pool of exactly this node.
    pub(crate) fn exactly(&mut self, node: NodeId) -> Option<&mut Pool> {
        let entry = self.machine.nodes.iter().find(|entry| entry.id == node)?;
        self.pool(entry);
        self.pools.get_mut(&node).filter(|pool| !pool.slots.is_empty())
    }

    fn pool(&mut self, node: &Node) -> &Pool {
        if !self.pools.contains_key(&node.id) {
            let pool = self.make(node);
            self.pools.insert(node.id, pool);
        }
        self.pools.entry(node.id).or_default()
    }

    fn make(&self, node: &Node) -> Pool {
        let cpus = &self.machine.cpus;
        let free = node.cpus.and(&cpus.online).minus(&cpus.isolated);
        let quiet = free.minus(&cpus.nohz_full);
        let wide = if quiet.is_empty() { free } else { quiet };
        // What this process may use says little where it may use nothing of the node.
        let usable = self.machine.usable(&wide);
        let usable = if usable.is_empty() { wide.clone() } else { usable };
        let (slots, cores) = self.slots(&usable);
        Pool { slots, cpus: usable, wide, cores, next: 0 }
    }

    /// CPUs in the order in which they are given out, and how many cores they are of. Siblings of
    /// isolated CPUs would disturb them: they are used where there is no other.
    fn slots(&self, usable: &CpuSet) -> (Vec<Cpu>, usize) {
        let calm = usable.minus(&self.beside_isolated());
        let cores = self.cores(if calm.is_empty() { usable } else { &calm });
        let deepest = cores.iter().map(Vec::len).max().unwrap_or(0);
        let mut slots = Vec::new();
        for depth in 0..deepest {
            slots.extend(cores.iter().filter_map(|threads| threads.get(depth).copied()));
        }
        (slots, cores.len())
    }

    /// CPUs that share their core with an isolated one.
    fn beside_isolated(&self) -> CpuSet {
        let isolated = self.machine.cpus.isolated.iter();
        let cores: BTreeSet<Cpu> =
            isolated.filter_map(|cpu| self.core_of.get(&cpu.0)).map(|(core, _)| *core).collect();
        let threads = self.core_of.iter().filter(|(_, (core, _))| cores.contains(core));
        threads.map(|(cpu, _)| Cpu(*cpu)).collect()
    }

    /// The threads of each core, by rank; cores in turn over the L3 domains.
    fn cores(&self, usable: &CpuSet) -> Vec<Vec<Cpu>> {
        let mut by_core: BTreeMap<Cpu, Vec<(u32, Cpu)>> = BTreeMap::new();
        for cpu in usable.iter() {
            let (core, rank) = self.core_of.get(&cpu.0).copied().unwrap_or((cpu, 0));
            by_core.entry(core).or_default().push((rank, cpu));
        }
        let mut domains: BTreeMap<u32, Vec<Vec<Cpu>>> = BTreeMap::new();
        for (core, mut threads) in by_core {
            threads.sort_unstable();
            let threads = threads.into_iter().map(|(_, cpu)| cpu).collect();
            domains.entry(self.domain(core)).or_default().push(threads);
        }
        let most = domains.values().map(Vec::len).max().unwrap_or(0);
        let turn = |at: usize| domains.values().filter_map(move |cores| cores.get(at).cloned());
        (0..most).flat_map(turn).collect()
    }

    /// The L3 domain of a core, by its first CPU; one where no L3 is told.
    fn domain(&self, core: Cpu) -> u32 {
        let mut caches = self.machine.caches.iter().filter(|cache| cache.level == 3);
        let own = caches.find(|cache| cache.cpus.contains(core));
        own.and_then(|cache| cache.cpus.first()).map_or(0, |cpu| cpu.0)
    }
}
