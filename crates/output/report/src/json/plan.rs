// SPDX-License-Identifier: MIT OR Apache-2.0
//! `plan/1`: what is to be changed, in which order, and what is left to others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use setting::{Device, DeviceKind, LeftWhy, Place, Planned};

/// The document `plan/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Name and version of this format: `plan/1`.
    pub schema: String,
    /// What it is for: `throughput`, `latency`, `balanced`; null for settings named one by one.
    pub goal: Option<String>,
    /// What is written, in this order.
    pub changes: Vec<PlanChange>,
    /// What is not, and who could.
    pub left: Vec<PlanLeft>,
    /// What is as wanted already.
    pub equal: Vec<PlanEqual>,
}

/// One value at one place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanChange {
    /// Its catalogue entry.
    pub setting: String,
    /// Whose value it is; null for the machine's.
    pub device: Option<PlanDevice>,
    /// Where it is written: `file`, `interrupt`, `ethtool`, `max-read-request`, `idle-latency`,
    /// `service`, `banned-interrupts`.
    pub kind: String,
    /// The place in words; the path for a file.
    pub place: String,
    /// Value now; null when it is unknown.
    pub from: Option<String>,
    /// Why the value now is unknown; null when it is not.
    pub unknown: Option<String>,
    /// Value wanted.
    pub to: String,
    /// Why.
    pub because: String,
    /// What it costs.
    pub cost: String,
    /// Network device whose link it may drop for a moment; null where none.
    pub drops_link: Option<String>,
}

/// A device by what cannot move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanDevice {
    /// Its name now.
    pub name: String,
    /// `cpu`, `node`, `function`, `drive`, `nic`, `scsi-host`.
    pub kind: String,
    /// Its PCI function; null where it has none.
    pub function: Option<String>,
    /// Serial, world-wide name or permanent address; null where none is told.
    pub serial: Option<String>,
}

/// What a plan leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanLeft {
    /// Its catalogue entry.
    pub setting: String,
    /// Devices; empty for the machine.
    pub devices: Vec<String>,
    /// What it should be.
    pub wanted: String,
    /// Who can change it: `os`, `bios`, `device`, `person`.
    pub owner: String,
    /// What has to happen before it counts.
    pub reboot: String,
    /// `owner`, `reboot`, `lock-out`, `conflict`, `prerequisite`, `security`, `managed`, `choice`.
    pub why: String,
    /// In a sentence.
    pub because: String,
    /// What a person could type.
    pub by_hand: Vec<String>,
}

/// A setting that is as wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanEqual {
    /// Its catalogue entry.
    pub setting: String,
    /// At how many places.
    pub places: u64,
}

/// The document `plan/1` of a plan.
pub fn plan(plan: &setting::Plan) -> Plan {
    let equal =
        |(setting, places): &(String, u64)| PlanEqual { setting: setting.clone(), places: *places };
    Plan {
        schema: "plan/1".to_owned(),
        goal: plan.goal.map(|goal| crate::words::goal(goal).to_owned()),
        changes: plan.changes.iter().map(change).collect(),
        left: plan.left.iter().map(left).collect(),
        equal: plan.equal.iter().map(equal).collect(),
    }
}

fn change(planned: &Planned) -> PlanChange {
    PlanChange {
        setting: planned.setting.clone(),
        device: planned.device.as_ref().map(device),
        kind: kind(&planned.place).to_owned(),
        place: crate::plan::place(planned),
        from: planned.from.as_ref().ok().cloned(),
        unknown: planned.from.as_ref().err().map(ToString::to_string),
        to: planned.to.clone(),
        because: planned.because.clone(),
        cost: planned.cost.clone(),
        drops_link: planned.drops_link.clone(),
    }
}

fn device(device: &Device) -> PlanDevice {
    let kind = match device.kind {
        DeviceKind::Cpu => "cpu",
        DeviceKind::Node => "node",
        DeviceKind::Function => "function",
        DeviceKind::Drive => "drive",
        DeviceKind::Nic => "nic",
        DeviceKind::ScsiHost => "scsi-host",
    };
    PlanDevice {
        name: device.name.clone(),
        kind: kind.to_owned(),
        function: device.function.map(|function| function.to_string()),
        serial: device.serial.clone(),
    }
}

fn kind(place: &Place) -> &'static str {
    match place {
        Place::File { .. } => "file",
        Place::Interrupt { .. } => "interrupt",
        Place::Ethtool { .. } => "ethtool",
        Place::MaxReadRequest => "max-read-request",
        Place::IdleLatency => "idle-latency",
        Place::Service { .. } => "service",
        Place::BannedInterrupts => "banned-interrupts",
    }
}

pub(super) fn left(left: &setting::Left) -> PlanLeft {
    let why = match left.why {
        LeftWhy::Owner => "owner",
        LeftWhy::Reboot => "reboot",
        LeftWhy::LockOut => "lock-out",
        LeftWhy::Conflict => "conflict",
        LeftWhy::Prerequisite => "prerequisite",
        LeftWhy::Security => "security",
        LeftWhy::Managed => "managed",
        LeftWhy::Choice => "choice",
    };
    PlanLeft {
        setting: left.setting.clone(),
        devices: left.devices.clone(),
        wanted: left.wanted.clone(),
        owner: super::audit::owner(left.owner).to_owned(),
        reboot: super::audit::reboot(left.reboot).to_owned(),
        why: why.to_owned(),
        because: left.because.clone(),
        by_hand: left.by_hand.clone(),
    }
}
