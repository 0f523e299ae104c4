// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whose a value is now: ours, somebody's who came later, or as it was before.

use std::collections::{BTreeMap, BTreeSet};

use journal::{Entry, Intent, Journal, Kept, Raw, Transaction, Witness};
use setting::{DeviceKind, Form, Outcome, Place};
use units::CpuSet;

use super::Force;
use crate::lookup::Lookup;
use crate::pairs::{self, Pairs};
use crate::spot::Spot;

/// Whose a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// What came of our write.
    Ours,
    /// That of somebody who came later.
    Theirs,
    /// It is as it was before.
    Nobodys,
}

/// Whether a change belongs to a network namespace: sysctls of the network, and all of NICs.
pub(crate) fn is_of_network(intent: &Intent) -> bool {
    let is_nic = intent.device.as_ref().is_some_and(|device| device.kind == DeviceKind::Nic);
    let is_sysctl =
        matches!(&intent.place, Place::File { path } if path.starts_with("/proc/sys/net/"));
    is_nic || is_sysctl
}

/// Whether a change was made in another network namespace than `here`. Where either is not told, it
/// is taken for the same.
pub(crate) fn is_elsewhere(transaction: &Transaction, intent: &Intent, here: Option<&str>) -> bool {
    let then = transaction.begin.network.as_deref();
    is_of_network(intent) && then.zip(here).is_some_and(|(then, here)| then != here)
}

/// All that deciding needs to see.
pub(super) struct View<'a> {
    pub(super) lookup: &'a Lookup<'a>,
    pub(super) transaction: &'a Transaction,
    pub(super) boot: &'a str,
    /// This process's network namespace.
    pub(super) network: Option<String>,
    pub(super) force: Force,
    pub(super) online: CpuSet,
    /// Values that the changes to be undone move.
    pub(super) moved: BTreeSet<String>,
    /// Values that a change moves of which it is not known what came.
    pub(super) in_flight: BTreeSet<String>,
    /// Changes of newer transactions, by key: the oldest of them has the place.
    pub(super) newer: BTreeMap<String, Newer<'a>>,
    /// Changes of this transaction that were made, by key.
    pub(super) held: BTreeMap<String, BTreeSet<usize>>,
}

/// A change of a newer transaction that has a place now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newer<'a> {
    pub(super) transaction: u64,
    pub(super) index: usize,
    /// What was there when it was made.
    before: &'a Raw,
}

/// A value of ours as it is now, and what is known of it.
pub(super) struct Seen<'a> {
    pub(super) spot: &'a Spot,
    pub(super) form: Form,
    pub(super) before: &'a Raw,
    /// What came of our write; none where that is not known.
    pub(super) after: Option<&'a Raw>,
    pub(super) now: &'a Raw,
    /// What we wanted, where we wanted something.
    pub(super) to: &'a str,
    pub(super) key: &'a str,
}

/// Who has a place now: of each, the oldest change of a newer transaction, as far as the two have
/// lived in the same boot or in a place that outlives it.
pub(super) fn newer<'a>(
    lookup: &Lookup<'_>,
    journal: &'a Journal,
    own: &Transaction,
) -> BTreeMap<String, Newer<'a>> {
    let mut newer = BTreeMap::new();
    let others = journal.transactions().iter();
    for other in others.filter(|other| other.begin.transaction > own.begin.transaction) {
        let is_same_boot = other.begin.boot == own.begin.boot;
        for (index, entry) in other.entries.iter().enumerate() {
            let place = &entry.intent.place;
            let lives_on = is_same_boot || place.outlives_boot() || place.outlives_kexec();
            // Each namespace has values of its own.
            let is_apart = is_of_network(&entry.intent) && other.begin.network != own.begin.network;
            if lives_on && !is_apart && holds(other, index, entry) {
                let transaction = other.begin.transaction;
                let one = Newer { transaction, index, before: &entry.intent.before };
                newer.entry(key_of_entry(lookup, entry)).or_insert(one);
            }
        }
    }
    newer
}

/// Changes of a transaction that were made and are told, by key.
pub(super) fn held(
    lookup: &Lookup<'_>,
    transaction: &Transaction,
) -> BTreeMap<String, BTreeSet<usize>> {
    let mut held: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (index, entry) in transaction.entries.iter().enumerate() {
        if entry.receipt.is_some() && holds(transaction, index, entry) {
            held.entry(key_of_entry(lookup, entry)).or_default().insert(index);
        }
    }
    held
}

/// Values that changes in flight move.
pub(super) fn in_flight(lookup: &Lookup<'_>, transaction: &Transaction) -> BTreeSet<String> {
    let entries = transaction.entries.iter().enumerate();
    let untold = entries
        .filter(|(index, entry)| entry.receipt.is_none() && transaction.may_be_written(*index));
    let moved = untold.flat_map(|(_, entry)| &entry.intent.witnesses);
    moved.map(|witness| key_of(lookup, witness)).collect()
}

/// Whether a change was made and is not undone.
fn holds(transaction: &Transaction, index: usize, entry: &Entry) -> bool {
    let outcome = entry.receipt.as_ref().map(|receipt| &receipt.outcome);
    let is_written = !matches!(outcome, Some(Outcome::Equal | Outcome::Managed));
    is_written && !entry.is_settled() && transaction.may_be_written(index)
}

