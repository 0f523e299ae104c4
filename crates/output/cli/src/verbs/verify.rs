// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside verify`: whether what was applied still holds.

use apply::{Verified, take_back};
use journal::{Journal, Transaction};
use report::change::{Lines, Standings};

use crate::args::{Common, Verify};
use crate::expected::{Ended, Expected};
use crate::terminal;
use crate::verbs::change;

pub(crate) fn run(common: &Common, asked: &Verify) -> Result<Ended, Expected> {
    let Some(every) = asked.watch else { return once(common, asked) };
    loop {
        once(common, asked)?;
        std::thread::sleep(every);
    }
}

fn once(common: &Common, asked: &Verify) -> Result<Ended, Expected> {
    let kernel = change::kernel(common)?;
    let path = change::path(&asked.changing);
    let mut transactions = change::look(&asked.changing)?;
    if transactions.iter().any(Transaction::is_cut_short) && Journal::is_held(&path) {
        terminal::hint("another nearside is changing this machine: what it does is not looked at");
        transactions.retain(|each| !each.is_cut_short());
    }
    let cut_short: Vec<u64> = transactions
        .iter()
        .filter(|each| each.is_cut_short())
        .map(|each| each.begin.transaction)
        .collect();
    let waiting = apply::waiting(&kernel, &transactions, take_back::now_s())?;
    let values = apply::verify(&kernel, &transactions)?;
    let found = Standings { values: &values, cut_short: &cut_short, waiting: &waiting };
    if common.json && asked.watch.is_some() {
        terminal::line(&report::json::verification(&found))?;
    } else if common.json {
        terminal::document(&report::json::verification(&found))?;
    } else {
        let lines = if asked.verbose { Lines::All } else { Lines::Notable };
        terminal::answer(&report::change::verified(&found, lines, &terminal::style(common.color)))?;
        tell(&found);
    }
    let is_well = cut_short.is_empty() && !values.iter().any(Verified::is_drift);
    Ok(if is_well { Ended::Well } else { Ended::Findings })
}

/// What a person has to do about what is not at its end.
fn tell(found: &Standings<'_>) {
    for id in found.cut_short {
        terminal::hint(&format!("take it back:  nearside revert --transaction {id}"));
    }
    for waiting in found.waiting {
        let (id, waits) = (waiting.transaction, report::change::waits(waiting));
        terminal::hint(&format!("transaction {id} {waits}:  nearside apply --confirm {id}"));
    }
}
