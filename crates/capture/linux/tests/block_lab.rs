// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drives against `lsblk` and `nvme list` on the lab's machines, and what is known of real trees.

use std::collections::BTreeMap;

use machine::{Drive, DriveKind, LimitedBy, Machine, Meeting};
use root::DirRoot;
use serde_json::Value;
use support::{Capture, Failed, Need, Trial, failed, lab_captures, tree_captures, trial};
use units::NodeId;

/// What is known to be true of a captured machine.
type Truth = fn(&Machine) -> Result<(), Failed>;

fn main() {
    let lab = lab_captures().into_iter().map(|capture| {
        let name = format!("lab/{}", capture.name);
        trial(name, &[Need::Captures], move || compare_lab(&capture))
    });
    let mut trials: Vec<Trial> = lab.collect();
    trials.push(trial("twin", &[Need::Captures], twin));
    let known: [(&str, Truth); 3] = [
        ("nvme-laptop-pcie", laptop),
        ("dell-2x-l5640", raid_and_volumes),
        ("hwloc-40intel64-2g2n4c+pcilocality", raid),
    ];
    for (name, check) in known {
        let capture = tree_captures().into_iter().find(|capture| capture.name == name);
        trials.push(trial(format!("tree/{name}"), &[Need::Captures], move || {
            let capture = capture.ok_or("the capture is not in the folder")?;
            check(&machine(&capture)?)
        }));
    }
    support::run(trials)
}

/// The machine of a tree: the folder itself, or the one folder in it that has `sys`.
fn machine(capture: &Capture) -> Result<Machine, Failed> {
    let folder = capture.folder()?;
    let below = std::fs::read_dir(&folder)?.flatten().map(|entry| entry.path());
    let nested = below.filter(|path| path.join("sys").is_dir()).min();
    let root = if folder.join("sys").is_dir() { folder } else { nested.ok_or("no root")? };
    Ok(nearside_linux::read(&DirRoot::open(&root).map_err(failed)?))
}

fn compare_lab(capture: &Capture) -> Result<(), Failed> {
    let machine = nearside_linux::read(&DirRoot::open(&capture.tree()?).map_err(failed)?);
    let drives: BTreeMap<&str, &Drive> =
        machine.drives.iter().map(|drive| (drive.name.as_str(), drive)).collect();
    lsblk(&drives, &serde_json::from_str(&capture.say("lsblk.json")?).map_err(failed)?)?;
    nvme_list(&drives, &serde_json::from_str(&capture.say("nvme-list.json")?).map_err(failed)?)?;
    temperatures(&drives, &capture.say("nvme-smart.txt")?)?;
    for drive in machine.drives.iter().filter(|drive| drive.kind == DriveKind::Nvme) {
        let [controller] = &drive.controllers[..] else {
            return Err(format!("{}: {:?}", drive.name, drive.controllers).into());
        };
        let function = controller.function.and_then(|address| machine.function(address));
        let function = function.ok_or_else(|| format!("{}: no function", drive.name))?;
        same(&drive.name, "driver", &function.driver.as_deref(), &Some("nvme"))?;
        same(&drive.name, "node", &controller.node, &function.node)?;
        let queues = u32::try_from(drive.queues.len()).unwrap_or(0);
        same(&drive.name, "queues", &controller.queues, &queues)?;
    }
    Ok(())
}

fn lsblk(drives: &BTreeMap<&str, &Drive>, told: &Value) -> Result<(), Failed> {
    let devices = told["blockdevices"].as_array().ok_or("no block devices")?;
    let disks: Vec<&Value> = devices.iter().filter(|device| device["type"] == "disk").collect();
    same("all", "number of drives", &drives.len(), &disks.len())?;
    for disk in disks {
        let name = disk["name"].as_str().unwrap_or_default();
        let drive = drives.get(name).ok_or_else(|| format!("{name} is missing"))?;
        let size = drive.size.clone().map_err(failed)?.0;
        same(name, "size", &human(size), &disk["size"].as_str().unwrap_or_default().to_owned())?;
        let text = |key: &str| disk[key].as_str().map(|text| text.trim().to_owned());
        same(name, "model", &drive.model.clone().ok(), &text("model"))?;
        same(name, "serial", &drive.serial.clone().ok(), &text("serial"))?;
        same(name, "rotational", &drive.rotational.clone().ok(), &disk["rota"].as_bool())?;
        let number = |key: &str| disk[key].as_u64().and_then(|number| u32::try_from(number).ok());
        same(name, "logical block", &drive.logical_block.clone().ok(), &number("log-sec"))?;
        same(name, "physical block", &drive.physical_block.clone().ok(), &number("phy-sec"))?;
        let points = disk["mountpoints"].as_array().into_iter().flatten();
        let points: Vec<&str> = points.filter_map(Value::as_str).collect();
        same(name, "mounts", &drive.mounts.iter().map(String::as_str).collect(), &points)?;
    }
    Ok(())
}

/// Sizes as lsblk prints them: binary units, at most one digit after the point.
fn human(bytes: u64) -> String {
    let units = ["B", "K", "M", "G", "T", "P"];
    let mut unit = 0;
    while unit + 1 < units.len() && bytes >> (10 * (unit + 1)) > 0 {
        unit += 1;
    }
    let step = 1_u64 << (10 * unit);
    let tenths = ((bytes % step) * 10 + step / 2) / step;
    let (whole, tenths) = if tenths == 10 { (bytes / step + 1, 0) } else { (bytes / step, tenths) };
    if tenths == 0 {
        format!("{whole}{}", units[unit])
    } else {
        format!("{whole}.{tenths}{}", units[unit])
    }
}