pub(super) fn key_of_entry(lookup: &Lookup<'_>, entry: &Entry) -> String {
    let intent = &entry.intent;
    lookup.key(intent.device.as_ref(), &intent.place, &intent.part)
}

pub(super) fn key_of(lookup: &Lookup<'_>, witness: &Witness) -> String {
    lookup.key(witness.device.as_ref(), &witness.place, &witness.part)
}

impl View<'_> {
    /// Whose a value is, and what it should be.
    pub(super) fn whose(&self, seen: &Seen<'_>) -> (Raw, Whose) {
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
            return (before.clone(), Whose::Nobodys);
        }
        if let Spot::Banned(..) = spot
            && after != Some(now)
        {
            return whose_bans(before, after, now);
        }
        let is_ours = match after {
            None => true,
            Some(after) => spot.same(form, now, after),
        };
        let is_ours = is_ours
            || self.force == Force::Overwrite
            || self.is_moved_by_us(spot, form, key, now)
            || after.is_some_and(|after| self.lost_its_cpus(spot, after));
        if is_ours { (before.clone(), Whose::Ours) } else { (now.clone(), Whose::Theirs) }
    }

    /// After a cut while undoing: what the undoing moves is ours, but for what was noted then as
    /// somebody else's.
    fn resumed(&self, seen: &Seen<'_>) -> Option<(Raw, Whose)> {
        let undoing = self.transaction.undoing.as_ref()?;
        if !self.moved.contains(seen.key) {
            return None;
        }
        let is_it = |kept: &&Kept| {
            self.lookup.key(kept.device.as_ref(), &kept.place, &kept.part) == seen.key
        };
        Some(match undoing.kept.iter().find(is_it) {
            Some(kept) => (kept.value.clone(), Whose::Theirs),
            None if seen.spot.same(seen.form, seen.now, seen.before) => {
                (seen.before.clone(), Whose::Nobodys)
            }
            None => (seen.before.clone(), Whose::Ours),
        })
    }

    /// Values that a later write of the same transaction moved are ours as well; and so they are where
    /// nobody could tell what came of them.
    fn is_moved_by_us(&self, spot: &Spot, form: Form, own: &str, now: &Raw) -> bool {
        self.transaction.entries.iter().any(|entry| {
            let came = entry.receipt.as_ref().map(|receipt| receipt.witnesses.as_slice());
            let pairs = entry.intent.witnesses.iter().zip(came.unwrap_or_default());
            pairs.into_iter().any(|(witness, came)| {
                key_of(self.lookup, witness) == own
                    && came.as_ref().is_none_or(|came| spot.same(form, came, now))
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
    fn whose_pairs(&self, seen: &Seen<'_>) -> (Raw, Whose) {
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
        let whose = match (value.keys().any(is_named), theirs) {
            (true, _) => Whose::Ours,
            (false, true) => Whose::Theirs,
            (false, false) if value.is_empty() => Whose::Nobodys,
            (false, false) => Whose::Ours,
        };
        (Raw::text(pairs::print(&value)), whose)
    }

    /// What a newer change goes back to once this one is taken back. None where somebody set another
    /// value between the two: that is what it goes back to then.
    pub(super) fn passed_on(&self, seen: &Seen<'_>, newer: &Newer<'_>) -> Option<Raw> {
        let Seen { spot, form, before, key, .. } = *seen;
        let known = seen.after.filter(|_| !self.in_flight.contains(key));
        let Some(after) = known.filter(|_| self.force == Force::Respect) else {
            return Some(before.clone());
        };
        if spot.has_pairs() {
            return passed_on_pairs(before, after, newer.before);
        }
        let is_ours = spot.same(form, newer.before, after)
            || spot.same(form, newer.before, before)
            || self.is_moved_by_us(spot, form, key, newer.before);
        is_ours.then(|| before.clone())
    }
}

/// A file in which our lines are others' guests, and which is not as our write left it. Somebody wrote
/// to it since, or it is not known whether we ever did: only our lines are taken out.
fn whose_bans(before: &Raw, after: Option<&Raw>, now: &Raw) -> (Raw, Whose) {
    let without = |raw: &Raw| setting::without_bans(raw.bytes().unwrap_or_default());
    let left = without(now);
    if after.is_none() {
        let has_ours = now.bytes().is_some_and(|bytes| bytes.len() != left.len());
        if !has_ours {
            return (now.clone(), Whose::Nobodys);
        }
        if left == without(before) {
            return (before.clone(), Whose::Ours);
        }
    }
    let is_gone = left.is_empty() && *before == Raw::Absent;
    (if is_gone { Raw::Absent } else { Raw::new(left) }, Whose::Ours)
}

/// Of values that are several, those that our write changed and nobody set until the newer one.
fn passed_on_pairs(before: &Raw, after: &Raw, newer: &Raw) -> Option<Raw> {
    let parse = |raw: &Raw| pairs::parse(raw.trimmed());
    let (before, after, mut value) = (parse(before), parse(after), parse(newer));
    let changed: Vec<(&String, &String)> =
        before.iter().filter(|(name, old)| after.get(*name) != Some(old)).collect();
    let is_ours = |name: &String| value.get(name) == after.get(name);
    let ours: Vec<_> = changed.iter().filter(|(name, _)| is_ours(name)).copied().collect();
    let is_passed = changed.is_empty() || !ours.is_empty();
    for (name, old) in ours {
        value.insert(name.clone(), old.clone());
    }
    is_passed.then(|| Raw::text(pairs::print(&value)))
}
