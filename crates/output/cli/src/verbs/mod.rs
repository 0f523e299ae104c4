// SPDX-License-Identifier: MIT OR Apache-2.0
//! One file a verb. A verb opens what it needs, asks, and prints one answer.

mod audit;
mod capture;
mod exec;
mod explain;
mod generate;
mod plan;
mod screen;
mod topology;

use crate::args::{Arguments, Verb};
use crate::expected::{Ended, Expected};

/// Runs what was typed.
pub(crate) fn run(arguments: &Arguments) -> Result<Ended, Expected> {
    let common = &arguments.common;
    match &arguments.verb {
        None => screen::run(common),
        Some(Verb::Topology(topology)) => topology::run(common, topology),
        Some(Verb::Audit(audit)) => audit::run(common, audit),
        Some(Verb::Plan(plan)) => plan::run(common, plan),
        Some(Verb::Explain(explain)) => explain::run(common, explain),
        Some(Verb::Capture(capture)) => capture::run(common, capture),
        Some(Verb::Exec(exec)) => exec::run(common, exec),
        Some(Verb::Generate(generate)) => generate::run(generate),
    }
}
