// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan in the making: what is looked at, and what has been decided so far.

use std::collections::BTreeMap;

use audit::{Audit, Subject};
use machine::{Fact, Machine};
use setting::{Device, Left, LeftWhy, Movers, Observation, Owner, Plan, Planned, Reboot, Setting};

use crate::request::Request;
use crate::{conflict, device, words};

/// What every part looks at.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    pub(crate) subject: &'a Subject<'a>,
    pub(crate) request: &'a Request,
    pub(crate) audit: &'a Audit,
    /// Observations by setting and device, the machine being "".
    seen: BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a Observation>>>,
}

impl<'a> Work<'a> {
    pub(crate) fn new(subject: &'a Subject<'a>, request: &'a Request, audit: &'a Audit) -> Self {
        let mut seen: BTreeMap<&str, BTreeMap<&str, Vec<&Observation>>> = BTreeMap::new();
        for one in &audit.settings {
            let of_setting = seen.entry(&one.setting).or_default();
            of_setting.entry(one.device.as_deref().unwrap_or_default()).or_default().push(one);
        }
        Self { subject, request, audit, seen }
    }

    pub(crate) fn machine(&self) -> &'a Machine {
        self.subject.machine
    }

    pub(crate) fn entry(&self, id: &str) -> Option<&'a Setting> {
        self.subject.catalogue.get(id)
    }

    /// What was seen of a setting on a device: several where its files differ.
    pub(crate) fn seen(&self, setting: &str, device: Option<&str>) -> &[&'a Observation] {
        let of_setting = self.seen.get(setting);
        let seen = of_setting.and_then(|seen| seen.get(device.unwrap_or_default()));
        seen.map_or(&[], Vec::as_slice)
    }

    /// Under which devices a setting was seen, the machine being none.
    pub(crate) fn labels(&self, setting: &str) -> Vec<Option<&'a str>> {
        let of_setting = self.seen.get(setting).into_iter().flat_map(BTreeMap::keys);
        of_setting.map(|label| Some(*label).filter(|label| !label.is_empty())).collect()
    }

    /// The value seen, where it is one.
    pub(crate) fn value(&self, setting: &str, device: Option<&str>) -> Option<Fact<String>> {
        match self.seen(setting, device) {
            [] => None,
            [one] => Some(one.value.clone()),
            several => {
                let values: Vec<&str> =
                    several.iter().filter_map(|one| one.value.as_deref().ok()).collect();
                Some(Err(machine::Why::unparsed(&values.join(", "))))
            }
        }
    }

    /// Why a device that was named is not planned for, where the request is narrowed to others.
    pub(crate) fn outside(&self, device: Option<&str>) -> Option<String> {
        let asked = &self.request.devices;
        let is_asked = |name: &str| {
            asked.iter().any(|one| one == name || audit::is_same(self.machine(), name, one))
        };
        let is_outside = !asked.is_empty() && device.is_none_or(|name| !is_asked(name));
        is_outside.then(|| format!("the plan is for {} only", asked.join(", ")))
    }

    /// Whether the goal may plan a setting; what is named is planned all the same.
    pub(crate) fn wants_setting(&self, id: &str) -> bool {
        let only = &self.request.only;
        only.is_empty() || only.iter().any(|known| known == id)
    }

    /// Whether the request is about a device; none is the machine.
    pub(crate) fn wants_device(&self, device: Option<&Device>) -> bool {
        let asked = &self.request.devices;
        let Some(device) = device else { return asked.is_empty() };
        asked.is_empty() || asked.iter().any(|name| self.is_same(device, name))
    }

    /// Whether a name is one of the device's.
    pub(crate) fn is_same(&self, device: &Device, name: &str) -> bool {
        let in_group = || {
            let one = device::cpus_of(&device.name);
            let group = device::cpus_of(name);
            matches!((one, group), (Some(one), Some(group)) if one.is_subset(&group))
        };
        device.name == name || in_group() || audit::is_same(self.machine(), &device.name, name)
    }
}

/// What has been decided.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) changes: Vec<Drafted>,
    left: Vec<Left>,
    equal: BTreeMap<String, u64>,
    /// Wanted, and so already: a change only where another one moves it.
    held: Vec<Drafted>,
}

/// A change and how it came about.
#[derive(Debug, Clone)]
pub(crate) struct Drafted {
    pub(crate) planned: Planned,
    /// Asked for by name: the guard against being locked out lets it pass.
    pub(crate) is_named: bool,
    /// Its place among what was named, or how much its finding matters: its place in the audit's
    /// order. The first is 0.
    pub(crate) rank: usize,
}

