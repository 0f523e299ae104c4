// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each value should be once a change is taken back.

use std::collections::BTreeSet;

use journal::{Entry, Intent, Journal, Kept, Raw, Record, Transaction, Witness};
use root::text;
use setting::{Device, Form, Outcome, Place, Undone};
use units::CpuSet;

use super::Force;
use super::judge;
use super::whose::{self, Seen, View, Whose, key_of, key_of_entry};
use crate::carry::network;
use crate::lookup::{Absent, Lookup};
use crate::pairs;
use crate::spot::Spot;

/// What a value should be in the end.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) device: Option<Device>,
    pub(super) place: Place,
    pub(super) part: String,
    pub(super) form: Form,
    pub(super) value: Raw,
    pub(super) whose: Whose,
    /// The change that it is the target of; none for a value beside one.
    pub(super) entry: Option<usize>,
    /// The change that answers for it.
    pub(super) of: usize,
    /// Whether writing it moves others.
    pub(super) is_mover: bool,
}

impl Target {
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
pub(super) struct Targets {
    pub(super) verdicts: Vec<(usize, Undone)>,
    pub(super) targets: Vec<Target>,
    /// Newer changes of the same places go back to the older bytes from now on.
    pub(super) inherits: Vec<Record>,
}

pub(super) fn set(
    lookup: &Lookup<'_>,
    journal: &Journal,
    id: u64,
    indexes: &[usize],
    force: Force,
    boot: &str,
) -> Targets {
    let mut set = Targets { verdicts: Vec::new(), targets: Vec::new(), inherits: Vec::new() };
    let Some(transaction) = journal.transaction(id) else { return set };
    let online = text(lookup.kernel, "/sys/devices/system/cpu/online").unwrap_or_default();
    let entries = || indexes.iter().filter_map(|index| transaction.entries.get(*index));
    let view = View {
        lookup,
        transaction,
        boot,
        network: network(lookup.kernel),
        force,
        online: CpuSet::from_list(&online).unwrap_or_default(),
        moved: entries()
            .flat_map(|entry| &entry.intent.witnesses)
            .map(|one| key_of(lookup, one))
            .collect(),
        in_flight: whose::in_flight(lookup, transaction),
        newer: whose::newer(lookup, journal, transaction),
        held: whose::held(lookup, transaction),
    };
    for index in indexes {
        if let Some(entry) = transaction.entries.get(*index).filter(|entry| !entry.is_settled()) {
            view.entry(*index, entry, &mut set);
        }
    }
    let own = |target: &Target| lookup.key(target.device.as_ref(), &target.place, &target.part);
    let mut known: BTreeSet<String> = set.targets.iter().map(own).collect();
    for index in indexes {
        view.witnesses(*index, &mut known, &mut set);
    }
    set
}

/// Whether a change may have been written, seen from a boot. Receipts are not synced: after a loss of
/// power, what outlives it may be on disk and its receipt not.
pub(super) fn may_be_written(transaction: &Transaction, index: usize, boot: &str) -> bool {
    let entry = transaction.entries.get(index);
    let outlives = entry.is_some_and(|entry| entry.intent.place.outlives_boot());
    let may_be_lost = transaction.is_ready && transaction.begin.boot != boot;
    transaction.may_be_written(index) || (outlives && may_be_lost)
}

/// Whether a boot since has reset a change. A kexec leaves some places as they are: what reads as we
/// left it there is ours still.
pub(crate) fn is_reset(lookup: &Lookup<'_>, entry: &Entry) -> bool {
    let Intent { device, place, part, form, before, .. } = &entry.intent;
    if place.outlives_boot() {
        return false;
    }
    let after = entry.receipt.as_ref().and_then(|receipt| receipt.after.as_ref());
    let Some(after) = after.filter(|_| place.outlives_kexec()) else { return true };
    let spot = lookup.one(device.as_ref(), place, part).ok();
    let now = spot.as_ref().and_then(|spot| spot.read(lookup.kernel).ok());
    !matches!((spot, now), (Some(spot), Some(now))
        if spot.same(*form, &now, after) && !spot.same(*form, after, before))
}

impl View<'_> {
    fn entry(&self, index: usize, entry: &Entry, set: &mut Targets) {
        let outcome = entry.receipt.as_ref().map(|receipt| &receipt.outcome);
        let verdict = if self.transaction.begin.boot != self.boot && is_reset(self.lookup, entry) {
            Err(Undone::Reset)
        } else if !may_be_written(self.transaction, index, self.boot)
            || matches!(outcome, Some(Outcome::Equal | Outcome::Managed))
        {
            Err(Undone::Nothing)
        } else if whose::is_elsewhere(self.transaction, &entry.intent, self.network.as_deref()) {
            Err(Undone::Elsewhere)
        } else {
            self.target(index, entry, set)
        };
        match verdict {
            Ok(target) => set.targets.push(target),
            Err(undone) => set.verdicts.push((index, undone)),
        }
    }

