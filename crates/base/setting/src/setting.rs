// SPDX-License-Identifier: MIT OR Apache-2.0
//! A catalogue entry: one setting, in the shape of its TOML file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Form, Observe, Scope};

/// What a machine is tuned for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Most work a second on a dedicated machine.
    #[default]
    Throughput,
    /// Least and steadiest delay on a dedicated machine.
    Latency,
    /// Virtualised, shared or power-limited hosts: locality without giving up power saving.
    Balanced,
}

/// Who can change a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// The operating system, at run time or by its command line.
    Os,
    /// The firmware.
    Bios,
    /// The device or its driver.
    Device,
    /// A person with hands or a purchase order: slots, cables, modules.
    Person,
}

/// What has to happen before a change counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reboot {
    /// Nothing: it counts at once.
    None,
    /// The driver is loaded again.
    Reload,
    /// A new kernel, by kexec or reboot.
    Kexec,
    /// A reboot through the firmware.
    Reboot,
    /// Power off and on.
    PowerCycle,
    /// Work by hand.
    Manual,
}

/// One setting of the catalogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Setting {
    /// Name for people and programs: `sub-numa-cluster`.
    pub id: String,
    /// One line.
    pub title: String,
    /// Who can change it.
    pub owner: Owner,
    /// What there is one of: the machine, or each CPU, node, drive, NIC.
    pub scope: Scope,
    /// What it is, in plain words: a sentence or a few.
    pub what: String,
    /// How it is observed.
    pub observe: Observe,
    /// The values it takes, in plain words. May be empty for a number.
    #[serde(default)]
    pub values: Vec<Meaning>,
    /// The least and the most of a number that the kernel or the device takes anywhere; none where that
    /// is not known or not fixed.
    #[serde(default)]
    pub range: Option<(i64, i64)>,
    /// The value wanted for each goal; a goal left out has no wish.
    #[serde(default)]
    pub wanted: Wanted,
    /// The default that a goal needs to stay, for what can be observed: advice to nobody who has it,
    /// a finding where somebody has moved it. A goal that has a wish has no such value.
    #[serde(default)]
    pub kept: Wanted,
    /// Where the wish holds, and where never.
    #[serde(default)]
    pub applies: Applies,
    /// What changing it costs: power, features, risk. Never empty.
    pub trade_off: String,
    /// What it brings, each with its source. Never empty.
    pub effect: Vec<Effect>,
    /// What has to happen before a change counts.
    pub reboot: Reboot,
    /// The change by hand, as a line that a person could type; `{device}` and `{value}` stand for
    /// the device and the wanted value.
    #[serde(default)]
    pub by_hand: Option<String>,
    /// Ids of settings that this one fights with.
    #[serde(default)]
    pub conflicts: Vec<String>,
    /// Ids of settings that must be set before this one.
    #[serde(default)]
    pub after: Vec<String>,
    /// How it is written at run time; none where nearside does not write it.
    #[serde(default)]
    pub write: Option<Write>,
    /// What management controllers call it; filled from `catalogue/vendors/`.
    #[serde(default)]
    pub vendors: Vec<VendorName>,
}

/// How a setting is written. Empty: the observed file is written, in its own spelling.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Write {
    /// The file, where it is another than the observed one. Placeholders are those of [`Observe`];
    /// in the scope of drives `{function}` stands for each controller's function.
    #[serde(default)]
    pub file: Option<String>,
    /// Where it is written, where that is no file.
    #[serde(default)]
    pub place: Option<WritePlace>,
    /// How values of `file` are compared, where it is another than the observed file's form.
    #[serde(default)]
    pub form: Option<Form>,
    /// What is written for an observed value. Once any is given, others cannot be written.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// What is written, with `{value}` in it: `combined={value}`.
    #[serde(default)]
    pub spelled: Option<String>,
    /// An option of the kernel's command line that does it at the next boot: `iommu=pt`.
    #[serde(default)]
    pub boot: Option<String>,
    /// A module's option that does it when the module is loaded again: `nvme poll_queues={value}`.
    #[serde(default)]
    pub module: Option<String>,
}

