// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who uses a block device: what must be known before anything is written to it.
//!
//! The kernel's own exclusive opening tells that somebody holds a device, and neither who, nor of those
//! that it does not count: a loop above it, a target that exports it, a program that has it open. What
//! is read here names them.

mod signature;
#[cfg(test)]
mod tests;

use std::fmt;

use machine::{Fact, Why};
use root::{Dir, Root};

use crate::block::disk::is_partition;
use crate::block::mount::Mounts;

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
    /// Who uses it, or a part of it, or what it is a part of.
    pub claims: Vec<Claim>,
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
    let mut claims = Vec::new();
    for part in names.iter().filter(|part| !is_part && part.name != name) {
        claims.push(Claim::Partition { name: part.name.clone() });
    }
    used_here(root, &names, &mut claims);
    used_elsewhere(root, &names, &mut claims);
    Ok(Claimed {
        name: name.to_owned(),
        disk: is_part.then(|| above.to_owned()),
        serial: serial(&disk),
        model: disk.text("device/model"),
        bytes: own.parse::<u64>("size").map(|sectors| sectors.saturating_mul(512)),
        claims,
    })
}

/// A device or a partition of it.
struct Named {
    name: String,
    path: String,
    number: Option<String>,
}

impl Named {
    fn is_at(&self, path: &str) -> bool {
        path.strip_prefix("/dev/") == Some(self.name.as_str())
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
fn used_here(root: &dyn Root, names: &[Named], claims: &mut Vec<Claim>) {
    let mounts = Mounts::read(root);
    let swaps = root::text(root, "/proc/swaps").unwrap_or_default();
    let swaps: Vec<&str> = parse_swaps(&swaps).collect();
    for named in names {
        let device = || named.name.clone();
        let at = mounts.of(named.number.as_deref(), &[&named.name]);
        claims.extend(at.into_iter().map(|at| Claim::Mounted { device: device(), at }));
        if swaps.iter().any(|swap| named.is_at(swap)) {
            claims.push(Claim::Swap { device: device() });
        }
        let holders = root.list(&format!("{}/holders", named.path)).unwrap_or_default();
        claims.extend(holders.into_iter().map(|by| Claim::Held { device: device(), by }));
    }
}

/// Uses that only their users tell.
fn used_elsewhere(root: &dyn Root, names: &[Named], claims: &mut Vec<Claim>) {
    let mut at = |path: &str, claim: &dyn Fn(String) -> Claim| {
        let resolved = root.resolve(path).unwrap_or_else(|_| path.to_owned());
        let named = names.iter().find(|named| named.is_at(path) || named.is_at(&resolved));
        claims.extend(named.map(|named| claim(named.name.clone())));
    };
    for by in root.list("/sys/block").unwrap_or_default() {
        let path = format!("/sys/block/{by}/loop/backing_file");
        if by.starts_with("loop")
            && let Ok(file) = root::text(root, &path)
        {
            at(&file, &|device| Claim::Loop { device, by: by.clone() });
        }
    }
    for (file, by) in exports(root) {
        at(&file, &|device| Claim::Exported { device, by: by.clone() });
    }
    for (device, of) in btrfs(root) {
        at(&format!("/dev/{device}"), &|device| Claim::Member { device, of: of.clone() });
    }
    for (process, file) in open_for_writing(root) {
        let command = root::text(root, &format!("/proc/{process}/comm")).unwrap_or_default();
        let command = &command;
        at(&file, &|device| Claim::Open { device, process, command: command.clone() });
    }
}

/// `/dev/sda2                               partition\t8388604\t0\t-2`
fn parse_swaps(text: &str) -> impl Iterator<Item = &str> {
    text.lines().skip(1).filter_map(|line| line.split_whitespace().next())
}

/// Files that the kernel's targets export, and the name under which they do.
fn exports(root: &dyn Root) -> Vec<(String, String)> {
    const NVMET: &str = "/sys/kernel/config/nvmet/subsystems";
    const SCSI: &str = "/sys/kernel/config/target/core";
    let list = |path: &str| root.list(path).unwrap_or_default();
    let mut found = Vec::new();
    for subsystem in list(NVMET) {
        for namespace in list(&format!("{NVMET}/{subsystem}/namespaces")) {
            let path = format!("{NVMET}/{subsystem}/namespaces/{namespace}/device_path");
            let file = root::text(root, &path).ok();
            found.extend(file.map(|file| (file, format!("nvmet as {subsystem}"))));
        }
    }
    for adapter in list(SCSI).iter().filter(|name| !name.starts_with("alua")) {
        for store in list(&format!("{SCSI}/{adapter}")) {
            let path = format!("{SCSI}/{adapter}/{store}/udev_path");
            let file = root::text(root, &path).ok().filter(|file| !file.is_empty());
            found.extend(file.map(|file| (file, format!("target as {store}"))));
        }
    }
    found
}

/// Devices of mounted btrfs file systems: mountinfo names one of them only.
fn btrfs(root: &dyn Root) -> Vec<(String, String)> {
    const BTRFS: &str = "/sys/fs/btrfs";
    let mut found = Vec::new();
    for id in root.list(BTRFS).unwrap_or_default() {
        let devices = root.list(&format!("{BTRFS}/{id}/devices")).unwrap_or_default();
        found.extend(devices.into_iter().map(|device| (device, format!("btrfs {id}"))));
    }
    found
}

/// Files of `/dev` that other programs have open for writing.
fn open_for_writing(root: &dyn Root) -> Vec<(u32, String)> {
    let own = root.resolve("/proc/self").ok();
    let own = own.as_deref().and_then(|path| path.strip_prefix("/proc/"));
    let processes = root.list("/proc").unwrap_or_default();
    let mut found = Vec::new();
    for name in processes.iter().filter(|name| Some(name.as_str()) != own) {
        let Ok(process) = name.parse::<u32>() else { continue };
        for number in root.list(&format!("/proc/{name}/fd")).unwrap_or_default() {
            let file = root.link(&format!("/proc/{name}/fd/{number}")).ok();
            let Some(file) = file.filter(|file| file.starts_with("/dev/")) else { continue };
            let text = root::text(root, &format!("/proc/{name}/fdinfo/{number}"));
            if text.is_ok_and(|text| is_writing(&text)) {
                found.push((process, file));
            }
        }
    }
    found
}

/// `flags:\t0100002`, octal: the lowest two bits are 0 for reading only.
fn is_writing(text: &str) -> bool {
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u64::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & 3 != 0)
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
