// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that change settings by themselves: whether they run, start at boot, and how they are
//! configured.
//!
//! Where systemd's control groups are visible they answer, at the cost of one listing, and no list
//! of a machine's processes gets into a capture. Only without them are the names of all processes
//! read (about 10 us each).

use std::collections::{BTreeMap, BTreeSet};

use machine::{Fact, Service, Why};
use root::{Dir, Root, text};

/// Programs by the name of their unit, which is also that of their process, cut to 15 bytes.
const NAMES: &[&str] =
    &["auto-cpufreq", "irqbalance", "power-profiles-daemon", "thermald", "tlp", "tuned"];

/// Files that tell a program's profile or exceptions.
const CONFIGURATIONS: &[(&str, &str)] = &[
    ("irqbalance", "/etc/default/irqbalance"),
    ("irqbalance", "/etc/sysconfig/irqbalance"),
    ("irqbalance", "/etc/conf.d/irqbalance"),
    ("tuned", "/etc/tuned/active_profile"),
    ("tlp", "/etc/tlp.conf"),
    ("auto-cpufreq", "/etc/auto-cpufreq.conf"),
];

/// Processes that run virtual machines, by the beginning of their name.
const MONITORS: &[&str] = &["qemu-system-", "qemu-kvm", "firecracker", "cloud-hyperviso"];

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Services {
    /// Programs of which there is a sign.
    pub(super) list: Vec<Service>,
    /// Signs of running virtual machine monitors.
    pub(super) hypervisors: Vec<String>,
}

pub(super) fn read(root: &dyn Root, in_container: bool) -> Services {
    let running = Running::read(root);
    let enabled = enabled_units(root);
    let service = |name: &&str| Service {
        name: name.to_string(),
        running: running.has(name, in_container),
        seen: running.seen(name),
        enabled: is_enabled(root, name, &enabled),
        configuration: configuration(root, name),
    };
    let list = NAMES.iter().map(service).filter(is_there).collect();
    Services { list, hypervisors: running.hypervisors() }
}

/// Nothing is said of a program of which there is no sign.
fn is_there(service: &Service) -> bool {
    let may_run = !matches!(service.running, Ok(false) | Err(Why::Absent));
    may_run || service.enabled.is_ok() || service.configuration.is_some()
}

/// What runs, as far as it can be seen.
enum Running {
    /// Units of systemd's groups, `machine.slice` included, and the folder of `system.slice`.
    Units(BTreeSet<String>, String),
    /// Names of processes, and the file that told each.
    Processes(BTreeMap<String, String>),
    Unknown,
}

impl Running {
    fn read(root: &dyn Root) -> Self {
        let tops = ["/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"];
        for top in tops {
            let slice = |name| Dir::new(root, format!("{top}/{name}")).list().unwrap_or_default();
            let units: BTreeSet<_> = slice("system.slice").into_iter().collect();
            if units.iter().any(|unit| unit.ends_with(".service")) {
                let units = units.into_iter().chain(slice("machine.slice")).collect();
                return Self::Units(units, format!("{top}/system.slice"));
            }
        }
        let processes = processes(root);
        if processes.is_empty() { Self::Unknown } else { Self::Processes(processes) }
    }

    fn has(&self, name: &str, in_container: bool) -> Fact<bool> {
        match self {
            Self::Units(units, _) => Ok(units.contains(&format!("{name}.service"))),
            Self::Processes(names) => match names.contains_key(&cut(name)) {
                false if in_container => {
                    Err(Why::Failed("only this container's processes are visible".to_owned()))
                }
                found => Ok(found),
            },
            Self::Unknown => Err(Why::Absent),
        }
    }

    /// Where a program was found; for units the folder in which it was looked for.
    fn seen(&self, name: &str) -> Option<String> {
        match self {
            Self::Units(_, folder) => Some(folder.clone()),
            Self::Processes(names) => names.get(&cut(name)).cloned(),
            Self::Unknown => None,
        }
    }

    /// `machine-qemu\x2d1\x2dvm.scope` is a guest of libvirt.
    fn hypervisors(&self) -> Vec<String> {
        match self {
            Self::Units(units, _) => {
                let guests = units.iter().filter(|unit| unit.starts_with("machine-qemu"));
                guests.map(|unit| format!("cgroup machine.slice/{unit}")).collect()
            }
            Self::Processes(names) => {
                let is_monitor = |name: &&String| MONITORS.iter().any(|m| name.starts_with(m));
                names.keys().filter(is_monitor).map(|name| format!("process {name}")).collect()
            }
            Self::Unknown => Vec::new(),
        }
    }
}

