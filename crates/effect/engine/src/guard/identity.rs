// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which device a name stands for, and whether that is the one that is meant.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use linux::{Claimed, Kin};
use root::{LiveRoot, Root as _};
use rustix::fs::{major, minor};

use super::Why;

/// A block device's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) path: PathBuf,
    pub(super) device: u64,
}

impl Node {
    /// `259:0`.
    pub(super) fn number(&self) -> String {
        number(self.device)
    }
}

/// A device number as the kernel writes it: `259:0`.
pub(crate) fn number(device: u64) -> String {
    format!("{}:{}", major(device), minor(device))
}

/// The block device that a name stands for. An NVMe command device (`/dev/ng0n1`) stands for the
/// namespace's block device: writing through it is writing to that.
pub(super) fn node(root: &LiveRoot, path: &Path) -> Result<Node, Why> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Why::Absent,
        _ => Why::Kernel("looking at it", error),
    };
    let plain = fs::symlink_metadata(path).map_err(failed)?;
    let real = fs::canonicalize(path).map_err(failed)?;
    if plain.is_symlink() || real != path {
        return Err(Why::Link(real));
    }
    let kind = plain.file_type();
    if kind.is_block_device() {
        return Ok(Node { path: real, device: plain.rdev() });
    }
    match block_of(root, &real).filter(|_| kind.is_char_device()) {
        Some(block) => node(root, &block),
        None => Err(Why::NotBlock(word(kind))),
    }
}

/// `/dev/nvme0n1` of `/dev/ng0n1`, where the kernel has that device.
pub(crate) fn block_of(root: &LiveRoot, path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_prefix("ng")?;
    let is_namespace = name.split_once('n').is_some_and(|(controller, number)| {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        is_number(controller) && is_number(number)
    });
    let block = format!("nvme{name}");
    let is_there = is_namespace && root.list(&format!("/sys/block/{block}")).is_ok();
    is_there.then(|| path.with_file_name(block))
}

fn word(kind: fs::FileType) -> &'static str {
    match kind {
        kind if kind.is_file() => "a regular file",
        kind if kind.is_dir() => "a folder",
        kind if kind.is_char_device() => "a character device",
        kind if kind.is_fifo() => "a pipe",
        _ => "a socket",
    }
}

/// What a device is known by: the name of it and the value. A serial number that a partition or a
/// namespace has together with others is not enough: which one it is, and its size, stand behind it.
pub fn identity(claimed: &Claimed) -> Option<(&'static str, String)> {
    let Ok(serial) = &claimed.serial else {
        let bytes = claimed.bytes.as_ref().ok()?;
        return Some(("size in bytes (it has no serial number)", bytes.to_string()));
    };
    let bytes = || claimed.bytes.as_ref().ok();
    Some(match claimed.kin {
        Kin::Alone => ("serial number", serial.clone()),
        Kin::Partition(number) => (
            "SERIAL:PARTITION:BYTES (the drive's serial number is that of all its partitions)",
            format!("{serial}:{number}:{}", bytes()?),
        ),
        Kin::Namespace(number) => (
            "SERIAL:NAMESPACE:BYTES (the drive's serial number is that of all its namespaces)",
            format!("{serial}:{number}:{}", bytes()?),
        ),
        Kin::Others => (
            "SERIAL:BYTES (another device may have the same serial number)",
            format!("{serial}:{}", bytes()?),
        ),
    })
}

/// Holds that the device is the one that the token names.
pub(super) fn check(claimed: &Claimed, token: Option<&str>) -> Result<(), Why> {
    let (what, own) = identity(claimed).ok_or(Why::Anonymous)?;
    match token {
        None => Err(Why::NoToken(what, own)),
        Some(token) if token == own => Ok(()),
        Some(token) => Err(Why::Other(what, own, token.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Why as Unknown;

    fn claimed(serial: Option<&str>) -> Claimed {
        Claimed {
            name: "sda".to_owned(),
            disk: None,
            serial: serial.map(str::to_owned).ok_or(Unknown::Absent),
            model: Err(Unknown::Absent),
            bytes: Ok(4096),
            kin: Kin::Alone,
            claims: Vec::new(),
            unseen: Vec::new(),
        }
    }

    #[test]
    fn only_the_device_that_is_meant_is_taken() {
        let text = |claimed: &Claimed, token| check(claimed, token).err().map(|e| e.to_string());
        let drive = claimed(Some("S4EV"));
        assert_eq!(text(&drive, Some("S4EV")), None);
        assert_eq!(
            text(&drive, Some("S4EW")).unwrap(),
            "its serial number is S4EV, and S4EW was told"
        );
        assert!(text(&drive, None).unwrap().contains("name its serial number, S4EV"));
        assert!(text(&drive, Some("4096")).is_some());
        let nameless = claimed(None);
        assert_eq!(text(&nameless, Some("4096")), None);
        assert!(text(&nameless, Some("")).is_some());
        for (kin, wanted) in [
            (Kin::Partition(2), "S4EV:2:4096"),
            (Kin::Namespace(3), "S4EV:3:4096"),
            (Kin::Others, "S4EV:4096"),
        ] {
            let part = Claimed { kin, ..drive.clone() };
            assert_eq!(text(&part, Some(wanted)), None);
            assert!(text(&part, Some("S4EV")).unwrap().contains(wanted), "{wanted}");
        }
        let nothing = Claimed { bytes: Err(Unknown::Absent), ..nameless };
        assert!(text(&nothing, Some("")).unwrap().contains("serial number nor"));
    }
}
