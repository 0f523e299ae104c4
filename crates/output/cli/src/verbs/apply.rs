// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside apply`: carries a plan out under the journal.

use std::time::Duration;

use apply::take_back::{self, TakeBack};
use apply::{Ending, OnFailure, Options, Receipts};
use journal::{Journal, Record};
use report::change::{LeftOut, Lines};
use setting::Plan;

use crate::args::{Apply, Common};
use crate::expected::{Ended, Expected};
use crate::verbs::plan::Made;
use crate::verbs::{change, persist, plan};
use crate::{stop, terminal, typed};

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
    if !made.impossible.is_empty() && !asked.keep_going {
        return refuse(common, asked, &made);
    }
    if !made.plan.changes.is_empty() {
        change::demand_root("apply")?;
    }
    tell_drops(&made, asked);
    let mut journal = change::journal(&asked.changing)?;
    let after = asked.confirm_within.filter(|_| !made.plan.changes.is_empty());
    let guard = after.map(|after| guard(&journal, asked, after)).transpose()?;
    let options = Options {
        on_failure: if asked.keep_going { OnFailure::KeepGoing } else { OnFailure::Undo },
        at: change::now(),
        why: change::command(),
        confirm_by: after.map(change::later),
        stop: stop::on_signals()?,
    };
    let came = apply::apply(&kernel, &mut journal, &made.plan, &options)?;
    drop(journal);
    show(common, asked, &made, &came)?;
    if let Some((guard, after)) = guard.zip(after) {
        match came.transaction.filter(|_| came.ending == Ending::Done) {
            Some(_) => terminal::hint(&confirm_hint(after)),
            None => guard.call_off(),
        }
    }
    if !common.json {
        tell_left(&made.plan, asked);
        next_steps(&came);
    }
    Ok(ended(&came, &made))
}

/// What was named cannot be done: nothing is, as where a change fails.
fn refuse(common: &Common, asked: &Apply, made: &Made) -> Result<Ended, Expected> {
    let came = Receipts {
        transaction: None,
        receipts: Vec::new(),
        ending: Ending::Undone,
        is_interrupted: false,
    };
    show(common, asked, made, &came)?;
    if !common.json {
        tell_left(&made.plan, asked);
        if !made.plan.changes.is_empty() {
            terminal::hint("help: --keep-going makes the other changes");
        }
    }
    Ok(Ended::Impossible)
}

/// A link that is lost is a login that is lost: it is told before the first write.
fn tell_drops(made: &Made, asked: &Apply) {
    for (nic, what) in &made.drops {
        terminal::hint(&format!("this drops the link of {nic} for a moment, which {what}"));
    }
    if !made.drops.is_empty() && asked.confirm_within.is_none() {
        terminal::hint("help: with --confirm-within 60s it is taken back if you cannot confirm it");
    }
}

/// Starts what takes the transaction back unless it is confirmed.
fn guard(journal: &Journal, asked: &Apply, after: Duration) -> Result<TakeBack, Expected> {
    let path = change::path(&asked.changing);
    take_back::start(&path, journal.next_transaction(), after).map_err(|error| {
        let help = "without it nothing is changed; leave --confirm-within out to go without";
        Expected::precondition(format!("cannot start what would take it back: {error}"), help)
    })
}

/// What a person has to do, and by when.
fn confirm_hint(after: Duration) -> String {
    let seconds = after.as_secs();
    format!("confirm within {seconds} s, or all is taken back:  nearside apply --confirm")
}

/// Confirms the newest transaction that waits for it, so that it is not taken back by itself.
fn confirm(asked: &Apply) -> Result<Ended, Expected> {
    change::demand_root("apply --confirm")?;
    let mut journal = change::journal(&asked.changing)?;
    let waiting = journal.transactions().iter().rfind(|each| each.awaits_until().is_some());
    let Some(transaction) = waiting.map(|waiting| waiting.begin.transaction) else {
        let help = "`nearside revert --list` shows what is applied";
        return Err(Expected::precondition("no transaction waits to be confirmed", help));
    };
    journal.append(Record::Confirm { transaction })?;
    journal.sync()?;
    terminal::answer(&format!("Transaction {transaction} is confirmed and stays.\n"))?;
    Ok(Ended::Well)
}

fn show(common: &Common, asked: &Apply, made: &Made, came: &Receipts) -> Result<(), Expected> {
    let named = &made.impossible;
    if common.json {
        return terminal::document(&report::json::receipts(came, named));
    }
    let lines = if asked.verbose { Lines::All } else { Lines::Notable };
    let others = made.plan.left.len().saturating_sub(named.len());
    let (left, style) = (LeftOut { named, others }, terminal::style(common.color));
    terminal::answer(&report::change::receipts(came, left, lines, &style))
}

/// What the plan did not change is easily forgotten.
fn tell_left(plan: &Plan, asked: &Apply) {
    let wishes = typed::wishes(&asked.wishes);
    match plan.left.len() {
        0 => {}
        1 => terminal::hint(&format!("1 is left to others:  nearside plan{wishes}")),
        many => terminal::hint(&format!("{many} are left to others:  nearside plan{wishes}")),
    }
}

fn next_steps(came: &Receipts) {
    if let (Some(id), Ending::Done) = (came.transaction, came.ending) {
        terminal::hint("verify it:     nearside verify");
        terminal::hint(&format!("take it back:  nearside revert --transaction {id}"));
    }
}

fn ended(came: &Receipts, made: &Made) -> Ended {
    match came.ending {
        Ending::Stuck => Ended::Stuck,
        _ if came.is_interrupted => Ended::Interrupted,
        Ending::Undone => Ended::Undone,
        Ending::Done if !made.impossible.is_empty() => Ended::Impossible,
        Ending::Done if came.receipts.iter().all(|each| each.outcome.is_well()) => Ended::Well,
        Ending::Done => Ended::Findings,
    }
}
