// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drives as `nvme list`, `nvme id-ctrl`, `lsblk` and the kernel's log tell of them.

use serde_json::Value;
use support::{Failed, failed};

use crate::document::{Document, plain};
use crate::facts::Facts;

pub(crate) fn nvme_said(text: &str) -> Result<Facts, Failed> {
    let mut facts = Facts::default();
    let list: Value = serde_json::from_str(text).map_err(failed)?;
    for drive in list["Devices"].as_array().into_iter().flatten() {
        let name = plain(&drive["DevicePath"]).trim_start_matches("/dev/").to_owned();
        facts.say(format!("{name} model"), plain(&drive["ModelNumber"]));
        facts.say(format!("{name} serial"), plain(&drive["SerialNumber"]));
        facts.say(format!("{name} bytes"), plain(&drive["PhysicalSize"]));
    }
    Ok(facts)
}

pub(crate) fn nvme_ours(document: &Document) -> Facts {
    let mut facts = Facts::default();
    for drive in document.list("drives").iter().filter(|drive| drive["kind"] == "nvme") {
        for what in ["model", "serial", "bytes"] {
            facts.say(format!("{} {what}", plain(&drive["name"])), plain(&drive[what]));
        }
    }
    facts
}

/// The first controller: `"sn":"2521E4A9            "`.
pub(crate) fn controller_said(text: &str) -> Result<Facts, Failed> {
    let mut facts = Facts::default();
    let controller: Value = serde_json::from_str(text).map_err(failed)?;
    for (key, what) in [("mn", "model"), ("sn", "serial")] {
        facts.say(what, plain(&controller[key]).trim());
    }
    Ok(facts)
}

pub(crate) fn controller_ours(document: &Document) -> Facts {
    let mut facts = Facts::default();
    let is_first = |drive: &&Value| drive["controllers"][0]["name"] == "nvme0";
    if let Some(drive) = document.list("drives").iter().find(is_first) {
        facts.say("model", plain(&drive["model"]));
        facts.say("serial", plain(&drive["serial"]));
    }
    facts
}

/// Disks of `lsblk --output-all --json`; the size is rounded to one digit after the point.
pub(crate) fn lsblk_said(text: &str) -> Result<Facts, Failed> {
    let mut facts = Facts::default();
    let list: Value = serde_json::from_str(text).map_err(failed)?;
    let devices = list["blockdevices"].as_array().into_iter().flatten();
    for disk in devices.filter(|device| device["type"] == "disk") {
        let name = plain(&disk["name"]);
        facts.say(format!("{name} size"), plain(&disk["size"]));
        facts.say(format!("{name} model"), plain(&disk["model"]).trim());
        facts.say(format!("{name} serial"), plain(&disk["serial"]).trim());
        let bus = plain(&disk["subsystems"]);
        let is_virtio = bus.split(':').any(|part| part == "virtio");
        let kind = if is_virtio { "virtio".into() } else { plain(&disk["tran"]) };
        facts.say(format!("{name} kind"), kind);
    }
    Ok(facts)
}

pub(crate) fn lsblk_ours(document: &Document) -> Facts {
    let mut facts = Facts::default();
    for drive in document.list("drives") {
        let name = plain(&drive["name"]);
        facts.say(format!("{name} size"), human(drive["bytes"].as_u64().unwrap_or(0)));
        for what in ["model", "serial", "kind"] {
            facts.say(format!("{name} {what}"), plain(&drive[what]));
        }
    }
    facts
}

/// A size as lsblk rounds it: `1.2G`, `64M`.
fn human(bytes: u64) -> String {
    let steps = [(40, 'T'), (30, 'G'), (20, 'M'), (10, 'K')];
    let Some((shift, letter)) = steps.into_iter().find(|(shift, _)| bytes >> shift > 0) else {
        return format!("{bytes}B");
    };
    let tenths = (u128::from(bytes) * 10 + (1 << (shift - 1))) >> shift;
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole}{letter}"),
        (whole, tenth) => format!("{whole}.{tenth}{letter}"),
    }
}

/// `nvme nvme0: 8/0/0 default/read/poll queues`
pub(crate) fn log_said(text: &str) -> Facts {
    let mut facts = Facts::default();
    for line in text.lines().filter(|line| line.contains("default/read/poll queues")) {
        let Some((_, rest)) = line.split_once("nvme nvme") else { continue };
        let Some((number, counts)) = rest.split_once(": ") else { continue };
        let counts = counts.split([' ', '/']).take(3);
        let all: u32 = counts.filter_map(|count| count.parse::<u32>().ok()).sum();
        facts.say(format!("nvme{number} queues"), all);
    }
    facts
}

pub(crate) fn log_ours(document: &Document) -> Facts {
    let mut facts = Facts::default();
    let drives = document.list("drives").iter().filter(|drive| drive["kind"] == "nvme");
    for path in drives.filter_map(|drive| drive["controllers"].as_array()).flatten() {
        facts.say(format!("{} queues", plain(&path["name"])), plain(&path["queues"]));
    }
    facts
}
