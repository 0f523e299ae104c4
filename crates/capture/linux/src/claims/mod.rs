// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who uses a block device: what must be known before anything is written to it.
//!
//! The kernel's own exclusive opening tells that somebody holds a device, and neither who, nor of those
//! that it does not count: a loop above it, a target that exports it, a program that has it open. What
//! is read here names them.

mod signature;
#[cfg(test)]
mod tests;
mod users;

use std::fmt;

use machine::{Fact, Why};
use root::{Dir, Root};

use crate::block::disk::is_partition;
use crate::block::mount::Mounts;
use users::Look;

pub use signature::{HEAD, TAIL, signatures};

/// A block device that somebody wants to write to.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// The kernel's name: `nvme0n1`, `sda1`.
    pub name: String,
    /// The disk that it is a partition of.
    pub disk: Option<String>,
    /// Serial number of the disk.
    pub serial: Fact<String>,
    /// Model of the disk.
    pub model: Fact<String>,
    /// Size in bytes.
    pub bytes: Fact<u64>,
    /// Whether other devices have the same serial number.
    pub kin: Kin,
    /// Who uses it, or a part of it, or what it is a part of.
    pub claims: Vec<Claim>,
    /// What could not be looked at: there, somebody may use it.
    pub unseen: Vec<Unseen>,
}

/// What a device has its serial number together with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kin {
    /// Nothing: the number is its own.
    Alone,
    /// The disk that it is the partition of this number of.
    Partition(u32),
    /// The other namespaces of its drive; it is the one of this number.
    Namespace(u32),
    /// Other devices, and nothing but its size tells it from them.
    Others,
}

/// Something that users of a device could not be looked for in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen {
    /// Which users, and where they would be: `who has it open (/proc/1/fd)`.
    pub what: String,
    /// Why not.
    pub why: Why,
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

/// A use of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// A file system of it is mounted.
    Mounted {
        /// The device or partition.
        device: String,
        /// Where.
        at: String,
    },
    /// A mounted file system of several devices has it as one.
    Member {
        /// The device or partition.
        device: String,
        /// Of what: `btrfs 3f0c...`.
        of: String,
    },
    /// The kernel swaps to it.
    Swap {
        /// The device or partition.
        device: String,
    },
    /// Another block device is made of it: md, device mapper (LVM, LUKS, multipath), bcache, DRBD.
    Held {
        /// The device or partition.
        device: String,
        /// By which.
        by: String,
    },
    /// A loop device has it as its file.
    Loop {
        /// The device or partition.
        device: String,
        /// Which.
        by: String,
    },
    /// It is exported to other machines.
    Exported {
        /// The device or partition.
        device: String,
        /// As what: `nvmet nqn.2014-08...`.
        by: String,
    },
    /// It has partitions.
    Partition {
        /// One of them.
        name: String,
    },
    /// A program has it open for writing.
    Open {
        /// The device or partition.
        device: String,
        /// Its number.
        process: u32,
        /// Its name.
        command: String,
    },
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted { device, at } => write!(f, "{device} is mounted at {at}"),
            Self::Member { device, of } => write!(f, "{device} belongs to {of}, which is mounted"),
            Self::Swap { device } => write!(f, "the kernel swaps to {device}"),
            Self::Held { device, by } => write!(f, "{device} is held by {by}"),
            Self::Loop { device, by } => write!(f, "{device} is the file of {by}"),
            Self::Exported { device, by } => write!(f, "{device} is exported by {by}"),
            Self::Partition { name } => write!(f, "it has a partition, {name}"),
            Self::Open { device, process, command } => {
                write!(f, "{command} (process {process}) has {device} open for writing")
            }
        }
    }
}

/// Who uses the block device of a number (`259:0`), its partitions, or the disk that it is on.
///
/// # Errors
/// Why there is no such device.
pub fn claims(root: &dyn Root, number: &str) -> Fact<Claimed> {
    let path = root.resolve(&format!("/sys/dev/block/{number}"))?;
    let (folder, name) = path.rsplit_once('/').ok_or(Why::Absent)?;
    let above = folder.rsplit('/').next().unwrap_or_default();
    let is_part = is_partition(above, name);
    let disk_path = if is_part { folder } else { path.as_str() };
    let disk = Dir::new(root, disk_path);
    let own = Dir::new(root, path.as_str());
    let names = names(&disk, if is_part { above } else { name }, is_part.then_some(name));
    let mut look = Look::new(root);
    for part in names.iter().filter(|part| !is_part && part.name != name) {
        look.claims.push(Claim::Partition { name: part.name.clone() });
    }
    used_here(&names, &mut look);
    users::find(&names, &mut look);
    let serial = serial(&disk);
    Ok(Claimed {
        name: name.to_owned(),
        disk: is_part.then(|| above.to_owned()),
        kin: kin(&own, &disk, is_part, serial.as_deref().ok()),
        serial,
        model: disk.text("device/model"),
        bytes: own.parse::<u64>("size").map(|sectors| sectors.saturating_mul(512)),
        claims: look.claims,
        unseen: look.unseen,
    })
}

