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

use journal::{End, Journal, JournalError, Raw, Record, Transaction};
use setting::Undone;

pub use self::plan::applied_plan;

pub(crate) use self::target::is_reset;
use self::target::{Target, Targets};
use self::whose::Whose;
use crate::carry::boot;
use crate::lookup::Lookup;
use crate::{ApplyError, Kernel, pairs};

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

/// Takes changes back, the newest transaction first, and drops from the journal what is fully
/// undone. What could not be undone, and what others changed, stays there.
///
/// It does the same again when it was cut short, and after a kill of the process that applied.
///
/// A journal that cannot be written does not keep it from being done: what came is told beside that.
///
/// # Errors
/// There is no such transaction, or the kernel does not tell this boot from another.
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
    picked.reverse();
    let mut all = Reverts { reverted: Vec::new(), untold: None };
    for (id, indexes) in picked {
        let Reverts { reverted, untold } = undo(&lookup, journal, id, &indexes, force)?;
        all.reverted.extend(reverted);
        all.untold = all.untold.or(untold);
    }
    let compacted = journal.compact();
    all.untold = all.untold.or(compacted.err());
    Ok(all)
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
) -> Result<Reverts, ApplyError> {
    let all = journal.transaction(id).map_or(0, |transaction| transaction.entries.len());
    let indexes: Vec<usize> = (0..all).collect();
    undo(lookup, journal, id, &indexes, force)
}

/// Takes some changes of a transaction back.
fn undo(
    lookup: &Lookup<'_>,
    journal: &mut Journal,
    id: u64,
    indexes: &[usize],
    force: Force,
) -> Result<Reverts, ApplyError> {
    let boot = boot(lookup.kernel)?;
    lookup.forget();
    let Targets { mut verdicts, targets, inherits } =
        target::set(lookup, journal, id, indexes, force, &boot);
    // Undoing must work on a full disk too: it is idempotent, and only then told.
    let told = inherits.into_iter().try_for_each(|record| journal.append(record));
    let told = told.and_then(|()| announce(journal, id, &targets));
    let failures = restore::restore(lookup, &targets);
    verdicts.extend(judge::judge(lookup, &targets, &failures));
    verdicts.sort_by_key(|(index, _)| *index);
    let reverted = report(journal, id, &verdicts);
    let told = told.and_then(|()| tell(journal, id, verdicts));
    Ok(Reverts { reverted, untold: told.err() })
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

fn report(journal: &Journal, id: u64, verdicts: &[(usize, Undone)]) -> Vec<Reverted> {
    let one = |(index, undone): &(usize, Undone)| {
        let entry = journal.entry(id, *index)?;
        let moved = entry.receipt.as_ref().and_then(|receipt| receipt.path.clone());
        Some(Reverted {
            transaction: id,
            setting: entry.intent.setting.clone(),
            device: entry.intent.device.as_ref().map(|device| device.name.clone()),
            path: moved.unwrap_or_else(|| entry.intent.path.clone()),
            before: pairs::about(&shown(&entry.intent.before), &entry.intent.to),
            undone: undone.clone(),
        })
    };
    verdicts.iter().rev().filter_map(one).collect()
}

fn shown(raw: &Raw) -> String {
    raw.trimmed().to_owned()
}
