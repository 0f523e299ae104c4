// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drives and what is stacked on them: `/sys/block`, `/sys/class/nvme`, SCSI hosts, mounts.
//!
//! A drive is what a person would count: a multipath head and not its paths, a logical drive of a
//! RAID controller and not the controller. Loop devices, RAM disks and compressed swap are none;
//! md, device mapper and loops in use are volumes.

pub(crate) mod disk;
pub(crate) mod health;
pub(crate) mod mount;
pub(crate) mod nvme;
mod other;
mod place;
mod queue;
mod raid;
pub(crate) mod scsi;
pub(crate) mod volume;

use std::collections::{BTreeMap, BTreeSet};

use machine::{Drive, Function, Volume, VolumeKind};
use root::Root;

use crate::Troubles;
use crate::pci::follow;
use disk::Disk;
use mount::Mounts;
use place::Functions;
use volume::Holders;

const BLOCK: &str = "/sys/block";
/// Holds partitions too, and some devices that a copied tree has nowhere else.
const CLASS: &str = "/sys/class/block";

/// Reads drives and volumes, each in the order of their names and numbers.
pub(crate) fn read(
    root: &dyn Root,
    functions: &[Function],
    troubles: &mut Troubles,
) -> (Vec<Drive>, Vec<Volume>) {
    let functions = Functions::new(functions);
    let disks = disks(root, troubles);
    let (namespaces, disks): (Vec<Disk<'_>>, Vec<Disk<'_>>) =
        disks.into_iter().partition(|disk| nvme::is_namespace(&disk.name));
    let mut drives = nvme::read(root, &namespaces, &functions);
    let mut volumes = Vec::new();
    for disk in &disks {
        match volume::read(disk) {
            Some(volume) => volumes.push(volume),
            None if is_drive(disk) => drives.push(
                scsi::read(disk, &functions).unwrap_or_else(|| other::read(disk, &functions)),
            ),
            None => {}
        }
    }
    let all = namespaces.iter().chain(&disks);
    stack(root, all, &mut drives, &mut volumes);
    let mut drives = join_paths(drives, &volumes);
    drives.sort_by(|a, b| natural(&a.name).cmp(&natural(&b.name)));
    volumes.sort_by(|a, b| natural(&a.name).cmp(&natural(&b.name)));
    (drives, volumes)
}

/// Every whole block device.
fn disks<'a>(root: &'a dyn Root, troubles: &mut Troubles) -> Vec<Disk<'a>> {
    let listed = troubles.keep("block devices", BLOCK, root.list(BLOCK)).unwrap_or_default();
    let mut found: BTreeMap<String, &str> = listed.into_iter().map(|name| (name, BLOCK)).collect();
    let classed = root.list(CLASS).unwrap_or_default();
    let whole: Vec<String> =
        classed.iter().filter(|name| !is_part_of_any(name, &classed)).cloned().collect();
    for name in whole {
        found.entry(name).or_insert(CLASS);
    }
    let open = |(name, folder): (String, &str)| {
        let entry = format!("{folder}/{name}");
        let path = root.link(&entry).map_or(entry, |target| follow(folder, &target));
        Disk::open(root, &name, path)
    };
    found.into_iter().filter_map(open).collect()
}

fn is_part_of_any(name: &str, names: &[String]) -> bool {
    let without_number = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let parents = [without_number, without_number.strip_suffix('p').unwrap_or(without_number)];
    parents.iter().any(|parent| {
        let listed = names.binary_search_by(|entry| entry.as_str().cmp(parent)).is_ok();
        listed && disk::is_partition(parent, name)
    })
}

/// Whether a person would call it a drive: a device is behind it, and its medium stays in.
fn is_drive(disk: &Disk<'_>) -> bool {
    let numbered = |prefix| disk.name.strip_prefix(prefix).is_some_and(disk::is_number);
    // Optical drives, floppies, flash translation layers, and the boot areas of an MMC.
    let other = ["sr", "fd", "mtdblock", "ram", "zram", "loop"].into_iter().any(numbered);
    let area = disk.name.starts_with("mmcblk")
        && ["boot0", "boot1", "rpmb"].iter().any(|end| disk.name.ends_with(end));
    !disk.is_virtual() && !other && !area
}

/// Fills holders and mounts.
fn stack<'d, 'a: 'd>(
    root: &dyn Root,
    disks: impl Iterator<Item = &'d Disk<'a>>,
    drives: &mut [Drive],
    volumes: &mut [Volume],
) {
    let mounts = Mounts::read(root);
    let mut holders = Holders::default();
    let mut mounted: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for disk in disks {
        holders.add_disk(disk);
        if !mounts.is_empty() {
            mounted.insert(&disk.name, mounts_of(disk, &mounts));
        }
    }
    for volume in volumes.iter_mut() {
        holders.add_volume(volume);
        volume.mounts = mounted.remove(volume.name.as_str()).unwrap_or_default();
        let mapped = volume.label.as_ref().map(|label| format!("mapper/{label}"));
        if let Some(mapped) = mapped.filter(|_| volume.mounts.is_empty()) {
            volume.mounts = mounts.of(None, &[&mapped]);
        }
    }
    let names: BTreeSet<&str> = volumes.iter().map(|volume| volume.name.as_str()).collect();
    for drive in drives {
        drive.holders = holders.above(&drive.name, &names);
        drive.mounts = mounted.remove(drive.name.as_str()).unwrap_or_default();
    }
}

/// Where a disk or a partition of it is mounted.
fn mounts_of(disk: &Disk<'_>, mounts: &Mounts) -> Vec<String> {
    let number = disk.files.text(&disk.dir, "dev").ok();
    let mut points = mounts.of(number.as_deref(), &[&disk.name]);
    for partition in disk.partitions() {
        let number = disk.dir.sub(partition).text("dev").ok();
        points.extend(mounts.of(number.as_deref(), &[partition]));
    }
    points.sort_unstable();
    points.dedup();
    points
}

/// Disks that dm-multipath holds together are paths to one drive: the first keeps its name.
fn join_paths(drives: Vec<Drive>, volumes: &[Volume]) -> Vec<Drive> {
    let multipath = volumes.iter().filter(|volume| volume.kind == VolumeKind::Multipath);
    let group: BTreeMap<&str, &str> = multipath
        .flat_map(|volume| {
            volume.members.iter().map(|member| (member.as_str(), volume.name.as_str()))
        })
        .collect();
    let mut joined: Vec<Drive> = Vec::new();
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for drive in drives {
        let volume = group.get(drive.name.as_str());
        let known = volume.and_then(|volume| first.get(volume)).copied();
        match known.and_then(|index| joined.get_mut(index)) {
            Some(head) => head.controllers.extend(drive.controllers),
            None => {
                if let Some(volume) = volume {
                    first.insert(volume, joined.len());
                }
                joined.push(drive);
            }
        }
    }
    joined
}

/// A name by its parts, numbers as numbers: nvme2n1 comes before nvme10n1.
fn natural(name: &str) -> Vec<(u64, &str)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(text);
        let digits = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, tail) = tail.split_at(digits);
        parts.push((0, word));
        parts.push((number.parse().unwrap_or(u64::MAX), ""));
        rest = tail;
    }
    parts
}

#[cfg(test)]
mod tests;
