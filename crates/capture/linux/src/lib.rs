// SPDX-License-Identifier: MIT OR Apache-2.0
//! What Linux says of a machine: pure parsers beside small readers, one file per thing read.
//!
//! A reader asks a [`root::Root`] and fills a part of the [`machine::Machine`]; its parser takes
//! text and knows no root. Reading a machine never fails as a whole: what cannot be read is a
//! [`Why`](machine::Why) in its place, and where a person should know, a line in
//! [`Machine::unknown`].
//!
//! ```text
//! host ─ cpu ─ cache ─ node ─ acpi ─ dmi ─┐
//! pci ─ config ─ link ─ slot ─ inference ─┼─> Machine ─> observe (catalogue's signs) ─> Observation
//! nvme ─ scsi ─ block ─ net ─ rdma ─ gpu ─┤
//! irq ─ power ─ service ──────────────────┘
//! ```
//!
//! It holds no opinion: whether a value is good is decided elsewhere.

#![forbid(unsafe_code)]

mod acpi;
mod block;
mod cache;
mod cpu;
mod dmi;
#[doc(hidden)]
pub mod fuzz;
mod gpu;
mod host;
mod irq;
mod net;
mod node;
mod observe;
mod pci;
mod power;
mod rdma;
mod troubles;

use machine::Machine;
use root::Root;

pub use observe::observe;
pub use troubles::Troubles;

/// Reads a whole machine.
///
/// The order is that of dependence: functions need nodes, drives and NICs need functions,
/// interrupts need all of them for their names.
pub fn read(root: &dyn Root) -> Machine {
    let mut troubles = Troubles::default();
    let host = host::read(root, &mut troubles);
    let mut cpus = cpu::read(root, &mut troubles);
    let nodes = node::read(root, &cpus, &mut troubles);
    cpu::place_on_nodes(&mut cpus, &nodes);
    let caches = cache::read(root, &cpus);
    let acpi = acpi::read(root, &mut troubles);
    let dimms = dmi::read(root, &mut troubles);
    let functions = pci::read(root, &nodes, &mut troubles);
    let (drives, volumes) = block::read(root, &functions, &mut troubles);
    let nics = net::read(root, &functions, &mut troubles);
    let rdma = rdma::read(root, &functions, &nics);
    let gpus = gpu::read(root, &functions, &nodes);
    let irqs = irq::read(root, &functions, &nics, &mut troubles);
    let power = power::read(root, &mut troubles);
    Machine {
        host,
        cpus,
        caches,
        nodes,
        dimms,
        acpi,
        functions,
        drives,
        volumes,
        nics,
        rdma,
        gpus,
        irqs,
        power,
        unknown: troubles.into_list(),
    }
}
