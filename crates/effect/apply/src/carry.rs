// SPDX-License-Identifier: MIT OR Apache-2.0
//! Carries a plan out under the journal.

use std::collections::{BTreeSet, VecDeque};

use journal::{Begin, End, Entry, Intent, Journal, JournalError, Raw, Record, Witness};
use machine::{Fact, Why};
use root::text;
use rustix::io::Errno;
use setting::{Form, Outcome, Plan, Undone, canonical};
use units::{Cpu, CpuSet};

use crate::come::Come;
use crate::lookup::{Absent, Lookup};
use crate::owner::owner;
use crate::prepare::{Prepared, missing, prepare, unread};
use crate::spot::Spot;
use crate::undo::{self, Force, Taken};
use crate::{
    ApplyError, Ending, Kernel, OnFailure, Options, Receipt, Receipts, classify, errno,
    nothing_waits, pairs,
};

/// Makes the changes of a plan, in its order.
///
/// Bytes from before are in the journal, and safe from a loss of power, before the first write.
/// What is as wanted already is not written, and where that is all of it the journal is not either.
/// While another transaction waits to be confirmed nothing is changed.
/// When a change fails, the transaction is undone unless `options` says to go on.
///
/// # Errors
/// Nothing was changed, or the error says what was.
pub fn apply(
    kernel: &dyn Kernel,
    journal: &mut Journal,
    plan: &Plan,
    options: &Options,
) -> Result<Receipts, ApplyError> {
    settle(kernel, journal)?;
    let (boot, lookup) = (boot(kernel)?, Lookup::new(kernel));
    let cut_short = journal.transactions().iter().find(|known| known.is_cut_short());
    if let Some(transaction) = cut_short {
        return Err(ApplyError::Unfinished(transaction.begin.transaction));
    }
    nothing_waits(kernel, journal.transactions())?;
    let come = Come::of(&lookup, journal.transactions());
    let Prepared { intents, settled } = prepare(&lookup, plan, &come);
    let is_stopped = options.on_failure == OnFailure::Undo
        && settled.iter().any(|receipt| !receipt.outcome.is_well());
    if is_stopped || intents.is_empty() {
        let ending = if is_stopped { Ending::Undone } else { Ending::Done };
        return Ok(Receipts {
            transaction: None,
            receipts: settled,
            ending,
            is_interrupted: false,
        });
    }
    let id = intend(kernel, journal, &intents, boot, options)?;
    let mut told = Vec::new();
    let whole = Whole { transaction: id, intents: &intents, come: &come, options };
    let carried = carry(&lookup, journal, &whole, &mut told);
    let is_interrupted = is_stopped_by(options) && !matches!(carried, Ok(End::Done));
    let ending = finish(&lookup, journal, id, carried, &mut told)?;
    let receipts = settled.into_iter().chain(told.into_iter().map(|(_, receipt)| receipt));
    Ok(Receipts { transaction: Some(id), receipts: receipts.collect(), ending, is_interrupted })
}

/// Ends what earlier boots left. [`apply`] does so too; whoever plans from what is there does it
/// before the plan.
///
/// Changes that a reboot has reset need no undoing: without this, a journal would grow with each boot
/// that applies the same again. What outlived it is taken back: interrupts that irqbalance was told to
/// leave alone have other numbers by now.
///
/// # Errors
/// The journal failed, or the kernel does not tell this boot from another.
pub fn settle(kernel: &dyn Kernel, journal: &mut Journal) -> Result<(), ApplyError> {
    let (boot, lookup) = (boot(kernel)?, Lookup::new(kernel));
    for (transaction, index) in outlived(&lookup, journal, &boot) {
        let taken = undo::some(&lookup, journal, transaction, &[index], Force::Respect)?;
        taken.untold.map_or(Ok(()), Err)?;
    }
    Ok(settle_older_boots(&lookup, journal, &boot)?)
}

/// Changes of earlier boots in places that outlive one, the newest first.
fn outlived(lookup: &Lookup<'_>, journal: &Journal, boot: &str) -> Vec<(u64, usize)> {
    let older = journal.transactions().iter().rev().filter(|old| old.begin.boot != boot);
    let mut found = Vec::new();
    for transaction in older {
        // Where irqbalance is not installed any more there is no file of it.
        let is_there = |intent: &Intent| lookup.one(None, &intent.place, &intent.part).is_ok();
        let stays = |entry: &Entry| {
            let outlives = entry.intent.place.outlives_boot();
            outlives && !entry.is_settled() && is_there(&entry.intent)
        };
        let entries = transaction.entries.iter().enumerate().filter(|(_, entry)| stays(entry));
        found.extend(entries.map(|(index, _)| (transaction.begin.transaction, index)));
    }
    found
}

