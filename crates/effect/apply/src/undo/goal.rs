// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each value should be once a change is taken back, and whose it is now.

use std::collections::{BTreeMap, BTreeSet};

use journal::{Entry, Intent, Journal, Kept, Raw, Record, Transaction, Witness};
use root::text;
use setting::{Device, Form, Outcome, Place, Undone};
use units::CpuSet;

use super::Force;
use crate::lookup::{Absent, Lookup, key};
use crate::pairs::{self, Pairs};
use crate::spot::Spot;
use crate::{errno, witness};

/// Whose a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// What came of our write.
    Us,
    /// Somebody who came later.
    Them,
    /// It is as it was before.
    Nobody,
}

/// What a value should be in the end.
#[derive(Debug, Clone)]
pub(super) struct Goal {
    pub(super) device: Option<Device>,
    pub(super) place: Place,
    pub(super) part: String,
    pub(super) form: Form,
    pub(super) value: Raw,
    pub(super) owner: Owner,
    /// The change that it is the goal of; none for a value beside one.
    pub(super) entry: Option<usize>,
    /// The change that answers for it.
    pub(super) of: usize,
    /// Whether writing it moves others.
    pub(super) is_mover: bool,
}

impl Goal {
    pub(super) fn kept(&self) -> Kept {
        Kept {
            device: self.device.clone(),
            place: self.place.clone(),
            part: self.part.clone(),
            value: self.value.clone(),
        }
    }

    pub(super) fn spot(&self, lookup: &Lookup<'_>) -> Result<Spot, Absent> {
        lookup.one(self.device.as_ref(), &self.place, &self.part)
    }

    /// Whether what is there is what should be.
    pub(super) fn is_met(&self, spot: &Spot, now: &Raw) -> bool {
        if spot.has_pairs() {
            let (now, wanted) = (pairs::parse(now.trimmed()), pairs::parse(self.value.trimmed()));
            return wanted.iter().all(|(name, value)| now.get(name) == Some(value));
        }
        spot.same(self.form, now, &self.value)
    }
}

/// What is to be done, and what is settled without doing anything.
pub(super) struct Goals {
    pub(super) verdicts: Vec<(usize, Undone)>,
    pub(super) goals: Vec<Goal>,
    /// Newer changes of the same places go back to the older bytes from now on.
    pub(super) inherits: Vec<Record>,
}

/// All that deciding needs to see.
struct View<'a> {
    lookup: &'a Lookup<'a>,
    transaction: &'a Transaction,
    boot: &'a str,
    force: Force,
    online: CpuSet,
    /// Values that the changes to be undone move.
    moved: BTreeSet<String>,
    /// Values that a change moves of which it is not known what came.
    in_flight: BTreeSet<String>,
    /// Changes of newer transactions, by key: the oldest of them has the place.
    newer: BTreeMap<String, (u64, usize)>,
    /// Changes of this transaction that were made, by key.
    held: BTreeMap<String, BTreeSet<usize>>,
}

/// A value of ours as it is now, and what is known of it.
struct Seen<'a> {
    spot: &'a Spot,
    form: Form,
    before: &'a Raw,
    /// What came of our write; none where that is not known.
    after: Option<&'a Raw>,
    now: &'a Raw,
    /// What we wanted, where we wanted something.
    to: &'a str,
    key: &'a str,
}

pub(super) fn set(
    lookup: &Lookup<'_>,
    journal: &Journal,
    id: u64,
    indexes: &[usize],
    force: Force,
    boot: &str,
) -> Goals {
    let mut goals = Goals { verdicts: Vec::new(), goals: Vec::new(), inherits: Vec::new() };
    let Some(transaction) = journal.transaction(id) else { return goals };
    let online = text(lookup.kernel, "/sys/devices/system/cpu/online").unwrap_or_default();
    let online = CpuSet::from_list(&online).unwrap_or_default();
    let entries = || indexes.iter().filter_map(|index| transaction.entries.get(*index));
    let moved = entries().flat_map(|entry| &entry.intent.witnesses).map(key_of).collect();
    let (newer, held) = (newer(journal, transaction), held(transaction));
    let in_flight = in_flight(transaction);
    let view = View { lookup, transaction, boot, force, online, moved, in_flight, newer, held };
    for index in indexes {
        if let Some(entry) = transaction.entries.get(*index).filter(|entry| !entry.is_settled()) {
            view.entry(*index, entry, &mut goals);
        }
    }
    let own = |goal: &Goal| key(goal.device.as_ref(), &goal.place, &goal.part);
    let mut known: BTreeSet<String> = goals.goals.iter().map(own).collect();
    for index in indexes {
        view.witnesses(*index, &mut known, &mut goals);
    }
    goals
}

