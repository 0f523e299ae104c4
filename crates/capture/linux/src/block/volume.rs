// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is stacked on drives: md, device mapper, bcache, loop.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Volume, VolumeKind};

use super::disk::{Disk, filled, is_number};

/// Reads a volume; none for block devices that hold nothing: RAM disks, unused loops, and drives.
pub(super) fn read(disk: &Disk<'_>) -> Option<Volume> {
    let (kind, label, level) = identity(disk)?;
    Some(Volume {
        name: disk.name.clone(),
        label,
        kind,
        level,
        members: disk.dir.sub("slaves").list().unwrap_or_default(),
        size: disk.size(),
        mounts: Vec::new(),
    })
}

type Identity = (VolumeKind, Option<String>, Option<String>);

fn identity(disk: &Disk<'_>) -> Option<Identity> {
    let text = |folder: &str, name| {
        let there = disk.files.has(folder);
        there.then(|| filled(disk.dir.sub(folder).text(name)).ok()).flatten()
    };
    let numbered = |prefix| disk.name.strip_prefix(prefix).is_some_and(is_number);
    if disk.files.has("md") || numbered("md") {
        return Some((VolumeKind::Md, None, text("md", "level")));
    }
    if disk.files.has("dm") || numbered("dm-") {
        let (kind, level) = mapped(&text("dm", "uuid").unwrap_or_default());
        return Some((kind, text("dm", "name"), level));
    }
    if numbered("bcache") {
        return Some((VolumeKind::Bcache, None, None));
    }
    if numbered("loop") {
        let file = text("loop", "backing_file")?;
        return Some((VolumeKind::Loop, Some(file), None));
    }
    let memory = ["ram", "zram", "sr", "fd"].iter().any(|prefix| numbered(prefix));
    let used = disk.size().is_ok_and(|size| size.0 > 0);
    (disk.is_virtual() && !memory && used).then_some((VolumeKind::Other, None, None))
}

/// What a device-mapper UUID tells: `LVM-…`, `CRYPT-LUKS2-…`, `mpath-…`, `part1-mpath-…`.
pub(crate) fn mapped(uuid: &str) -> (VolumeKind, Option<String>) {
    let (prefix, rest) = uuid.split_once('-').unwrap_or((uuid, ""));
    match prefix {
        "LVM" => (VolumeKind::Lvm, None),
        "CRYPT" => {
            let kind = rest.split('-').next().filter(|kind| !kind.is_empty());
            (VolumeKind::Crypt, kind.map(str::to_owned))
        }
        "mpath" => (VolumeKind::Multipath, None),
        _ => (VolumeKind::Dm, None),
    }
}

/// Which volumes hold a device, near or far: a graph from each device to those right above it.
#[derive(Debug, Default)]
pub(super) struct Holders(BTreeMap<String, BTreeSet<String>>);

impl Holders {
    /// Adds what a disk's folder says: its own holders and those of its partitions.
    pub(super) fn add_disk(&mut self, disk: &Disk<'_>) {
        if disk.files.has("holders") {
            let above = disk.dir.sub("holders").list().unwrap_or_default();
            self.0.entry(disk.name.clone()).or_default().extend(above);
        }
        for partition in disk.partitions() {
            let above = disk.dir.sub(partition).sub("holders").list().unwrap_or_default();
            let holders = self.0.entry(disk.name.clone()).or_default();
            holders.extend(above);
            holders.insert(partition.to_owned());
        }
    }

    /// Adds what a volume says of its members.
    pub(super) fn add_volume(&mut self, volume: &Volume) {
        for member in &volume.members {
            self.0.entry(member.clone()).or_default().insert(volume.name.clone());
        }
    }

    /// Names of all volumes above a device, through its partitions too. Loops end.
    pub(super) fn above(&self, device: &str, volumes: &BTreeSet<&str>) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut pending = vec![device];
        while let Some(name) = pending.pop() {
            for above in self.0.get(name).into_iter().flatten() {
                if seen.insert(above.as_str()) {
                    pending.push(above);
                }
            }
        }
        seen.into_iter()
            .filter(|name| *name != device && volumes.contains(name))
            .map(str::to_owned)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_devices_are_told_by_their_uuid() {
        let cases = [
            ("LVM-abc", VolumeKind::Lvm, None),
            ("CRYPT-LUKS2-123-data", VolumeKind::Crypt, Some("LUKS2")),
            ("mpath-3600", VolumeKind::Multipath, None),
            ("part1-mpath-3600", VolumeKind::Dm, None),
            ("", VolumeKind::Dm, None),
        ];
        for (uuid, kind, level) in cases {
            assert_eq!(mapped(uuid), (kind, level.map(str::to_owned)), "{uuid}");
        }
    }

    #[test]
    fn holders_are_found_through_partitions_and_loops_end() {
        let mut holders = Holders::default();
        let edges = [("sda", "sda2"), ("sda2", "md0"), ("md0", "dm-1"), ("dm-1", "md0")];
        for (below, above) in edges {
            holders.0.entry(below.to_owned()).or_default().insert(above.to_owned());
        }
        let volumes = BTreeSet::from(["md0", "dm-1"]);
        assert_eq!(holders.above("sda", &volumes), ["dm-1", "md0"]);
        assert!(holders.above("sdb", &volumes).is_empty());
    }
}
