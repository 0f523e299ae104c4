// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts about memory modules.

use machine::{Dimm, Why};
use setting::{Evidence, Part, Span};
use units::Bytes;

use super::Answer;
use crate::context::Context;
use crate::lines;
use crate::rules::memory_population::{self, Population};

/// Answers a fact about memory.
pub(super) fn answer(context: &Context<'_>, fact: &str) -> Option<Vec<Answer>> {
    let answer = match fact {
        "memory-speed" => speed(&context.machine.dimms),
        "memory-population" => population(context),
        _ => return None,
    };
    Some(vec![answer])
}

/// The modules that run below their rating: (configured, rated) of the slowest against its rating.
pub(crate) fn slowed(dimms: &[Dimm]) -> Option<(u32, u32)> {
    speeds(dimms).into_iter().filter(|(now, rated)| now < rated).min_by_key(|(now, _)| *now)
}

/// (configured, rated) of every module in place that tells both.
fn speeds(dimms: &[Dimm]) -> Vec<(u32, u32)> {
    let in_place = dimms.iter().filter(|dimm| dimm.size > Bytes(0));
    let both =
        |dimm: &Dimm| Some((*dimm.configured_mts.as_ref().ok()?, *dimm.rated_mts.as_ref().ok()?));
    in_place.filter_map(both).filter(|(now, rated)| *now > 0 && *rated > 0).collect()
}

fn speed(dimms: &[Dimm]) -> Answer {
    let known = speeds(dimms).len();
    let value = match (known, slowed(dimms)) {
        (0, _) => Err(Why::Absent),
        (_, None) => Ok("rated".to_owned()),
        (_, Some((now, rated))) => Ok(format!("slowed to {now} MT/s of {rated}")),
    };
    Answer::machine(value, modules(dimms), format!("{known} modules tell their speed"))
}

/// The first modules as the firmware lists them.
fn modules(dimms: &[Dimm]) -> Vec<Evidence> {
    if dimms.is_empty() {
        return vec![Evidence::new("/sys/firmware/dmi/tables/DMI", Part::Bytes(Span::new(0, 4)))];
    }
    let line = |dimm: &Dimm| lines::module(dimm).meaning(format!("{} {}", dimm.locator, dimm.size));
    dimms.iter().take(4).map(line).collect()
}

fn population(context: &Context<'_>) -> Answer {
    let nodes = context.machine.nodes.iter().take(8).map(|node| lines::node_memory(node.id));
    let evidence: Vec<_> = nodes.chain(modules(&context.machine.dimms)).collect();
    match memory_population::judge(context) {
        Population::Unknown(why) => {
            Answer::machine(Err(why), evidence, "no module or node tells its memory")
        }
        Population::Even => Answer::machine(Ok("even".to_owned()), evidence, "alike on every node"),
        Population::Uneven { reason, .. } => {
            Answer::machine(Ok("uneven".to_owned()), evidence, reason)
        }
    }
}