fn settle_older_boots(
    lookup: &Lookup<'_>,
    journal: &mut Journal,
    boot: &str,
) -> Result<(), JournalError> {
    let mut reset: Vec<(u64, usize)> = Vec::new();
    for transaction in journal.transactions().iter().filter(|old| old.begin.boot != boot) {
        let id = transaction.begin.transaction;
        let entries = transaction.entries.iter().enumerate();
        let is_reset = |entry: &Entry| !entry.is_settled() && undo::is_reset(lookup, entry);
        reset.extend(entries.filter(|(_, e)| is_reset(e)).map(|(index, _)| (id, index)));
    }
    for (transaction, index) in reset {
        journal.append(Record::Undo { transaction, index, undone: Undone::Reset })?;
    }
    journal.compact()
}

/// This boot's name.
pub(crate) fn boot(kernel: &dyn Kernel) -> Result<String, ApplyError> {
    text(kernel, "/proc/sys/kernel/random/boot_id").map_err(ApplyError::NoBoot)
}

/// This process's network namespace, by the name that the kernel gives it (namespaces(7)).
pub(crate) fn network(kernel: &dyn Kernel) -> Option<String> {
    kernel.link("/proc/self/ns/net").ok()
}

fn intend(
    kernel: &dyn Kernel,
    journal: &mut Journal,
    intents: &[Intent],
    boot: String,
    options: &Options,
) -> Result<u64, JournalError> {
    let begin = Begin {
        transaction: 0,
        boot,
        at: options.at.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        why: options.why.clone(),
        owner: owner(kernel),
        network: network(kernel),
        guard: options.guard.clone(),
    };
    journal.intend(begin, intents)
}

/// A transaction to be carried out.
struct Whole<'a> {
    transaction: u64,
    intents: &'a [Intent],
    come: &'a Come,
    options: &'a Options,
}

/// Makes the changes in their order. A floor above the ceiling of now is refused; it is tried again
/// once its ceiling was raised.
fn carry(
    lookup: &Lookup<'_>,
    journal: &mut Journal,
    whole: &Whole<'_>,
    told: &mut Vec<(usize, Receipt)>,
) -> Result<End, JournalError> {
    let Whole { transaction, intents, come, options } = *whole;
    let mut order: VecDeque<usize> = (0..intents.len()).collect();
    let mut waited: BTreeSet<usize> = BTreeSet::new();
    let mut opened: BTreeSet<&str> = BTreeSet::new();
    let mut how = End::Done;
    while let Some(index) = order.pop_front() {
        if is_stopped_by(options) {
            how = End::Failed;
            break;
        }
        let Some(intent) = intents.get(index) else { break };
        let mut came = change(lookup, intent, come, &opened);
        let is_waiting = is_pair_refusal(intent, &came)
            && order.iter().filter_map(|at| intents.get(*at)).any(|other| is_pair(other, intent));
        if is_waiting && waited.insert(index) {
            // From here on those behind it are written before it.
            journal.append(Record::Wait { transaction, index })?;
            order.push_back(index);
            continue;
        }
        if waited.contains(&index) {
            came.count_the_first_try(intent);
        }
        if setting::opens_again(&intent.place) {
            opened.extend(intent.device.as_ref().map(|device| device.name.as_str()));
        }
        let is_well = came.outcome.is_well();
        tell(journal, transaction, index, intent, came, told)?;
        if !is_well && options.on_failure == OnFailure::Undo {
            how = End::Failed;
            break;
        }
    }
    journal.append(Record::End { transaction, how })?;
    Ok(how)
}

/// Whether the person wants it to end.
fn is_stopped_by(options: &Options) -> bool {
    options.stop.load(std::sync::atomic::Ordering::Relaxed)
}

/// What came of one change.
struct Came {
    outcome: Outcome,
    path: String,
    after: Option<Raw>,
    witnesses: Vec<Option<Raw>>,
    note: Option<String>,
}

impl Came {
    fn none(outcome: Outcome, path: String, after: Option<Raw>) -> Self {
        Self { outcome, path, after, witnesses: Vec::new(), note: None }
    }

    /// What a first try left may be the wanted value by now: it is ours, and not as it was.
    fn count_the_first_try(&mut self, intent: &Intent) {
        if self.outcome == Outcome::Equal && self.after.as_ref() != Some(&intent.before) {
            self.outcome = Outcome::Applied;
        }
    }
}

