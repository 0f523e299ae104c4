// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processors: how many, where, and in which order the firmware lists them.

use serde::Deserialize;

/// Packages, dies, cores and threads, all alike.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpus {
    /// QEMU's model. Under TCG, AMD's models have neither threads nor dies in sysfs.
    pub model: String,
    /// Packages.
    pub packages: u16,
    /// Dies of a package.
    #[serde(default = "one")]
    pub dies: u16,
    /// Cores of a die.
    pub cores: u16,
    /// Threads of a core.
    #[serde(default = "one")]
    pub threads: u16,
    /// Nodes of a package; each has as many cores as the others.
    #[serde(default = "one")]
    pub nodes_per_package: u16,
    /// The order in which the firmware lists the processors.
    #[serde(default)]
    pub numbering: Numbering,
    /// Whether the processors hide that they are emulated: what is wished for real servers only is
    /// wished in the guest then.
    #[serde(default)]
    pub bare_metal: bool,
}

/// The order of processors in the MADT, which becomes Linux's numbering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Numbering {
    /// Package after package, siblings next to each other.
    #[default]
    Linear,
    /// Packages in turn, first threads of all cores before the second ones.
    RoundRobin,
}

/// One logical processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu {
    /// Its package.
    pub package: u16,
    /// Its die within the package.
    pub die: u16,
    /// Its core within the die.
    pub core: u16,
    /// Its thread within the core.
    pub thread: u16,
    /// Its node.
    pub node: u16,
}

impl Cpus {
    /// Every processor, in the order of Linux's numbers.
    pub fn listed(&self) -> Vec<Cpu> {
        let mut cpus = self.in_place();
        if self.numbering == Numbering::RoundRobin {
            cpus.sort_by_key(|cpu| (cpu.thread, cpu.die, cpu.core, cpu.package));
        }
        cpus
    }

    /// Every processor, by place: QEMU's order, in which APIC ids rise.
    pub fn in_place(&self) -> Vec<Cpu> {
        let mut cpus = Vec::new();
        for package in 0..self.packages {
            for die in 0..self.dies {
                for core in 0..self.cores {
                    let node = self.node(package, die, core);
                    cpus.extend((0..self.threads).map(|thread| Cpu {
                        package,
                        die,
                        core,
                        thread,
                        node,
                    }));
                }
            }
        }
        cpus
    }

    /// Cores of a package.
    pub fn cores_of_package(&self) -> u16 {
        self.dies * self.cores
    }

    fn node(&self, package: u16, die: u16, core: u16) -> u16 {
        let cores_of_node = (self.cores_of_package() / self.nodes_per_package).max(1);
        package * self.nodes_per_package + (die * self.cores + core) / cores_of_node
    }

    /// The APIC id of a processor: thread, core, die and package, each in as many bits as its
    /// count needs (QEMU, `include/hw/i386/topology.h`).
    pub fn apic_id(&self, cpu: &Cpu) -> u32 {
        let mut id = u32::from(cpu.package);
        for (part, count) in
            [(cpu.die, self.dies), (cpu.core, self.cores), (cpu.thread, self.threads)]
        {
            id = id << bits(count) | u32::from(part);
        }
        id
    }
}

/// Bits that hold the numbers below a count.
fn bits(count: u16) -> u32 {
    u16::BITS - count.saturating_sub(1).leading_zeros()
}

fn one() -> u16 {
    1
}