fn nvme_list(drives: &BTreeMap<&str, &Drive>, told: &Value) -> Result<(), Failed> {
    let devices = told["Devices"].as_array().ok_or("no devices")?;
    let ours = drives.values().filter(|drive| drive.kind == DriveKind::Nvme).count();
    same("all", "number of NVMe drives", &ours, &devices.len())?;
    for device in devices {
        let path = device["DevicePath"].as_str().unwrap_or_default();
        let name = path.trim_start_matches("/dev/");
        let drive = drives.get(name).ok_or_else(|| format!("{name} is missing"))?;
        let text = |key: &str| device[key].as_str().map(|text| text.trim().to_owned());
        same(name, "model", &drive.model.clone().ok(), &text("ModelNumber"))?;
        same(name, "serial", &drive.serial.clone().ok(), &text("SerialNumber"))?;
        same(name, "firmware", &drive.firmware.clone().ok(), &text("Firmware"))?;
        let size = drive.size.clone().ok().map(|size| size.0);
        same(name, "size", &size, &device["PhysicalSize"].as_u64())?;
    }
    Ok(())
}

/// `Smart Log for NVME device:nvme0 namespace-id:ffffffff`, `temperature : 50°C (323 Kelvin)`
fn temperatures(drives: &BTreeMap<&str, &Drive>, told: &str) -> Result<(), Failed> {
    let logs = told.split("device:nvme").skip(1);
    for log in logs {
        let controller = format!("nvme{}", log.split([' ', 'n']).next().unwrap_or_default());
        let kelvin = log.split('(').nth(1).and_then(|text| text.split(' ').next());
        let kelvin: i64 = kelvin.and_then(|text| text.parse().ok()).ok_or("no temperature")?;
        let is_behind =
            |drive: &&&Drive| drive.controllers.iter().any(|each| each.name == controller);
        let drive = drives.values().find(is_behind).ok_or("no drive of that controller")?;
        same(&controller, "temperature", &drive.temperature_mc, &Ok(kelvin * 1000 - 273_150))?;
    }
    Ok(())
}

/// The lab's twin of the 24-drive server: 96 lanes of drives, and two links below their best.
fn twin() -> Result<(), Failed> {
    let capture = lab_captures().into_iter().find(|capture| capture.name == "r7725xd-twin");
    let capture = capture.ok_or("the capture is not in the folder")?;
    let machine = nearside_linux::read(&DirRoot::open(&capture.tree()?).map_err(failed)?);
    let is_drive =
        |address| machine.function(address).is_some_and(|function| function.class.base == 1);
    let lanes = machine.lanes();
    let uses = lanes.iter().flat_map(|root| &root.used_by);
    let drives: u32 =
        uses.filter(|each| is_drive(each.function)).map(|each| u32::from(each.lanes)).sum();
    same("twin", "lanes of drives", &drives, &96)?;
    let links = machine.functions.iter().filter_map(|function| function.link.as_ref());
    let trained = links.filter(|link| link.limited_by() == Some(LimitedBy::Trained)).count();
    same("twin", "links below their best", &trained, &2)?;
    for drive in machine.drives.iter().filter(|drive| drive.kind == DriveKind::Nvme) {
        let near = machine.near(&drive.name).ok_or("a drive has no place")?;
        same(&drive.name, "cores", &near.cores.len(), &4)?;
    }
    let (here, there) = ("nvme0n1", "nvme23n1");
    let path = machine.path(here, there).ok_or("no path")?;
    let (from, to) = (NodeId(1), NodeId(0));
    let distance = machine.distance(from, to);
    same("twin", "path", &path.meet, &Meeting::Nodes { from, to, distance })?;
    same("twin", "distance", &distance.is_some(), &true)
}

fn laptop(machine: &Machine) -> Result<(), Failed> {
    let names: Vec<&str> = machine.drives.iter().map(|drive| &*drive.name).collect();
    same("laptop", "drives", &names, &vec!["nvme0n1", "nvme1n1"])
}

fn raid_and_volumes(machine: &Machine) -> Result<(), Failed> {
    let names: Vec<&str> = machine.drives.iter().map(|drive| &*drive.name).collect();
    same("dell", "drives", &names, &vec!["sda"])?;
    let volumes: Vec<&str> = machine.volumes.iter().map(|volume| &*volume.name).collect();
    same("dell", "volumes", &volumes, &vec!["dm-0", "dm-1", "dm-2", "dm-3", "dm-4"])?;
    let function = machine.drives[0].controllers[0].function.map(|address| address.to_string());
    same("dell", "function", &function.as_deref(), &Some("0000:03:00.0"))
}

fn raid(machine: &Machine) -> Result<(), Failed> {
    let names: Vec<&str> = machine.drives.iter().map(|drive| &*drive.name).collect();
    same("R910", "drives", &names, &vec!["sda"])?;
    let drive = &machine.drives[0];
    let hidden = drive.hidden_by.as_ref().map(|hidden| hidden.driver.as_str());
    same("R910", "hidden by", &hidden, &Some("megaraid_sas"))?;
    same("R910", "kind", &drive.kind, &DriveKind::RaidVolume)
}

fn same<T: std::fmt::Debug + PartialEq>(
    name: &str,
    what: &str,
    ours: &T,
    theirs: &T,
) -> Result<(), Failed> {
    if ours == theirs {
        return Ok(());
    }
    Err(format!("{name}: {what}: ours {ours:?}, theirs {theirs:?}").into())
}