fn tell(
    journal: &mut Journal,
    transaction: u64,
    index: usize,
    intent: &Intent,
    came: Came,
    told: &mut Vec<(usize, Receipt)>,
) -> Result<(), JournalError> {
    let Came { outcome, path, after, witnesses, note } = came;
    let moved = (path != intent.path).then(|| path.clone());
    let receipt = journal::Receipt { outcome: outcome.clone(), after, witnesses, path: moved };
    let written = journal.append(Record::Receipt { transaction, index, receipt });
    let receipt = Receipt {
        setting: intent.setting.clone(),
        device: intent.device.as_ref().map(|device| device.name.clone()),
        path,
        before: pairs::about(&shown(intent), &intent.to),
        wanted: intent.to.clone(),
        outcome,
        note,
        undone: None,
    };
    told.push((index, receipt));
    written
}

/// What was there before a change: a switch in the words in which it is wanted, all else as it reads.
pub(crate) fn shown(intent: &Intent) -> String {
    let before = intent.before.trimmed();
    let is_switch = matches!(intent.form, Form::Switch | Form::Opposite);
    let word = if is_switch { canonical(intent.form, before) } else { None };
    word.unwrap_or_else(|| before.to_owned())
}

/// Makes one change: looked up anew, written, read back.
fn change(lookup: &Lookup<'_>, intent: &Intent, come: &Come, opened: &BTreeSet<&str>) -> Came {
    let kernel = lookup.kernel;
    let to = lookup.meant(&intent.place, &intent.to);
    let spot = match lookup.one(intent.device.as_ref(), &intent.place, &intent.part) {
        Ok(spot) => spot,
        Err(Absent::Place) if went_with_channels(intent, opened) => {
            let note = Some("its queue went with the channels".to_owned());
            return Came { note, ..Came::none(Outcome::Equal, intent.path.clone(), None) };
        }
        Err(absent) => return Came::none(missing(absent), intent.path.clone(), None),
    };
    let path = spot.path();
    let (now, is_managed) = found(kernel, &spot);
    let now = match now {
        Ok(now) => now,
        Err(why) => return Came::none(unread(&spot, &why), path, None),
    };
    let own = (intent.device.as_ref(), &intent.place, intent.part.as_str());
    if spot.is(intent.form, &to, &now) || come.is_all(lookup, own, &spot, intent.form, &to, &now) {
        return Came::none(Outcome::Equal, path, Some(now));
    }
    if is_managed {
        return Came::none(Outcome::Managed, path, Some(now));
    }
    let Some(bytes) = spot.spell(intent.form, &to, &now) else {
        return Came::none(classify::refused(&spot, Errno::INVAL), path, Some(now));
    };
    let (written, note) = write(kernel, &spot, &bytes, &to);
    if setting::opens_again(&intent.place) || !intent.witnesses.is_empty() {
        lookup.forget();
    }
    let after = spot.read(kernel);
    let outcome = match (written, &after) {
        // What was taken in part, and refused, has to be given back.
        (Err(errno), Ok(after)) if !spot.same(intent.form, &now, after) => {
            Outcome::Refused { errno: errno::name(errno) }
        }
        (Err(errno), _) => classify::refused(&spot, errno),
        (Ok(()), Ok(after)) => classify::taken(&spot, intent.form, &to, &now, after),
        (Ok(()), Err(Why::Absent)) => Outcome::Lost,
        (Ok(()), Err(why)) => unread(&spot, why),
    };
    let witnesses = intent.witnesses.iter().map(|witness| beside(lookup, witness));
    Came { outcome, path, after: after.ok(), witnesses: witnesses.collect(), note }
}

/// What a value beside a change reads after it; none where nobody can tell.
fn beside(lookup: &Lookup<'_>, witness: &Witness) -> Option<Raw> {
    let spot = match lookup.one(witness.device.as_ref(), &witness.place, &witness.part) {
        Ok(spot) => spot,
        Err(Absent::Unread(_)) => return None,
        Err(Absent::Device | Absent::Place | Absent::Forbidden) => return Some(Raw::Absent),
    };
    match spot.read(lookup.kernel) {
        Err(Why::Absent) => Some(Raw::Absent),
        read => read.ok(),
    }
}

/// Whether a queue was there until a change of the same plan took it away.
fn went_with_channels(intent: &Intent, opened: &BTreeSet<&str>) -> bool {
    let device = intent.device.as_ref().map_or("", |device| &device.name);
    opened.contains(device) && setting::is_of_queue(&intent.place) && intent.before != Raw::Absent
}

/// What is there before a write, and whether it is an interrupt that the kernel places: its file has
/// no write bit then (Linux 6.12 and newer).
fn found(kernel: &dyn Kernel, spot: &Spot) -> (Fact<Raw>, bool) {
    let Spot::Interrupt(path) = spot else { return (spot.read(kernel), false) };
    let (bytes, mode) = kernel.read_with_mode(path);
    (bytes.map(Raw::new), mode.is_ok_and(|mode| mode & 0o222 == 0))
}

