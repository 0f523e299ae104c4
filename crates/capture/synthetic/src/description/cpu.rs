// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processors, their numbering, and memory.

use serde::Deserialize;
use units::CpuSet;

use crate::Error;

/// Processors: all packages are alike.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cpu {
    /// `vendor_id` of /proc/cpuinfo.
    #[serde(default = "intel")]
    pub vendor: String,
    /// `model name`.
    pub name: String,
    /// `cpu family`, `model`, `stepping`.
    #[serde(default = "granite_rapids")]
    pub id: [u32; 3],
    /// More `flags` than every x86-64-v3 server has.
    #[serde(default)]
    pub flags: String,
    /// Packages.
    pub packages: u32,
    /// NUMA nodes of a package: SNC, NPS.
    #[serde(default = "one")]
    pub nodes_per_package: u32,
    /// Dies of a package.
    #[serde(default = "one")]
    pub dies_per_package: u32,
    /// Cores of a node.
    pub cores_per_node: u32,
    /// Threads of a core: 1 or 2.
    #[serde(default = "one")]
    pub threads: u32,
    /// Order in which the firmware lists the cores.
    #[serde(default)]
    pub numbering: Numbering,
    /// Where the second thread of a core is numbered.
    #[serde(default)]
    pub siblings: Siblings,
    /// What shares an L3 cache.
    #[serde(default)]
    pub l3: L3,
    /// Size of one L3 cache, KiB.
    #[serde(default = "l3_kib")]
    pub l3_kib: u32,
    /// Size of a core's L2 cache, KiB.
    #[serde(default = "l2_kib")]
    pub l2_kib: u32,
    /// CPUs that are present and not online.
    #[serde(default)]
    pub offline: CpuSet,
    /// `isolcpus`.
    #[serde(default)]
    pub isolated: CpuSet,
    /// `nohz_full`.
    #[serde(default)]
    pub nohz_full: CpuSet,
    /// What this process may use; all online CPUs where it is empty.
    #[serde(default)]
    pub allowed: CpuSet,
    /// `cpu/smt/control` where it is not what the threads suggest.
    #[serde(default)]
    pub smt: Option<String>,
}

/// Order of the cores in the firmware's MADT, which is the order of CPU numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Numbering {
    /// Node after node.
    #[default]
    Linear,
    /// A core of each package in turn.
    RoundRobinPackage,
    /// A core of each node in turn.
    RoundRobinNode,
}

/// Where the second thread of a core is numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Siblings {
    /// n and n + 1.
    Adjacent,
    /// After the first threads of all cores.
    #[default]
    SecondHalf,
}

/// What shares an L3 cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum L3 {
    /// The cores of a node.
    #[default]
    Node,
    /// The cores of a package.
    Package,
    /// That many cores: the core complexes of an EPYC.
    Cores(u32),
}

impl Cpu {
    /// Nodes with CPUs.
    pub fn node_count(&self) -> u32 {
        self.packages.saturating_mul(self.nodes_per_package)
    }

    /// Logical CPUs.
    pub fn count(&self) -> u64 {
        [self.packages, self.nodes_per_package, self.cores_per_node, self.threads]
            .into_iter()
            .fold(1, |product, factor| product.saturating_mul(u64::from(factor)))
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let counts = [
            ("cpu.packages", self.packages),
            ("cpu.nodes-per-package", self.nodes_per_package),
            ("cpu.dies-per-package", self.dies_per_package),
            ("cpu.cores-per-node", self.cores_per_node),
            ("cpu.threads", self.threads),
        ];
        if let Some((key, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(Error::impossible(key, "must be at least 1"));
        }
        if self.threads > 2 {
            return Err(Error::impossible("cpu.threads", "an x86 core has 1 or 2"));
        }
        if self.l3 == L3::Cores(0) {
            return Err(Error::impossible("cpu.l3", "a cache is shared by at least 1 core"));
        }
        if self.offline.contains(units::Cpu(0)) {
            return Err(Error::impossible("cpu.offline", "CPU 0 stays online on x86"));
        }
        Ok(())
    }
}

/// Memory of the nodes that have CPUs, and all distances.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Memory {
    /// Memory of each node, MiB; the last value stands for the rest.
    pub node_mib: Vec<u64>,
    /// Distance to another node of the same package.
    #[serde(default = "near")]
    pub near: u8,
    /// Distance to a node of another package.
    #[serde(default = "far")]
    pub far: u8,
    /// Share of the memory that is free, percent.
    #[serde(default = "free")]
    pub free_percent: u64,
}

impl Memory {
    pub(crate) fn check(&self, nodes: u32) -> Result<(), Error> {
        if self.node_mib.is_empty() {
            return Err(Error::impossible("memory.node-mib", "names no node"));
        }
        if self.node_mib.len() > usize::try_from(nodes).unwrap_or(usize::MAX) {
            let message = format!("more values than the {nodes} nodes with CPUs");
            return Err(Error::impossible("memory.node-mib", message));
        }
        if self.near < 10 || self.far < 10 || self.free_percent > 100 {
            return Err(Error::impossible(
                "memory",
                "distances are 10 or more, shares 100 or less",
            ));
        }
        Ok(())
    }

    /// Memory of a node, MiB.
    pub(crate) fn of(&self, node: u32) -> u64 {
        let index = usize::try_from(node).unwrap_or(usize::MAX);
        self.node_mib.get(index).or(self.node_mib.last()).copied().unwrap_or(0)
    }
}

/// A node without CPUs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MemoryOnly {
    /// What it is.
    pub kind: MemoryKind,
    /// Size, MiB.
    pub mib: u64,
    /// The node with CPUs that it is nearest to.
    pub near: u32,
    /// Distance to that node.
    #[serde(default = "cxl_distance")]
    pub distance: u8,
}

/// Kinds of memory without CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryKind {
    /// Persistent memory used as memory.
    Pmem,
    /// CXL.
    Cxl,
    /// High-bandwidth memory on the package.
    Hbm,
    /// Memory of a GPU.
    Gpu,
}

/// A group of memory modules that are alike, as SMBIOS lists them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Dimms {
    /// Text before the number in the locator: `A` makes `A1`, `A2`.
    pub prefix: String,
    /// Slots.
    pub slots: u32,
    /// How many of them, from the first, are filled.
    pub filled: u32,
    /// Size of a module, GiB.
    pub gib: u32,
    /// Rated speed, MT/s.
    #[serde(default = "rated")]
    pub rated: u16,
    /// Configured speed, MT/s; the rated one where it is missing.
    #[serde(default)]
    pub configured: Option<u16>,
    /// SMBIOS memory type: `DDR4`, `DDR5`.
    #[serde(default = "ddr5")]
    pub kind: String,
}

const fn one() -> u32 {
    1
}

const fn near() -> u8 {
    12
}

const fn far() -> u8 {
    21
}

const fn free() -> u64 {
    90
}

const fn cxl_distance() -> u8 {
    14
}

const fn rated() -> u16 {
    6400
}

const fn l2_kib() -> u32 {
    2048
}

const fn l3_kib() -> u32 {
    262_144
}

fn intel() -> String {
    "GenuineIntel".to_owned()
}

fn ddr5() -> String {
    "DDR5".to_owned()
}

/// Family, model and stepping of Xeon 6 with performance cores (INTEL_GRANITERAPIDS_X in the
/// kernel's arch/x86/include/asm/intel-family.h).
const fn granite_rapids() -> [u32; 3] {
    [6, 173, 1]
}
