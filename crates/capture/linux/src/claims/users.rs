// SPDX-License-Identifier: MIT OR Apache-2.0
//! Users of a device that only they themselves tell: loops, exports, programs, btrfs.
//!
//! The kernel's exclusive opening does not keep these away, so that what cannot be looked at is told
//! and never taken for unused. Paths are compared by the number of the device that they lead to: a
//! device has as many names as somebody made nodes of it, and others in each mount namespace.

use machine::{Fact, Why};
use root::{Question, Root, text};

use super::{Claim, Named, Unseen};
use crate::block::disk::is_number;

/// Where processes of the first namespace have it (`PROC_PID_INIT_INO`, include/linux/proc_ns.h).
const ALL_PROCESSES: &str = "pid:[4026531836]";

/// What was seen, and what could not be.
pub(super) struct Look<'a> {
    pub(super) root: &'a dyn Root,
    pub(super) claims: Vec<Claim>,
    pub(super) unseen: Vec<Unseen>,
}

impl<'a> Look<'a> {
    pub(super) fn new(root: &'a dyn Root) -> Self {
        Self { root, claims: Vec::new(), unseen: Vec::new() }
    }

    /// The names in a folder; none where there is no such folder, and a word where it does not open.
    pub(super) fn list(&mut self, path: &str, users: &str) -> Vec<String> {
        match self.root.list(path) {
            Ok(names) => names,
            Err(Why::Absent) => Vec::new(),
            Err(why) => {
                self.miss(users, path, why);
                Vec::new()
            }
        }
    }

    /// As [`Self::list`], of a folder that every kernel has.
    fn list_always(&mut self, path: &str, users: &str) -> Vec<String> {
        match self.root.list(path) {
            Err(Why::Absent) => {
                self.miss(users, path, Why::Absent);
                Vec::new()
            }
            _ => self.list(path, users),
        }
    }

    /// The text of a file; none where there is no such file.
    fn text(&mut self, path: &str, users: &str) -> Option<String> {
        match text(self.root, path) {
            Ok(text) => Some(text),
            Err(Why::Absent) => None,
            Err(why) => {
                self.miss(users, path, why);
                None
            }
        }
    }

    fn miss(&mut self, users: &str, path: &str, why: Why) {
        self.unseen.push(Unseen { what: format!("{users} ({path})"), why });
    }

    /// Which of a device's names a path leads to.
    fn named<'n>(&mut self, names: &'n [Named], path: &str, users: &str) -> Option<&'n Named> {
        let answer = self.root.ask(&Question::BlockDevice(path.to_owned()));
        match answer.map(|json| serde_json::from_str::<String>(&json)) {
            Ok(Ok(number)) => {
                return names.iter().find(|named| named.number.as_deref() == Some(&number));
            }
            Err(Why::NotSupported) => return None,
            Ok(Err(_)) => self.miss(users, path, Why::unparsed("device number")),
            Err(Why::Denied) => self.miss(users, path, Why::Denied),
            // Nothing is there for us, or its file system is gone: by its name it may still be known.
            Err(_) => {}
        }
        let known =
            [Some(path.to_owned()), self.root.link(path).ok(), self.root.resolve(path).ok()];
        names.iter().find(|named| known.iter().flatten().any(|path| named.is_at(path)))
    }
}

/// Looks for all of them.
pub(super) fn find(names: &[Named], look: &mut Look<'_>) {
    loops(names, look);
    exports(names, look);
    members(names, look);
    programs(names, look);
}

fn loops(names: &[Named], look: &mut Look<'_>) {
    const USERS: &str = "whether a loop has it as its file";
    let all = look.list_always("/sys/block", USERS);
    for by in all.into_iter().filter(|name| name.starts_with("loop")) {
        let Some(file) = look.text(&format!("/sys/block/{by}/loop/backing_file"), USERS) else {
            continue;
        };
        let device = look.named(names, &file, USERS).map(|named| named.name.clone());
        look.claims.extend(device.map(|device| Claim::Loop { device, by }));
    }
}

/// The kernel's targets, by their trees in configfs.
fn exports(names: &[Named], look: &mut Look<'_>) {
    const USERS: &str = "whether it is exported";
    const NVMET: &str = "/sys/kernel/config/nvmet/subsystems";
    const SCSI: &str = "/sys/kernel/config/target/core";
    for (module, tree) in [("nvmet", NVMET), ("target_core_mod", SCSI)] {
        // Loaded, and its tree is out of sight: a container, or configfs is not mounted.
        let is_loaded = look.root.list(&format!("/sys/module/{module}")).is_ok();
        if is_loaded && look.root.list(tree) == Err(Why::Absent) {
            look.miss(USERS, tree, Why::Absent);
        }
    }
    let mut files = Vec::new();
    for subsystem in look.list(NVMET, USERS) {
        let by = format!("nvmet as {subsystem}");
        for namespace in look.list(&format!("{NVMET}/{subsystem}/namespaces"), USERS) {
            let path = format!("{NVMET}/{subsystem}/namespaces/{namespace}/device_path");
            files.extend(look.text(&path, USERS).map(|file| (file, by.clone())));
        }
        let path = format!("{NVMET}/{subsystem}/passthru/device_path");
        let controller = look.text(&path, USERS);
        let name = controller.as_deref().and_then(|path| path.strip_prefix("/dev/"));
        if let Some(device) = name.and_then(|name| of_controller(names, look, name)) {
            look.claims.push(Claim::Exported { device, by });
        }
    }
    for adapter in look.list(SCSI, USERS).iter().filter(|name| !name.starts_with("alua")) {
        for store in look.list(&format!("{SCSI}/{adapter}"), USERS) {
            let file = look.text(&format!("{SCSI}/{adapter}/{store}/udev_path"), USERS);
            files.extend(file.map(|file| (file, format!("target as {store}"))));
        }
    }
    for (file, by) in files.into_iter().filter(|(file, _)| file.starts_with('/')) {
        let device = look.named(names, &file, USERS).map(|named| named.name.clone());
        look.claims.extend(device.map(|device| Claim::Exported { device, by }));
    }
}