fn in_flight(transaction: &Transaction) -> BTreeSet<String> {
    let entries = transaction.entries.iter().enumerate();
    let untold = entries
        .filter(|(index, entry)| entry.receipt.is_none() && transaction.may_be_written(*index));
    untold.flat_map(|(_, entry)| &entry.intent.witnesses).map(key_of).collect()
}

/// Who has a place now: of each, the oldest change of a newer transaction of the same boot.
fn newer(journal: &Journal, own: &Transaction) -> BTreeMap<String, (u64, usize)> {
    let mut newer = BTreeMap::new();
    let others = journal.transactions().iter().filter(|other| {
        other.begin.transaction > own.begin.transaction && other.begin.boot == own.begin.boot
    });
    for other in others {
        for (index, entry) in other.entries.iter().enumerate() {
            if holds(other, index, entry) {
                newer.entry(key_of_entry(entry)).or_insert((other.begin.transaction, index));
            }
        }
    }
    newer
}

fn held(transaction: &Transaction) -> BTreeMap<String, BTreeSet<usize>> {
    let mut held: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (index, entry) in transaction.entries.iter().enumerate() {
        if entry.receipt.is_some() && holds(transaction, index, entry) {
            held.entry(key_of_entry(entry)).or_default().insert(index);
        }
    }
    held
}

fn key_of_entry(entry: &Entry) -> String {
    let intent = &entry.intent;
    key(intent.device.as_ref(), &intent.place, &intent.part)
}

fn key_of(witness: &Witness) -> String {
    key(witness.device.as_ref(), &witness.place, &witness.part)
}

