// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside apply`: carries a plan out under the journal.

use std::time::Duration;

use apply::take_back::{self, TakeBack};
use apply::{Ending, OnFailure, Options, Receipts};
use journal::{Journal, Record};
use report::change::Lines;
use setting::Plan;

use crate::args::{Apply, Common};
use crate::expected::{Ended, Expected};
use crate::verbs::{change, persist, plan};
use crate::{stop, terminal};

pub(crate) fn run(common: &Common, asked: &Apply) -> Result<Ended, Expected> {
    if asked.confirm {
        return confirm(asked);
    }
    let kernel = change::kernel(common)?;
    let made = plan::make(common, &asked.wishes)?;
    if asked.persisted {
        persist::check_machine(&made.machine)?;
    }
    if asked.dry_run {
        terminal::answer(&made.script())?;
        return Ok(Ended::Well);
    }
    if !made.plan.changes.is_empty() {
        change::demand_root("apply")?;
    }
    let mut journal = change::journal(&asked.changing)?;
    let after = asked.confirm_within.filter(|_| !made.plan.changes.is_empty());
    let guard = after.map(|after| guard(&journal, asked, after)).transpose()?;
    let options = Options {
        on_failure: if asked.keep_going { OnFailure::KeepGoing } else { OnFailure::Undo },
        at: change::now(),
        why: change::command(),
        stop: stop::on_signals()?,
    };
    let came = apply::apply(&kernel, &mut journal, &made.plan, &options)?;
    drop(journal);
    show(common, asked, &came)?;
    if let Some((guard, after)) = guard.zip(after) {
        match came.transaction.filter(|_| came.ending == Ending::Done) {
            Some(_) => terminal::hint(&confirm_hint(after, &change::words(&asked.changing))),
            None => guard.call_off(),
        }
    }
    if !common.json {
        tell_left(&made.plan);
        next_steps(&came, &change::words(&asked.changing));
    }
    Ok(ended(&came))
}

/// Starts what takes the transaction back unless it is confirmed.
fn guard(journal: &Journal, asked: &Apply, after: Duration) -> Result<TakeBack, Expected> {
    let path = change::path(&asked.changing);
    take_back::start(&path, journal.next_transaction(), after).map_err(|error| {
        let help = "without it nothing is changed; leave --confirm-within out to go without";
        Expected::precondition(format!("cannot start what would take it back: {error}"), help)
    })
}

/// What a person has to do, and by when; `journal` as the command that they type needs it.
fn confirm_hint(after: Duration, journal: &str) -> String {
    let seconds = after.as_secs();
    format!("confirm within {seconds} s, or all is taken back:  nearside apply --confirm{journal}")
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

/// What the plan did not change is easily forgotten.
fn tell_left(plan: &Plan) {
    match plan.left.len() {
        0 => {}
        1 => terminal::hint("1 is left to others:  nearside plan"),
        many => terminal::hint(&format!("{many} are left to others:  nearside plan")),
    }
}

fn next_steps(came: &Receipts, journal: &str) {
    if let (Some(id), Ending::Done) = (came.transaction, came.ending) {
        terminal::hint(&format!("verify it:     nearside verify{journal}"));
        terminal::hint(&format!("take it back:  nearside revert --transaction {id}{journal}"));
    }
}

fn ended(came: &Receipts) -> Ended {
    match came.ending {
        _ if came.is_interrupted => Ended::Interrupted,
        Ending::Stuck => Ended::Stuck,
        Ending::Undone => Ended::Undone,
        Ending::Done if came.receipts.iter().all(|each| each.outcome.is_well()) => Ended::Well,
        Ending::Done => Ended::Findings,
    }
}
