// SPDX-License-Identifier: MIT OR Apache-2.0
//! NUMA nodes, memory modules, and what ACPI says of both.

use units::{Bytes, Cpu, CpuSet, NodeId};

use crate::{Fact, Why};

/// A NUMA node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The kernel's number.
    pub id: NodeId,
    /// `nodeN/cpulist`, offline CPUs included where the kernel lists them.
    pub cpus: CpuSet,
    /// MemTotal of `nodeN/meminfo`.
    pub memory: Fact<Bytes>,
    /// MemFree of `nodeN/meminfo`.
    pub memory_free: Fact<Bytes>,
    /// `nodeN/distance`: to each online node in ascending order of node number.
    pub distances: Vec<(NodeId, u32)>,
    /// What kind of memory it is.
    pub kind: NodeKind,
    /// Huge pages: (page size in KiB, total, free).
    pub huge_pages: Vec<(u64, u64, u64)>,
}

impl Node {
    /// An ordinary node of which only its number and its CPUs are known.
    pub fn new(id: NodeId, cpus: CpuSet) -> Self {
        Self {
            id,
            cpus,
            memory: Err(Why::Absent),
            memory_free: Err(Why::Absent),
            distances: Vec::new(),
            kind: NodeKind::Ordinary,
            huge_pages: Vec::new(),
        }
    }
}

/// What a node is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NodeKind {
    /// CPUs, with or without memory.
    #[default]
    Ordinary,
    /// Memory only: persistent memory (dax, kmem).
    PersistentMemory,
    /// Memory only: CXL memory.
    Cxl,
    /// Memory only: high-bandwidth memory.
    HighBandwidth,
    /// Memory only: the memory of a GPU.
    Gpu,
    /// Memory only, kind not told by the kernel.
    MemoryOnly,
    /// Neither CPUs nor memory.
    Empty,
}

/// A memory module or an empty slot, from SMBIOS type 17.
#[derive(Debug, Clone, PartialEq)]
pub struct Dimm {
    /// `Device Locator`: `A1`.
    pub locator: String,
    /// `Bank Locator`, often the channel.
    pub bank: String,
    /// Size; zero for an empty slot.
    pub size: Bytes,
    /// Rated speed in MT/s.
    pub rated_mts: Fact<u32>,
    /// Configured speed in MT/s.
    pub configured_mts: Fact<u32>,
    /// `DDR4`, `DDR5`, ... or `Unknown`.
    pub kind: String,
}

/// What the firmware's tables say (`/sys/firmware/acpi/tables`, root only).
#[derive(Debug, Clone, PartialEq)]
pub struct Acpi {
    /// APIC ids of enabled processors in MADT order.
    pub madt: Fact<Vec<u32>>,
    /// SRAT: (APIC id, proximity domain) of enabled processors.
    pub srat_cpus: Fact<Vec<(u32, u32)>>,
    /// SRAT: (proximity domain, bytes) of enabled memory ranges.
    pub srat_memory: Fact<Vec<(u32, u64)>>,
    /// SLIT distances, row by row.
    pub slit: Fact<Vec<Vec<u8>>>,
    /// FADT IAPC_BOOT_ARCH bit 4: the firmware tells the kernel to leave ASPM alone.
    pub fadt_no_aspm: Fact<bool>,
    /// Names of the tables present: `DMAR`, `IVRS`, `HMAT`, `CEDT`.
    pub tables: Vec<String>,
    /// (CPU, APIC id) where /proc/cpuinfo gives it.
    pub apic_ids: Vec<(Cpu, u32)>,
}

impl Default for Acpi {
    fn default() -> Self {
        Self {
            madt: Err(Why::Absent),
            srat_cpus: Err(Why::Absent),
            srat_memory: Err(Why::Absent),
            slit: Err(Why::Absent),
            fadt_no_aspm: Err(Why::Absent),
            tables: Vec::new(),
            apic_ids: Vec::new(),
        }
    }
}