/// The disk, where it is a namespace of an NVMe controller: of its own folder's, or of one of the
/// controllers of its subsystem.
fn of_controller(names: &[Named], look: &Look<'_>, controller: &str) -> Option<String> {
    let disk = names.first()?;
    let above = look.root.resolve(&format!("{}/device", disk.path)).ok()?;
    let is_own = above.rsplit('/').next() == Some(controller);
    let listed = look.root.list(&above).unwrap_or_default();
    (is_own || listed.iter().any(|name| name == controller)).then(|| disk.name.clone())
}

/// Devices of mounted btrfs file systems: mountinfo names one of them only.
fn members(names: &[Named], look: &mut Look<'_>) {
    const BTRFS: &str = "/sys/fs/btrfs";
    const USERS: &str = "whether a mounted file system has it";
    for id in look.list(BTRFS, USERS) {
        let devices = look.list(&format!("{BTRFS}/{id}/devices"), USERS);
        let of = format!("btrfs {id}");
        let ours = devices.into_iter().filter(|name| names.iter().any(|named| named.name == *name));
        look.claims.extend(ours.map(|device| Claim::Member { device, of: of.clone() }));
    }
}

/// Other programs that have it open for writing.
fn programs(names: &[Named], look: &mut Look<'_>) {
    const USERS: &str = "which programs have it open";
    match look.root.link("/proc/self/ns/pid") {
        Ok(own) if own != ALL_PROCESSES => {
            let what = format!("{USERS} outside of this container (/proc)");
            look.unseen.push(Unseen { what, why: Why::Absent });
        }
        _ => {}
    }
    let own = look.root.resolve("/proc/self").ok();
    let own = own.as_deref().and_then(|path| path.strip_prefix("/proc/"));
    let all = look.list_always("/proc", USERS);
    let (mut refused, mut first) = (0_u32, None);
    for name in all.iter().filter(|name| is_number(name) && Some(name.as_str()) != own) {
        if let Err((path, why)) = program(names, look, name, USERS) {
            refused = refused.saturating_add(1);
            first.get_or_insert((path, why));
        }
    }
    if let Some((path, why)) = first {
        let others = if refused > 1 { format!(" and {} more", refused - 1) } else { String::new() };
        let what = format!("{USERS} ({path}{others})");
        look.unseen.push(Unseen { what, why });
    }
}

/// One process; where it has ended meanwhile, it has nothing open.
fn program(
    names: &[Named],
    look: &mut Look<'_>,
    process: &str,
    users: &str,
) -> Result<(), (String, Why)> {
    let folder = format!("/proc/{process}/fd");
    let numbers = match look.root.list(&folder) {
        Ok(numbers) => numbers,
        Err(Why::Absent) => return Ok(()),
        Err(why) => return Err((folder, why)),
    };
    for number in numbers {
        // Asked of the kernel's own tables first: what is only read, or is no path, is no use, and
        // looking at it might mean to wait for a server.
        let fdinfo = text(look.root, &format!("/proc/{process}/fdinfo/{number}"));
        let is_path = |link: &String| link.starts_with('/');
        let path = format!("{folder}/{number}");
        if !may_write(fdinfo) || !look.root.link(&path).is_ok_and(|link| is_path(&link)) {
            continue;
        }
        if let Some(device) = look.named(names, &path, users).map(|named| named.name.clone()) {
            let command = text(look.root, &format!("/proc/{process}/comm")).unwrap_or_default();
            let process = process.parse().unwrap_or(0);
            look.claims.push(Claim::Open { device, process, command });
        }
    }
    Ok(())
}

/// Whether what a file of `fdinfo` tells is open for writing. Where it is there and does not open,
/// nobody can say for what.
fn may_write(fdinfo: Fact<String>) -> bool {
    match fdinfo {
        Ok(text) => is_writing(&text),
        Err(why) => why != Why::Absent,
    }
}

/// `flags:\t0100002`, octal: the lowest two bits are 0 for reading only.
pub(super) fn is_writing(text: &str) -> bool {
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u64::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & 3 != 0)
}
