// SPDX-License-Identifier: MIT OR Apache-2.0
//! A finding in the making: what a rule saw. Cost, effect and owner come from the catalogue.

use machine::Irq;
use setting::{
    Basis, Change, Confidence, Evidence, Finding, FindingEffect, Goal, Owner, Reboot, Setting,
    Severity, Write,
};

use units::{NodeId, PciAddress};

use crate::context::Context;
use crate::lines;
use crate::rules;
use crate::words;

/// Most lines of evidence that one finding carries; a person reads the first few.
const MOST_EVIDENCE: usize = 12;

/// What a rule saw. `{devices}` in the title and in the reason becomes the devices' names.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    id: String,
    devices: Vec<String>,
    severity: Severity,
    severity_from: String,
    confidence: Confidence,
    title: String,
    observed: String,
    wanted: String,
    because: String,
    evidence: Vec<Evidence>,
    by_hand: Vec<String>,
    has_change: bool,
    owner: Option<Owner>,
    reboot: Option<Reboot>,
}

impl Draft {
    /// A finding of the rule `id`, about the machine until told otherwise.
    pub(crate) fn new(id: &str, severity: Severity, title: impl Into<String>) -> Self {
        Self {
            id: id.to_owned(),
            devices: Vec::new(),
            severity,
            severity_from: String::new(),
            confidence: Confidence::Sure,
            title: title.into(),
            observed: String::new(),
            wanted: String::new(),
            because: String::new(),
            evidence: Vec::new(),
            by_hand: Vec::new(),
            has_change: false,
            owner: None,
            reboot: None,
        }
    }

    /// What the severity stands on, as a clause after it: `high: half of the lanes are lost`.
    pub(crate) fn weighed(mut self, severity_from: impl Into<String>) -> Self {
        self.severity_from = severity_from.into();
        self
    }

    /// The device it is about.
    pub(crate) fn about(mut self, device: impl Into<String>) -> Self {
        self.devices.push(device.into());
        self
    }

    /// Several devices that it is about.
    pub(crate) fn about_all(mut self, devices: impl IntoIterator<Item = String>) -> Self {
        self.devices.extend(devices);
        self
    }

