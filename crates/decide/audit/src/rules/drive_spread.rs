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

/// One finding for the machine.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let spread = Spread::of(context, drives(context));
    let (most, fewest) = spread.extremes();
    if context.places.packages().len() < 2 || spread.total() < FEWEST || most - fewest < 2 {
        return Vec::new();
    }
    // A whole package without drives reaches all of them over the link between packages.
    let severity = if fewest == 0 { Severity::Medium } else { Severity::Low };
    let because = format!(
        "of {} drives {}: work on the other CPUs reaches them over the link between packages, and \
         the fuller side's lanes and memory carry more",
        spread.total(),
        spread.text()
    );
    let mut draft = Draft::new(
        "drive-spread",
        severity,
        format!("NVMe drives are unevenly spread: {}", spread.text()),
    )
    .about_all(spread.names())
    .confidence(Confidence::Likely)
    .values(spread.counts(), "as many on each package")
    .because(because);
    let worth = context.machine.drives.iter().filter(|drive| spread.names().contains(&drive.name));
    for path in worth.filter_map(|drive| drive.controllers.first()).take(12) {
        if let (Some(at), Some(node)) = (path.function, path.node) {
            draft = draft.on_node(context, Some(at), node);
        }
    }
    vec![draft]
}
