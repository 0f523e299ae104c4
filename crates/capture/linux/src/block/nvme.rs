// SPDX-License-Identifier: MIT OR Apache-2.0
//! NVMe controllers, their namespaces, and the paths of native multipath.
//!
//! ```text
//! nvme-subsys0 ── nvme0n1         the drive that a person mounts (the head)
//!    nvme0 ────── nvme0c0n1       a path to it, hidden
//!    nvme1 ────── nvme0c1n1       another
//! ```
//! Without multipath `nvme0n1` hangs from its controller. The number in a namespace's name is the
//! subsystem's: it need not be that of the controller.

use std::collections::BTreeMap;

use machine::{Controller, Drive, DriveKind, Fact, Why};
use root::{Dir, Question, Root};

use super::disk::{Disk, filled, is_number, unknown};
use super::place::Functions;
use super::{health, queue};
use crate::pci::{Files, follow, parse_node};

const CLASS: &str = "/sys/class/nvme";
const SUBSYSTEMS: &str = "/sys/devices/virtual/nvme-subsystem";

/// A controller, and what it says of the drive behind it.
#[derive(Debug)]
struct Seen<'a> {
    dir: Dir<'a>,
    files: Files,
    controller: Controller,
}

/// Reads every NVMe drive; `disks` are the block devices that are namespaces.
pub(super) fn read<'a>(
    root: &'a dyn Root,
    disks: &[Disk<'a>],
    functions: &Functions<'_>,
) -> Vec<Drive> {
    let controllers = controllers(root, disks, functions);
    let mut reached: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    for (index, seen) in controllers.iter().enumerate() {
        for name in seen.files.iter() {
            if let Some(head) = head_of(name) {
                reached.entry(head).or_default().push((index, name.to_owned()));
            }
        }
    }
    let mut drives = Vec::new();
    for (head, paths) in &reached {
        let paths: Vec<(&Seen<'_>, &str)> = paths
            .iter()
            .filter_map(|(index, path)| Some((controllers.get(*index)?, path.as_str())))
            .collect();
        drives.push(drive(root, head, disks, &paths, functions));
    }
    // A namespace stays a drive where nothing above it can be read.
    let unreached = disks.iter().filter(|disk| {
        head_of(&disk.name).as_ref() == Some(&disk.name) && !reached.contains_key(&disk.name)
    });
    drives.extend(unreached.map(|disk| without_controller(disk, functions)));
    let owns_namespace = |seen: &Seen<'_>| seen.files.iter().any(|name| head_of(name).is_some());
    let lonely = controllers.iter().filter(|seen| !owns_namespace(seen) && is_drive(seen));
    drives.extend(lonely.map(|seen| without_namespace(seen, functions)));
    drives
}

/// The drive that a name in a controller's folder is: `nvme0n1` itself, `nvme0n1` for `nvme0c1n1`.
fn head_of(name: &str) -> Option<String> {
    let (subsystem, namespace) = name.strip_prefix("nvme")?.split_once('n')?;
    let subsystem = match subsystem.split_once('c') {
        Some((subsystem, controller)) if is_number(controller) => subsystem,
        Some(_) => return None,
        None => subsystem,
    };
    let named = is_number(subsystem) && is_number(namespace);
    named.then(|| format!("nvme{subsystem}n{namespace}"))
}

/// Whether a block device's name is that of a namespace or of a path to one.
pub(super) fn is_namespace(name: &str) -> bool {
    head_of(name).is_some()
}

/// Controllers of `/sys/class/nvme`; where a tree lacks one there, or its link leads nowhere, the one
/// above a namespace.
fn controllers<'a>(
    root: &'a dyn Root,
    disks: &[Disk<'a>],
    functions: &Functions<'_>,
) -> Vec<Seen<'a>> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in root.list(CLASS).unwrap_or_default() {
        let entry = format!("{CLASS}/{name}");
        let path = root.link(&entry).map_or(entry, |target| follow(CLASS, &target));
        places.entry(name).or_default().push(path);
    }
    for disk in disks.iter().filter(|disk| !disk.is_virtual()) {
        let path = disk.device().path().to_owned();
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        if name.strip_prefix("nvme").is_some_and(is_number) {
            places.entry(name).or_default().push(path);
        }
    }
    let seen = places.into_iter().filter_map(|(name, paths)| {
        let readable = paths.into_iter().find_map(|path| {
            let dir = Dir::new(root, path);
            Files::of(&dir).ok().map(|files| (dir, files))
        });
        let (dir, files) = readable?;
        let controller = controller(&name, &dir, &files, functions);
        Some(Seen { dir, files, controller })
    });
    seen.collect()
}

