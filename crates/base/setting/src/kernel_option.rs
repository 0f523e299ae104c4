// SPDX-License-Identifier: MIT OR Apache-2.0
//! An option of the kernel's command line that overrides the firmware or takes hardware away.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Applies, Goal, Severity};

/// One option, as the catalogue's `command-line/*.toml` lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KernelOption {
    /// Its name with `_` for `-`, which the kernel takes for the same: `intel_idle.max_cstate`.
    pub name: String,
    /// One of its values' parts, which commas and colons split: `nomsi` of `pci=noaer,nomsi`, `fake`
    /// of `numa=fake=4`. Any value where it is missing.
    #[serde(default)]
    pub value: Option<String>,
    /// What it does, to be read after the option's name. What stands before a colon is enough for a
    /// list.
    pub means: String,
    /// How much it matters. A note is for what somebody who tunes for that goal sets on purpose.
    pub impact: Severity,
    /// How much it matters for a goal that differs.
    #[serde(default)]
    pub impact_for: BTreeMap<Goal, Severity>,
    /// The machines on which it matters: tags.
    #[serde(default)]
    pub applies: Applies,
}

impl KernelOption {
    /// How much it matters for `goal`.
    pub fn impact(&self, goal: Goal) -> Severity {
        self.impact_for.get(&goal).copied().unwrap_or(self.impact)
    }

    /// Whether `name=value` on a command line is this option.
    pub fn is(&self, name: &str, value: Option<&str>) -> bool {
        // The kernel reads `-` and `_` in names as the same (kernel/params.c, `parameqn`).
        let same = name.replace('-', "_") == self.name;
        let Some(part) = self.value.as_deref() else { return same };
        let mut words = value.unwrap_or_default().split([',', ':']);
        // `fake=4` of numa=fake=4 says its number behind a second sign.
        same && words.any(|word| word.split('=').next() == Some(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(name: &str, value: Option<&str>) -> KernelOption {
        KernelOption {
            name: name.to_owned(),
            value: value.map(str::to_owned),
            means: "does something".to_owned(),
            impact: Severity::Low,
            impact_for: BTreeMap::from([(Goal::Balanced, Severity::High)]),
            applies: Applies::default(),
        }
    }

    #[test]
    fn a_part_of_the_value_is_enough_and_another_word_is_not() {
        for (name, part, key, value, is) in [
            ("pci", Some("nomsi"), "pci", Some("noaer,nomsi"), true),
            ("pci", Some("nomsi"), "pci", Some("nomsix"), false),
            ("numa", Some("fake"), "numa", Some("fake=4"), true),
            ("numa", Some("off"), "numa", Some("fake=off"), false),
            ("pcie_aspm", Some("off"), "pcie-aspm", Some("off"), true),
            ("pcie_aspm", Some("off"), "pcie_aspm.policy", Some("off"), false),
            ("nosmt", None, "nosmt", None, true),
            ("nosmt", None, "nosmt", Some("force"), true),
            ("idle", Some("poll"), "idle", None, false),
        ] {
            assert_eq!(option(name, part).is(key, value), is, "{key}={value:?} as {name}={part:?}");
        }
    }

    #[test]
    fn a_goal_may_weigh_it_otherwise() {
        let option = option("idle", Some("poll"));
        assert_eq!(option.impact(Goal::Latency), Severity::Low);
        assert_eq!(option.impact(Goal::Balanced), Severity::High);
    }
}
