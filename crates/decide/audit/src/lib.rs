// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a machine, observations, the catalogue and a goal to findings.
//!
//! Pure: no I/O, no clock, no randomness. A rule that the catalogue's files can say (a value
//! against a wish) is data; a rule that looks at how things hang together (an interrupt on the far
//! node, a link below its best) is one file in `rules/`. Words about cost and effect come from the
//! catalogue in both cases.

use catalogue::Catalogue;
use machine::Machine;
use setting::{Finding, Goal, Observation};

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
    Audit { settings: subject.observations.to_vec(), findings: Vec::new() }
}
