// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a plan to intentions: places looked up, bytes before read, what is equal left out.

use std::collections::BTreeSet;

use journal::{Intent, Raw, Witness};
use machine::Why;
use rustix::io::Errno;
use setting::{Form, Outcome, Place, Plan, Planned};

use crate::come::Come;
use crate::lookup::{Absent, Found, Lookup, key};
use crate::spot::Spot;
use crate::{Receipt, classify, witness};

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
}

impl Moved {
    fn add(&mut self, planned: &Planned, witnesses: &[Witness]) {
        self.keys.extend(witnesses.iter().map(|w| key(w.device.as_ref(), &w.place, &w.part)));
        if let Some(device) =
            planned.device.as_ref().filter(|_| witness::opens_again(&planned.place))
        {
            self.opened.insert(device.name.clone());
        }
    }

    fn holds(&self, planned: &Planned, key: &str) -> bool {
        let device = planned.device.as_ref().map_or("", |device| &device.name);
        let is_opened = self.opened.contains(device) && witness::is_of_queue(&planned.place);
        is_opened || self.keys.contains(key)
    }
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
                for found in all {
                    one(lookup, planned, found, come, &mut moved, &mut prepared);
                }
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
    let own = key(planned.device.as_ref(), &found.place, &found.part);
    let whole = (planned.device.as_ref(), &found.place, found.part.as_str());
    let is_all = come.is_all(whole, &found.spot, form(planned), &planned.to, &before);
    let is_there = is_all || found.spot.is(planned.form, &planned.to, &before);
    if is_there && !moved.holds(planned, &own) {
        prepared.settled.push(receipt(Outcome::Equal, &before));
        return;
    }
    if found.spot.spell(planned.form, &planned.to, &before).is_none() {
        let outcome = classify::refused(&found.spot, Errno::INVAL);
        prepared.settled.push(receipt(outcome, &before));
        return;
    }
    let witnesses = match witness::of(lookup, planned.device.as_ref(), &found.place) {
        Ok(witnesses) => witnesses,
        Err(why) => {
            prepared.settled.push(receipt(unread(&found.spot, &why), &before));
            return;
        }
    };
    moved.add(planned, &witnesses);
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
