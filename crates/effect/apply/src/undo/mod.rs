// SPDX-License-Identifier: MIT OR Apache-2.0
//! Takes changes back: exact bytes, newest first, and nothing that belongs to somebody else.
//!
//! For each change a target is set before anything is written: the bytes from before where what is
//! there is ours, what is there now where it is not. Changes that move other values are taken back
//! first; then everything that is not at its target is written, again and again while that helps: a
//! floor may have to wait for its ceiling.

mod judge;
mod plan;
mod restore;
mod target;
mod whose;

use std::collections::BTreeSet;

use journal::{End, Entry, Journal, JournalError, Record, Transaction};
use setting::Undone;

pub use self::plan::applied_plan;

pub(crate) use self::target::is_reset;
use self::target::{Target, Targets};
use self::whose::Whose;
pub(crate) use self::whose::{is_elsewhere, is_of_network};
use crate::carry::boot;
use crate::lookup::Lookup;
use crate::{ApplyError, Kernel, carry, pairs};

/// What to do with a value that somebody changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// It stays, and is reported.
    Respect,
    /// The bytes from before are written all the same.
    Overwrite,
}

/// Which changes to take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All that are in the journal.
    All,
    /// Those of one transaction.
    Transaction(u64),
    /// Those of one setting.
    Setting(String),
    /// Those of one device, by its name of now or then.
    Device(String),
}

/// What came of taking one change back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reverted {
    /// Transaction that made it.
    pub transaction: u64,
    /// Catalogue entry.
    pub setting: String,
    /// Device as it was called then; none for the machine.
    pub device: Option<String>,
    /// Where it was written.
    pub path: String,
    /// The value from before, trimmed.
    pub before: String,
    /// What came.
    pub undone: Undone,
}

impl Reverted {
    /// Whether a person must look.
    pub fn is_stuck(&self) -> bool {
        matches!(self.undone, Undone::Failed { .. })
    }
}

/// What came of taking changes back.
#[derive(Debug)]
pub struct Reverts {
    /// Each of them, the newest first.
    pub reverted: Vec<Reverted>,
    /// Why the journal does not know all of it; it can be told by reverting again.
    pub untold: Option<JournalError>,
}

/// As [`Reverts`], each with the number of its change.
pub(crate) struct Taken {
    pub(crate) each: Vec<(usize, Reverted)>,
    pub(crate) untold: Option<JournalError>,
}

/// Takes changes back, the newest transaction first, and drops from the journal what is fully
/// undone. What could not be undone, and what others changed, stays there.
///
/// It does the same again when it was cut short, and after a kill of the process that applied.
///
/// A journal that cannot be written does not keep it from being done: what came is told beside that.
///
/// # Errors
/// There is no such transaction, or nothing of such a setting or device, or the kernel does not tell
/// this boot from another.
pub fn revert(
    kernel: &dyn Kernel,
    journal: &mut Journal,
    selection: &Selection,
    force: Force,
) -> Result<Reverts, ApplyError> {
    let lookup = Lookup::new(kernel);
    let mut picked: Vec<(u64, Vec<usize>)> = journal
        .transactions()
        .iter()
        .map(|transaction| (transaction.begin.transaction, pick(&lookup, transaction, selection)))
        .filter(|(_, indexes)| !indexes.is_empty())
        .collect();
    if let Selection::Transaction(id) = selection
        && journal.transaction(*id).is_none()
    {
        return Err(ApplyError::NoTransaction(*id));
    }
    if picked.is_empty() {
        nothing_of(journal.transactions(), selection)?;
    }
    picked.reverse();
    let mut all = Taken { each: Vec::new(), untold: None };
    for (id, indexes) in picked {
        let Taken { each, untold } = some(&lookup, journal, id, &indexes, force)?;
        all.each.extend(each);
        all.untold = all.untold.or(untold);
    }
    // What an older change handed on is what a kept value goes back to from now on.
    for (index, one) in &mut all.each {
        if let (Undone::Kept { .. }, Some(entry)) =
            (&one.undone, journal.entry(one.transaction, *index))
        {
            one.before = shown(entry);
        }
    }
    let compacted = journal.compact();
    let reverted = all.each.into_iter().map(|(_, one)| one).collect();
    Ok(Reverts { reverted, untold: all.untold.or(compacted.err()) })
}

/// Refuses a setting or device of which the journal has no change at all: a name mistyped reads like
/// a machine where nothing is left to do.
fn nothing_of(transactions: &[Transaction], selection: &Selection) -> Result<(), ApplyError> {
    let open = || transactions.iter().flat_map(|one| &one.entries).filter(|one| !one.is_settled());
    let (asked, known): (_, BTreeSet<String>) = match selection {
        Selection::All | Selection::Transaction(_) => return Ok(()),
        Selection::Setting(asked) => {
            (asked, open().map(|one| one.intent.setting.clone()).collect())
        }
        Selection::Device(asked) => {
            let devices = open().filter_map(|one| one.intent.device.as_ref());
            (asked, devices.map(|device| device.name.clone()).collect())
        }
    };
    let known = known.into_iter().collect();
    Err(ApplyError::NothingOf { asked: asked.clone(), known })
}

