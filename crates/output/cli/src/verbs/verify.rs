// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside verify`: whether what was applied still holds.

use apply::Verified;
use journal::{Journal, Transaction};
use report::change::Lines;

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
    let mut transactions = Journal::look(&path)?;
    if transactions.iter().any(Transaction::is_cut_short) && Journal::is_held(&path) {
        terminal::hint("another nearside is changing this machine: what it does is not looked at");
        transactions.retain(|each| !each.is_cut_short());
    }
    let verified = apply::verify(&kernel, &transactions)?;
    if common.json && asked.watch.is_some() {
        terminal::line(&report::json::verification(&verified, &transactions))?;
    } else if common.json {
        terminal::document(&report::json::verification(&verified, &transactions))?;
    } else {
        let lines = if asked.verbose { Lines::All } else { Lines::Notable };
        let style = terminal::style(common.color);
        terminal::answer(&report::change::verified(&verified, &transactions, lines, &style))?;
    }
    let is_cut_short = transactions.iter().any(Transaction::is_cut_short);
    if !common.json {
        tell(&transactions);
    }
    change::tell_waiting(&kernel, &transactions)?;
    let is_well = !is_cut_short && !verified.iter().any(Verified::is_drift);
    Ok(if is_well { Ended::Well } else { Ended::Findings })
}

/// What a person has to do about what is not at its end.
fn tell(transactions: &[Transaction]) {
    for cut_short in transactions.iter().filter(|each| each.is_cut_short()) {
        let id = cut_short.begin.transaction;
        terminal::hint(&format!("take it back:  nearside revert --transaction {id}"));
    }
}
