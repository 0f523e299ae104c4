// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cpuset that a process lives in: cgroup v2, cgroup v1, or the older `/dev/cpuset`.

use root::{Root, text};
use units::CpuSet;

/// Which of the three kinds of cpuset a mount is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Unified,
    Legacy,
    /// `mount -t cpuset`: files without the `cpuset.` prefix.
    Bare,
}

/// A mount that shows cpusets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    kind: Kind,
    /// The folder of the hierarchy that is mounted; `/` but in a container.
    top: String,
    point: String,
}

/// CPUs of the own cpuset; nothing where no cpuset can be found.
pub(super) fn cpus(root: &dyn Root) -> Option<CpuSet> {
    own(root, |kind| match kind {
        Kind::Unified => &["cpuset.cpus.effective"],
        Kind::Legacy => &["cpuset.effective_cpus", "cpuset.cpus"],
        Kind::Bare => &["effective_cpus", "cpus"],
    })
}

/// Memory nodes of the own cpuset; nothing where no cpuset can be found.
pub(super) fn nodes(root: &dyn Root) -> Option<CpuSet> {
    own(root, |kind| match kind {
        Kind::Unified => &["cpuset.mems.effective"],
        Kind::Legacy => &["cpuset.effective_mems", "cpuset.mems"],
        Kind::Bare => &["effective_mems", "mems"],
    })
}

/// The names of a set's files in each kind of cpuset, the best first.
type Files = fn(Kind) -> &'static [&'static str];

fn own(root: &dyn Root, files: Files) -> Option<CpuSet> {
    let mounts = mounts(root);
    let groups = text(root, "/proc/self/cgroup").unwrap_or_default();
    let bare = text(root, "/proc/self/cpuset").unwrap_or_default();
    mounts.iter().find_map(|mount| {
        let group = match mount.kind {
            Kind::Unified => group(&groups, ""),
            Kind::Legacy => group(&groups, "cpuset").or((!bare.is_empty()).then_some(&*bare)),
            Kind::Bare => (!bare.is_empty()).then_some(&*bare),
        };
        read(root, mount, group?, files(mount.kind))
    })
}

/// Reads the nearest cpuset at or above a group: in v2 a group without the controller has no file.
fn read(root: &dyn Root, mount: &Mount, group: &str, files: &[&str]) -> Option<CpuSet> {
    let mut folder = below(&mount.top, group);
    loop {
        let set = files.iter().find_map(|file| {
            let path = format!("{}{folder}/{file}", mount.point);
            let set = CpuSet::from_list(&text(root, &path).ok()?).ok()?;
            (!set.is_empty()).then_some(set)
        });
        match (set, folder.rfind('/')) {
            (Some(set), _) => return Some(set),
            (None, Some(slash)) => folder.truncate(slash),
            (None, None) => return None,
        }
    }
}

/// The group's folder below the mount: a container's mount shows a part of the hierarchy, and
/// `/..` leads out of its namespace.
fn below(top: &str, group: &str) -> String {
    let inside = match group.strip_prefix(top) {
        Some(rest) if top != "/" && (rest.is_empty() || rest.starts_with('/')) => rest,
        _ => group,
    };
    match inside {
        outside if outside.split('/').any(|part| part == "..") => String::new(),
        inside => inside.trim_end_matches('/').to_owned(),
    }
}

/// The path of a controller's group (`7:cpuset:/jjh`, `9:cpu,cpuacct:/`, `0::/user.slice`); the
/// unified hierarchy has no controller name.
pub(crate) fn group<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let unified = controller.is_empty() && number == "0" && controllers.is_empty();
        let legacy = !controller.is_empty() && controllers.split(',').any(|c| c == controller);
        (unified || legacy).then_some(path)
    })
}