    /// How sure it is.
    pub(crate) fn confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self
    }

    /// What is, and what should be.
    pub(crate) fn values(mut self, observed: impl Into<String>, wanted: impl Into<String>) -> Self {
        self.observed = observed.into();
        self.wanted = wanted.into();
        self
    }

    /// Why it costs on this machine.
    pub(crate) fn because(mut self, because: impl Into<String>) -> Self {
        self.because = because.into();
        self
    }

    /// A line that it rests on.
    pub(crate) fn evidence(mut self, line: Evidence) -> Self {
        self.evidence.push(line);
        self
    }

    /// Lines that it rests on.
    pub(crate) fn evidences(mut self, lines: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(lines);
        self
    }

    /// The file that tells the node of a function.
    pub(crate) fn on_node(
        self,
        context: &Context<'_>,
        at: Option<PciAddress>,
        node: NodeId,
    ) -> Self {
        let Some(at) = at else { return self };
        self.evidence(context.place(at, node))
    }

    /// Where an interrupt goes, from the file that its target was taken from.
    pub(crate) fn aimed(self, context: &Context<'_>, irq: &Irq) -> Self {
        let target = context.target(irq);
        let file = match (&irq.effective, &irq.affinity) {
            (Ok(went), _) if target.is_subset(went) && !went.is_empty() => "effective_affinity",
            (_, Ok(_)) => "smp_affinity",
            (Ok(_), _) => "effective_affinity",
            (Err(_), Err(_)) => return self,
        };
        self.evidence(lines::irq(irq.number, file))
    }

    /// Proposes the change from what is to what should be, with the lines to type.
    pub(crate) fn change(mut self, by_hand: impl IntoIterator<Item = String>) -> Self {
        self.has_change = true;
        self.by_hand.extend(by_hand);
        self
    }

    /// Who can change it, where this machine tells better than the catalogue.
    pub(crate) fn owner(mut self, owner: Owner) -> Self {
        self.owner = Some(owner);
        self
    }

    /// What has to happen before the change counts, where this machine tells better.
    pub(crate) fn reboot(mut self, reboot: Reboot) -> Self {
        self.reboot = Some(reboot);
        self
    }

    /// Whether `other` says the same of other devices.
    fn is_alike(&self, other: &Self) -> bool {
        !self.devices.is_empty()
            && !other.devices.is_empty()
            && self.id == other.id
            && self.observed == other.observed
            && self.wanted == other.wanted
            && self.title == other.title
            && self.severity == other.severity
            && self.confidence == other.confidence
    }

    fn join(&mut self, other: Self) {
        for device in other.devices {
            if !self.devices.contains(&device) {
                self.devices.push(device);
            }
        }
        self.evidence.extend(other.evidence);
        for line in other.by_hand {
            if !self.by_hand.contains(&line) {
                self.by_hand.push(line);
            }
        }
    }

    /// The finding, with the catalogue's words for the goal.
    pub(crate) fn finish(mut self, context: &Context<'_>) -> Finding {
        self.devices.sort_by(|a, b| words::natural(a, b));
        self.evidence.truncate(MOST_EVIDENCE);
        let entry = context.catalogue.get(&self.id);
        let shown: Vec<String> =
            self.devices.iter().map(|name| context.devices.shown(name)).collect();
        let named = words::names(&shown);
        // A sentence may begin with a device's name, or with an option as it is written.
        let mut spelled = shown.clone();
        if self.id == rules::command_line::ID {
            spelled.extend(self.observed.split(' ').map(str::to_owned));
        }
        if !self.devices.iter().all(|device| words::is_plain(device)) {
            // A name from a hostile capture must not become a command.
            self.by_hand.clear();
        }
        let stated = entry.map_or(Reboot::Manual, |entry| entry.reboot);
        let reboot = self.reboot.unwrap_or(stated);
        let owner = self.owner.or(entry.map(|entry| entry.owner)).unwrap_or(Owner::Person);
        let is_written =
            entry.and_then(|entry| entry.write.as_ref()).is_some_and(Write::is_at_once);
        Finding {
            title: words::sentence(&self.title.replace("{devices}", &named), &spelled),
            because: words::reason(&self.because.replace("{devices}", &named), &spelled),
            effect: effect(entry, context.goal),
            cost: entry.map_or_else(|| "not described".to_owned(), |entry| entry.trade_off.clone()),
            owner,
            change: self.has_change.then(|| Change {
                from: self.observed.clone(),
                to: self.wanted.clone(),
                reboot,
                at_once: is_written && reboot == Reboot::None && owner != Owner::Bios,
                by_hand: self.by_hand,
            }),
            id: self.id,
            devices: self.devices,
            severity: self.severity,
            severity_from: self.severity_from,
            confidence: self.confidence,
            observed: self.observed,
            wanted: self.wanted,
            evidence: self.evidence,
        }
    }
}

/// One draft for devices of which the same is said, in the order of the first of each.
pub(crate) fn grouped(drafts: Vec<Draft>) -> Vec<Draft> {
    let mut groups: Vec<Draft> = Vec::new();
    for draft in drafts {
        match groups.iter_mut().find(|group| group.is_alike(&draft)) {
            Some(group) => group.join(draft),
            None => groups.push(draft),
        }
    }
    groups
}

/// The entry's first effect that speaks of the goal; effects without goals speak of all.
pub(crate) fn first_effect(entry: &Setting, goal: Goal) -> Option<&setting::Effect> {
    let speaks = |effect: &&setting::Effect| effect.goals.contains(&goal);
    let of_all = |effect: &&setting::Effect| effect.goals.is_empty();
    entry.effect.iter().find(|effect| speaks(effect) || of_all(effect)).or(entry.effect.first())
}

fn effect(entry: Option<&Setting>, goal: Goal) -> FindingEffect {
    match entry.and_then(|entry| first_effect(entry, goal)) {
        Some(effect) => FindingEffect {
            text: effect.text.clone(),
            source: effect.source.clone(),
            basis: effect.basis,
            ratio: effect.ratio,
        },
        None => FindingEffect {
            text: "no figure is known".to_owned(),
            source: "the catalogue has no entry for it".to_owned(),
            basis: Basis::Reasoned,
            ratio: None,
        },
    }
}