impl Draft {
    /// Takes a change; one whose value is so already waits for [`Self::keep_moved`].
    pub(crate) fn change(&mut self, drafted: Drafted) {
        let Planned { form, from, to, .. } = &drafted.planned;
        match from {
            Ok(from) if words::same(*form, to, from) => self.hold(drafted),
            _ => self.changes.push(drafted),
        }
    }

    /// Takes what is so already.
    pub(crate) fn hold(&mut self, drafted: Drafted) {
        self.held.push(drafted);
    }

    /// What is wanted, and so already.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Drafted> {
        self.held.iter()
    }

    /// Every place that is wanted to be something, whether it is so or not.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = &Planned> {
        self.changes.iter().chain(&self.held).map(|drafted| &drafted.planned)
    }

    /// What is so already stays a change where another one moves it, and is counted elsewhere.
    pub(crate) fn keep_moved(&mut self, work: &Work<'_>) {
        // One that is kept may move the next.
        let mut waiting = std::mem::take(&mut self.held);
        loop {
            let movers = Movers::of(self.changes.iter().map(|drafted| &drafted.planned));
            let mover =
                |one: &Drafted| Some(movers.that_move(&one.planned).next()?.setting.clone());
            let sorted = waiting.into_iter().map(|one| (mover(&one), one));
            let (moved, still): (Vec<_>, Vec<_>) = sorted.partition(|(mover, _)| mover.is_some());
            waiting = still.into_iter().map(|(_, one)| one).collect();
            if moved.is_empty() {
                break;
            }
            for (mover, mut one) in moved {
                let mover = mover.unwrap_or_default();
                one.planned.because.push_str(&format!("; it is so now, and {mover} moves it"));
                self.keep(work, one);
            }
        }
        for one in waiting {
            self.equal(&one.planned.setting, 1);
        }
    }

    fn keep(&mut self, work: &Work<'_>, drafted: Drafted) {
        match conflict::rival(work, self, &drafted) {
            Some(because) => self.leave_drafted(drafted, LeftWhy::Conflict, because),
            None => self.changes.push(drafted),
        }
    }

    /// Counts places that are as wanted.
    pub(crate) fn equal(&mut self, setting: &str, places: u64) {
        if places > 0 {
            let count = self.equal.entry(setting.to_owned()).or_default();
            *count = count.saturating_add(places);
        }
    }

    /// Leaves something; what is said of several devices is said once.
    pub(crate) fn leave(&mut self, left: Left) {
        let is_alike = |known: &&mut Left| {
            known.setting == left.setting
                && known.wanted == left.wanted
                && known.why == left.why
                && known.because == left.because
        };
        let Some(known) = self.left.iter_mut().find(is_alike) else {
            self.left.push(left);
            return;
        };
        for device in left.devices {
            if !known.devices.contains(&device) {
                known.devices.push(device);
            }
        }
        for line in left.by_hand {
            if !known.by_hand.contains(&line) {
                known.by_hand.push(line);
            }
        }
    }

    /// Whether anything is said of a setting.
    pub(crate) fn speaks_of(&self, setting: &str) -> bool {
        self.equal.contains_key(setting)
            || self.wanted().any(|planned| planned.setting == setting)
            || self.left.iter().any(|left| left.setting == setting)
    }

    /// Leaves a change that was drafted.
    pub(crate) fn leave_drafted(&mut self, drafted: Drafted, why: LeftWhy, because: String) {
        let Planned { setting, device, to, .. } = drafted.planned;
        let named =
            |device: &Device| format!("nearside plan --set '{setting}={to}@{}'", device.name);
        // What is written is not always what is typed: `rx=4096` stands for `nic-rx-ring=4096`.
        let is_typed = !to.contains('=') && !to.contains('\'');
        let by_hand = match (&device, why) {
            (Some(device), LeftWhy::LockOut) if is_typed && !device.name.contains('\'') => {
                vec![named(device)]
            }
            (_, LeftWhy::LockOut) => vec![format!("nearside plan --only {setting}")],
            _ => Vec::new(),
        };
        self.leave(Left {
            devices: device.iter().map(|device| device.name.clone()).collect(),
            setting,
            wanted: to,
            owner: Owner::Os,
            reboot: Reboot::None,
            why,
            because,
            by_hand,
        });
    }

    /// The plan.
    pub(crate) fn finish(mut self, request: &Request) -> Plan {
        for left in &mut self.left {
            device::sort(&mut left.devices);
        }
        Plan {
            goal: request.goal,
            changes: self.changes.into_iter().map(|drafted| drafted.planned).collect(),
            left: self.left,
            beside: Vec::new(),
            equal: self.equal.into_iter().collect(),
        }
    }
}
