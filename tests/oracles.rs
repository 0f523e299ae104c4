// SPDX-License-Identifier: MIT OR Apache-2.0
//! The document `topology/1` against what independent tools say of the same machine.
//!
//! The binary is run as a stranger would run it and only its document is looked at. What the tools
//! say is parsed here once more, without the product's parsers, into [`Facts`]: one line of text a
//! thing. Every difference fails, but for those that a table names with the reason; and a row of
//! the table that no longer differs fails too.

#[path = "oracles/document.rs"]
mod document;
#[path = "oracles/facts.rs"]
mod facts;
#[path = "oracles/interrupts.rs"]
mod interrupts;
#[path = "oracles/lab.rs"]
mod lab;
#[path = "oracles/lscpu.rs"]
mod lscpu;
#[path = "oracles/lspci.rs"]
mod lspci;
#[path = "oracles/lstopo.rs"]
mod lstopo;
#[path = "oracles/made.rs"]
mod made;
#[path = "oracles/network.rs"]
mod network;
#[path = "oracles/storage.rs"]
mod storage;
#[path = "oracles/trees.rs"]
mod trees;

use support::{Need, trial};

fn main() {
    let mut trials = lab::trials();
    trials.extend(trees::trials());
    trials.extend(made::trials());
    if support::shared().is_none() {
        trials.push(trial("captures", &[Need::Captures], || Ok(())));
    }
    support::run(trials)
}
