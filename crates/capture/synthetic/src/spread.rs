// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the kernel spreads managed interrupts over CPUs (lib/group_cpus.c).
//!
//! Every node gets groups in proportion to its CPUs, at least one; within a node a group takes
//! whole cores first. With fewer groups than nodes, a group takes the CPUs of whole nodes.

use units::{Cpu, CpuSet};

use crate::topology::Topology;

/// The CPUs of each of `groups` managed vectors.
pub(crate) fn managed(topology: &Topology, groups: u32) -> Vec<CpuSet> {
    let with_cpus: Vec<&CpuSet> = topology.nodes.iter().filter(|cpus| !cpus.is_empty()).collect();
    let count = usize::try_from(groups).unwrap_or(usize::MAX);
    if count == 0 {
        return Vec::new();
    }
    if count <= with_cpus.len() {
        let mut sets = vec![CpuSet::new(); count];
        for (index, node) in with_cpus.iter().enumerate() {
            if let Some(set) = sets.get_mut(index % count) {
                *set = set.or(node);
            }
        }
        return sets;
    }
    shares(&with_cpus, count)
        .into_iter()
        .zip(with_cpus)
        .flat_map(|(share, node)| within(topology, node, share))
        .collect()
}

/// Groups of each node: the smallest node first, each in proportion to what is left.
fn shares(nodes: &[&CpuSet], groups: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|index| nodes.get(*index).map_or(0, |node| node.len()));
    let mut cpus: usize = nodes.iter().map(|node| node.len()).sum();
    let mut left = groups.min(cpus);
    let mut shares = vec![0; nodes.len()];
    for index in order {
        let own = nodes.get(index).map_or(0, |node| node.len());
        let share = (left * own / cpus.max(1)).max(1).min(own);
        if let Some(place) = shares.get_mut(index) {
            *place = share;
        }
        left = left.saturating_sub(share);
        cpus -= own;
    }
    shares
}

/// The groups of one node: the first ones take a CPU more where the division leaves a rest.
fn within(topology: &Topology, node: &CpuSet, groups: usize) -> Vec<CpuSet> {
    let ordered = by_core(topology, node);
    let (each, mut rest) = (ordered.len() / groups.max(1), ordered.len() % groups.max(1));
    let mut remaining = ordered.into_iter();
    (0..groups)
        .map(|_| {
            let more = usize::from(rest > 0);
            rest = rest.saturating_sub(1);
            remaining.by_ref().take(each + more).collect()
        })
        .collect()
}

/// The CPUs of a node with the threads of a core side by side, cores by their lowest CPU.
fn by_core(topology: &Topology, node: &CpuSet) -> Vec<Cpu> {
    let mut lowest = std::collections::BTreeMap::new();
    let threads: Vec<_> = topology.cpus.iter().filter(|cpu| node.contains(Cpu(cpu.cpu))).collect();
    for cpu in &threads {
        lowest.entry((cpu.package, cpu.core)).or_insert(cpu.cpu);
    }
    let mut ordered: Vec<(u32, u32)> = threads
        .iter()
        .map(|cpu| (lowest.get(&(cpu.package, cpu.core)).copied().unwrap_or(cpu.cpu), cpu.cpu))
        .collect();
    ordered.sort_unstable();
    ordered.into_iter().map(|(_, cpu)| Cpu(cpu)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 packages x 2 nodes x 2 cores x 2 threads.
    fn topology(siblings: &str) -> Topology {
        let text = format!(
            "about = 'x'\n[cpu]\nname = 'x'\npackages = 2\nnodes-per-package = 2\n\
             cores-per-node = 2\nthreads = 2\nsiblings = '{siblings}'\n[memory]\nnode-mib = [64]\n"
        );
        Topology::new(&crate::parse(&text).unwrap())
    }

    fn lists(topology: &Topology, groups: u32) -> Vec<String> {
        managed(topology, groups).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn four_vectors_are_four_nodes() {
        // As nvme2q1 to nvme2q4 of a 16-CPU guest with 4 nodes: 0-3, 4-7, 8-11, 12-15.
        assert_eq!(lists(&topology("adjacent"), 4), ["0-3", "4-7", "8-11", "12-15"]);
    }

    #[test]
    fn eight_vectors_are_eight_cores() {
        let cores = ["0-1", "2-3", "4-5", "6-7", "8-9", "10-11", "12-13", "14-15"];
        assert_eq!(lists(&topology("adjacent"), 8), cores);
        let cores = ["0,8", "1,9", "2,10", "3,11", "4,12", "5,13", "6,14", "7,15"];
        assert_eq!(lists(&topology("second-half"), 8), cores);
    }

    #[test]
    fn every_cpu_is_in_one_group() {
        let topology = topology("second-half");
        for groups in 1..=16 {
            let sets = managed(&topology, groups);
            assert_eq!(sets.len(), groups as usize);
            assert_eq!(sets.iter().map(CpuSet::len).sum::<usize>(), 16, "{groups} groups");
            assert!(sets.iter().all(|set| !set.is_empty()));
        }
    }
}