fn pick(lookup: &Lookup<'_>, transaction: &Transaction, selection: &Selection) -> Vec<usize> {
    let is_picked = |index: &usize| {
        let Some(entry) = transaction.entries.get(*index) else { return false };
        let intent = &entry.intent;
        let is_selected = match selection {
            Selection::All => true,
            Selection::Transaction(id) => transaction.begin.transaction == *id,
            Selection::Setting(setting) => intent.setting == *setting,
            Selection::Device(name) => intent.device.as_ref().is_some_and(|device| {
                device.name == *name || lookup.name(device).as_ref() == Some(name)
            }),
        };
        is_selected && !entry.is_settled()
    };
    (0..transaction.entries.len()).filter(is_picked).collect()
}

/// Takes a whole transaction back.
pub(crate) fn transaction(
    lookup: &Lookup<'_>,
    journal: &mut Journal,
    id: u64,
    force: Force,
) -> Result<Taken, ApplyError> {
    let all = journal.transaction(id).map_or(0, |transaction| transaction.entries.len());
    let indexes: Vec<usize> = (0..all).collect();
    some(lookup, journal, id, &indexes, force)
}

/// Takes some changes of a transaction back.
pub(crate) fn some(
    lookup: &Lookup<'_>,
    journal: &mut Journal,
    id: u64,
    indexes: &[usize],
    force: Force,
) -> Result<Taken, ApplyError> {
    let boot = boot(lookup.kernel)?;
    lookup.forget();
    let Targets { mut verdicts, targets, inherits } =
        target::set(lookup, journal, id, indexes, force, &boot);
    // Undoing must work on a full disk too: it is idempotent, and only then told.
    let told = inherits.into_iter().try_for_each(|record| journal.append(record));
    let told = told.and_then(|()| announce(journal, id, &targets));
    let failures = restore::restore(lookup, &targets);
    sweep(lookup, journal, id, indexes);
    verdicts.extend(judge::judge(lookup, &targets, &failures));
    verdicts.sort_by_key(|(index, _)| *index);
    let each = report(journal, id, &verdicts);
    let told = told.and_then(|()| tell(journal, id, verdicts));
    Ok(Taken { each, untold: told.err() })
}

/// Removes what a process that died while it replaced a file left beside it.
fn sweep(lookup: &Lookup<'_>, journal: &Journal, id: u64, indexes: &[usize]) {
    let entries = indexes.iter().filter_map(|index| journal.entry(id, *index));
    for entry in entries.filter(|entry| entry.intent.place.outlives_boot()) {
        lookup.kernel.sweep(&entry.intent.path);
    }
}

/// Tells the journal what came, and that the transaction goes on no more.
fn tell(
    journal: &mut Journal,
    transaction: u64,
    verdicts: Vec<(usize, Undone)>,
) -> Result<(), JournalError> {
    for (index, undone) in verdicts {
        journal.append(Record::Undo { transaction, index, undone })?;
    }
    if journal.transaction(transaction).is_some_and(|transaction| transaction.end.is_none()) {
        journal.append(Record::End { transaction, how: End::Failed })?;
    }
    Ok(())
}

/// Tells what is going to be undone, where values beside it will move: after a cut, what they read
/// is neither ours nor somebody else's.
fn announce(
    journal: &mut Journal,
    transaction: u64,
    targets: &[Target],
) -> Result<(), JournalError> {
    if !targets.iter().any(|target| target.is_mover && target.whose == Whose::Ours) {
        return Ok(());
    }
    let indexes = targets.iter().filter_map(|target| target.entry).collect();
    let theirs = targets.iter().filter(|target| target.whose == Whose::Theirs);
    let kept = theirs.map(Target::kept).collect();
    journal.append(Record::Undoing { transaction, indexes, kept })
}

fn report(journal: &Journal, id: u64, verdicts: &[(usize, Undone)]) -> Vec<(usize, Reverted)> {
    let one = |(index, undone): &(usize, Undone)| {
        let entry = journal.entry(id, *index)?;
        let moved = entry.receipt.as_ref().and_then(|receipt| receipt.path.clone());
        let reverted = Reverted {
            transaction: id,
            setting: entry.intent.setting.clone(),
            device: entry.intent.device.as_ref().map(|device| device.name.clone()),
            path: moved.unwrap_or_else(|| entry.intent.path.clone()),
            before: shown(entry),
            undone: undone.clone(),
        };
        Some((*index, reverted))
    };
    verdicts.iter().rev().filter_map(one).collect()
}

fn shown(entry: &Entry) -> String {
    pairs::about(&carry::shown(&entry.intent), &entry.intent.to)
}
