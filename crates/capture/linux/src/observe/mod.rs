// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the signs of catalogue entries.
//!
//! A sign is a path with `{cpu}`, `{drive}` and the like in it, and perhaps one `*`. It is read for
//! each device of the setting's scope, and brought into the spelling in which values compare.

mod pattern;

use machine::{Drive, DriveKind, Fact, Machine, NicKind, Why};
use root::{Root, text};
use setting::{Evidence, Form, Observation, Part, Scope, Setting, canonical};
use units::{Cpu, CpuSet};

use self::pattern::expand;
use crate::parallel;

/// Evidence is quoted up to here.
const MAX_CONTENT: usize = 200;

/// Observes every setting that a file of the kernel shows. Settings whose sign is a fact of the
/// model or that have none are left to `decide`.
pub fn observe(root: &dyn Root, machine: &Machine, settings: &[Setting]) -> Vec<Observation> {
    let devices = Devices::of(root, machine);
    let seen = |setting: &Setting| -> Option<Vec<Observation>> {
        let file = setting.observe.file.as_deref()?;
        Some(one(root, &devices, setting, file))
    };
    let found = parallel::map(settings.iter().collect(), seen);
    found.into_iter().flatten().flatten().collect()
}

/// What one device's file said.
#[derive(Debug, Clone)]
struct Sight {
    device: Option<String>,
    /// Number, where devices are CPUs.
    cpu: Option<Cpu>,
    value: Fact<String>,
    evidence: Evidence,
}

fn one(root: &dyn Root, devices: &Devices<'_>, setting: &Setting, file: &str) -> Vec<Observation> {
    let form = setting.observe.form;
    let targets = devices.targets(setting.scope, file);
    let sights: Vec<Sight> =
        targets.iter().flat_map(|target| sights(root, target, file, form)).collect();
    let is_absent = sights.iter().all(|sight| sight.value == Err(Why::Absent));
    if is_absent {
        // One absence of the machine. Without any device there is nothing that could be absent.
        let first = sights.into_iter().next();
        let absent = first.map(|sight| Sight { device: None, ..sight });
        return absent.map(|sight| observation(setting, sight)).into_iter().collect();
    }
    let merged = if setting.scope == Scope::Cpu { by_value(sights) } else { sights };
    merged.into_iter().map(|sight| observation(setting, sight)).collect()
}

fn observation(setting: &Setting, sight: Sight) -> Observation {
    Observation {
        setting: setting.id.clone(),
        device: sight.device,
        value: sight.value,
        reason: String::new(),
        evidence: vec![sight.evidence],
    }
}

/// Reads the files of one device. Where `*` or several paths give more than one, those that agree
/// are one sight, so that a value that differs shows with the file that holds it.
fn sights(root: &dyn Root, target: &Target, file: &str, form: Form) -> Vec<Sight> {
    let mut found: Vec<Sight> = Vec::new();
    for name in &target.names {
        let sights = match expand(root, file, target.scope, name) {
            Ok(paths) => paths.into_iter().map(|path| look(root, target, path, form)).collect(),
            Err(folder) => vec![nothing(target, folder)],
        };
        for sight in sights {
            // One of several files may be missing (`state0` without `disable`).
            let is_news = found.iter().all(|known| known.value != sight.value);
            if is_news {
                found.push(sight);
            }
        }
    }
    if found.iter().any(|sight| sight.value.is_ok()) {
        found.retain(|sight| sight.value != Err(Why::Absent));
    }
    found
}

fn look(root: &dyn Root, target: &Target, path: String, form: Form) -> Sight {
    let read = text(root, &path);
    let evidence = match &read {
        Ok(text) => Evidence::quoted(path, text.chars().take(MAX_CONTENT).collect::<String>()),
        Err(why) => Evidence::file(path).meaning(why.to_string()),
    };
    let value = read.and_then(|text| canonical(form, &text).ok_or_else(|| Why::unparsed(&text)));
    Sight { device: target.device.clone(), cpu: target.cpu, value, evidence }
}

/// A folder in which no name fits: its names are the evidence.
fn nothing(target: &Target, folder: String) -> Sight {
    let evidence = Evidence::new(folder, Part::Names);
    let value = Err(Why::Absent);
    Sight { device: target.device.clone(), cpu: target.cpu, value, evidence }
}

