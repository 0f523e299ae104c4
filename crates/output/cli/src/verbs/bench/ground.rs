// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all runs of a command share: the machine, and the wish to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use linux::Glance;
use machine::{Drive, Machine};
use record::{Environment, Run};
use root::LiveRoot;

use crate::args::Means;
use crate::expected::Expected;
use crate::{source, stop, terminal};

/// The machine that is measured.
pub(crate) struct Ground {
    pub(super) live: LiveRoot,
    pub(crate) machine: Machine,
    /// Set by a signal.
    pub(super) stop: Arc<AtomicBool>,
    topology_hash: String,
}

impl Ground {
    pub(crate) fn open(means: &Means) -> Result<Self, Expected> {
        let live = source::live()?;
        let stop = stop::on_signals()?;
        let machine = linux::read(&live);
        if means.no_store {
            terminal::hint("--no-store: what comes is shown and not kept");
        }
        let topology_hash = report::json::topology_hash(&machine);
        Ok(Self { live, machine, stop, topology_hash })
    }

    /// Whether somebody asked for the end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The drives of this machine among names.
    pub(super) fn drives<'a>(&'a self, names: &[Option<String>]) -> Vec<&'a Drive> {
        let is_named = |drive: &&Drive| names.iter().flatten().any(|name| *name == drive.name);
        self.machine.drives.iter().filter(is_named).collect()
    }

    pub(super) fn glance(&self, drives: &[&Drive]) -> Glance {
        linux::glance(&self.live, &self.machine, drives)
    }

    /// Adds to a run what it took place in, and what that says against it.
    pub(super) fn surround(&self, run: &mut Run, drives: &[&Drive], before: &Glance) {
        let after = self.glance(drives);
        let told = linux::environment(&self.live, &self.machine, drives, (before, &after));
        let unknown = std::mem::take(&mut run.environment.unknown);
        run.environment = Environment { topology_hash: Some(self.topology_hash.clone()), ..told };
        run.environment.unknown.extend(unknown);
        if let record::Outcome::Measured(measured) = &mut run.outcome {
            measured.doubts.extend(analyse::doubts(&run.environment));
        }
    }
}
