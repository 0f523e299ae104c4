// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside apply`: carries a plan out under the journal.

use std::time::Duration;

use apply::take_back::{self, TakeBack};
use apply::{Ending, OnFailure, Options, Receipts};
use journal::{Due, End, Guard, Journal, Record};
use report::change::{LeftOut, Lines};
use root::LiveRoot;
use setting::Plan;

use crate::args::{Apply, Common};
use crate::expected::{Ended, Expected};
use crate::verbs::plan::Made;
use crate::verbs::{change, persist, plan};
use crate::{stop, terminal, typed};

pub(crate) fn run(common: &Common, asked: &Apply) -> Result<Ended, Expected> {
    let kernel = change::kernel(common)?;
    if let Some(transaction) = asked.confirm {
        return confirm(&kernel, asked, transaction);
    }
    let kept = asked.persisted.then(persist::kept_machine).transpose()?;
    let plan = || plan::make(common, &asked.wishes, kept.as_ref());
    if asked.dry_run {
        terminal::answer(&plan()?.script())?;
        return Ok(Ended::Well);
    }
    let (journal, made) = match rustix::process::geteuid().is_root() {
        true => {
            // What another nearside is changing must have come before the plan.
            let journal = settled(&kernel, asked)?;
            (Some(journal), plan()?)
        }
        false => (None, plan()?),
    };
    if !made.impossible.is_empty() && !asked.keep_going {
        return refuse(common, asked, &made);
    }
    if !made.plan.changes.is_empty() {
        change::demand_root("apply")?;
    }
    tell_drops(&made, asked);
    let mut journal = journal.map_or_else(|| change::journal(&asked.changing), Ok)?;
    let came = carry_out(&kernel, &mut journal, asked, &made.plan)?;
    if let Err(error) = show(common, asked, &made, &came) {
        return untold(error, &came, &made);
    }
    if !common.json {
        tell_left(&made.plan, asked);
        next_steps(&came);
    }
    Ok(ended(&came, &made))
}

/// The journal, with what earlier boots left at its end, and nothing that waits for a person.
fn settled(kernel: &LiveRoot, asked: &Apply) -> Result<Journal, Expected> {
    let mut journal = change::journal(&asked.changing)?;
    apply::settle(kernel, &mut journal)?;
    apply::nothing_waits(kernel, journal.transactions())?;
    Ok(journal)
}

/// What was done is told all the same where its answer cannot be printed.
fn untold(error: Expected, came: &Receipts, made: &Made) -> Result<Ended, Expected> {
    terminal::hint(ending(came));
    next_steps(came);
    if came.ending == Ending::Done {
        return Err(error);
    }
    terminal::hint(&format!("nearside: {error}"));
    Ok(ended(came, made))
}

/// Carries it out. Whoever is to confirm it is told before anything else.
fn carry_out(
    kernel: &LiveRoot,
    journal: &mut Journal,
    asked: &Apply,
    plan: &Plan,
) -> Result<Receipts, Expected> {
    let within = asked.confirm_within.filter(|_| !plan.changes.is_empty());
    let guard = within.map(|within| Guarded::start(asked, within)).transpose()?;
    let options = Options {
        on_failure: if asked.keep_going { OnFailure::KeepGoing } else { OnFailure::Undo },
        at: change::now(),
        why: change::command(),
        guard: guard.as_ref().map(Guarded::journaled),
        stop: stop::on_signals()?,
    };
    let came = apply::apply(kernel, journal, plan, &options);
    if let Some(guard) = guard {
        guard.leave_where_needed(journal);
    }
    Ok(came?)
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

/// What takes a transaction back unless it is confirmed, and the time that a person has.
struct Guarded {
    take_back: TakeBack,
    within: Duration,
}

impl Guarded {
    fn start(asked: &Apply, within: Duration) -> Result<Self, Expected> {
        let take_back = take_back::start(&change::path(&asked.changing)).map_err(|error| {
            let help = "without it nothing is changed; leave --confirm-within out to go without";
            Expected::precondition(format!("cannot start what would take it back: {error}"), help)
        })?;
        Ok(Self { take_back, within })
    }

    fn journaled(&self) -> Guard {
        let token = self.take_back.token().to_owned();
        Guard { token, seconds: self.within.as_secs() }
    }

    /// Where its transaction was begun and something of it is left, it waits on; else it is called
    /// off. The time that a person has begins here, when all is done.
    fn leave_where_needed(self, journal: &mut Journal) {
        let own = apply::guarded_by(journal.transactions(), self.take_back.token());
        let Some(own) = own.filter(|own| !own.is_settled()) else { return };
        let (transaction, end) = (own.begin.transaction, own.end);
        self.take_back.leave();
        if end != Some(End::Done) {
            terminal::hint("what is left of it is taken back by itself once more");
            return;
        }
        let seconds = self.within.as_secs();
        let at_s = take_back::now_s().saturating_add(seconds);
        let due = Due { at_s, by: change::later(self.within) };
        let told = journal.append(Record::Due { transaction, due }).and_then(|()| journal.sync());
        terminal::hint(&format!(
            "confirm within {seconds} s, or all is taken back:  nearside apply --confirm {transaction}"
        ));
        if let Err(error) = told {
            // What was done is told all the same, and the time counts from the end of this process.
            terminal::hint(&format!("nearside: {error}"));
        }
    }
}

/// Confirms what waits for it, so that it is not taken back by itself.
fn confirm(kernel: &LiveRoot, asked: &Apply, transaction: Option<u64>) -> Result<Ended, Expected> {
    change::demand_root("apply --confirm")?;
    let mut journal = change::journal(&asked.changing)?;
    let confirmed = apply::confirm(kernel, &mut journal, transaction, take_back::now_s())?;
    let left = confirmed.left_s.map_or_else(String::new, |left| format!(" with {left} s left"));
    let id = confirmed.transaction;
    terminal::answer(&format!("Transaction {id} is confirmed{left} and stays.\n"))?;
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

/// How it ended, for whom the answer does not reach.
fn ending(came: &Receipts) -> &'static str {
    match came.ending {
        Ending::Done if came.transaction.is_none() => "nothing had to be changed",
        Ending::Done => "the change was made",
        _ if came.is_interrupted => "interrupted",
        Ending::Undone => "a change failed, and all of it was taken back",
        Ending::Stuck => "a change failed, and so did taking it back",
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
        // With --keep-going: a driver or the kernel would not.
        Ending::Done => Ended::Impossible,
    }
}