/// CPUs that agree become one sight: `cpu 0-79`.
fn by_value(sights: Vec<Sight>) -> Vec<Sight> {
    let mut groups: Vec<(Sight, CpuSet)> = Vec::new();
    for sight in sights {
        let Some(cpu) = sight.cpu else { continue };
        match groups.iter_mut().find(|(first, _)| first.value == sight.value) {
            Some((_, cpus)) => cpus.insert(cpu),
            None => groups.push((sight, [cpu].into_iter().collect())),
        }
    }
    let named =
        |(sight, cpus): (Sight, CpuSet)| Sight { device: Some(format!("cpu {cpus}")), ..sight };
    groups.into_iter().map(named).collect()
}

/// A device of some scope, and what stands for it in paths: a drive with several paths has several.
#[derive(Debug, Clone)]
struct Target {
    scope: Scope,
    device: Option<String>,
    cpu: Option<Cpu>,
    names: Vec<String>,
}

impl Target {
    fn new(scope: Scope, name: String) -> Self {
        Self { scope, device: Some(name.clone()), cpu: None, names: vec![name] }
    }
}

/// The machine's devices, by scope.
struct Devices<'a> {
    machine: &'a Machine,
    /// SATA and SAS hosts: `host0`.
    hosts: Vec<String>,
    /// All names in /sys/block, for the paths of multipath heads.
    disks: Vec<String>,
}

impl<'a> Devices<'a> {
    fn of(root: &dyn Root, machine: &'a Machine) -> Self {
        let list = |folder: &str| root.list(folder).unwrap_or_default();
        Self { machine, hosts: list("/sys/class/scsi_host"), disks: list("/sys/block") }
    }

    fn targets(&self, scope: Scope, file: &str) -> Vec<Target> {
        let machine = self.machine;
        let named = |name: String| Target::new(scope, name);
        match scope {
            Scope::Machine => {
                vec![Target { scope, device: None, cpu: None, names: vec![String::new()] }]
            }
            Scope::Cpu => machine.cpus.online.iter().map(|cpu| cpu_target(scope, cpu)).collect(),
            Scope::Node => machine.nodes.iter().map(|node| node_target(scope, node.id.0)).collect(),
            Scope::Function => {
                let held = machine.functions.iter().filter(|f| {
                    f.driver.is_some() && matches!(f.class.base, 0x01 | 0x02 | 0x03 | 0x12)
                });
                held.map(|function| named(function.address.to_string())).collect()
            }
            Scope::Drive => machine.drives.iter().map(|d| self.drive(d, file)).collect(),
            Scope::Nic => {
                let nics = machine.nics.iter().filter(|nic| has_hardware(nic.kind));
                nics.map(|nic| named(nic.name.clone())).collect()
            }
            Scope::ScsiHost => self.hosts.iter().cloned().map(named).collect(),
        }
    }

    /// A multipath head has a queue folder of its own, but requests wait in those of its paths.
    fn drive(&self, drive: &Drive, file: &str) -> Target {
        let mut target = Target::new(Scope::Drive, drive.name.clone());
        let is_nvme = matches!(drive.kind, DriveKind::Nvme | DriveKind::NvmeFabrics);
        if is_nvme && file.contains("{drive}/queue/") {
            let paths = self.disks.iter().filter(|disk| is_path_of(disk, &drive.name));
            let paths: Vec<String> = paths.cloned().collect();
            if !paths.is_empty() {
                target.names = paths;
            }
        }
        target
    }
}

fn has_hardware(kind: NicKind) -> bool {
    matches!(kind, NicKind::Physical | NicKind::VirtualFunction | NicKind::Paravirtual)
}

fn cpu_target(scope: Scope, cpu: Cpu) -> Target {
    Target { scope, device: None, cpu: Some(cpu), names: vec![cpu.to_string()] }
}

fn node_target(scope: Scope, node: u32) -> Target {
    Target { scope, device: Some(format!("node {node}")), cpu: None, names: vec![node.to_string()] }
}

/// `nvme0c1n1` is the path of `nvme0n1` through controller 1 (drivers/nvme/host/multipath.c).
fn is_path_of(disk: &str, head: &str) -> bool {
    let split = |text: &str| {
        let (subsystem, namespace) = text.strip_prefix("nvme")?.rsplit_once('n')?;
        Some((subsystem.to_owned(), namespace.to_owned()))
    };
    let (Some(disk), Some(head)) = (split(disk), split(head)) else { return false };
    let subsystem = disk.0.split_once('c').map(|(subsystem, _)| subsystem);
    subsystem == Some(head.0.as_str()) && disk.1 == head.1
}

#[cfg(test)]
mod tests;
