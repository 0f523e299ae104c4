// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside verify`: whether what was applied still holds.

use apply::{Verified, take_back};
use journal::Journal;
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
    let transactions = Journal::look(&change::path(&asked.changing))?;
    for waiting in apply::waiting(&kernel, &transactions, take_back::now_s())? {
        let id = waiting.transaction;
        let waits = change::waits(waiting);
        terminal::hint(&format!("transaction {id} {waits}:  nearside apply --confirm {id}"));
    }
    let verified = apply::verify(&kernel, &transactions)?;
    if common.json && asked.watch.is_some() {
        terminal::line(&report::json::verification(&verified))?;
    } else if common.json {
        terminal::document(&report::json::verification(&verified))?;
    } else {
        let lines = if asked.verbose { Lines::All } else { Lines::Notable };
        let style = terminal::style(common.color);
        terminal::answer(&report::change::verified(&verified, lines, &style))?;
    }
    Ok(if verified.iter().any(Verified::is_drift) { Ended::Findings } else { Ended::Well })
}