/// Whether others have the serial number, too. What cannot be looked at is held to have it.
fn kin(own: &Dir<'_>, disk: &Dir<'_>, is_part: bool, serial: Option<&str>) -> Kin {
    if is_part {
        return own.parse("partition").map_or(Kin::Others, Kin::Partition);
    }
    let Some(serial) = serial else { return Kin::Alone };
    let has_it = |name: &String| {
        let other = Dir::new(disk.root(), format!("/sys/block/{name}"));
        let is_other = other.resolve().is_ok_and(|path| path != disk.path());
        is_other && self::serial(&other).is_ok_and(|other| other == serial)
    };
    match disk.root().list("/sys/block") {
        Ok(all) if !all.iter().any(has_it) => Kin::Alone,
        _ => own.parse("nsid").map_or(Kin::Others, Kin::Namespace),
    }
}

/// A device or a partition of it.
struct Named {
    name: String,
    path: String,
    number: Option<String>,
}

impl Named {
    fn is_at(&self, path: &str) -> bool {
        // A `!` of the kernel's name stands for the `/` that no name can have: `cciss!c0d0`.
        path.strip_prefix("/dev/").is_some_and(|name| name.replace('/', "!") == self.name)
    }
}

/// What a write would reach, or what would reach the write: the disk with all of its partitions, or
/// one partition and the disk as a whole.
fn names(disk: &Dir<'_>, disk_name: &str, part: Option<&str>) -> Vec<Named> {
    let named = |name: &str, folder: Dir<'_>| Named {
        name: name.to_owned(),
        number: folder.text("dev").ok(),
        path: folder.path().to_owned(),
    };
    let listed = disk.list().unwrap_or_default();
    let is_ours = |name: &&String| {
        is_partition(disk_name, name) && part.is_none_or(|part| part == name.as_str())
    };
    let parts = listed.iter().filter(is_ours).map(|name| named(name, disk.sub(name)));
    let whole = named(disk_name, Dir::new(disk.root(), disk.path()));
    std::iter::once(whole).chain(parts).collect()
}

/// Uses that the device's own folder or the kernel's tables tell.
fn used_here(names: &[Named], look: &mut Look<'_>) {
    let mounts = Mounts::read(look.root);
    let swaps = root::text(look.root, "/proc/swaps").unwrap_or_default();
    let swaps: Vec<&str> = parse_swaps(&swaps).collect();
    for named in names {
        let device = || named.name.clone();
        let at = mounts.of(named.number.as_deref(), &[&named.name]);
        look.claims.extend(at.into_iter().map(|at| Claim::Mounted { device: device(), at }));
        if swaps.iter().any(|swap| named.is_at(swap)) {
            look.claims.push(Claim::Swap { device: device() });
        }
        let holders = look.list(&format!("{}/holders", named.path), "what is made of it");
        look.claims.extend(holders.into_iter().map(|by| Claim::Held { device: device(), by }));
    }
}

/// `/dev/sda2                               partition\t8388604\t0\t-2`
fn parse_swaps(text: &str) -> impl Iterator<Item = &str> {
    text.lines().skip(1).filter_map(|line| line.split_whitespace().next())
}

/// The serial number of a disk: NVMe's and virtio's own file, else the page that SCSI devices give
/// (SPC-5, 7.7.18: a head of four bytes, then the number).
fn serial(disk: &Dir<'_>) -> Fact<String> {
    for file in ["device/serial", "serial"] {
        if let Ok(serial) = disk.text(file)
            && !serial.is_empty()
        {
            return Ok(serial);
        }
    }
    let page = disk.root().read(&disk.join("device/vpd_pg80"))?;
    let text = page.get(4..).map(String::from_utf8_lossy).unwrap_or_default();
    let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    if text.is_empty() { Err(Why::Absent) } else { Ok(text.to_owned()) }
}
