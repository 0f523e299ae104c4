// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds devices and places again, whatever they are called now.

mod device;
mod noting;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use linux::Vector;
use machine::Why;
use root::{Root, text};
use setting::{Device, DeviceKind, Place};
use units::PciAddress;

use self::noting::Noting;
use crate::Kernel;
use crate::banned;
use crate::spot::Spot;

/// Why a place is nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Absent {
    /// The device is gone.
    Device,
    /// The device is there and has no such place.
    Place,
    /// A plan may not write there.
    Forbidden,
    /// It may be there: what would tell cannot be read.
    Unread(Why),
}

impl Absent {
    /// A place that is not there, or of which nobody knows.
    fn place(why: Why) -> Self {
        if why == Why::Absent { Self::Place } else { Self::Unread(why) }
    }
}

/// A place as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) spot: Spot,
    /// The place with its `*` filled.
    pub(crate) place: Place,
    /// Which path of a multipath drive; empty elsewhere.
    pub(crate) part: String,
}

const CPUS: &str = "/sys/devices/system/cpu";
const SUBSYSTEMS: &str = "/sys/class/nvme-subsystem/";

/// As [`Lookup::key`], for a place under its own name.
fn key(device: Option<&Device>, place: &Place, part: &str) -> String {
    let function = device.and_then(|device| device.function);
    let identity = match (place, function, device) {
        // Whatever hangs from a function, its vectors are the function's.
        (Place::Interrupt { .. }, Some(function), _) => function.to_string(),
        (_, _, Some(device)) => identity(device),
        (_, _, None) => String::new(),
    };
    format!("{identity} {place:?} {part}")
}

/// A device by what cannot move: what it is, where it hangs, which one of those there, and its
/// serial. The serials of paths to one disk are the same, and those of ports in a bond may be.
fn identity(device: &Device) -> String {
    let Device { name, kind, function, serial, port } = device;
    let text = |part: Option<&String>| part.cloned().unwrap_or_default();
    let serial = match (kind, function) {
        // It is not told at all times.
        (DeviceKind::Nic, Some(_)) => String::new(),
        _ => text(serial.as_ref()),
    };
    let is_told = match kind {
        DeviceKind::Cpu | DeviceKind::Node => false,
        DeviceKind::Function => function.is_some() || !serial.is_empty(),
        DeviceKind::Nic => {
            let is_index = port.as_deref().is_some_and(device::is_index);
            function.is_some() || is_index || !serial.is_empty()
        }
        DeviceKind::Drive | DeviceKind::ScsiHost => !serial.is_empty() || port.is_some(),
    };
    let name = if is_told { "" } else { name };
    let function = function.map(|address| address.to_string()).unwrap_or_default();
    format!("{kind:?} {function} {} {serial} {name}", text(port.as_ref()))
}

