// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a plan to intentions: places looked up, bytes before read, what is equal left out.

use std::collections::{BTreeMap, BTreeSet};

use journal::{Intent, Raw, Witness};
use machine::Why;
use rustix::io::Errno;
use setting::{Ethtool, Form, Outcome, Place, Plan, Planned};

use crate::come::Come;
use crate::lookup::{Absent, Found, Lookup};
use crate::spot::Spot;
use crate::{Receipt, classify, pairs, steering, witness};

/// What a plan comes to on this machine.
pub(crate) struct Prepared {
    /// Changes to be made, in order.
    pub(crate) intents: Vec<Intent>,
    /// What needs no write, or can have none.
    pub(crate) settled: Vec<Receipt>,
}

/// Places that an earlier change of the plan may move: what they are now is not what they will be.
#[derive(Default)]
struct Moved {
    keys: BTreeSet<String>,
    opened: BTreeSet<String>,
    /// Receive and transmit queues that devices will have, where the plan changes their channels.
    queues: BTreeMap<String, (u32, u32)>,
}

impl Moved {
    fn add(&mut self, lookup: &Lookup<'_>, planned: &Planned, witnesses: &[Witness]) {
        let key = |one: &Witness| lookup.key(one.device.as_ref(), &one.place, &one.part);
        self.keys.extend(witnesses.iter().map(key));
        if let Some(device) =
            planned.device.as_ref().filter(|_| setting::opens_again(&planned.place))
        {
            self.opened.insert(device.name.clone());
            if planned.place == (Place::Ethtool { what: Ethtool::Channels }) {
                self.queues.insert(device.name.clone(), channels(&planned.to));
            }
        }
    }

    fn holds(&self, planned: &Planned, key: &str) -> bool {
        let device = planned.device.as_ref().map_or("", |device| &device.name);
        let is_opened = self.opened.contains(device) && setting::is_of_queue(&planned.place);
        let is_renumbered = planned.place == Place::BannedInterrupts
            && planned.to.contains(':')
            && !self.opened.is_empty();
        is_opened || is_renumbered || self.keys.contains(key)
    }

    /// Of files of all queues of a device, those that its channels are going to make.
    fn to_come(&self, planned: &Planned, there: &[Found]) -> Vec<Planned> {
        let Place::File { path } = &planned.place else { return Vec::new() };
        let device = planned.device.as_ref().map_or("", |device| &device.name);
        let (Some((rx, tx)), Some((before, after))) =
            (self.queues.get(device), path.split_once('*'))
        else {
            return Vec::new();
        };
        let count = match () {
            () if before.ends_with("/queues/rx-") => *rx,
            () if before.ends_with("/queues/tx-") => *tx,
            () => return Vec::new(),
        };
        let place = |number: u32| Place::File { path: format!("{before}{number}{after}") };
        let is_new = |place: &Place| there.iter().all(|found| found.place != *place);
        let new = (0..count.min(MOST_QUEUES)).map(place).filter(is_new);
        new.map(|place| Planned { place, ..planned.clone() }).collect()
    }
}

/// More than any NIC has: netdevices are made with at most some thousand.
const MOST_QUEUES: u32 = 4096;

/// Queues after a change of channels: `combined=8`, or `rx=4 tx=2` beside it.
fn channels(to: &str) -> (u32, u32) {
    let pairs = pairs::numbers(to).unwrap_or_default();
    let of = |name: &str| {
        let pair = pairs.iter().find(|(known, _)| known == name);
        pair.map_or(0, |(_, count)| *count)
    };
    let both = of("combined");
    (both.saturating_add(of("rx")), both.saturating_add(of("tx")))
}

pub(crate) fn prepare(lookup: &Lookup<'_>, plan: &Plan, come: &Come) -> Prepared {
    let mut prepared = Prepared { intents: Vec::new(), settled: Vec::new() };
    let mut moved = Moved::default();
    for planned in &plan.changes {
        let device = planned.device.as_ref();
        let (device, silence) =
            lookup.noting.during(|| device.map(|device| lookup.identified(device)));
        if let Some(why) = silence {
            prepared.settled.push(nowhere(planned, Absent::Unread(why)));
            continue;
        }
        let planned = &Planned { device, ..planned.clone() };
        match lookup.all(planned.device.as_ref(), &planned.place) {
            Ok(all) => {
                let to_come = moved.to_come(planned, &all);
                for found in all {
                    one(lookup, planned, found, come, &mut moved, &mut prepared);
                }
                prepared.intents.extend(to_come.iter().map(not_yet));
            }
            Err(Absent::Place) if moved.holds(planned, "") => {
                // A queue that channels of this plan are going to make.
                prepared.intents.push(not_yet(planned));
            }
            Err(absent) => prepared.settled.push(nowhere(planned, absent)),
        }
    }
    prepared
}

