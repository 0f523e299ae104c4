// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the signs of catalogue entries.

use machine::Machine;
use root::Root;
use setting::{Observation, Setting};

/// Observes every setting that a file of the kernel shows. Settings whose sign is a fact of the
/// model or that have none are left to `decide`.
pub fn observe(_root: &dyn Root, _machine: &Machine, _settings: &[Setting]) -> Vec<Observation> {
    Vec::new()
}
