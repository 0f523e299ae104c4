// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a setting is observed, and what was observed.

use machine::Fact;
use serde::{Deserialize, Serialize};

use crate::Evidence;

/// How a setting is seen. Exactly one of `file`, `fact` and `unseen` is set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Observe {
    /// A kernel file, with the placeholder of the scope in it: `{cpu}` and `{node}` stand for a
    /// number, `{function}` for a PCI address, `{drive}`, `{nic}` and `{host}` for a name. One `*`
    /// may stand for a file or folder name.
    pub file: Option<String>,
    /// How its text is read.
    #[serde(default)]
    pub form: Form,
    /// A question that the machine model answers: `numbering`, `sub-numa`, `mps`.
    pub fact: Option<String>,
    /// No sign in the operating system; the reason or where to look, in words.
    pub unseen: Option<String>,
}

/// How a value's text is read, so that equal values compare equal whatever their spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Trimmed text.
    #[default]
    Text,
    /// A decimal number: leading zeros and white space do not count.
    Number,
    /// Numbers split by white space: tabs count as spaces.
    Numbers,
    /// `a [b] c`: the word in brackets is the value.
    Selected,
    /// `1`/`0`, `Y`/`N`, `on`/`off`, `enabled`/`disabled`: becomes `on` or `off`.
    Switch,
    /// As [`Form::Switch`], of a file that says the opposite of its setting: `no_turbo` for turbo.
    Opposite,
    /// A CPU list.
    CpuList,
    /// A CPU mask; prints as a list.
    CpuMask,
}

/// What there is one value of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The machine.
    Machine,
    /// Each online CPU.
    Cpu,
    /// Each NUMA node.
    Node,
    /// Each PCI function that a driver of storage, network or GPU holds.
    Function,
    /// Each drive.
    Drive,
    /// Each physical or paravirtual network device.
    Nic,
    /// Each SATA or SAS host.
    ScsiHost,
}

impl Scope {
    /// The word in braces that stands for the device in a file's path; none for the machine.
    pub fn placeholder(self) -> Option<&'static str> {
        match self {
            Self::Machine => None,
            Self::Cpu => Some("cpu"),
            Self::Node => Some("node"),
            Self::Function => Some("function"),
            Self::Drive => Some("drive"),
            Self::Nic => Some("nic"),
            Self::ScsiHost => Some("host"),
        }
    }
}

/// A value as observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// Id of the setting.
    pub setting: String,
    /// The device: `nvme0n1`, `eth0`, `0000:3e:00.0`, `cpu 0-79` (CPUs that agree are one); none
    /// for the machine.
    pub device: Option<String>,
    /// The value in the form's canonical spelling, or why it is unknown.
    pub value: Fact<String>,
    /// For a fact, why it is that, in words; empty for a file.
    pub reason: String,
    /// What was read for it.
    pub evidence: Vec<Evidence>,
}

/// Brings a file's text into the canonical spelling of its form; `None` when it does not fit.
pub fn canonical(form: Form, text: &str) -> Option<String> {
    let text = text.trim();
    match form {
        Form::Text => Some(text.to_owned()),
        Form::Number => text.parse::<i128>().ok().map(|number| number.to_string()),
        Form::Numbers => text
            .split_whitespace()
            .map(|part| part.parse::<i128>().ok().map(|number| number.to_string()))
            .collect::<Option<Vec<_>>>()
            .map(|parts| parts.join(" ")),
        Form::Selected => selected(text),
        Form::Switch => switch(text),
        Form::Opposite => switch(text).map(|word| opposite(&word).to_owned()),
        Form::CpuList => units::CpuSet::from_list(text).ok().map(|set| set.to_string()),
        Form::CpuMask => units::CpuSet::from_mask(text).ok().map(|set| set.to_string()),
    }
}

fn selected(text: &str) -> Option<String> {
    let inner = text.split_once('[')?.1.split_once(']')?.0;
    Some(inner.trim().to_owned())
}

/// `on` of `off`, and `off` of anything else.
pub fn opposite(word: &str) -> &'static str {
    if word == "off" { "on" } else { "off" }
}

fn switch(text: &str) -> Option<String> {
    let word = text.to_ascii_lowercase();
    match word.as_str() {
        "1" | "y" | "yes" | "on" | "enabled" | "true" => Some("on".to_owned()),
        "0" | "n" | "no" | "off" | "disabled" | "false" => Some("off".to_owned()),
        _ => None,
    }
}

/// Whether two spellings are the same value: `4096\t131072` and `4096 131072`, `007` and `7`.
pub fn same_value(form: Form, a: &str, b: &str) -> bool {
    a == b || matches!((canonical(form, a), canonical(form, b)), (Some(a), Some(b)) if a == b)
}

/// A value in canonical spelling as the kernel wants it written: `on` as `1`, or as `Y` where the
/// file said `Y` or `N` before; an empty set of CPUs as an empty mask.
pub fn spelled(form: Form, value: &str, before: &str) -> String {
    let letters = matches!(before.trim(), "Y" | "N" | "y" | "n");
    match (form, value) {
        (Form::Opposite, "on" | "off") => spelled(Form::Switch, opposite(value), before),
        (Form::Switch, "on") => if letters { "Y" } else { "1" }.to_owned(),
        (Form::Switch, "off") => if letters { "N" } else { "0" }.to_owned(),
        (Form::CpuMask, list) => mask(list),
        _ => value.to_owned(),
    }
}

/// As wide as the highest CPU needs and no wider: the kernel refuses a mask beyond its own width
/// even where the further words are zero (EOVERFLOW, lib/bitmap-str.c).
fn mask(list: &str) -> String {
    let Ok(cpus) = units::CpuSet::from_list(list) else { return list.to_owned() };
    let highest = cpus.iter().last().and_then(|cpu| usize::try_from(cpu.0).ok());
    highest.map_or_else(|| "0".to_owned(), |highest| cpus.to_mask(highest.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_after_parsing_is_equal() {
        assert!(same_value(Form::Numbers, "4096\t131072\t6291456\n", "4096 131072 6291456"));
        assert!(same_value(Form::Number, "007", "7"));
        assert!(same_value(Form::CpuMask, "00000000,0000000f", "f"));
        assert!(same_value(Form::Switch, "Y", "1"));
        assert!(!same_value(Form::Number, "7", "8"));
    }

    #[test]
    fn values_are_spelled_as_the_kernel_wants_them() {
        assert_eq!(spelled(Form::Switch, "on", "0"), "1");
        assert_eq!(spelled(Form::Switch, "off", "Y"), "N");
        assert_eq!(spelled(Form::Opposite, "on", "1"), "0");
        assert_eq!(spelled(Form::Opposite, "off", "N"), "Y");
        assert_eq!(canonical(Form::Opposite, "1").as_deref(), Some("off"));
        assert_eq!(canonical(Form::Opposite, "odd"), None);
        assert_eq!(spelled(Form::CpuMask, "0-3,36", ""), "00000010,0000000f");
        assert_eq!(spelled(Form::CpuMask, "", "f"), "0");
        assert_eq!(spelled(Form::Selected, "none", "[mq-deadline] none"), "none");
    }

    #[test]
    fn the_bracketed_word_is_the_value() {
        let canonical = |text| canonical(Form::Selected, text);
        assert_eq!(canonical("[none] mq-deadline\n").as_deref(), Some("none"));
        assert_eq!(canonical("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(canonical("none").as_deref(), None);
    }
}
