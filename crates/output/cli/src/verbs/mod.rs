// SPDX-License-Identifier: MIT OR Apache-2.0
//! One file a verb. A verb opens what it needs, asks, and prints one answer.

mod apply;
mod audit;
mod bench;
mod capture;
mod change;
mod exec;
mod explain;
mod generate;
mod persist;
mod plan;
mod revert;
mod runs;
mod screen;
mod sweep;
mod topology;
mod verify;

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
        Some(Verb::Apply(apply)) => apply::run(common, apply),
        Some(Verb::Verify(verify)) => verify::run(common, verify),
        Some(Verb::Revert(revert)) => revert::run(common, revert),
        Some(Verb::Persist(persist)) => persist::run(common, persist),
        Some(Verb::HoldIdleLatency { bound_us }) => match ::apply::hold_idle_latency(*bound_us)? {},
        Some(Verb::Explain(explain)) => explain::run(common, explain),
        Some(Verb::Capture(capture)) => capture::run(common, capture),
        Some(Verb::Exec(exec)) => exec::run(common, exec),
        Some(Verb::Bench(asked)) => bench::run(common, asked),
        Some(Verb::Sweep(asked)) => sweep::run(common, asked),
        Some(Verb::Runs(asked)) => runs::run(common, asked),
        Some(Verb::Generate(generate)) => generate::run(generate),
    }
}
