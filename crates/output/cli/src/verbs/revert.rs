// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside revert`: takes changes back, byte for byte, newest first.

use apply::{Force, Reverted, Reverts, Selection, take_back};
use journal::{Journal, Transaction};
use report::change::Lines;
use root::LiveRoot;

use crate::args::{Common, Revert};
use crate::expected::{Ended, Expected};
use crate::terminal;
use crate::verbs::change;

pub(crate) fn run(common: &Common, asked: &Revert) -> Result<Ended, Expected> {
    let kernel = change::kernel(common)?;
    if asked.list {
        return list(common, &kernel, &change::look(&asked.changing)?);
    }
    if asked.dry_run {
        let transactions = change::look(&asked.changing)?;
        let applied = apply::applied_plan(&kernel, &transactions, &selection(asked))?;
        terminal::answer(&plan::undo_script(&applied, &linux::read(&kernel)))?;
        return Ok(Ended::Well);
    }
    change::demand_root("revert")?;
    let (mut journal, selection) = match &asked.unless_confirmed {
        None => (change::journal(&asked.changing)?, selection(asked)),
        Some(token) => match unconfirmed(asked, token)? {
            Some((journal, transaction)) => (journal, Selection::Transaction(transaction)),
            None => return Ok(Ended::Well),
        },
    };
    let force = if asked.force { Force::Overwrite } else { Force::Respect };
    let Reverts { reverted, untold } = apply::revert(&kernel, &mut journal, &selection, force)?;
    show(common, asked, &reverted).inspect_err(|_| {
        terminal::hint("it was carried out; what is left to take back:  nearside revert --list");
    })?;
    if let Some(why) = untold {
        terminal::hint(&format!("the journal does not know all of this: {why}"));
        terminal::hint("help: once it can be written, `nearside revert` tells it");
    }
    Ok(ended(&reverted))
}

fn show(common: &Common, asked: &Revert, reverted: &[Reverted]) -> Result<(), Expected> {
    if common.json {
        return terminal::document(&report::json::reverts(reverted));
    }
    let lines = if asked.verbose { Lines::All } else { Lines::Notable };
    terminal::answer(&report::change::reverted(reverted, lines, &terminal::style(common.color)))
}

fn selection(asked: &Revert) -> Selection {
    let setting = asked.setting.clone().map(Selection::Setting);
    let device = asked.device.clone().map(Selection::Device);
    let transaction = asked.transaction.map(Selection::Transaction);
    transaction.or(setting).or(device).unwrap_or(Selection::All)
}

/// Waits until the transaction with a token was to be confirmed; gives it where it was not.
///
/// The apply holds the journal until it has ended. One that was cut short is taken back at once.
fn unconfirmed(asked: &Revert, token: &str) -> Result<Option<(Journal, u64)>, Expected> {
    take_back::ready()?;
    let journal = change::journal(&asked.changing)?;
    let Some(own) = apply::guarded_by(journal.transactions(), token) else { return Ok(None) };
    let due = apply::due_s(own, take_back::now_s());
    drop(journal);
    take_back::wait_until(due);
    let journal = change::journal(&asked.changing)?;
    let own = apply::guarded_by(journal.transactions(), token);
    let left = own.filter(|own| !own.is_confirmed).map(|own| own.begin.transaction);
    Ok(left.map(|transaction| (journal, transaction)))
}

fn ended(reverted: &[Reverted]) -> Ended {
    use setting::Undone::{Elsewhere, Kept, Missing};
    let is_left = |each: &Reverted| matches!(each.undone, Kept { .. } | Elsewhere | Missing);
    if reverted.iter().any(Reverted::is_stuck) {
        Ended::Stuck
    } else if reverted.iter().any(is_left) {
        Ended::Findings
    } else {
        Ended::Well
    }
}

/// The transactions that can be taken back, newest first.
fn list(
    common: &Common,
    kernel: &LiveRoot,
    transactions: &[Transaction],
) -> Result<Ended, Expected> {
    let waiting = apply::waiting(kernel, transactions, take_back::now_s())?;
    if common.json {
        terminal::document(&report::json::transactions(transactions, &waiting))?;
    } else {
        terminal::answer(&report::change::listed(transactions, &waiting))?;
    }
    Ok(Ended::Well)
}
