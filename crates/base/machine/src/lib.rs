// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine as its kernel shows it: plain data, and the questions that one asks of it.
//!
//! ```text
//! Machine ── packages ── NUMA nodes ── cores ── threads
//!    │                       │
//!    │                       └── functions (PCI) ── drives, NICs, GPUs ── queues ── interrupts
//!    └── what could not be read, and why
//! ```
//!
//! The model holds what was said, not what it means: opinions live in `decide`. Every value that a
//! kernel may leave out is a [`Fact`], so that "unknown" is never a plausible number: a `numa_node`
//! of -1 is unknown, not node 0. It does no I/O and never fails.

#![forbid(unsafe_code)]

mod below;
mod block;
mod cpu;
mod diff;
mod fact;
mod function;
mod gpu;
mod host;
mod identity;
mod irq;
mod lanes;
mod link;
mod memory;
mod near;
mod net;
mod numbering;
mod package;
mod path;
mod power;
mod rdma;
mod site;
mod sub_numa;

pub use below::Below;
pub use block::{Controller, Drive, DriveKind, HiddenBy, Queue, Volume, VolumeKind};
pub use cpu::{Cache, CacheKind, CoreKind, Cpus, Smt, Thread};
pub use diff::Difference;
pub use fact::{Fact, Trouble, Why};
pub use function::{
    Ability, AcsRedirect, AerTotals, ConfigSpace, Function, Names, NodeFrom, PciClass, PortKind,
    VirtualFunctions,
};
pub use gpu::Gpu;
pub use host::{CommandLine, Container, Host, Service, Virtual};
pub use identity::is_identity;
pub use irq::{Irq, IrqSource, Managed};
pub use lanes::{LaneUse, RootLanes};
pub use link::{Aspm, AspmStates, L1Substates, LimitedBy, Link, LinkSide};
pub use memory::{Acpi, Dimm, Node, NodeKind};
pub use near::Near;
pub use net::{
    Carries, Channels, Coalescing, Feature, Nic, NicKind, Pause, ReceiveSpread, Rings, RxQueue,
    TxQueue,
};
pub use numbering::{Numbering, NumberingKind, Siblings};
pub use package::Package;
pub use path::{Meeting, Path};
pub use power::{FrequencyPolicy, IdleState, Power, Uncore};
pub use rdma::{RdmaDevice, RdmaPort};
pub use site::{End, Lost, LostWhy, Site, Target};
pub use sub_numa::{Interleaving, InterleavingState, SubNuma, SubNumaKind};

/// One machine, as far as it could be read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Machine {
    /// Vendor, firmware, kernel, hypervisor, services.
    pub host: Host,
    /// CPU sets and one [`Thread`] per present CPU.
    pub cpus: Cpus,
    /// Distinct caches, level 1 to 4, by level then first CPU.
    pub caches: Vec<Cache>,
    /// NUMA nodes by number, memory-only ones included.
    pub nodes: Vec<Node>,
    /// Memory modules by SMBIOS order.
    pub dimms: Vec<Dimm>,
    /// What the firmware's ACPI tables say.
    pub acpi: Acpi,
    /// PCI functions by address.
    pub functions: Vec<Function>,
    /// Drives by name, one for each that a person would count (a multipath head, not its paths).
    pub drives: Vec<Drive>,
    /// What is stacked on drives: md, dm, LVM, bcache, loop.
    pub volumes: Vec<Volume>,
    /// Network devices by name, virtual ones included.
    pub nics: Vec<Nic>,
    /// What each network device carries that must not stop, by name; only those that do.
    pub carriers: std::collections::BTreeMap<String, std::collections::BTreeSet<Carries>>,
    /// RDMA devices by name.
    pub rdma: Vec<RdmaDevice>,
    /// GPUs and accelerators by address.
    pub gpus: Vec<Gpu>,
    /// Interrupts by number.
    pub irqs: Vec<Irq>,
    /// Frequency, idle states, uncore.
    pub power: Power,
    /// What could not be read, and why; absences that mean nothing are not listed.
    pub unknown: Vec<Trouble>,
}
