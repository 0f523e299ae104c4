// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is mounted, by device number and by name.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};

use root::Root;

/// More than any kernel's table: 100,000 mounts (`fs.mount-max`) of 160 bytes.
const LONGEST: u64 = 16 << 20;

/// Mount points: those of `/proc/self/mountinfo`, else of `/proc/mounts`.
#[derive(Debug, Default)]
pub(crate) struct Mounts {
    /// By `major:minor`.
    numbers: BTreeMap<String, Vec<String>>,
    /// By source: `/dev/sda1`. Volumes of several devices (btrfs) have numbers of their own.
    sources: BTreeMap<String, Vec<String>>,
}

/// One mount.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    number: Option<String>,
    source: String,
    point: String,
}

impl Mounts {
    /// Reads what is mounted; nothing where neither file is readable.
    pub(crate) fn read(root: &dyn Root) -> Self {
        let mut mounts = Self::default();
        if !mounts.add_all(root, "/proc/self/mountinfo", parse_mountinfo) {
            mounts.add_all(root, "/proc/mounts", parse_mounts);
        }
        mounts
    }

    /// Adds the mounts of one file; whether there was one.
    fn add_all(&mut self, root: &dyn Root, path: &str, parse: fn(&str) -> Option<Mount>) -> bool {
        let Ok(text) = root.stream(path) else { return false };
        // A mount point need not be UTF-8, and one that is not must not hide those after it.
        for line in text.take(LONGEST).split(b'\n').map_while(Result::ok) {
            if let Some(mount) = parse(&String::from_utf8_lossy(&line)) {
                self.add(mount);
            }
        }
        true
    }

    fn add(&mut self, mount: Mount) {
        if let Some(number) = mount.number {
            self.numbers.entry(number).or_default().push(mount.point.clone());
        }
        self.sources.entry(mount.source).or_default().push(mount.point);
    }

    /// Whether anything is known at all.
    pub(super) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Mount points of a device by its number (`259:0`), or by its names below `/dev`.
    pub(crate) fn of(&self, number: Option<&str>, names: &[&str]) -> Vec<String> {
        let by_number = number.and_then(|number| self.numbers.get(number));
        let by_name = names.iter().filter_map(|name| self.sources.get(&format!("/dev/{name}")));
        let mut points: Vec<String> =
            by_number.into_iter().chain(by_name).flatten().cloned().collect();
        points.sort_unstable();
        points.dedup();
        points
    }
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
pub(crate) fn parse_mountinfo(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(2);
    let number = fields.next()?.to_owned();
    let point = unescape(fields.nth(1)?);
    let source = unescape(after.split(' ').nth(1)?);
    Some(Mount { number: Some(number), source, point })
}

/// `/dev/sda1 /boot ext4 rw,relatime 0 0`
pub(crate) fn parse_mounts(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ');
    let source = unescape(fields.next()?);
    Some(Mount { number: None, source, point: unescape(fields.next()?) })
}

/// Blanks and backslashes are written as `\040` and the like (the kernel's `mangle_path`).
pub(crate) fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        match octal(rest) {
            Some(byte) => {
                bytes.push(byte);
                rest = rest.get(4..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn octal(bytes: &[u8]) -> Option<u8> {
    let digits = bytes.strip_prefix(b"\\")?.get(..3)?;
    let text = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
    u8::from_str_radix(text, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use root::MemoryRoot;

    #[test]
    fn both_files_are_read() {
        let line = "36 35 98:0 /mnt1 /my\\040disk rw,noatime master:1 shared:2 - ext3 /dev/root rw";
        let mount = parse_mountinfo(line).unwrap();
        assert_eq!((mount.number.as_deref(), &*mount.point), (Some("98:0"), "/my disk"));
        let mount = parse_mounts("/dev/sda1 /boot ext4 rw,relatime 0 0").unwrap();
        assert_eq!((&*mount.source, &*mount.point), ("/dev/sda1", "/boot"));
        assert_eq!(parse_mountinfo("36 35 98:0 /mnt1"), None);
    }

    #[test]
    fn a_mount_is_found_by_number_and_by_name() {
        let mut root = MemoryRoot::new();
        let text =
            "24 1 254:0 / / rw - ext4 /dev/vda rw\n30 24 0:41 /@ /data rw - btrfs /dev/sdb1 rw\n";
        root.file("/proc/self/mountinfo", text);
        let mounts = Mounts::read(&root);
        assert_eq!(mounts.of(Some("254:0"), &["vda"]), ["/"]);
        assert_eq!(mounts.of(Some("8:17"), &["sdb1"]), ["/data"]);
        assert!(mounts.of(None, &["sdc"]).is_empty());
    }

    proptest! {
        #[test]
        fn any_line_is_a_mount_or_none(line in ".{0,80}") {
            let _ = (parse_mountinfo(&line), parse_mounts(&line));
            prop_assert!(unescape(&line).len() <= line.len() * 3);
        }
    }
}
