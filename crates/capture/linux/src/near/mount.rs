// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files and folders: the mount that holds one, and the devices below its file system.

use std::io::{BufRead, Read};

use root::Root;

use super::find::{Finder, last};
use crate::block::mount::unescape;

/// More than any kernel's table: 100,000 mounts (`fs.mount-max`) of 160 bytes.
const LONGEST: u64 = 16 << 20;

/// A line of the table of mounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// `None` where only /proc/mounts is there.
    id: Option<u64>,
    /// `259:1`; major 0 is no block device.
    number: Option<String>,
    point: String,
    kind: String,
    source: String,
    /// Options of the file system, not of the mount.
    options: String,
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
/// (Documentation/filesystems/proc.rst, section 3.5).
pub(crate) fn parse_mountinfo(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ');
    let id = before.next()?.parse().ok()?;
    let number = before.nth(1)?.to_owned();
    let point = unescape(before.nth(1)?);
    let mut after = after.split(' ');
    let (kind, source) = (after.next()?.to_owned(), unescape(after.next()?));
    let options = after.next().unwrap_or_default().to_owned();
    Some(Mount { id: Some(id), number: Some(number), point, kind, source, options })
}

/// `/dev/sda1 /boot ext4 rw,relatime 0 0`
pub(crate) fn parse_mounts(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ');
    let (source, point) = (unescape(fields.next()?), unescape(fields.next()?));
    let (kind, options) = (fields.next()?.to_owned(), fields.next()?.to_owned());
    Some(Mount { id: None, number: None, point, kind, source, options })
}

impl Mount {
    /// The value of an option, escapes resolved: `upperdir=/a\040b`.
    fn option(&self, name: &str) -> Option<String> {
        let value = |option: &str| option.strip_prefix(name)?.strip_prefix('=').map(unescape);
        self.options.split(',').find_map(value)
    }

