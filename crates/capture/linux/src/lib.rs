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

mod acpi;
mod block;
mod cache;
mod cpu;
mod dmi;
mod gpu;
mod host;
mod irq;
mod net;
mod node;
mod observe;
mod parallel;
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
/// interrupts need all of them for their names. Frequency and idle states need nothing.
pub fn read(root: &dyn Root) -> Machine {
    let mut last = Troubles::default();
    let mut troubles = Troubles::default();
    let power = || power::read(root, &mut last);
    let (power, machine) = parallel::both(power, || all_but_power(root, &mut troubles));
    troubles.add(last);
    Machine { power, unknown: troubles.into_list(), ..machine }
}

fn all_but_power(root: &dyn Root, troubles: &mut Troubles) -> Machine {
    let host = host::read(root, troubles);
    let mut cpus = cpu::read(root, troubles);
    let nodes = node::read(root, &cpus, troubles);
    cpu::place_on_nodes(&mut cpus, &nodes);
    let caches = cache::read(root, &cpus);
    let acpi = acpi::read(root, troubles);
    let dimms = dmi::read(root, troubles);
    let functions = pci::read(root, &nodes, troubles);
    let mut later = Troubles::default();
    let ((drives, volumes), nics) = parallel::both(
        || block::read(root, &functions, troubles),
        || net::read(root, &functions, &mut later),
    );
    troubles.add(later);
    let rdma = rdma::read(root, &functions, &nics);
    let gpus = gpu::read(root, &functions, &nodes);
    let irqs = irq::read(root, &functions, &nics, troubles);
    let unknown = Vec::new();
    let power = machine::Power::default();
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
        unknown,
    }
}