/// Looks places up, and remembers what it found until told to forget.
pub(crate) struct Lookup<'a> {
    pub(crate) kernel: &'a dyn Kernel,
    /// The same kernel for all that is looked for.
    pub(crate) noting: Noting<'a>,
    names: RefCell<BTreeMap<Device, Option<String>>>,
    /// Folders of frequency policies by CPU, where they are told.
    policies: RefCell<BTreeMap<u32, Option<String>>>,
    vectors: RefCell<BTreeMap<PciAddress, Rc<[Vector]>>>,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(kernel: &'a dyn Kernel) -> Self {
        Self {
            kernel,
            noting: Noting::new(kernel),
            names: RefCell::default(),
            policies: RefCell::default(),
            vectors: RefCell::default(),
        }
    }

    /// Forgets everything: interrupts were renumbered, queues made anew.
    pub(crate) fn forget(&self) {
        self.names.borrow_mut().clear();
        self.policies.borrow_mut().clear();
        self.vectors.borrow_mut().clear();
    }

    /// What tells a place from all others, over renames and in every spelling: two changes with the
    /// same key are changes of one value.
    pub(crate) fn key(&self, device: Option<&Device>, place: &Place, part: &str) -> String {
        match self.policy(device, place) {
            Some(place) => key(None, &place, part),
            None => key(device, place, part),
        }
    }

    /// A CPU's frequency policy under its own name: several CPUs may share one, and each has a link to
    /// it, `/sys/devices/system/cpu/cpu1/cpufreq` (drivers/cpufreq/cpufreq.c).
    fn policy(&self, device: Option<&Device>, place: &Place) -> Option<Place> {
        let Place::File { path } = place else { return None };
        let rest = path.strip_prefix(CPUS)?.strip_prefix("/cpu")?;
        let (cpu, file) = rest.split_once("/cpufreq/")?;
        let cpu = match (cpu, device) {
            ("{device}", Some(device)) => device.name.strip_prefix("cpu ").unwrap_or(&device.name),
            ("{device}", None) => return None,
            (cpu, _) => cpu,
        };
        let cpu: u32 = cpu.parse().ok()?;
        let known = self.policies.borrow().get(&cpu).cloned();
        let policy = known.unwrap_or_else(|| {
            let policy = self.kernel.resolve(&format!("{CPUS}/cpu{cpu}/cpufreq")).ok();
            self.policies.borrow_mut().insert(cpu, policy.clone());
            policy
        });
        Some(Place::File { path: format!("{}/{file}", policy?) })
    }

    /// What a device is called now; for CPUs and nodes, its number.
    pub(crate) fn name(&self, device: &Device) -> Option<String> {
        self.named(device).ok()
    }

    fn named(&self, device: &Device) -> Result<String, Absent> {
        if let Some(known) = self.names.borrow().get(device) {
            return known.clone().ok_or(Absent::Device);
        }
        let (name, silence) = self.noting.during(|| device::find(&self.noting, device));
        let name = name.map_err(Absent::Unread)?;
        match (name, silence) {
            (None, Some(why)) => Err(Absent::Unread(why)),
            (Some(name), Some(_)) => Ok(name),
            (name, None) => {
                self.names.borrow_mut().insert(device.clone(), name.clone());
                name.ok_or(Absent::Device)
            }
        }
    }

    /// A device with what cannot move of it noted as the kernel tells it.
    pub(crate) fn identified(&self, device: &Device) -> Device {
        let Some(name) = self.name(device) else { return device.clone() };
        let serial = match device.kind {
            DeviceKind::Nic => device::permanent_address(&self.noting, &name),
            DeviceKind::ScsiHost => {
                device.serial.clone().or_else(|| device::host_port(&self.noting, &name))
            }
            _ => device.serial.clone(),
        };
        let function = device::function(&self.noting, device.kind, &name).or(device.function);
        let port = device::port(&self.noting, device.kind, &name).or_else(|| device.port.clone());
        Device { function, serial, port, ..device.clone() }
    }

    /// Everything that a place stands for.
    pub(crate) fn all(&self, device: Option<&Device>, place: &Place) -> Result<Vec<Found>, Absent> {
        match self.noting.during(|| self.look(device, place)) {
            (Err(Absent::Device | Absent::Place), Some(why)) => Err(Absent::Unread(why)),
            (found, _) => found,
        }
    }

    fn look(&self, device: Option<&Device>, place: &Place) -> Result<Vec<Found>, Absent> {
        let name = match device {
            Some(device) => Some(self.named(device)?),
            None => None,
        };
        let one = |spot| Ok(vec![Found { spot, place: place.clone(), part: String::new() }]);
        let named = || name.clone().ok_or(Absent::Place);
        match place {
            Place::File { path } => self.files(path, device, name.as_deref()),
            Place::Interrupt { queue, ordinal } => {
                let device = device.ok_or(Absent::Place)?;
                one(Spot::Interrupt(self.interrupt(device, *queue, *ordinal)?))
            }
            Place::Ethtool { what } => one(Spot::Ethtool(named()?, what.clone())),
            Place::MaxReadRequest => {
                let function = device.and_then(|device| self.function(device));
                let function = function.ok_or(Absent::Place)?;
                one(Spot::ReadRequest(format!("/sys/bus/pci/devices/{function}/config")))
            }
            Place::IdleLatency => one(Spot::IdleLatency),
            Place::Service { unit } if is_unit(unit) => one(Spot::Service(unit.clone())),
            Place::Service { .. } => Err(Absent::Forbidden),
            Place::BannedInterrupts => {
                let home = banned::home(&self.noting).map_err(Absent::Unread)?;
                let home = home.ok_or(Absent::Place)?;
                one(Spot::Banned(home.path, home.variable))
            }
        }
    }

    /// The one of them that has a part.
    pub(crate) fn one(
        &self,
        device: Option<&Device>,
        place: &Place,
        part: &str,
    ) -> Result<Spot, Absent> {
        let mut all = self.all(device, place)?;
        if let Some(at) = all.iter().position(|found| found.part == part) {
            return Ok(all.swap_remove(at).spot);
        }
        match all.pop() {
            // A path of a drive is called otherwise after a reset; where there is one, it is it.
            Some(only) if all.is_empty() && device.is_some() => Ok(only.spot),
            _ => Err(Absent::Place),
        }
    }

    fn files(
        &self,
        pattern: &str,
        device: Option<&Device>,
        name: Option<&str>,
    ) -> Result<Vec<Found>, Absent> {
        if !may_be_written(pattern) {
            return Err(Absent::Forbidden);
        }
        let Some(name) = name else {
            return Ok(self.by_qualified_name(pattern, self.expand(pattern, None, "")?));
        };
        if !is_name(name) {
            return Err(Absent::Forbidden);
        }
        let is_drive = device.is_some_and(|device| device.kind == DeviceKind::Drive);
        let (paths, silence) = match is_drive && pattern.contains("{device}/queue/") {
            true => self.noting.during(|| device::paths_of(&self.noting, name)),
            false => (Vec::new(), None),
        };
        if let Some(why) = silence {
            return Err(Absent::Unread(why));
        }
        if paths.is_empty() {
            return self.expand(pattern, Some(name), "");
        }
        let mut found = Vec::new();
        for disk in paths {
            found.extend(self.expand(pattern, Some(&disk), &disk)?);
        }
        Ok(found)
    }

    /// NVMe subsystems are numbered in the order in which they came; which is which their qualified
    /// names tell. Those of discovery share one (NVMe Base Specification 2.0, 4.7), and keep their
    /// number beside it: at another one they are not found, rather than taken for one another.
    fn by_qualified_name(&self, pattern: &str, all: Vec<Found>) -> Vec<Found> {
        if !pattern.starts_with(&format!("{SUBSYSTEMS}*/")) {
            return all;
        }
        let name = |found: &Found| {
            let path = found.spot.path();
            let (number, _) = path.strip_prefix(SUBSYSTEMS)?.split_once('/')?;
            let told = text(&self.noting, &format!("{SUBSYSTEMS}{number}/subsysnqn")).ok()?;
            Some((told, number.to_owned()))
        };
        let names: Vec<Option<(String, String)>> = all.iter().map(name).collect();
        let count = |own: &str| names.iter().flatten().filter(|(told, _)| told == own).count();
        let named = |(found, name): (Found, &Option<(String, String)>)| {
            let Some((told, number)) = name else { return found };
            let is_shared = count(told) > 1;
            let part = if is_shared { format!("{told} {number}") } else { told.clone() };
            Found { place: Place::File { path: pattern.to_owned() }, part, ..found }
        };
        all.into_iter().zip(&names).map(named).collect()
    }

    /// Fills the `*` of a path, in the order of names by length and letter.
    fn expand(&self, pattern: &str, name: Option<&str>, part: &str) -> Result<Vec<Found>, Absent> {
        let found = |pattern: String| {
            let path =
                name.map_or_else(|| pattern.clone(), |name| pattern.replace("{device}", name));
            match self.noting.mode(&path) {
                Ok(_) => {}
                Err(Why::Absent) => return Ok(None),
                Err(why) => return Err(Absent::Unread(why)),
            }
            // Where a `*` or a link of the kernel's leads to counts, not how it is written.
            let real = match self.noting.resolve(&path) {
                Err(Why::Absent) => return Ok(None),
                real => real.map_err(Absent::Unread)?,
            };
            if ![&path, &real].into_iter().all(|path| may_be_written(path)) {
                return Ok(None);
            }
            let place = Place::File { path: pattern };
            Ok(Some(Found { spot: Spot::File(path), place, part: part.to_owned() }))
        };
        let Some((before, after)) = pattern.split_once('*') else {
            return found(pattern.to_owned())?.map(|found| vec![found]).ok_or(Absent::Place);
        };
        let (folder, prefix) = before.rsplit_once('/').unwrap_or(("", before));
        let (suffix, rest) = match after.split_once('/') {
            Some((suffix, rest)) => (suffix, format!("/{rest}")),
            None => (after, String::new()),
        };
        let real = name.map_or_else(|| folder.to_owned(), |name| folder.replace("{device}", name));
        let mut names = self.noting.list(&real).map_err(Absent::place)?;
        names.retain(|name| {
            name.len() >= prefix.len() + suffix.len()
                && name.starts_with(prefix)
                && name.ends_with(suffix)
        });
        names.sort_by_key(|name| (name.len(), name.clone()));
        let each = |name| found(format!("{folder}/{name}{rest}")).transpose();
        let all: Vec<Found> = names.into_iter().filter_map(each).collect::<Result<_, _>>()?;
        if all.is_empty() { Err(Absent::Place) } else { Ok(all) }
    }

    /// The list file of an interrupt.
    fn interrupt(
        &self,
        device: &Device,
        queue: Option<u32>,
        ordinal: u32,
    ) -> Result<String, Absent> {
        self.named(device)?;
        let function = self.function(device).ok_or(Absent::Device)?;
        let (vectors, silence) = self.noting.during(|| self.vectors(function));
        if let Some(why) = silence {
            // Which of them is which depends on all of them.
            return Err(Absent::Unread(why));
        }
        let mut same = vectors.iter().filter(|vector| vector.queue == queue);
        let ordinal = usize::try_from(ordinal).map_err(|_| Absent::Place)?;
        let vector = same.nth(ordinal).ok_or(Absent::Place)?;
        Ok(format!("/proc/irq/{}/smp_affinity_list", vector.number))
    }

    /// A wanted value with all that stands for something else filled in: among interrupts that are
    /// left alone, a function stands for the numbers that its queues have now.
    pub(crate) fn meant(&self, place: &Place, to: &str) -> String {
        if *place != Place::BannedInterrupts || !to.contains(':') {
            return to.to_owned();
        }
        let mut numbers: BTreeSet<String> = BTreeSet::new();
        for word in to.split_whitespace() {
            match word.parse() {
                Ok(function) => numbers.extend(self.queues_of(function)),
                Err(_) => numbers.extend([word.to_owned()]),
            }
        }
        numbers.into_iter().collect::<Vec<_>>().join(" ")
    }

    /// Numbers of the vectors that a function's queues have; all of them where no name tells a queue.
    fn queues_of(&self, function: PciAddress) -> Vec<String> {
        let vectors = self.vectors(function);
        let is_told = vectors.iter().any(|vector| vector.queue.is_some());
        let own = vectors.iter().filter(|vector| !is_told || vector.queue.is_some());
        own.map(|vector| vector.number.to_string()).collect()
    }

    /// The vectors of a function.
    pub(crate) fn vectors(&self, function: PciAddress) -> Rc<[Vector]> {
        if let Some(known) = self.vectors.borrow().get(&function) {
            return Rc::clone(known);
        }
        let (vectors, silence) = self.noting.during(|| linux::vectors(&self.noting, function));
        let vectors: Rc<[Vector]> = vectors.into();
        if silence.is_none() {
            self.vectors.borrow_mut().insert(function, Rc::clone(&vectors));
        }
        vectors
    }

    /// The function behind a device as it is now; the one that was noted where that is not told.
    pub(crate) fn function(&self, device: &Device) -> Option<PciAddress> {
        let name = self.name(device)?;
        device::function(&self.noting, device.kind, &name).or(device.function)
    }
}

