// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPU is which: the numbering that follows from the description.
//!
//! Linux numbers CPUs in the order in which the MADT lists them, so that one list serves sysfs,
//! /proc/cpuinfo and the ACPI tables.

use units::{Cpu, CpuSet};

use crate::text::range;
use crate::{Description, L3, Numbering, Siblings};

/// One logical CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Logical {
    pub(crate) cpu: u32,
    pub(crate) package: u32,
    pub(crate) die: u32,
    pub(crate) node: u32,
    /// Number within the package.
    pub(crate) core: u32,
    pub(crate) thread: u32,
    pub(crate) apic: u32,
    /// The L3 cache it uses, counted over the machine.
    pub(crate) l3: u32,
    pub(crate) online: bool,
}

/// All CPUs in the order of their numbers, and the sets that files ask for again and again.
#[derive(Debug)]
pub(crate) struct Topology {
    pub(crate) cpus: Vec<Logical>,
    pub(crate) online: CpuSet,
    /// Online CPUs by node; those without CPUs are empty.
    pub(crate) nodes: Vec<CpuSet>,
    /// Bits of a mask: the possible CPUs.
    pub(crate) bits: u32,
}

/// A core before it has a number.
struct Core {
    package: u32,
    node_in_package: u32,
    core_in_node: u32,
}

impl Topology {
    pub(crate) fn new(description: &Description) -> Self {
        let layout = &description.cpu;
        let cores = ordered_cores(description);
        let threads: Vec<(u32, &Core)> = match layout.siblings {
            Siblings::Adjacent => {
                cores.iter().flat_map(|core| (0..layout.threads).map(move |t| (t, core))).collect()
            }
            Siblings::SecondHalf => {
                (0..layout.threads).flat_map(|t| cores.iter().map(move |core| (t, core))).collect()
            }
        };
        let cpus: Vec<Logical> = (0..)
            .zip(threads)
            .map(|(cpu, (thread, core))| logical(description, cpu, thread, core))
            .collect();
        let bits = u32::try_from(cpus.len()).unwrap_or(u32::MAX);
        let online = range(0, bits).minus(&layout.offline);
        let members = |node| set(&cpus, |cpu| cpu.online && cpu.node == node);
        let nodes = (0..description.node_count()).map(members).collect();
        Self { online, nodes, bits, cpus }
    }

    /// CPUs of a node; all online CPUs for a node that is unknown, as `cpumask_of_node(-1)` has it.
    pub(crate) fn near(&self, node: i32) -> CpuSet {
        let index = usize::try_from(node).ok();
        index.and_then(|index| self.nodes.get(index)).unwrap_or(&self.online).clone()
    }

    /// The node of a CPU.
    pub(crate) fn node_of(&self, cpu: Cpu) -> u32 {
        let index = usize::try_from(cpu.0).unwrap_or(usize::MAX);
        self.cpus.get(index).map_or(0, |logical| logical.node)
    }
}

fn set(cpus: &[Logical], test: impl Fn(&Logical) -> bool) -> CpuSet {
    cpus.iter().filter(|cpu| test(cpu)).map(|cpu| Cpu(cpu.cpu)).collect()
}

fn ordered_cores(description: &Description) -> Vec<Core> {
    let layout = &description.cpu;
    let mut cores: Vec<Core> = (0..layout.packages)
        .flat_map(|package| (0..layout.nodes_per_package).map(move |node| (package, node)))
        .flat_map(|(package, node)| {
            (0..layout.cores_per_node).map(move |core| Core {
                package,
                node_in_package: node,
                core_in_node: core,
            })
        })
        .collect();
    match layout.numbering {
        Numbering::Linear => {}
        Numbering::RoundRobinPackage => {
            cores.sort_by_key(|core| (core.node_in_package, core.core_in_node, core.package));
        }
        Numbering::RoundRobinNode => {
            cores.sort_by_key(|core| (core.core_in_node, core.package, core.node_in_package));
        }
    }
    cores
}

fn logical(description: &Description, cpu: u32, thread: u32, core: &Core) -> Logical {
    let layout = &description.cpu;
    let node = core.package * layout.nodes_per_package + core.node_in_package;
    let in_package = core.node_in_package * layout.cores_per_node + core.core_in_node;
    let package_cores = layout.nodes_per_package * layout.cores_per_node;
    let die_cores = package_cores.div_ceil(layout.dies_per_package);
    let l3 = match layout.l3 {
        L3::Node => node,
        L3::Package => core.package,
        L3::Cores(cores) => core.package * package_cores.div_ceil(cores) + in_package / cores,
    };
    Logical {
        cpu,
        package: core.package,
        die: in_package / die_cores,
        node,
        core: in_package,
        thread,
        apic: (core.package << bits(package_cores) | in_package) << bits(layout.threads) | thread,
        l3,
        online: !layout.offline.contains(Cpu(cpu)),
    }
}

/// Bits that an APIC id sets aside for `count` things.
const fn bits(count: u32) -> u32 {
    count.next_power_of_two().trailing_zeros()
}