fn controller(name: &str, dir: &Dir<'_>, files: &Files, functions: &Functions<'_>) -> Controller {
    let text = |name| filled(files.text(dir, name)).ok();
    let in_path = || dir.path().rsplit('/').find_map(|part| part.parse().ok());
    let transport = text("transport").unwrap_or_else(|| transport_by_path(dir).to_owned());
    let address = text("address");
    let local = transport == "pcie";
    let told = address.as_deref().filter(|_| local).and_then(|address| address.parse().ok());
    let function = if local { told.or_else(in_path) } else { None };
    let function = function.and_then(|address| functions.get(address));
    let own_node = text("numa_node").and_then(|text| parse_node(&text).ok());
    let count = text("queue_count").and_then(|text| text.parse::<u32>().ok());
    Controller {
        name: name.to_owned(),
        function: function.map(|function| function.address),
        node: function.and_then(|function| function.node).or(own_node),
        driver: function.and_then(|function| function.driver.clone()),
        // The first queue carries administration only.
        queues: count.map_or(0, |count| count.saturating_sub(1)),
        state: text("state").unwrap_or_default(),
        address: address.filter(|_| !local),
        transport,
        link_power: None,
        link_rate: None,
        ana_state: None,
    }
}

/// Kernels before 4.13 have no `transport`: fabrics hang from a virtual device.
fn transport_by_path(dir: &Dir<'_>) -> &'static str {
    if dir.path().contains("/nvme-fabrics/") { "fabrics" } else { "pcie" }
}

/// Discovery and administration controllers have no drive behind them.
fn is_drive(seen: &Seen<'_>) -> bool {
    let kind = seen.files.text(&seen.dir, "cntrltype");
    seen.controller.transport == "pcie" && !matches!(kind.as_deref(), Ok("discovery" | "admin"))
}

fn drive<'a>(
    root: &'a dyn Root,
    head: &str,
    disks: &[Disk<'a>],
    paths: &[(&Seen<'a>, &str)],
    functions: &Functions<'_>,
) -> Drive {
    let listed = disks.iter().find(|disk| disk.name == head);
    let made = || paths.iter().find_map(|(seen, path)| namespace(root, head, seen, path));
    let mut drive = match listed {
        Some(disk) => disk.drive(DriveKind::Nvme),
        None => made().map_or_else(|| unknown(head), |disk| disk.drive(DriveKind::Nvme)),
    };
    // A head has no queues of its own: they are its paths'.
    if let Some((seen, path)) = paths.first().filter(|_| drive.queues.is_empty()) {
        let dir = seen.dir.sub(path);
        drive.queues = Files::of(&dir).map(|files| queue::read(&dir, &files)).unwrap_or_default();
    }
    for (seen, path) in paths {
        let ana = || filled(seen.dir.sub(path).text("ana_state")).ok();
        let ana_state = (*path != head).then(ana).flatten();
        drive.controllers.push(Controller { ana_state, ..seen.controller.clone() });
    }
    if let Some((seen, _)) = paths.first() {
        describe(&mut drive, seen, functions);
    }
    drive
}

/// A namespace that no listing of block devices has: in the controller's own folder, or in the
/// subsystem's.
fn namespace<'a>(root: &'a dyn Root, head: &str, seen: &Seen<'_>, path: &str) -> Option<Disk<'a>> {
    if path == head {
        return Disk::open(root, head, seen.dir.join(head));
    }
    let (number, _) = head.strip_prefix("nvme")?.split_once('n')?;
    Disk::open(root, head, format!("{SUBSYSTEMS}/nvme-subsys{number}/{head}"))
}

/// A namespace whose controller cannot be read. In old kernels there is none above it: it hangs from
/// its function.
fn without_controller(disk: &Disk<'_>, functions: &Functions<'_>) -> Drive {
    let mut drive = disk.drive(DriveKind::Nvme);
    let above = disk.device().path().rsplit('/').next().and_then(|name| name.parse().ok());
    if let Some(function) = above.and_then(|address| functions.get(address)) {
        drive.hidden_by = functions.behind_vmd(function.address);
        drive.controllers.push(Controller {
            name: function.address.to_string(),
            function: Some(function.address),
            node: function.node,
            driver: function.driver.clone(),
            transport: "pcie".to_owned(),
            address: None,
            state: String::new(),
            queues: u32::try_from(drive.queues.len()).unwrap_or(u32::MAX),
            link_power: None,
            link_rate: None,
            ana_state: None,
        });
    }
    drive
}

fn without_namespace(seen: &Seen<'_>, functions: &Functions<'_>) -> Drive {
    let mut drive = unknown(&seen.controller.name);
    drive.controllers.push(seen.controller.clone());
    describe(&mut drive, seen, functions);
    drive
}

/// What the controller says of the drive.
fn describe(drive: &mut Drive, seen: &Seen<'_>, functions: &Functions<'_>) {
    let text = |name| filled(seen.files.text(&seen.dir, name));
    let controller = &seen.controller;
    drive.kind = match controller.transport.as_str() {
        "pcie" => DriveKind::Nvme,
        _ => DriveKind::NvmeFabrics,
    };
    drive.model = text("model");
    drive.serial = text("serial");
    drive.firmware = text("firmware_rev");
    drive.hidden_by = controller.function.and_then(|address| functions.behind_vmd(address));
    let log = health::read(seen.dir.root(), &controller.name);
    drive.percentage_used = log.as_ref().map(|log| log.percentage_used).map_err(Clone::clone);
    let sensor = health::sensor(&seen.dir, &seen.files);
    drive.temperature_mc = sensor.or_else(|_| log.and_then(|log| log.temperature_mc()));
    drive.apst = apst(seen);
}

/// Whether power states change by themselves. The kernel makes `pm_qos_latency_tolerance_us` for
/// controllers that can, and 0 there turns it off (`nvme_configure_apst`); the feature itself, where
/// it may be asked for, knows better.
fn apst(seen: &Seen<'_>) -> Fact<Option<bool>> {
    let root = seen.dir.root();
    let tolerance = seen.dir.sub("power").text("pm_qos_latency_tolerance_us");
    let from_file = match tolerance {
        Ok(text) => parse_tolerance(&text).map(Some),
        Err(Why::Absent) if seen.files.has("power") => Ok(None),
        Err(why) => Err(why),
    };
    if from_file == Ok(None) {
        return from_file;
    }
    let feature = root.ask(&Question::NvmeApst(seen.controller.name.clone()));
    let enabled = feature.ok().and_then(|text| text.trim().parse::<u32>().ok());
    enabled.map_or(from_file, |value| Ok(Some(value & 1 == 1)))
}

/// `100000`; `auto` and `any` put no bound to the latency.
pub(crate) fn parse_tolerance(text: &str) -> Fact<bool> {
    match text {
        "auto" | "any" => Ok(true),
        number if is_number(number) => Ok(number.bytes().any(|digit| digit != b'0')),
        other => Err(Why::unparsed(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn namespaces_are_told_from_paths_and_character_devices() {
        let cases = [
            ("nvme0n1", Some("nvme0n1")),
            ("nvme10c3n12", Some("nvme10n12")),
            ("ng0n1", None),
            ("nvme0", None),
            ("nvme0cn1", None),
            ("nvme0n1p1", None),
            ("nvme-subsys0", None),
        ];
        for (name, wanted) in cases {
            assert_eq!(head_of(name).as_deref(), wanted, "{name}");
        }
    }

    #[test]
    fn no_tolerance_means_no_transitions() {
        assert_eq!(parse_tolerance("0"), Ok(false));
        assert_eq!(parse_tolerance("100000"), Ok(true));
        assert_eq!(parse_tolerance("auto"), Ok(true));
        assert!(parse_tolerance("").is_err());
    }

    proptest! {
        #[test]
        fn any_name_is_a_namespace_or_none(name in "nvme[0-9cnp]{0,12}") {
            prop_assert!(head_of(&name).is_none_or(|head| head_of(&head).is_some()));
        }
    }
}