/// Writes; where the CPU of an interrupt has no vector left, tries the other CPUs of its node.
fn write(
    kernel: &dyn Kernel,
    spot: &Spot,
    bytes: &Raw,
    to: &str,
) -> (Result<(), Errno>, Option<String>) {
    let written = spot.write(kernel, bytes);
    if written != Err(Errno::NOSPC) || !matches!(spot, Spot::Interrupt(_)) {
        return (written, None);
    }
    let full = CpuSet::from_list(to).unwrap_or_default();
    for cpu in neighbours(kernel, &full) {
        let other = spot.write(kernel, &Raw::text(format!("{cpu}\n")));
        if other != Err(Errno::NOSPC) {
            let note = format!("CPU {full} has no interrupt vector left; CPU {cpu} is of its node");
            return (other, Some(note));
        }
    }
    (written, Some(format!("no CPU of the node of CPU {full} has an interrupt vector left")))
}

/// The other CPUs of the node of a set, online ones, those behind it first. Somebody keeps CPUs free
/// of interrupts by isolating them (`isolcpus=`, isolated partitions) or by stopping their tick
/// (`nohz_full=`).
fn neighbours(kernel: &dyn Kernel, cpus: &CpuSet) -> Vec<Cpu> {
    let list = |path: &str| {
        text(kernel, path).ok().and_then(|text| CpuSet::from_list(&text).ok()).unwrap_or_default()
    };
    let online = list("/sys/devices/system/cpu/online");
    let quiet =
        list("/sys/devices/system/cpu/isolated").or(&list("/sys/devices/system/cpu/nohz_full"));
    let nodes = list("/sys/devices/system/node/online");
    let mut found: Vec<Cpu> = Vec::new();
    for node in nodes.iter() {
        let own = list(&format!("/sys/devices/system/node/node{node}/cpulist"));
        if own.overlaps(cpus) {
            found.extend(own.and(&online).minus(cpus).minus(&quiet).iter());
        }
    }
    let after = cpus.iter().last();
    found.sort_by_key(|cpu| (Some(*cpu) < after, *cpu));
    found
}

/// Names of a floor and its ceiling.
const PAIRS: [(&str, &str); 3] = [
    ("min_freq_khz", "max_freq_khz"),
    ("scaling_min_freq", "scaling_max_freq"),
    ("min_perf_pct", "max_perf_pct"),
];

fn is_pair_refusal(intent: &Intent, came: &Came) -> bool {
    let is_one =
        PAIRS.iter().any(|(min, max)| intent.path.ends_with(min) || intent.path.ends_with(max));
    is_one
        && matches!(
            came.outcome,
            Outcome::Refused { .. } | Outcome::Rounded { .. } | Outcome::Dropped
        )
}

/// Whether two are floor and ceiling of the same thing.
fn is_pair(a: &Intent, b: &Intent) -> bool {
    let split = |intent: &Intent| {
        let (folder, name) = intent.path.rsplit_once('/')?;
        Some((folder.to_owned(), name.to_owned()))
    };
    let (Some(a), Some(b)) = (split(a), split(b)) else { return false };
    let is = |min: &str, max: &str| {
        PAIRS.iter().any(|(floor, ceiling)| *floor == min && *ceiling == max)
    };
    a.0 == b.0 && (is(&a.1, &b.1) || is(&b.1, &a.1))
}

/// Undoes what failed, tells of each receipt what came of that, and says how it ended: by what is
/// there now, whether the journal can be told of it or not.
fn finish(
    lookup: &Lookup<'_>,
    journal: &mut Journal,
    id: u64,
    carried: Result<End, JournalError>,
    told: &mut [(usize, Receipt)],
) -> Result<Ending, ApplyError> {
    if matches!(carried, Ok(End::Done)) {
        return Ok(Ending::Done);
    }
    let Taken { each, untold } = match undo::transaction(lookup, journal, id, Force::Respect) {
        Ok(taken) => taken,
        Err(why) => return Err(carried.err().map_or(why, ApplyError::LeftBehind)),
    };
    for (index, reverted) in &each {
        if let Some((_, receipt)) = told.iter_mut().find(|(known, _)| known == index) {
            receipt.undone = Some(reverted.undone.clone());
        }
    }
    let is_well = !each.iter().any(|(_, one)| one.is_stuck());
    match carried.err().or(untold) {
        Some(error) if is_well => Err(ApplyError::TakenBack(error)),
        Some(error) => Err(ApplyError::LeftBehind(error)),
        None if is_well => {
            // What stays in the journal is dropped by whoever writes it next.
            let _ = journal.compact();
            Ok(Ending::Undone)
        }
        None => Ok(Ending::Stuck),
    }
}
