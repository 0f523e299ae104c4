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
mod claims;
mod cpu;
mod dmi;
mod environment;
#[doc(hidden)]
pub mod fuzz;
mod gpu;
mod host;
mod irq;
mod near;
mod net;
mod node;
mod observe;
mod parallel;
mod pci;
mod power;
mod quote;
mod rdma;
mod troubles;

use machine::Machine;
use root::Root;

pub use claims::{Claim, Claimed, HEAD, Kin, TAIL, Unseen, claims, signatures};
pub use environment::{Glance, environment, glance};
pub use host::services;
pub use irq::{Vector, vectors};
pub use near::{Addresses, Asked, Part, ask_places, site};
pub use net::carriers;
pub use observe::observe;
pub use quote::quote;
pub use troubles::Troubles;

/// Reads a whole machine.
///
/// The order is that of dependence: functions need nodes, drives and NICs need functions,
/// interrupts need all of them for their names. What needs nothing is read beside all of that:
/// frequency and idle states, and the text of `/proc/interrupts`.
pub fn read(root: &dyn Root) -> Machine {
    let mut last = Troubles::default();
    let mut troubles = Troubles::default();
    let beside = || (irq::text(root), power::read(root, &mut last));
    let ((text, power), mut machine) = parallel::both(beside, || chain(root, &mut troubles));
    let Machine { functions, nics, .. } = &machine;
    machine.irqs = irq::read(root, text, functions, nics, &mut troubles);
    troubles.add(last);
    Machine { power, unknown: troubles.into_list(), ..machine }
}

/// What is read one after another.
fn chain(root: &dyn Root, troubles: &mut Troubles) -> Machine {
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
        ..Machine::default()
    }
}
