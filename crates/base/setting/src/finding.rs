// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the audit found.

use serde::{Deserialize, Serialize};

use crate::{Basis, Evidence, Owner, Reboot};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know; costs nothing now.
    Note,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// The signs could mean something else.
    Unsure,
    /// Follows from several signs.
    Likely,
    /// Read directly.
    Sure,
}

/// Something that costs throughput or latency.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Stable id of the rule, which is the id of the catalogue entry it speaks of.
    pub id: String,
    /// Every device it is about, in natural order: one for one device, none for the machine.
    pub devices: Vec<String>,
    /// How much it matters.
    pub severity: Severity,
    /// What the severity stands on, as a clause: what a study gained elsewhere is in the effect, and
    /// says little of how much is held up here.
    pub severity_from: String,
    /// How sure it is.
    pub confidence: Confidence,
    /// One line for the list: what is wrong, with the device's name in it.
    pub title: String,
    /// What is.
    pub observed: String,
    /// What should be.
    pub wanted: String,
    /// Why it costs, for this machine, in a sentence.
    pub because: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// What the change would bring.
    pub effect: FindingEffect,
    /// What the change costs.
    pub cost: String,
    /// Who can change it.
    pub owner: Owner,
    /// The change; none where only a person can tell.
    pub change: Option<Change>,
}

impl Finding {
    /// The device it is about; none for the machine, and none for several devices at once.
    pub fn device(&self) -> Option<&str> {
        match self.devices.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }
}

/// What a change would bring, by the best source there is.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingEffect {
    /// In words, with the figures.
    pub text: String,
    /// Where they come from.
    pub source: String,
    /// How sure they are.
    pub basis: Basis,
    /// After over before, where figures exist.
    pub ratio: Option<f64>,
}

/// A change that a finding proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Value now.
    pub from: String,
    /// Value wanted.
    pub to: String,
    /// What has to happen before it counts.
    pub reboot: Reboot,
    /// Whether `apply` carries it out while the machine runs.
    pub at_once: bool,
    /// The line or lines that a person could type; empty where there is none.
    pub by_hand: Vec<String>,
}
