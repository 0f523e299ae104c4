// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fast network cards that all hang on one package while drives or cards fill several.
//!
//! Not flagged: one card (its ports cannot be elsewhere), ports that are down.

use std::collections::BTreeMap;

use machine::Nic;
use setting::{Confidence, Severity};
use units::NodeId;

use super::drive_spread;
use super::spread::Spread;
use crate::context::Context;
use crate::devices;
use crate::draft::Draft;

/// Physical ports of 10 Gb/s or more that are up.
pub(crate) fn fast<'a>(context: &Context<'a>) -> Vec<&'a Nic> {
    devices::working_ports(context.machine).filter(|nic| devices::is_fast(nic)).collect()
}

/// (the first port's name, node) of each card.
pub(crate) fn cards(context: &Context<'_>) -> Vec<(String, Option<NodeId>)> {
    let mut cards = BTreeMap::new();
    for nic in fast(context) {
        if let Some(at) = nic.function {
            cards.entry(at.card()).or_insert((nic.name.clone(), nic.node));
        }
    }
    cards.into_values().collect()
}

/// One finding for the machine.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let cards = cards(context);
    let spread = Spread::of(context, cards);
    let (most, fewest) = spread.extremes();
    if context.places.packages().len() < 2 || spread.total() < 2 || most - fewest < 2 {
        return Vec::new();
    }
    let drives = Spread::of(context, drive_spread::drives(context));
    let serves = drives.used().len() > 1;
    let severity = if serves && fewest == 0 { Severity::Medium } else { Severity::Low };
    let mut because = format!("of the fast network cards there are {}", spread.text());
    if serves {
        because.push_str(&format!(
            ", and of the drives {}: what some drives send crosses the link between packages",
            drives.text()
        ));
    } else {
        because.push_str(
            ": work on the CPUs of the emptiest package sends and receives over the link between \
             packages",
        );
    }
    let mut draft = Draft::new(
        "nic-spread",
        severity,
        format!("Fast network cards are unevenly spread: {}", spread.text()),
    )
    .about_all(spread.names())
    .weighed(match severity {
        Severity::Medium => "drives hang on a package that has no fast card",
        _ => "drives are not cut off from the cards",
    })
    .confidence(Confidence::Likely)
    .values(spread.counts(), spread.even())
    .because(because);
    for nic in fast(context).into_iter().take(12) {
        if let Some(node) = nic.node {
            draft = draft.on_node(context, nic.function, node);
        }
    }
    vec![draft]
}
