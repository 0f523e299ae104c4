// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a machine, observations, the catalogue and a goal to findings.
//!
//! ```text
//! Machine ──> facts ──┐
//! files read ─────────┴─> observations ──> wishes (data) ──┐
//! Machine ──> rules (how things hang together) ────────────┴─> findings ──> rank
//! ```
//!
//! Pure: no I/O, no clock, no randomness. A rule that the catalogue's files can say (a value
//! against a wish) is data; a rule that looks at how things hang together (an interrupt on the far
//! node, a link below its best) is one file in `rules/`. Words about cost and effect come from the
//! catalogue in both cases.

#![forbid(unsafe_code)]

mod context;
mod devices;
mod draft;
mod facts;
mod layout;
mod lines;
mod place;
mod rank;
mod rules;
mod tags;
mod wishes;
mod words;

#[cfg(test)]
mod tests;

use catalogue::Catalogue;
use machine::Machine;
use setting::{Finding, Goal, Observation};

use crate::context::Context;

/// What an audit looks at.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// What was observed of the catalogue's settings by reading files.
    pub observations: &'a [Observation],
    /// The catalogue.
    pub catalogue: &'a Catalogue,
    /// What the machine is tuned for.
    pub goal: Goal,
}

/// What an audit gives.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    /// Every observation: those of files and those that are facts of the model.
    pub settings: Vec<Observation>,
    /// What is wrong, the costliest first.
    pub findings: Vec<Finding>,
}

/// Audits a machine.
pub fn audit(subject: &Subject<'_>) -> Audit {
    let Subject { machine, observations, catalogue, goal } = *subject;
    let context = Context::new(machine, catalogue, goal, observations);
    let mut settings = observations.to_vec();
    settings.extend(facts::observe(&context));
    let mut drafts = wishes::drafts(&context, &settings);
    drafts.extend(rules::drafts(&context));
    let mut findings: Vec<Finding> =
        drafts.into_iter().map(|draft| draft.finish(&context)).collect();
    rank::rank(&mut findings);
    Audit { settings, findings }
}

/// Whether a finding speaks of `device`: by the name it uses, or by another name of the same
/// device (a drive, its controller, the PCI function under both, with or without `/dev/`).
/// Findings about the machine as a whole speak of no device.
pub fn is_about(finding: &Finding, machine: &Machine, device: &str) -> bool {
    finding.devices.iter().any(|name| is_same(machine, name, device))
}

/// Whether two names are of one device, as [`is_about`] compares them.
pub fn is_same(machine: &Machine, name: &str, device: &str) -> bool {
    let device = device.strip_prefix("/dev/").unwrap_or(device);
    name == device || devices::aliases(machine, device).contains(name)
}
