// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside apply`: carries a plan out under the journal.

use apply::{Ending, OnFailure, Options, Receipts};
use journal::{Journal, Record};
use report::change::Lines;

use crate::args::{Apply, Common};
use crate::expected::{Ended, Expected};
use crate::verbs::{change, plan};
use crate::{stop, takeback, terminal};

pub(crate) fn run(common: &Common, asked: &Apply) -> Result<Ended, Expected> {
    if asked.confirm {
        return confirm(asked);
    }
    let kernel = change::kernel(common)?;
    let made = plan::make(common, &asked.wanted)?;
    if asked.dry_run {
        terminal::answer(&plan::script(&made))?;
        return Ok(Ended::Well);
    }
    if !made.plan.changes.is_empty() {
        change::demand_root("apply")?;
    }
    let mut journal = change::journal(&asked.changing)?;
    let guard = match asked.confirm_within {
        Some(after) if !made.plan.changes.is_empty() => {
            Some(takeback::start(&change::path(&asked.changing), journal.next_transaction(), after.0)?)
        }
        _ => None,
    };
    let options = Options {
        on_failure: if asked.keep_going { OnFailure::KeepGoing } else { OnFailure::Undo },
        at: change::now(),
        why: change::command(),
        stop: stop::on_signals()?,
    };
    let came = apply::apply(&kernel, &mut journal, &made.plan, &options)?;
    drop(journal);
    show(common, asked, &came)?;
    if let Some(guard) = guard {
        match came.transaction.filter(|_| came.ending == Ending::Done) {
            Some(_) => terminal::hint(&guard.hint()),
            None => guard.call_off(),
        }
    }
    if !common.json {
        plan::tell_left(&made, common);
        next_steps(&came);
    }
    Ok(ended(&came))
}

/// Confirms the newest transaction, so that it is not taken back by itself.
fn confirm(asked: &Apply) -> Result<Ended, Expected> {
    change::demand_root("apply --confirm")?;
    let mut journal = change::journal(&asked.changing)?;
    let newest = journal.transactions().last().filter(|newest| !newest.is_settled());
    let Some(transaction) = newest.map(|newest| newest.begin.transaction) else {
        let help = "`nearside revert --list` shows what is applied";
        return Err(Expected::precondition("there is nothing to confirm", help));
    };
    journal.append(Record::Confirm { transaction })?;
    journal.sync()?;
    terminal::answer(&format!("Transaction {transaction} is confirmed and stays.\n"))?;
    Ok(Ended::Well)
}

fn show(common: &Common, asked: &Apply, came: &Receipts) -> Result<(), Expected> {
    if common.json {
        return terminal::document(&report::json::receipts(came));
    }
    let lines = if asked.verbose { Lines::All } else { Lines::Notable };
    terminal::answer(&report::change::receipts(came, lines, &terminal::style(common.color)))
}

fn next_steps(came: &Receipts) {
    if let (Some(id), Ending::Done) = (came.transaction, came.ending) {
        terminal::hint("verify it:     nearside verify");
        terminal::hint(&format!("take it back:  nearside revert --transaction {id}"));
    }
}

fn ended(came: &Receipts) -> Ended {
    match came.ending {
        _ if came.is_interrupted => Ended::Interrupted,
        Ending::Stuck => Ended::Stuck,
        Ending::Undone => Ended::Undone,
        Ending::Done if came.receipts.iter().all(|each| each.outcome.is_well()) => Ended::Well,
        Ending::Done => Ended::Drift,
    }
}
