// SPDX-License-Identifier: MIT OR Apache-2.0
//! `audit/1`: what was observed, what was found, and what could not be seen.

use machine::Trouble;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use setting::{Basis, Confidence, Finding, Goal, Observation, Owner, Reboot, Severity};

use super::topology::{Unknown, unknown};

/// The document `audit/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// Name and version of this format: `audit/1`.
    pub schema: String,
    /// What the machine is judged for: `throughput`, `latency`, `balanced`.
    pub goal: String,
    /// Every setting observed.
    pub settings: Vec<AuditSetting>,
    /// What costs, the costliest first.
    pub findings: Vec<AuditFinding>,
    /// What could not be read.
    pub unknown: Vec<Unknown>,
}

/// A setting as observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditSetting {
    /// Its catalogue entry.
    pub setting: String,
    /// The device; null for the machine.
    pub device: Option<String>,
    /// The value; null when unknown.
    pub observed: Option<String>,
    /// Why it is unknown; null when it is not.
    pub unknown: Option<String>,
    /// For what is concluded, from what; null for what a file says by itself.
    pub reason: Option<String>,
    /// What was read.
    pub evidence: Vec<AuditEvidence>,
}

/// A line of what was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEvidence {
    /// File or folder; `ethtool -l eth0` and the like for answers that are no file.
    pub path: String,
    /// What it said, cut; bytes of a binary file are `0x98: 2f 59`. Null where it said nothing.
    pub content: Option<String>,
    /// What that means, for bytes; why there is no content. Null where the content speaks.
    pub means: Option<String>,
}

/// Something that costs throughput or latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditFinding {
    /// The rule.
    pub id: String,
    /// Its catalogue entry.
    pub setting: String,
    /// The device; null for the machine or for several.
    pub device: Option<String>,
    /// Every device that it is about, in natural order; empty for the machine.
    pub devices: Vec<String>,
    /// `high`, `medium`, `low`, `note`.
    pub severity: String,
    /// `sure`, `likely`, `unsure`.
    pub confidence: String,
    /// What is.
    pub observed: String,
    /// What should be.
    pub wanted: String,
    /// Why it costs.
    pub because: String,
    /// What it rests on.
    pub evidence: Vec<AuditEvidence>,
    /// What the change would bring.
    pub effect: AuditEffect,
    /// What the change costs.
    pub cost: String,
    /// Who can change it: `os`, `bios`, `device`, `person`.
    pub owner: String,
    /// The change; null where only a person can tell.
    pub change: Option<AuditChange>,
}

/// What a change would bring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEffect {
    /// In words, with the figures.
    pub text: String,
    /// Where they come from.
    pub source: String,
    /// Whether it was measured with this setting alone changed.
    pub measured: bool,
}

/// A change that a finding proposes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditChange {
    /// Value now.
    pub from: String,
    /// Value wanted.
    pub to: String,
    /// What has to happen before it counts: `none`, `reload`, `kexec`, `reboot`, `power-cycle`,
    /// `manual`.
    pub reboot: String,
    /// Whether `nearside apply` carries it out while the machine runs.
    pub at_once: bool,
}

/// The document `audit/1` of what was observed and found.
pub fn audit(
    goal: Goal,
    observations: &[Observation],
    findings: &[Finding],
    troubles: &[Trouble],
) -> Audit {
    Audit {
        schema: "audit/1".to_owned(),
        goal: crate::words::goal(goal).to_owned(),
        settings: observations.iter().map(setting).collect(),
        findings: findings.iter().map(finding).collect(),
        unknown: unknown(troubles),
    }
}

fn setting(observation: &Observation) -> AuditSetting {
    AuditSetting {
        setting: observation.setting.clone(),
        device: observation.device.clone(),
        observed: observation.value.as_ref().ok().cloned(),
        unknown: observation.value.as_ref().err().map(ToString::to_string),
        reason: Some(observation.reason.clone()).filter(|reason| !reason.is_empty()),
        evidence: observation.evidence.iter().map(evidence).collect(),
    }
}

fn evidence(line: &setting::Evidence) -> AuditEvidence {
    AuditEvidence {
        path: line.path.clone(),
        content: line.content.clone(),
        means: line.means.clone(),
    }
}

fn finding(finding: &Finding) -> AuditFinding {
    let change = |change: &setting::Change| AuditChange {
        from: change.from.clone(),
        to: change.to.clone(),
        reboot: reboot(change.reboot).to_owned(),
        at_once: change.at_once,
    };
    AuditFinding {
        id: finding.id.clone(),
        setting: finding.id.clone(),
        device: finding.device().map(str::to_owned),
        devices: finding.devices.clone(),
        severity: severity(finding.severity).to_owned(),
        confidence: confidence(finding.confidence).to_owned(),
        observed: finding.observed.clone(),
        wanted: finding.wanted.clone(),
        because: finding.because.clone(),
        evidence: finding.evidence.iter().map(evidence).collect(),
        effect: AuditEffect {
            text: finding.effect.text.clone(),
            source: finding.effect.source.clone(),
            measured: finding.effect.basis == Basis::Measured,
        },
        cost: finding.cost.clone(),
        owner: owner(finding.owner).to_owned(),
        change: finding.change.as_ref().map(change),
    }
}

fn severity(severity: Severity) -> &'static str {
    crate::words::severity(severity)
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Sure => "sure",
        Confidence::Likely => "likely",
        Confidence::Unsure => "unsure",
    }
}

pub(super) fn owner(owner: Owner) -> &'static str {
    match owner {
        Owner::Os => "os",
        Owner::Bios => "bios",
        Owner::Device => "device",
        Owner::Person => "person",
    }
}

pub(super) fn reboot(reboot: Reboot) -> &'static str {
    match reboot {
        Reboot::None => "none",
        Reboot::Reload => "reload",
        Reboot::Kexec => "kexec",
        Reboot::Reboot => "reboot",
        Reboot::PowerCycle => "power-cycle",
        Reboot::Manual => "manual",
    }
}