    /// Whether a path without links lies at or below the mount point.
    fn holds(&self, path: &str) -> bool {
        let rest = path.strip_prefix(self.point.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Its block device's number.
    fn device(&self) -> Option<&str> {
        self.number.as_deref().filter(|number| !is_anonymous(number))
    }
}

/// The mount that holds a path: the one of that id, else the longest point and, of several on one
/// point, the last, which covers the others.
fn holder(root: &dyn Root, path: &str, id: Option<u64>) -> Option<Mount> {
    let table = |file: &str, parse: fn(&str) -> Option<Mount>| -> Option<Mount> {
        let lines = root.stream(file).ok()?.take(LONGEST).split(b'\n').map_while(Result::ok);
        let mounts = lines.filter_map(|line| parse(&String::from_utf8_lossy(&line)));
        let held = mounts.filter(|mount| match id {
            Some(_) if mount.id == id => true,
            _ => mount.holds(path),
        });
        held.max_by_key(|mount| (id.is_some() && mount.id == id, mount.point.len()))
    };
    table("/proc/self/mountinfo", parse_mountinfo).or_else(|| table("/proc/mounts", parse_mounts))
}

fn is_anonymous(number: &str) -> bool {
    number.starts_with("0:")
}

impl Finder<'_> {
    /// The devices below the file system that holds a path. `number` is the file's own `st_dev`.
    pub(super) fn path(&mut self, path: &str, number: Option<&str>, mount: Option<u64>) {
        if !self.enter("path", path) {
            return;
        }
        let held = holder(self.root, path, mount);
        let number = number.filter(|number| !is_anonymous(number));
        let number = number.or_else(|| held.as_ref().and_then(Mount::device));
        if let Some(number) = number {
            let kind = held.as_ref().map_or("", |mount| mount.kind.as_str());
            self.step(on_device(path, kind, held.as_ref(), number));
            if self.device_number("block", number) {
                return;
            }
        }
        match held {
            Some(mount) => self.file_system(path, &mount),
            None => self.dead_end(format!("no file system is known that holds {path}")),
        }
    }

    /// File systems without a block device's number of their own.
    fn file_system(&mut self, path: &str, mount: &Mount) {
        let Mount { kind, source, .. } = mount;
        match kind.as_str() {
            "btrfs" => self.btrfs(path, source),
            "overlay" => self.overlay(path, mount),
            "nfs" | "nfs4" | "cifs" | "smb3" | "ceph" | "lustre" => self.network(path, mount),
            "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" => {
                self.dead_end(format!("{kind} is kept in memory"));
            }
            "zfs" => self.dead_end(format!(
                "it is on the ZFS pool {}, and the kernel does not tell the drives of a pool; \
                 `zpool status` does",
                source.split('/').next().unwrap_or_default()
            )),
            "virtiofs" | "9p" => self.dead_end(format!(
                "{kind} is shared by the hypervisor, whose drives are not seen from here"
            )),
            // bcachefs and others of several devices: /dev/sda:/dev/sdb.
            _ if source.starts_with("/dev/") => {
                self.step(format!("{path} is on {source} ({kind})"));
                for source in source.split(':') {
                    self.source(source);
                }
            }
            _ => self.dead_end(format!("{kind} has no device that the kernel names")),
        }
    }

    /// A device by the path that it was mounted by.
    fn source(&mut self, source: &str) {
        let name = source.strip_prefix("/dev/").unwrap_or(source);
        if !self.node_name(name) {
            self.dead_end(format!("{source} is no device that the kernel lists"));
        }
    }

    /// Every device of a btrfs, whose files have numbers of no device.
    fn btrfs(&mut self, path: &str, source: &str) {
        const SYSTEMS: &str = "/sys/fs/btrfs";
        let name = self.kernel_name(source);
        let devices = |id: &String| self.list(&format!("{SYSTEMS}/{id}/devices"));
        let mut systems = self.list(SYSTEMS).iter().map(devices).collect::<Vec<_>>().into_iter();
        match systems.find(|devices| devices.contains(&name)) {
            Some(devices) => {
                self.step(format!("{path} is on {} (btrfs)", devices.join(", ")));
                for device in &devices {
                    self.block(device);
                }
            }
            None => {
                self.step(format!("{path} is on {source} (btrfs)"));
                self.source(source);
            }
        }
    }

    /// `dm-3` for /dev/mapper/vg0-data; the last part of other names.
    fn kernel_name(&self, source: &str) -> String {
        let Some(label) = source.strip_prefix("/dev/mapper/") else {
            return last(source).to_owned();
        };
        let is_it = |name: &String| {
            self.text(&format!("/sys/class/block/{name}/dm/name")).is_some_and(|name| name == label)
        };
        let mut names = self.list("/sys/class/block").into_iter();
        names
            .find(|name| name.starts_with("dm-") && is_it(name))
            .unwrap_or_else(|| label.to_owned())
    }

    /// What is written to an overlay goes to its upper folder.
    fn overlay(&mut self, path: &str, mount: &Mount) {
        let upper = mount.option("upperdir");
        let lower = || Some(mount.option("lowerdir")?.split(':').next()?.to_owned());
        let Some(folder) = upper.or_else(lower).filter(|folder| folder.starts_with('/')) else {
            return self.dead_end("the overlay does not tell the folders that it is made of");
        };
        let held = holder(self.root, &folder, None);
        if held.is_none_or(|held| held == *mount) {
            return self
                .dead_end(format!("the overlay's folder {folder} lies outside of this container"));
        }
        self.step(format!("{path} is an overlay over {folder}"));
        self.deeper(|finder| finder.path(&folder, None, None));
    }

    /// The interface that carries a network file system.
    fn network(&mut self, path: &str, mount: &Mount) {
        let Mount { kind, source, .. } = mount;
        let server = || source.split(['@', ':', ',']).find(|part| !part.is_empty());
        let address = mount.option("addr").or_else(|| server().map(str::to_owned));
        let address = address.unwrap_or_default();
        self.step(format!("{path} is on {source} ({kind}) at {address}"));
        self.address(&address);
    }
}

/// The step from a path to a block device.
fn on_device(path: &str, kind: &str, mount: Option<&Mount>, number: &str) -> String {
    let source = mount.map(|mount| mount.source.as_str());
    let source = source.filter(|source| source.starts_with("/dev/") && *source != "/dev/root");
    match (source, kind) {
        (Some(source), _) => format!("{path} is on {source} ({kind})"),
        (None, "") => format!("{path} is on the block device {number}"),
        (None, kind) => format!("{path} is on the block device {number} ({kind})"),
    }
}
