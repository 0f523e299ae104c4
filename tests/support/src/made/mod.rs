// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines and loads made by hand, as plain values without files: what rules judge, printers draw and
//! engines carry out.
//!
//! One builder for all crates that read a model, so that a healthy machine is the same everywhere.
//! It knows `base` only; machines with a whole /sys are `capture/synthetic`'s.

mod cpus;
mod devices;
mod load;
mod whole;

pub use cpus::{Order, Shape, bare, node, server, set};
pub use devices::{
    Place, add_drive, add_port, address, bridge, drive, function, irq, link, nic, port, side,
};
pub use load::workload;
pub use whole::{
    dimm, full, guest, healthy, hostile, into_guest, mixed_cpus, option, service, storage_server,
};
