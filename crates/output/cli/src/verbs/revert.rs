// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside revert`: takes changes back, byte for byte, newest first.

use apply::{Force, Reverted, Reverts, Selection, take_back};
use journal::{Journal, Transaction};
use report::change::Lines;

use crate::args::{Common, Revert};
use crate::expected::{Ended, Expected};
use crate::terminal;
use crate::verbs::change;

pub(crate) fn run(common: &Common, asked: &Revert) -> Result<Ended, Expected> {
    let kernel = change::kernel(common)?;
    if asked.list {
        return list(&Journal::look(&change::path(&asked.changing))?);
    }
    if asked.dry_run {
        let transactions = Journal::look(&change::path(&asked.changing))?;
        let applied = apply::applied_plan(&kernel, &transactions, &selection(asked))?;
        terminal::answer(&plan::undo_script(&applied, &linux::read(&kernel)))?;
        return Ok(Ended::Well);
    }
    change::demand_root("revert")?;
    if let Some(after) = asked.unless_confirmed {
        take_back::wait(after)?;
    }
    let mut journal = change::journal(&asked.changing)?;
    if asked.unless_confirmed.is_some() && is_confirmed(&journal, asked.transaction) {
        return Ok(Ended::Well);
    }
    let force = if asked.force { Force::Overwrite } else { Force::Respect };
    let Reverts { reverted, untold } =
        apply::revert(&kernel, &mut journal, &selection(asked), force)?;
    if common.json {
        terminal::document(&report::json::reverts(&reverted))?;
    } else {
        let lines = if asked.verbose { Lines::All } else { Lines::Notable };
        let style = terminal::style(common.color);
        terminal::answer(&report::change::reverted(&reverted, lines, &style))?;
    }
    if let Some(why) = untold {
        terminal::hint(&format!("the journal does not know all of this: {why}"));
        terminal::hint("help: once it can be written, `nearside revert` tells it");
    }
    Ok(ended(&reverted))
}

fn selection(asked: &Revert) -> Selection {
    let setting = asked.setting.clone().map(Selection::Setting);
    let device = asked.device.clone().map(Selection::Device);
    let transaction = asked.transaction.map(Selection::Transaction);
    transaction.or(setting).or(device).unwrap_or(Selection::All)
}

/// Whether there is nothing to take back any more: it was confirmed, or undone already.
fn is_confirmed(journal: &Journal, transaction: Option<u64>) -> bool {
    let known = transaction.and_then(|id| journal.transaction(id));
    known.is_none_or(|transaction| transaction.is_confirmed)
}

fn ended(reverted: &[Reverted]) -> Ended {
    let is_left = |each: &Reverted| {
        matches!(each.undone, setting::Undone::Kept { .. } | setting::Undone::Missing)
    };
    if reverted.iter().any(Reverted::is_stuck) {
        Ended::Stuck
    } else if reverted.iter().any(is_left) {
        Ended::Findings
    } else {
        Ended::Well
    }
}

/// The transactions that can be taken back, newest first.
fn list(transactions: &[Transaction]) -> Result<Ended, Expected> {
    if transactions.is_empty() {
        terminal::answer("No changes are in the journal.\n")?;
        return Ok(Ended::Well);
    }
    let line = |each: &Transaction| {
        let left = each.entries.iter().filter(|entry| !entry.is_settled()).count();
        let state = match each.end {
            None => ", cut short",
            Some(_) => "",
        };
        let begin = &each.begin;
        let values = if left == 1 { "value" } else { "values" };
        format!("{:>4}  {}  {left} {values}{state}  {}\n", begin.transaction, begin.at, begin.why)
    };
    terminal::answer(&transactions.iter().rev().map(line).collect::<String>())?;
    Ok(Ended::Well)
}