/// Only the kernel's own knobs are written as files, and no path leaves them.
fn may_be_written(path: &str) -> bool {
    let inside = ["/sys/", "/proc/sys/", "/proc/irq/"];
    let is_inside = inside.iter().any(|top| path.starts_with(top));
    is_inside && !path.split('/').any(|part| part == "..") && !setting::keeps_safe(path)
}

/// A name that is one part of a path.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '*', '\0'])
}

/// A name of a unit as systemd has them (systemd.unit(5)), and never one that is an option.
fn is_unit(unit: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    unit.len() < 256
        && unit.ends_with(".service")
        && !unit.starts_with('-')
        && unit.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_knobs_are_written() {
        for path in [
            "/etc/passwd",
            "/proc/self/mem",
            "/sys/../etc/passwd",
            "sys/x",
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/net/ipv4/conf/all/rp_filter",
            "/proc/sysrq-trigger",
            "/proc/sys/net/ipv4/conf/all/secure_redirect*",
            "/proc/sys/fs/binfmt_misc/register",
        ] {
            assert!(!may_be_written(path), "{path}");
        }
        assert!(may_be_written("/proc/sys/vm/swappiness") && may_be_written("/sys/block/sda/x"));
        for unit in ["--now", "a b.service", "-a.service", "x.target", "a/b.service"] {
            assert!(!is_unit(unit), "{unit}");
        }
        assert!(is_unit("irqbalance.service") && is_unit("a@b.service"));
        assert!(!is_name("../x") && !is_name("..") && is_name("nvme0n1"));
    }
}
