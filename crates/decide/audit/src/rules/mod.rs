// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules that look at how things hang together: one file each.
//!
//! A rule sees the whole machine and says what it saw; words about cost and effect come from the
//! catalogue's entry of the same id. The entry's tags bind the rule as they bind a wish, so that a
//! person's own entry can narrow it.

pub(crate) mod acs_redirect;
pub(crate) mod clock_limit;
pub(crate) mod command_line;
pub(crate) mod drive_irq;
pub(crate) mod drive_spread;
pub(crate) mod firmware;
pub(crate) mod interleaving;
pub(crate) mod irqbalance;
pub(crate) mod isolated;
pub(crate) mod locality;
pub(crate) mod memory_nodes;
pub(crate) mod memory_population;
pub(crate) mod memory_speed;
pub(crate) mod mrrs;
pub(crate) mod mtu_path;
pub(crate) mod nic_irq;
pub(crate) mod nic_spread;
pub(crate) mod node_unknown;
pub(crate) mod numbering;
pub(crate) mod payload;
pub(crate) mod pcie_link;
pub(crate) mod queues;
pub(crate) mod receive_spread;
pub(crate) mod rps;
pub(crate) mod spread;
pub(crate) mod sub_numa;
pub(crate) mod uncore;
pub(crate) mod vectors;
pub(crate) mod xps;

use std::collections::BTreeSet;

use crate::context::Context;
use crate::draft::{Draft, grouped};

/// A rule: what it sees on a machine.
type Rule = fn(&Context<'_>) -> Vec<Draft>;

/// Every rule by the id of the entry that it speaks of.
const RULES: &[(&str, Rule)] = &[
    ("command-line-overrides", command_line::drafts),
    ("device-node-unknown", node_unknown::drafts),
    ("drive-irq-placement", drive_irq::drafts),
    ("drive-spread", drive_spread::drafts),
    ("irqbalance", irqbalance::drafts),
    ("isolated-cpu-interrupts", isolated::drafts),
    ("madt-core-enumeration", numbering::drafts),
    ("max-frequency", clock_limit::drafts),
    ("memory-only-nodes", memory_nodes::drafts),
    ("memory-population", memory_population::drafts),
    ("memory-speed", memory_speed::drafts),
    ("misleading-firmware", firmware::drafts),
    ("mtu-path", mtu_path::drafts),
    ("nic-drive-locality", locality::drafts),
    ("nic-irq-placement", nic_irq::drafts),
    ("nic-receive-spread", receive_spread::drafts),
    ("nic-spread", nic_spread::drafts),
    ("node-interleaving", interleaving::drafts),
    ("pcie-acs-redirect", acs_redirect::drafts),
    ("pcie-link", pcie_link::drafts),
    ("pcie-mps", payload::drafts),
    ("pcie-mrrs", mrrs::drafts),
    ("queue-count", queues::drafts),
    ("rps-placement", rps::drafts),
    ("sub-numa-cluster", sub_numa::drafts),
    ("uncore-max-frequency", uncore::drafts),
    ("vector-exhaustion", vectors::drafts),
    ("xps-placement", xps::drafts),
];

/// Whether a rule speaks of this setting, so that its wish is not judged a second time.
pub(crate) fn owns(id: &str) -> bool {
    RULES.iter().any(|(rule, _)| *rule == id)
}

/// The entries that rules speak of.
#[cfg(test)]
pub(crate) fn ids() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(id, _)| *id)
}

/// What all rules see.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (id, rule) in RULES {
        if holds(context, id) {
            drafts.extend(grouped(rule(context)));
        }
    }
    drafts
}

/// Whether the entry's tags that speak of the machine allow the rule. Tags of devices are the
/// rule's own business: it knows which devices it means.
fn holds(context: &Context<'_>, id: &str) -> bool {
    let Some(entry) = context.catalogue.get(id) else { return true };
    let mut applies = entry.applies.clone();
    // What a guest makes of it each rule judges by itself: some say less, some nothing.
    let of_machine = |tag: &String| {
        tag != "bare-metal"
            && setting::TAGS.iter().any(|(name, means)| {
                *name == tag.trim_start_matches('!') && !means.starts_with("device:")
            })
    };
    applies.when.retain(of_machine);
    applies.never.retain(of_machine);
    context.meets(&applies, &BTreeSet::new())
}