/// The mounts that show cpusets; v1 first, for where both are mounted the cpuset controller
/// belongs to one of them only, and v1 names it.
fn mounts(root: &dyn Root) -> Vec<Mount> {
    let info = text(root, "/proc/self/mountinfo").unwrap_or_default();
    let mut mounts: Vec<Mount> = info.lines().filter_map(mountinfo_line).collect();
    if mounts.is_empty() {
        let plain = text(root, "/proc/mounts").unwrap_or_default();
        mounts = plain.lines().filter_map(mounts_line).collect();
    }
    mounts.sort_by_key(|mount| mount.kind == Kind::Unified);
    mounts
}

/// `30 23 0:26 / /sys/fs/cgroup/cpuset rw,nosuid shared:9 - cgroup cgroup rw,cpuset`.
pub(crate) fn mountinfo_line(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(3);
    let (top, point) = (left.next()?.to_owned(), left.next()?.to_owned());
    let mut right = right.split(' ');
    let (kind, options) = (right.next()?, right.nth(1).unwrap_or_default());
    Some(Mount { kind: mount_kind(kind, options)?, top, point })
}

/// `none /dev/cpuset cpuset rw 0 0`.
pub(crate) fn mounts_line(line: &str) -> Option<Mount> {
    let mut parts = line.split(' ').skip(1);
    let (point, kind, options) = (parts.next()?.to_owned(), parts.next()?, parts.next()?);
    Some(Mount { kind: mount_kind(kind, options)?, top: "/".to_owned(), point })
}

fn mount_kind(kind: &str, options: &str) -> Option<Kind> {
    let has = |name| options.split(',').any(|option| option == name);
    match kind {
        "cgroup2" => Some(Kind::Unified),
        "cpuset" => Some(Kind::Bare),
        "cgroup" if has("cpuset") && has("noprefix") => Some(Kind::Bare),
        "cgroup" if has("cpuset") => Some(Kind::Legacy),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use root::MemoryRoot;

    #[test]
    fn each_generation_of_cpuset_is_found() {
        let mut v2 = MemoryRoot::new();
        v2.file("/proc/self/cgroup", "0::/user.slice/session-1.scope\n")
            .file(
                "/proc/self/mountinfo",
                "29 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
            )
            .file("/sys/fs/cgroup/user.slice/cpuset.cpus.effective", "2-3\n")
            .file("/sys/fs/cgroup/cpuset.cpus.effective", "0-3\n");
        let mut v1 = MemoryRoot::new();
        v1.file("/proc/self/cgroup", "9:cpu,cpuacct:/\n7:cpuset:/jjh\n0::/\n")
            .file("/proc/mounts", "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n")
            .file("/sys/fs/cgroup/cpuset/jjh/cpuset.cpus", "4-7\n");
        let mut bare = MemoryRoot::new();
        bare.file("/proc/mounts", "none /dev/cpuset cpuset rw 0 0\n")
            .file("/proc/self/cpuset", "/dummy\n")
            .file("/dev/cpuset/dummy/cpus", "0-6,12-15\n");
        for (root, expected) in [(v2, "2-3"), (v1, "4-7"), (bare, "0-6,12-15")] {
            assert_eq!(cpus(&root).map(|set| set.to_string()).as_deref(), Some(expected));
        }
        assert_eq!(cpus(&MemoryRoot::new()), None);
    }

    #[test]
    fn a_container_sees_its_part_of_the_hierarchy() {
        for (top, group, folder) in [
            ("/", "/a/b", "/a/b"),
            ("/", "/", ""),
            ("/docker/1f", "/docker/1f", ""),
            ("/docker/1f", "/docker/1f/x", "/x"),
            ("/docker/1f", "/docker/1fe", "/docker/1fe"),
            ("/", "/../../system.slice", ""),
        ] {
            assert_eq!(below(top, group), folder, "{top} {group}");
        }
    }

    proptest! {
        #[test]
        fn any_text_parses(groups in "[0-9:,/a-z\n]{0,60}", mounts in "([a-z/0 -]|cgroup2|cpuset|\n){0,60}") {
            let mut root = MemoryRoot::new();
            root.file("/proc/self/cgroup", groups).file("/proc/self/mountinfo", mounts.clone());
            root.file("/proc/mounts", mounts).file("/proc/self/cpuset", "/");
            let _ = cpus(&root);
        }
    }
}
