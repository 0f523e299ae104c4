// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes wrong when a drawing is asked for: a device that is not there.

use machine::Machine;

use crate::{names, text};

/// A name that no device of the machine has, and those that it does have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no device is called {asked:?}; there are {known}")]
pub struct UnknownDevice {
    /// The name asked for, made harmless.
    pub asked: String,
    /// Names to choose from, consecutive ones joined.
    pub known: String,
}

impl UnknownDevice {
    /// The error for a name, with the names that there are.
    pub fn of(machine: &Machine, asked: &str) -> Self {
        let drives = machine.drives.iter().map(|drive| drive.name.as_str());
        let nics = machine.nics.iter().map(|nic| nic.name.as_str());
        let gpus = machine.gpus.iter().map(|gpu| gpu.name.as_str());
        let known = names::compact(drives.chain(nics).chain(gpus)).replace('\u{a0}', " ");
        let known = text::cut(&text::harmless(&known), 300);
        let known = if known.is_empty() { "only PCI addresses".to_owned() } else { known };
        Self { asked: text::cut(&text::harmless(asked), 60), known }
    }
}
