// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts.

use units::{CpuSet, PciAddress};

use crate::Fact;

/// An interrupt.
#[derive(Debug, Clone, PartialEq)]
pub struct Irq {
    /// The kernel's number.
    pub number: u32,
    /// Action names from /proc/interrupts, as printed after chip and hwirq: `nvme0q1`,
    /// `mlx5_comp3@pci:0000:86:00.0`.
    pub actions: Vec<String>,
    /// Chip and hwirq in words: `PCI-MSI 524289-edge`.
    pub chip: String,
    /// What raised it, and how that is known.
    pub source: Option<IrqSource>,
    /// `smp_affinity_list`.
    pub affinity: Fact<CpuSet>,
    /// `effective_affinity_list`; changes only at the next interrupt.
    pub effective: Fact<CpuSet>,
    /// `affinity_hint`; empty when the driver gives none.
    pub hint: CpuSet,
    /// Whether the kernel places it by itself.
    pub managed: Managed,
    /// (CPU, count) for CPUs that took it at least once.
    pub counts: Vec<(u32, u64)>,
}

/// Which device and queue an interrupt serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IrqSource {
    /// PCI function.
    pub function: Option<PciAddress>,
    /// Device that a person would name: `nvme0`, `eth0`, `virtio1`, else the function's address.
    pub device: String,
    /// Queue number where the action's name tells; none for admin, config and event vectors.
    pub queue: Option<u32>,
    /// Whether this vector carries I/O completions or packets (not admin, config, events).
    pub is_io: bool,
    /// Known by `msi_irqs` (else by the action's name).
    pub by_msi: bool,
}

/// Whether the kernel places an interrupt by itself, and how that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Managed {
    /// May be moved.
    #[default]
    No,
    /// `smp_affinity` has no write bit (kernels from 6.12) or debugfs says so.
    Told,
    /// The driver asks the kernel for managed vectors (NVMe I/O queues, virtio-blk, RAID drivers).
    ByDriver,
}