impl View<'_> {
    fn entry(&self, index: usize, entry: &Entry, goals: &mut Goals) {
        let Intent { device, place, part, before, .. } = &entry.intent;
        let own = key(device.as_ref(), place, part);
        let settled = |undone| (index, undone);
        let outcome = entry.receipt.as_ref().map(|receipt| &receipt.outcome);
        let verdict = if self.transaction.begin.boot != self.boot && !place.outlives_boot() {
            Some(Undone::Reset)
        } else if !self.transaction.may_be_written(index)
            || matches!(outcome, Some(Outcome::Equal | Outcome::Managed))
        {
            Some(Undone::Nothing)
        } else if let Some((transaction, newer)) = self.newer.get(&own).copied() {
            let before = before.clone();
            goals.inherits.push(Record::Inherit { transaction, index: newer, before });
            Some(Undone::Inherited)
        } else {
            None
        };
        match verdict {
            Some(undone) => goals.verdicts.push(settled(undone)),
            None => match self.goal(index, entry, &own) {
                Ok(goal) => goals.goals.push(goal),
                Err(undone) => goals.verdicts.push(settled(undone)),
            },
        }
    }

    fn goal(&self, index: usize, entry: &Entry, own: &str) -> Result<Goal, Undone> {
        let Intent { device, place, part, form, before, witnesses, to, .. } = &entry.intent;
        let goal = |value, owner| Goal {
            device: device.clone(),
            place: place.clone(),
            part: part.clone(),
            form: *form,
            value,
            owner,
            entry: Some(index),
            of: index,
            is_mover: !witnesses.is_empty() || witness::opens_again(place),
        };
        let is_file = matches!(place, Place::BannedInterrupts);
        if *before == Raw::Absent && !is_file {
            // A queue that our channels made: it goes with them.
            return Err(Undone::Nothing);
        }
        let spot = match self.lookup.one(device.as_ref(), place, part) {
            Ok(spot) => spot,
            // It comes back with the channels of before.
            Err(Absent::Place) if self.moved.contains(own) => {
                return Ok(goal(before.clone(), Owner::Us));
            }
            Err(_) => return Err(Undone::Missing),
        };
        let now = match spot.read(self.lookup.kernel) {
            Ok(now) => now,
            Err(machine::Why::Absent) => return Err(Undone::Missing),
            Err(why) => return Err(Undone::Failed { why: why.to_string() }),
        };
        let after = entry.receipt.as_ref().and_then(|receipt| receipt.after.as_ref());
        let failed = entry.receipt.as_ref().is_some_and(|receipt| !receipt.outcome.is_well());
        let is_same = after.is_some_and(|after| spot.same(*form, after, before));
        if failed && is_same && !self.moved.contains(own) {
            // Our write changed nothing: whatever is there now is no business of ours.
            return Err(Undone::Nothing);
        }
        let seen = Seen { spot: &spot, form: *form, before, after, now: &now, to, key: own };
        let (value, owner) = self.whose(&seen);
        Ok(goal(value, owner))
    }

    /// Whose a value is, and what it should be.
    fn whose(&self, seen: &Seen<'_>) -> (Raw, Owner) {
        let after = seen.after.filter(|_| !self.in_flight.contains(seen.key));
        let seen = &Seen { after, ..*seen };
        let Seen { spot, form, before, now, key, .. } = *seen;
        if let Some(resumed) = self.resumed(seen) {
            return resumed;
        }
        if spot.has_pairs() {
            return self.whose_pairs(seen);
        }
        if spot.same(form, now, before) {
            return (before.clone(), Owner::Nobody);
        }
        if let Spot::Banned(..) = spot
            && after.is_some_and(|after| after != now)
        {
            // Somebody wrote to the file since: only our lines are taken out.
            let left = setting::without_bans(now.bytes().unwrap_or_default());
            let is_gone = left.is_empty() && *before == Raw::Absent;
            return (if is_gone { Raw::Absent } else { Raw::new(left) }, Owner::Us);
        }
        let is_ours = match after {
            None => true,
            Some(after) => spot.same(form, now, after),
        };
        let is_ours = is_ours
            || self.force == Force::Overwrite
            || self.is_moved_by_us(spot, form, key, now)
            || after.is_some_and(|after| self.lost_its_cpus(spot, after));
        if is_ours { (before.clone(), Owner::Us) } else { (now.clone(), Owner::Them) }
    }

    /// After a cut while undoing: what the undoing moves is ours, but for what was noted then as
    /// somebody else's.
    fn resumed(&self, seen: &Seen<'_>) -> Option<(Raw, Owner)> {
        let undoing = self.transaction.undoing.as_ref()?;
        if !self.moved.contains(seen.key) {
            return None;
        }
        let is_it = |kept: &&Kept| key(kept.device.as_ref(), &kept.place, &kept.part) == seen.key;
        Some(match undoing.kept.iter().find(is_it) {
            Some(kept) => (kept.value.clone(), Owner::Them),
            None if seen.spot.same(seen.form, seen.now, seen.before) => {
                (seen.before.clone(), Owner::Nobody)
            }
            None => (seen.before.clone(), Owner::Us),
        })
    }

    /// Values that a later write of the same transaction moved are ours as well.
    fn is_moved_by_us(&self, spot: &Spot, form: Form, own: &str, now: &Raw) -> bool {
        self.transaction.entries.iter().any(|entry| {
            let came = entry.receipt.as_ref().map(|receipt| receipt.witnesses.as_slice());
            let pairs = entry.intent.witnesses.iter().zip(came.unwrap_or_default());
            pairs.into_iter().any(|(witness, came)| {
                key_of(witness) == own
                    && came.as_ref().is_some_and(|came| spot.same(form, came, now))
            })
        })
    }

    /// The kernel moves an interrupt whose CPUs go offline (kernel/irq/cpuhotplug.c); that is
    /// nobody's wish.
    fn lost_its_cpus(&self, spot: &Spot, after: &Raw) -> bool {
        let ours = CpuSet::from_list(after.trimmed()).unwrap_or_default();
        matches!(spot, Spot::Interrupt(_))
            && !self.online.is_empty()
            && !ours.is_subset(&self.online)
    }

    /// Of values that are several, each has an owner: what our write changed and nobody since is
    /// ours.
    fn whose_pairs(&self, seen: &Seen<'_>) -> (Raw, Owner) {
        let parse = |raw: &Raw| pairs::parse(raw.trimmed());
        let (before, now) = (parse(seen.before), parse(seen.now));
        let after = seen.after.map(parse);
        let came = after.as_ref().unwrap_or(&now);
        let mut value = Pairs::new();
        let mut theirs = false;
        for (name, old) in &before {
            let is_changed = came.get(name) != Some(old);
            let is_ours = came.get(name) == now.get(name) || self.force == Force::Overwrite;
            if is_changed && is_ours {
                value.insert(name.clone(), old.clone());
            }
            theirs |= is_changed && !is_ours && now.get(name) != Some(old);
        }
        let wanted = pairs::parse_features(seen.to);
        let is_named = |name: &String| wanted.contains_key(name) || seen.to.is_empty();
        let owner = match (value.keys().any(is_named), theirs) {
            (true, _) => Owner::Us,
            (false, true) => Owner::Them,
            (false, false) if value.is_empty() => Owner::Nobody,
            (false, false) => Owner::Us,
        };
        (Raw::text(pairs::print(&value)), owner)
    }

    /// Goals of the values beside a change.
    fn witnesses(&self, index: usize, known: &mut BTreeSet<String>, goals: &mut Goals) {
        let Some(entry) = self.transaction.entries.get(index) else { return };
        let is_undone =
            goals.goals.iter().any(|goal| goal.entry == Some(index) && goal.owner != Owner::Them);
        if !is_undone {
            return;
        }
        let receipt = entry.receipt.as_ref();
        for (at, witness) in entry.intent.witnesses.iter().enumerate() {
            let after = receipt.and_then(|receipt| receipt.witnesses.get(at)?.as_ref());
            let own = key_of(witness);
            if known.insert(own.clone()) {
                let goal = self.beside(index, witness, after, &own, goals);
                goals.goals.push(goal);
            }
        }
    }

    fn beside(
        &self,
        index: usize,
        witness: &Witness,
        after: Option<&Raw>,
        own: &str,
        goals: &mut Goals,
    ) -> Goal {
        let Witness { device, place, part, form, before } = witness;
        let goal = |value, owner| Goal {
            device: device.clone(),
            place: place.clone(),
            part: part.clone(),
            form: *form,
            value,
            owner,
            entry: None,
            of: index,
            is_mover: false,
        };
        let spot = self.lookup.one(device.as_ref(), place, part).ok();
        let now = spot.as_ref().and_then(|spot| spot.read(self.lookup.kernel).ok());
        let (Some(spot), Some(now)) = (spot, now) else {
            return goal(before.clone(), Owner::Us);
        };
        if let Some((transaction, newer)) = self.newer.get(own).copied() {
            let before = before.clone();
            goals.inherits.push(Record::Inherit { transaction, index: newer, before });
            return goal(now, Owner::Them);
        }
        if self.is_held_by_another(index, own) {
            return goal(now, Owner::Them);
        }
        let seen = Seen { spot: &spot, form: *form, before, after, now: &now, to: "", key: own };
        let (value, owner) = self.whose(&seen);
        goal(value, owner)
    }

    /// Whether another change of this transaction, which stays, has the place.
    fn is_held_by_another(&self, index: usize, own: &str) -> bool {
        self.held.get(own).is_some_and(|held| held.iter().any(|other| *other != index))
    }
}

