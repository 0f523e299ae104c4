// SPDX-License-Identifier: MIT OR Apache-2.0
//! Made-up machines: a short description in TOML becomes a whole /sys and /proc, faults included.
//!
//! The descriptions in `machines/` stand for servers that no one here owns: those of the published
//! studies, an eight-socket and a thousand-CPU machine, a healthy one and a sick one. What is
//! written follows the kernel's own texts byte for byte (paddings, trailing blanks, missing line
//! feeds), so that lstopo and lscpu read it as they read a real machine; the tests hold the
//! machines against both. The same description always gives the same bytes.
//!
//! ```text
//!                    ┌ cpu, cache, node, memory ┐
//! TOML ─ Description ┼ acpi, dmi, host, kernel  ┼─ Tree ─ faults ─┬─ MemoryRoot
//!                    └ pci ─ nvme, scsi, net ─ irq ┘              └─ a folder
//! ```
//!
//! ```
//! use nearside_synthetic as synthetic;
//! let text = synthetic::named("virtual-machine").expect("an embedded machine");
//! let machine = synthetic::parse(text).expect("embedded machines are sound").build();
//! # let _ = machine;
//! ```
//!
//! It reads nothing of the machine it runs on, and it has no opinion: what is wrong with a made-up
//! machine is for others to find.

#![forbid(unsafe_code)]

mod acpi;
mod block;
mod build;
mod cache;
mod config_space;
mod cpu;
mod description;
mod dmi;
mod embedded;
mod error;
mod ethtool;
mod fault;
mod gpu;
mod host;
mod irq;
mod kernel;
mod net;
mod node;
mod nvme;
mod pci;
mod power;
mod scsi;
mod spread;
mod text;
mod topology;
mod tree;
mod write;

pub use description::*;
pub use embedded::{named, names};
pub use error::Error;
pub use tree::{Entry, Tree};

/// Reads a description.
///
/// # Errors
/// Text that is no description (with its line), or a machine that cannot be (with its key).
pub fn parse(text: &str) -> Result<Description, Error> {
    let description: Description =
        toml::from_str(text).map_err(|error| Error::from_toml(text, &error))?;
    description.check()?;
    Ok(description)
}