impl Write {
    /// Whether it can be written while the machine runs.
    pub fn is_at_once(&self) -> bool {
        self.boot.is_none() && self.module.is_none()
    }
}

/// Places that are no single file: see [`crate::Place`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WritePlace {
    /// `ethtool -L`.
    Channels,
    /// `ethtool -G`.
    Rings,
    /// `ethtool -C`.
    Coalescing,
    /// `ethtool -K`.
    Features,
    /// `ethtool -A`.
    Pause,
    /// `ethtool -X`.
    ReceiveSpread,
    /// Flows followed to their readers, in hardware: a feature, and two sizes of tables.
    FlowSteering,
    /// The CPUs of a device's interrupts.
    Interrupt,
    /// `xps_cpus` of each transmit queue.
    TransmitSteering,
    /// `rps_cpus` of each receive queue.
    ReceiveSteering,
    /// Largest read request in configuration space.
    MaxReadRequest,
    /// The bound of `/dev/cpu_dma_latency`.
    IdleLatency,
    /// A service of systemd.
    Service,
    /// `intel_pstate/no_turbo`, or `cpufreq/boost` with other drivers.
    Turbo,
}

impl Setting {
    /// What the value should be for `goal`: what is wished, else the default that should have stayed.
    pub fn due(&self, goal: Goal) -> Option<&Wish> {
        self.wanted.for_goal(goal).or_else(|| self.kept.for_goal(goal))
    }
}

/// A value in plain words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Meaning {
    /// The value as the observation prints it.
    pub value: String,
    /// What it means; empty where the value says it itself (`on` of a thing that can be on).
    #[serde(default)]
    pub means: String,
}

/// Wishes by goal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Wanted {
    /// For throughput.
    pub throughput: Option<Wish>,
    /// For latency.
    pub latency: Option<Wish>,
    /// For balanced hosts.
    pub balanced: Option<Wish>,
}

impl Wanted {
    /// The wish for `goal`.
    pub fn for_goal(&self, goal: Goal) -> Option<&Wish> {
        match goal {
            Goal::Throughput => self.throughput.as_ref(),
            Goal::Latency => self.latency.as_ref(),
            Goal::Balanced => self.balanced.as_ref(),
        }
    }
}

/// What a value should be. Exactly one of the fields is set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Wish {
    /// Any of these; the first is what a change would write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<String>,
    /// This number or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<i64>,
    /// This number or less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<i64>,
}

/// Where a wish holds: tags of the machine or of the device, such as `bare-metal`, `intel`,
/// `multi-node`, `nvme`, `driver:mlx5_core`. A tag with `!` in front must be missing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Applies {
    /// All of these must hold.
    #[serde(default)]
    pub when: Vec<String>,
    /// None of these may hold.
    #[serde(default)]
    pub never: Vec<String>,
}

/// How sure a stated effect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Measured with this setting alone changed.
    Measured,
    /// Measured together with others; the text names the bundle.
    Bundle,
    /// Rated by experts, not measured alone.
    Rated,
    /// Follows from how the kernel or the hardware works.
    Reasoned,
}

/// What a setting brings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Effect {
    /// In words, with the figures.
    pub text: String,
    /// How sure.
    pub basis: Basis,
    /// `high`, `medium`, `low` or `note`: how much it matters for I/O.
    pub impact: crate::Severity,
    /// After over before, where figures exist (1.609 for +60.9 %).
    #[serde(default)]
    pub ratio: Option<f64>,
    /// Study, paper, kernel file or manual.
    pub source: String,
    /// Goals it speaks of; all where empty.
    #[serde(default)]
    pub goals: Vec<Goal>,
}

/// What a vendor's management controller calls a setting (`catalogue/vendors/*.toml`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct VendorName {
    /// `dell-intel`, `hpe-amd`, ...
    pub vendor: String,
    /// Attribute name in the vendor's registry.
    pub attribute: String,
    /// (our value, vendor's value).
    #[serde(default)]
    pub values: Vec<(String, String)>,
    /// Anything odd about it.
    #[serde(default)]
    pub note: Option<String>,
}