/// Whether a change was made and is not undone.
fn holds(transaction: &Transaction, index: usize, entry: &Entry) -> bool {
    let outcome = entry.receipt.as_ref().map(|receipt| &receipt.outcome);
    let is_written = !matches!(outcome, Some(Outcome::Equal | Outcome::Managed));
    is_written && !entry.is_settled() && transaction.may_be_written(index)
}

/// What came of each change whose goal was set.
pub(super) fn judge(
    lookup: &Lookup<'_>,
    goals: &[Goal],
    failures: &[Option<rustix::io::Errno>],
) -> Vec<(usize, Undone)> {
    let verdict = |(goal, failure): (&Goal, &Option<rustix::io::Errno>)| {
        let spot = goal.spot(lookup).map_err(|_| Undone::Missing)?;
        let now = spot.read(lookup.kernel).map_err(|_| Undone::Missing)?;
        if goal.is_met(&spot, &now) {
            return Ok(match goal.owner {
                Owner::Us => Undone::Restored,
                Owner::Nobody => Undone::Nothing,
                Owner::Them => Undone::Kept { found: spot.show(goal.form, &now) },
            });
        }
        if is_offline(lookup, &spot, &goal.value) {
            return Err(Undone::Missing);
        }
        let cause = failure.map_or_else(
            || format!("it reads {:?}", now.trimmed()),
            |error| format!("the kernel answers {}", errno::name(error)),
        );
        let value = goal.value.trimmed();
        Err(Undone::Failed { why: format!("{}: {value:?} is not back, {cause}", spot.path()) })
    };
    let judged: Vec<Result<Undone, Undone>> = goals.iter().zip(failures).map(verdict).collect();
    let stuck = |of: usize| {
        // What lies beside a change and cannot be given back is a failure of the change.
        goals.iter().zip(&judged).find_map(|(goal, judged)| match judged {
            Err(failed @ Undone::Failed { .. }) if goal.of == of && goal.entry.is_none() => {
                Some(failed.clone())
            }
            _ => None,
        })
    };
    let own = goals.iter().zip(&judged).filter_map(|(goal, judged)| Some((goal.entry?, judged)));
    own.map(|(index, judged)| {
        let undone = judged.clone().unwrap_or_else(|undone| undone);
        (index, stuck(index).unwrap_or(undone))
    })
    .collect()
}

/// An interrupt that may go to offline CPUs only can be given back when one of them returns.
fn is_offline(lookup: &Lookup<'_>, spot: &Spot, value: &Raw) -> bool {
    let online = text(lookup.kernel, "/sys/devices/system/cpu/online").unwrap_or_default();
    let online = CpuSet::from_list(&online).unwrap_or_default();
    let cpus = CpuSet::from_list(value.trimmed()).unwrap_or_default();
    matches!(spot, Spot::Interrupt(_)) && !online.is_empty() && !cpus.overlaps(&online)
}
