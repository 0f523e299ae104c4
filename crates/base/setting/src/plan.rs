// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is to be changed, in which order, and what is left to others.

use machine::Fact;
use serde::{Deserialize, Serialize};

use crate::{Device, Form, Goal, Owner, Place, Reboot};

/// Ordered changes, and what they leave.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What it is for; none for settings named one by one.
    pub goal: Option<Goal>,
    /// What nearside writes, in this order.
    pub changes: Vec<Planned>,
    /// Values that the changes are known to move, as they are: undoing the changes restores them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Planned>,
    /// What it does not, and who could.
    pub left: Vec<Left>,
    /// Settings that are as wanted already, and how many places that is.
    pub equal: Vec<(String, u64)>,
}

/// One value at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// Catalogue entry.
    pub setting: String,
    /// Whose value it is; none for the machine's.
    pub device: Option<Device>,
    /// Where it is written.
    pub place: Place,
    /// How values of this place are compared.
    pub form: Form,
    /// Value now, in its form's canonical spelling, as far as it was seen.
    pub from: Fact<String>,
    /// Value wanted.
    pub to: String,
    /// Why, in a sentence.
    pub because: String,
    /// What it costs, in a sentence.
    pub cost: String,
    /// Network device whose link it may drop for a moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drops_link: Option<String>,
}

/// Something found that the plan does not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Left {
    /// Catalogue entry.
    pub setting: String,
    /// Devices it is about; none for the machine.
    pub devices: Vec<String>,
    /// What it should be.
    pub wanted: String,
    /// Who can change it.
    pub owner: Owner,
    /// What has to happen before it counts.
    pub reboot: Reboot,
    /// Why nearside leaves it.
    pub why: LeftWhy,
    /// In a sentence, with the name of what stands in the way.
    pub because: String,
    /// What a person could type; empty where there is nothing.
    pub by_hand: Vec<String>,
}

/// Why a plan leaves something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftWhy {
    /// Firmware, a slot, a cable: not the kernel's to write.
    Owner,
    /// It counts only after a reload or a reboot.
    Reboot,
    /// It could drop the link that carries the login, a heartbeat or a network root, and was not
    /// named.
    LockOut,
    /// Another change of the plan, or a setting as it is, forbids it.
    Conflict,
    /// Something that it needs is missing.
    Prerequisite,
    /// It guards the machine's security and is never touched.
    Security,
    /// The kernel places it by itself.
    Managed,
    /// What is wanted depends on the work, which nobody named.
    Choice,
}