/// A name as the kernel keeps it for a process (TASK_COMM_LEN, 16 bytes with its NUL).
fn cut(name: &str) -> String {
    name.chars().take(15).collect()
}

/// Names of all processes, and the file of the first of each (`/proc/N/comm`).
fn processes(root: &dyn Root) -> BTreeMap<String, String> {
    let names = root.list("/proc").unwrap_or_default();
    let numbers = names.iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let mut found = BTreeMap::new();
    for path in numbers.map(|number| format!("/proc/{number}/comm")) {
        if let Ok(name) = text(root, &path) {
            found.entry(name).or_insert(path);
        }
    }
    found
}

/// Names of the units that some target wants; `None` where the folder cannot be listed.
fn enabled_units(root: &dyn Root) -> Option<BTreeSet<String>> {
    let dir = Dir::new(root, "/etc/systemd/system");
    let names = dir.list().ok()?;
    let targets = names.iter().filter(|name| name.ends_with(".wants"));
    Some(targets.flat_map(|name| dir.sub(name).list().unwrap_or_default()).collect())
}

/// Whether a unit starts at boot; absent where there is no such unit.
fn is_enabled(root: &dyn Root, name: &str, enabled: &Option<BTreeSet<String>>) -> Fact<bool> {
    let unit = format!("{name}.service");
    let wanted = enabled.as_ref().ok_or(Why::Absent)?.contains(&unit);
    let folders = ["/usr/lib/systemd/system", "/lib/systemd/system", "/etc/systemd/system"];
    let is_there = || folders.iter().any(|folder| root.mode(&format!("{folder}/{unit}")).is_ok());
    if wanted || is_there() { Ok(wanted) } else { Err(Why::Absent) }
}

/// The first of a program's files, without comments.
fn configuration(root: &dyn Root, name: &str) -> Option<(String, String)> {
    let mut files = CONFIGURATIONS.iter().filter(|(program, _)| *program == name);
    files.find_map(|(_, path)| Some((path.to_string(), settings(&text(root, path).ok()?))))
}

/// Lines that set something: `IRQBALANCE_BANNED_CPULIST=0-3`.
pub(crate) fn settings(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let set: Vec<_> = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    set.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;

    fn one(root: &MemoryRoot, name: &str) -> Option<Service> {
        read(root, false).list.into_iter().find(|service| service.name == name)
    }

    #[test]
    fn groups_of_systemd_answer_before_processes() {
        let mut root = MemoryRoot::new();
        root.folder("/sys/fs/cgroup/system.slice/irqbalance.service")
            .folder("/sys/fs/cgroup/machine.slice/machine-qemu\\x2d1\\x2dvm.scope")
            .file("/proc/7/comm", "tuned\n")
            .file("/lib/systemd/system/tuned.service", "")
            .symlink("/etc/systemd/system/multi-user.target.wants/irqbalance.service", "x")
            .file("/etc/tuned/active_profile", "throughput-performance\n")
            .file("/etc/default/irqbalance", "# x\n\nIRQBALANCE_BANNED_CPULIST=0-3\n");
        let irqbalance = one(&root, "irqbalance").unwrap();
        assert_eq!((irqbalance.running, irqbalance.enabled), (Ok(true), Ok(true)));
        assert_eq!(irqbalance.configuration.unwrap().1, "IRQBALANCE_BANNED_CPULIST=0-3");
        let tuned = one(&root, "tuned").unwrap();
        assert_eq!((tuned.running, tuned.enabled), (Ok(false), Ok(false)));
        assert_eq!(tuned.configuration.unwrap().1, "throughput-performance");
        assert_eq!(one(&root, "tlp"), None);
        assert_eq!(read(&root, false).hypervisors.len(), 1);
    }

    #[test]
    fn without_systemd_the_processes_answer() {
        let mut root = MemoryRoot::new();
        root.file("/proc/7/comm", "power-profiles-\n").file("/proc/8/comm", "qemu-system-x86\n");
        assert_eq!(one(&root, "power-profiles-daemon").unwrap().running, Ok(true));
        assert_eq!(one(&root, "irqbalance"), None);
        assert_eq!(read(&root, false).hypervisors, ["process qemu-system-x86"]);
        let hidden = read(&root, true).list;
        assert!(hidden.iter().any(|s| s.name == "irqbalance" && s.running.is_err()));
    }

    #[test]
    fn a_copied_tree_says_nothing() {
        assert_eq!(read(&MemoryRoot::new(), false).list, []);
    }
}