    fn target(&self, index: usize, entry: &Entry, set: &mut Targets) -> Result<Target, Undone> {
        let Intent { device, place, part, form, before, witnesses, to, .. } = &entry.intent;
        let own = &key_of_entry(self.lookup, entry);
        let target = |value, whose| Target {
            device: device.clone(),
            place: place.clone(),
            part: part.clone(),
            form: *form,
            value,
            whose,
            entry: Some(index),
            of: index,
            is_mover: !witnesses.is_empty() || setting::opens_again(place),
        };
        let is_file = matches!(place, Place::BannedInterrupts);
        let has_newer = self.newer.contains_key(own);
        if *before == Raw::Absent && !is_file && !has_newer {
            // A queue that our channels made: it goes with them.
            return Err(Undone::Nothing);
        }
        let spot = match self.lookup.one(device.as_ref(), place, part) {
            Ok(spot) => spot,
            // It comes back with the channels of before.
            Err(Absent::Place) if self.moved.contains(own) && !has_newer => {
                return Ok(target(before.clone(), Whose::Ours));
            }
            Err(absent) => return Err(judge::nowhere(absent)),
        };
        let now = spot.read(self.lookup.kernel).map_err(|why| judge::unread(&spot, &why))?;
        let after = entry.receipt.as_ref().and_then(|receipt| receipt.after.as_ref());
        let seen = Seen { spot: &spot, form: *form, before, after, now: &now, to, key: own };
        if let Some(undone) = self.hand_on(&seen, set) {
            return Err(undone);
        }
        let failed = entry.receipt.as_ref().is_some_and(|receipt| !receipt.outcome.is_well());
        let is_same = after.is_some_and(|after| spot.same(*form, after, before));
        if failed && is_same && !self.moved.contains(own) {
            // Our write changed nothing: whatever is there now is no business of ours.
            return Err(Undone::Nothing);
        }
        let (value, whose) = self.whose(&seen);
        Ok(target(value, whose))
    }

    /// Where a newer change has the place, it goes back to our bytes from before; where somebody set
    /// another value between the two, it goes back to that, and ours is theirs already.
    fn hand_on(&self, seen: &Seen<'_>, set: &mut Targets) -> Option<Undone> {
        let newer = self.newer.get(seen.key)?;
        let Some(before) = self.passed_on(seen, newer) else {
            return Some(Undone::Kept { found: seen.spot.show(seen.form, seen.now) });
        };
        let (transaction, index) = (newer.transaction, newer.index);
        set.inherits.push(Record::Inherit { transaction, index, before });
        Some(Undone::Inherited)
    }

    /// Targets of the values beside a change.
    fn witnesses(&self, index: usize, known: &mut BTreeSet<String>, set: &mut Targets) {
        let Some(entry) = self.transaction.entries.get(index) else { return };
        let is_undone = set
            .targets
            .iter()
            .any(|target| target.entry == Some(index) && target.whose != Whose::Theirs);
        if !is_undone {
            return;
        }
        let receipt = entry.receipt.as_ref();
        for (at, witness) in entry.intent.witnesses.iter().enumerate() {
            let after = receipt.and_then(|receipt| receipt.witnesses.get(at)?.as_ref());
            // A queue that went, and is there again.
            let after = after.filter(|after| **after != Raw::Absent);
            let own = key_of(self.lookup, witness);
            if known.insert(own.clone()) {
                let target = self.beside(index, witness, after, &own, set);
                set.targets.push(target);
            }
        }
    }

    fn beside(
        &self,
        index: usize,
        witness: &Witness,
        after: Option<&Raw>,
        own: &str,
        set: &mut Targets,
    ) -> Target {
        let Witness { device, place, part, form, before } = witness;
        let target = |value, whose| Target {
            device: device.clone(),
            place: place.clone(),
            part: part.clone(),
            form: *form,
            value,
            whose,
            entry: None,
            of: index,
            is_mover: false,
        };
        let spot = self.lookup.one(device.as_ref(), place, part).ok();
        let now = spot.as_ref().and_then(|spot| spot.read(self.lookup.kernel).ok());
        let (Some(spot), Some(now)) = (spot, now) else {
            return target(before.clone(), Whose::Ours);
        };
        let seen = Seen { spot: &spot, form: *form, before, after, now: &now, to: "", key: own };
        if self.hand_on(&seen, set).is_some() || self.is_held_by_another(index, own) {
            return target(now, Whose::Theirs);
        }
        let (value, whose) = self.whose(&seen);
        target(value, whose)
    }

    /// Whether another change of this transaction, which stays, has the place.
    fn is_held_by_another(&self, index: usize, own: &str) -> bool {
        self.held.get(own).is_some_and(|held| held.iter().any(|other| *other != index))
    }
}
