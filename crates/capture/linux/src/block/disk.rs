// SPDX-License-Identifier: MIT OR Apache-2.0
//! A block device's folder, and what its path says of where it sits.

use machine::{Drive, DriveKind, Fact, Why};
use root::{Dir, Root};
use units::{Bytes, PciAddress};

use super::queue;
use crate::pci::Files;

/// A whole block device (no partition).
#[derive(Debug)]
pub(super) struct Disk<'a> {
    pub(super) name: String,
    pub(super) dir: Dir<'a>,
    pub(super) files: Files,
}

impl<'a> Disk<'a> {
    /// Lists the folder of `name` at `path`; none where there is no folder.
    pub(super) fn open(root: &'a dyn Root, name: &str, path: String) -> Option<Self> {
        let dir = Dir::new(root, path);
        let files = Files::of(&dir).ok()?;
        Some(Self { name: name.to_owned(), dir, files })
    }

    /// Its path, part by part, from the top.
    pub(super) fn parts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.dir.path().split('/').filter(|part| !part.is_empty())
    }

    /// Whether the kernel made it without a device behind it.
    pub(super) fn is_virtual(&self) -> bool {
        self.dir.path().starts_with("/sys/devices/virtual/")
    }

    /// The lowest PCI function above it.
    pub(super) fn function(&self) -> Option<PciAddress> {
        self.parts().rev().find_map(|part| part.parse().ok())
    }

    /// The nearest part of its path that is `prefix` and a number, as in `host4` or `virtio1`.
    pub(super) fn numbered(&self, prefix: &str) -> Option<&str> {
        let number = |part: &str| part.strip_prefix(prefix).is_some_and(is_number);
        self.parts().rev().find(|part| number(part))
    }

    /// The folder of the device that it belongs to: two above for `H:C:T:L/block/sda`.
    pub(super) fn device(&self) -> Dir<'a> {
        let path = self.dir.path();
        let above = path.rsplit_once('/').map_or("", |(above, _)| above);
        let device = above.strip_suffix("/block").unwrap_or(above);
        Dir::new(self.dir.root(), device)
    }

    /// A text that is there and not empty.
    pub(super) fn text(&self, name: &str) -> Fact<String> {
        filled(self.files.text(&self.dir, name))
    }

    /// Names of its partitions: `sda2`, `nvme0n1p1`.
    pub(super) fn partitions(&self) -> impl Iterator<Item = &str> {
        self.files.iter().filter(|entry| is_partition(&self.name, entry))
    }

    /// Capacity: `size` counts 512-byte units whatever the block size.
    pub(super) fn size(&self) -> Fact<Bytes> {
        let text = self.text("size")?;
        let units: Option<u64> = text.parse().ok();
        let bytes = units.and_then(|units| units.checked_mul(512)).map(Bytes);
        bytes.ok_or_else(|| Why::unparsed(&text))
    }

    /// A drive with what every block device tells; who reaches it and how is left to others.
    pub(super) fn drive(&self, kind: DriveKind) -> Drive {
        let queue = self.dir.sub("queue");
        let rotational = queue.text("rotational").and_then(|text| parse_flag(&text));
        Drive {
            kind,
            size: self.size(),
            wwid: self.text("wwid"),
            queues: queue::read(&self.dir, &self.files),
            rotational,
            logical_block: queue.parse("logical_block_size"),
            physical_block: queue.parse("physical_block_size"),
            ..unknown(&self.name)
        }
    }
}

/// A drive of which nothing but the name is known.
pub(super) fn unknown(name: &str) -> Drive {
    Drive {
        name: name.to_owned(),
        kind: DriveKind::Other,
        model: Err(Why::Absent),
        serial: Err(Why::Absent),
        wwid: Err(Why::Absent),
        firmware: Err(Why::Absent),
        size: Err(Why::Absent),
        controllers: Vec::new(),
        hidden_by: None,
        queues: Vec::new(),
        rotational: Err(Why::Absent),
        logical_block: Err(Why::Absent),
        physical_block: Err(Why::Absent),
        holders: Vec::new(),
        mounts: Vec::new(),
        temperature_mc: Err(Why::Absent),
        percentage_used: Err(Why::Absent),
        apst: Err(Why::Absent),
    }
}

/// A text with something in it: an empty one is as good as none.
pub(super) fn filled(text: Fact<String>) -> Fact<String> {
    text.and_then(|text| if text.is_empty() { Err(Why::Absent) } else { Ok(text) })
}

/// `sda2` of `sda`; `nvme0n1p1` of `nvme0n1`: a name that ends in a digit takes a `p`.
pub(crate) fn is_partition(disk: &str, name: &str) -> bool {
    let rest = name.strip_prefix(disk);
    let ends_in_digit = disk.ends_with(|last: char| last.is_ascii_digit());
    let rest = if ends_in_digit { rest.and_then(|rest| rest.strip_prefix('p')) } else { rest };
    rest.is_some_and(is_number)
}

pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

pub(crate) fn parse_flag(text: &str) -> Fact<bool> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(Why::unparsed(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_told_from_disks() {
        for (disk, name) in [("sda", "sda2"), ("nvme0n1", "nvme0n1p12"), ("md127", "md127p1")] {
            assert!(is_partition(disk, name), "{name}");
        }
        for (disk, name) in
            [("sda", "sdaa"), ("nvme0n1", "nvme0n12"), ("sda", "sda"), ("sda", "sdap1")]
        {
            assert!(!is_partition(disk, name), "{name}");
        }
    }
}
