// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a guest is started, besides its machine and kernel.

use crate::drives::Drives;
use crate::qemu::Ends;
use crate::wire::{End, Wire};

/// Where the guest's serial console goes, besides its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Console {
    /// Nowhere.
    #[default]
    Log,
    /// To the terminal, with a shell on it.
    Terminal,
}

/// The guest's first process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Init {
    /// A shell script, on a root file system that is new with each QEMU.
    #[default]
    Script,
    /// systemd with udev, on a root file system that goes with the drives: units stay.
    Systemd,
}

/// How a guest is started.
#[derive(Debug, Default)]
pub struct Options {
    pub(crate) drives: Option<Drives>,
    pub(crate) console: Console,
    pub(crate) init: Init,
    pub(crate) ends: Ends,
}

impl Options {
    /// Sends the console somewhere.
    #[must_use]
    pub fn console(mut self, console: Console) -> Self {
        self.console = console;
        self
    }

    /// Starts the guest with another first process.
    #[must_use]
    pub fn init(mut self, init: Init) -> Self {
        self.init = init;
        self
    }

    /// Joins a NIC whose wiring is `wire` to one end of a cable.
    #[must_use]
    pub fn wire(mut self, nic: &str, wire: &Wire, end: End) -> Self {
        self.ends.insert(nic.to_owned(), (wire.netdev(end), end as u8 + 1));
        self
    }

    /// Starts with the drives of an earlier guest instead of new, empty ones.
    #[must_use]
    pub fn drives(mut self, drives: Drives) -> Self {
        self.drives = Some(drives);
        self
    }
}