fn one(
    lookup: &Lookup<'_>,
    planned: &Planned,
    found: Found,
    come: &Come,
    moved: &mut Moved,
    prepared: &mut Prepared,
) {
    let receipt = |outcome, was: &Raw| Receipt {
        outcome,
        before: found.spot.show(planned.form, was),
        ..Receipt::of(planned, found.spot.path())
    };
    let before = match found.spot.read(lookup.kernel) {
        Ok(before) => before,
        Err(why) => {
            prepared.settled.push(receipt(unread(&found.spot, &why), &Raw::Absent));
            return;
        }
    };
    let own = lookup.key(planned.device.as_ref(), &found.place, &found.part);
    let to = lookup.meant(&planned.place, &planned.to);
    let whole = (planned.device.as_ref(), &found.place, found.part.as_str());
    let is_all = come.is_all(lookup, whole, &found.spot, form(planned), &to, &before);
    let is_there = is_all || found.spot.is(planned.form, &to, &before);
    if is_there && !moved.holds(planned, &own) {
        prepared.settled.push(receipt(Outcome::Equal, &before));
        return;
    }
    let Some(bytes) = found.spot.spell(planned.form, &to, &before) else {
        let outcome = classify::refused(&found.spot, Errno::INVAL);
        prepared.settled.push(receipt(outcome, &before));
        return;
    };
    if let Some(loss) = steering::loss(lookup.kernel, &found.spot, &bytes) {
        let outcome = classify::refused(&found.spot, Errno::BUSY);
        prepared.settled.push(Receipt { note: Some(loss), ..receipt(outcome, &before) });
        return;
    }
    let witnesses = match witness::of(lookup, planned.device.as_ref(), &found.place) {
        Ok(witnesses) => witnesses,
        Err(why) => {
            prepared.settled.push(receipt(unread(&found.spot, &why), &before));
            return;
        }
    };
    moved.add(lookup, planned, &witnesses);
    prepared.intents.push(Intent {
        setting: planned.setting.clone(),
        device: planned.device.clone(),
        path: found.spot.path(),
        place: found.place,
        part: found.part,
        form: form(planned),
        before,
        to: planned.to.clone(),
        witnesses,
    });
}

fn form(planned: &Planned) -> Form {
    match planned.place {
        Place::Interrupt { .. } => Form::CpuList,
        _ => planned.form,
    }
}

fn not_yet(planned: &Planned) -> Intent {
    Intent {
        setting: planned.setting.clone(),
        device: planned.device.clone(),
        place: planned.place.clone(),
        part: String::new(),
        path: String::new(),
        form: form(planned),
        before: Raw::Absent,
        to: planned.to.clone(),
        witnesses: Vec::new(),
    }
}

fn nowhere(planned: &Planned, absent: Absent) -> Receipt {
    let path = match &planned.place {
        Place::File { path } => path.clone(),
        place => format!("{place:?}"),
    };
    Receipt { outcome: missing(absent), ..Receipt::of(planned, path) }
}

/// What a place that is nowhere comes to.
pub(crate) fn missing(absent: Absent) -> Outcome {
    match absent {
        Absent::Device => Outcome::Lost,
        Absent::Place => Outcome::Unsupported { errno: "ENOENT".to_owned() },
        Absent::Forbidden => Outcome::Denied { errno: "EPERM".to_owned() },
        Absent::Unread(Why::Denied) => Outcome::Denied { errno: "EACCES".to_owned() },
        Absent::Unread(_) => Outcome::Refused { errno: "EIO".to_owned() },
    }
}

/// What a place that cannot be read comes to: it could not be given back.
pub(crate) fn unread(spot: &Spot, why: &Why) -> Outcome {
    let errno = match why {
        Why::Absent => Errno::NOENT,
        Why::Denied => Errno::ACCESS,
        Why::NotSupported => Errno::OPNOTSUPP,
        Why::Unparsed(_) | Why::Failed(_) => return Outcome::Refused { errno: "EIO".to_owned() },
    };
    classify::refused(spot, errno)
}
