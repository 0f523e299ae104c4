// SPDX-License-Identifier: MIT OR Apache-2.0
//! NVMe drives that hang on one package, or unevenly on several.
//!
//! Not flagged: fewer than four drives, the drives that carry the system, a difference of one.

use setting::{Confidence, Severity};
use units::NodeId;

use super::spread::Spread;
use crate::context::Context;
use crate::devices;
use crate::draft::Draft;
use crate::words;

/// Fewer drives say nothing about how a machine was laid out.
const FEWEST: usize = 4;

/// (drive, node) of NVMe drives that carry no system.
pub(crate) fn drives(context: &Context<'_>) -> Vec<(String, Option<NodeId>)> {
    let drives = context.machine.drives.iter();
    let worth = drives.filter(|drive| devices::is_nvme(drive) && !devices::is_system(drive));
    worth
        .map(|drive| (drive.name.clone(), drive.controllers.first().and_then(|path| path.node)))
        .collect()
}

fn because(spread: &Spread) -> String {
    let empty = spread.empty();
    let reached = match empty.len() {
        0 => "work on the CPUs of the others finds few drives near".to_owned(),
        _ => format!(
            "the CPUs of {} reach all of them over the link between packages",
            words::numbers("package", empty)
        ),
    };
    format!(
        "of {} there are {}: the lanes and the memory of the fullest package carry the most, and \
         {reached}",
        words::count(spread.total(), "drive"),
        spread.text()
    )
}

/// One finding for the machine.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let spread = Spread::of(context, drives(context));
    let (most, fewest) = spread.extremes();
    if context.places.packages().len() < 2 || spread.total() < FEWEST || most - fewest < 2 {
        return Vec::new();
    }
    // A whole package without drives reaches all of them over the link between packages.
    let severity = if fewest == 0 { Severity::Medium } else { Severity::Low };
    let because = because(&spread);
    let mut draft = Draft::new(
        "drive-spread",
        severity,
        format!("NVMe drives are unevenly spread: {}", spread.text()),
    )
    .about_all(spread.names())
    .weighed(match fewest {
        0 => "a package has none at all",
        _ => "every package has some",
    })
    .confidence(Confidence::Likely)
    .values(spread.counts(), spread.even())
    .because(because);
    let worth = context.machine.drives.iter().filter(|drive| spread.names().contains(&drive.name));
    for path in worth.filter_map(|drive| drive.controllers.first()).take(12) {
        if let (Some(at), Some(node)) = (path.function, path.node) {
            draft = draft.on_node(context, Some(at), node);
        }
    }
    vec![draft]
}
