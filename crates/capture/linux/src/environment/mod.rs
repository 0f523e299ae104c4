// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a measurement takes place in: settings that bear on it, and what may change while it runs.
//!
//! What changes is glanced at before and after; it is few files, so that glancing does not disturb.

mod knobs;

use std::collections::BTreeMap;

use machine::{Drive, Function, Machine};
use record::{Environment, LinkState, Steal, Temperature, Throttling, Unknown};
use root::{Dir, Root, text};

/// What can change within a run, at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Glance {
    /// Thousandths of a degree Celsius.
    temperatures: BTreeMap<String, i64>,
    /// Events since boot.
    throttling: BTreeMap<String, u64>,
    ticks: Option<Ticks>,
    links: BTreeMap<String, LinkState>,
}

/// CPU time of all CPUs since boot, in ticks of 10 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    all: u64,
    stolen: u64,
}

/// Glances at what can change within a run on these drives.
pub fn glance(root: &dyn Root, machine: &Machine, drives: &[&Drive]) -> Glance {
    Glance {
        temperatures: temperatures(root, drives),
        throttling: throttling(root, machine),
        ticks: text(root, "/proc/stat").ok().as_deref().and_then(ticks),
        links: links(root, machine, drives),
    }
}

impl Glance {
    /// The warmest of the drives in thousandths of a degree Celsius.
    pub fn warmest_drive_mc(&self) -> Option<i64> {
        let drives = self.temperatures.iter().filter(|(what, _)| !what.starts_with(PACKAGE));
        drives.map(|(_, millidegrees)| *millidegrees).max()
    }
}

/// What a run on these drives took place in. `topology_hash` is left to who prints topologies.
pub fn environment(
    root: &dyn Root,
    machine: &Machine,
    drives: &[&Drive],
    (before, after): (&Glance, &Glance),
) -> Environment {
    let host = &machine.host;
    let name = [&host.vendor, &host.product].map(|part| part.clone().ok());
    let name: Vec<String> = name.into_iter().flatten().collect();
    let mut unknown = Vec::new();
    let mut told = |what: &str, fact: &machine::Fact<String>| {
        fact.clone()
            .map_err(|why| unknown.push(Unknown { what: what.to_owned(), why: why.to_string() }))
            .ok()
    };
    let (firmware, kernel) = (told("firmware", &host.firmware), told("kernel", &host.kernel));
    Environment {
        topology_hash: None,
        host: (!name.is_empty()).then(|| name.join(" ")),
        firmware,
        kernel,
        command_line: Some(host.command_line.text.clone()).filter(|text| !text.is_empty()),
        knobs: knobs::read(root, drives),
        temperatures: between(before, after),
        throttling: since(before, after),
        steal: before.ticks.zip(after.ticks).and_then(|(before, after)| steal(before, after)),
        links: before.links.values().map(|link| kept(link, &after.links)).collect(),
        unknown,
    }
}

const PACKAGE: &str = "package";

/// Of the drives' controllers, and of the packages where their sensors have a driver.
fn temperatures(root: &dyn Root, drives: &[&Drive]) -> BTreeMap<String, i64> {
    let mut found = BTreeMap::new();
    for controller in drives.iter().flat_map(|drive| &drive.controllers) {
        let folder = Dir::new(root, format!("/sys/class/nvme/{}", controller.name));
        let sensor = folder.list().unwrap_or_default().into_iter();
        let sensor = sensor.filter(|name| name.starts_with("hwmon") && name != "hwmon");
        for name in sensor {
            if let Ok(millidegrees) = folder.sub(&name).parse::<i64>("temp1_input") {
                found.insert(controller.name.clone(), millidegrees);
            }
        }
    }
    found.extend(packages(root));
    found
}

/// `coretemp` and `k10temp` have one device a package; its first sensor is the whole package's
/// (Documentation/hwmon/coretemp.rst, k10temp.rst).
fn packages(root: &dyn Root) -> Vec<(String, i64)> {
    let all = Dir::new(root, "/sys/class/hwmon");
    let names = all.list().unwrap_or_default();
    let read = |name: &String| {
        let sensor = all.sub(name);
        let driver = sensor.text("name").ok()?;
        let is_package = matches!(driver.as_str(), "coretemp" | "k10temp");
        is_package.then(|| sensor.parse::<i64>("temp1_input").ok()).flatten()
    };
    let read = names.iter().filter_map(read);
    (0..).zip(read).map(|(n, mc): (u32, i64)| (format!("{PACKAGE} {n}"), mc)).collect()
}

/// Times that cores and packages were throttled, of all CPUs together
/// (`Documentation/ABI/testing/sysfs-devices-system-cpu`, `thermal_throttle`; Intel only).
fn throttling(root: &dyn Root, machine: &Machine) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for cpu in machine.cpus.online.iter() {
        let folder =
            Dir::new(root, format!("/sys/devices/system/cpu/cpu{}/thermal_throttle", cpu.0));
        let count = |file: &str| folder.parse::<u64>(file);
        match (count("core_throttle_count"), count("package_throttle_count")) {
            (Err(_), Err(_)) => break,
            (cores, packages) => {
                for (what, count) in [("cores", cores), ("packages", packages)] {
                    let sum: &mut u64 = found.entry(what.to_owned()).or_default();
                    *sum = sum.saturating_add(count.unwrap_or(0));
                }
            }
        }
    }
    found
}

/// The line of all CPUs (proc_stat(5)): user, nice, system, idle, iowait, irq, softirq, steal, and two
/// that are parts of the first two.
///
/// `cpu  1163 0 2231 108245 377 0 26 91 0 0`
fn ticks(stat: &str) -> Option<Ticks> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let words = line.split_whitespace().take(8).map(|word| word.parse::<u64>().ok());
    let words: Vec<u64> = words.collect::<Option<_>>()?;
    let all = words.iter().try_fold(0_u64, |sum, word| sum.checked_add(*word))?;
    Some(Ticks { all, stolen: *words.get(7)? })
}

fn steal(before: Ticks, after: Ticks) -> Option<Steal> {
    /// `USER_HZ`, in which the kernel counts for programs whatever its own rate is
    /// (include/asm-generic/param.h).
    const TICKS_A_SECOND: f64 = 100.0;
    let all = after.all.checked_sub(before.all).filter(|all| *all > 0)?;
    let stolen = real(after.stolen.checked_sub(before.stolen)?);
    Some(Steal { stolen_seconds: stolen / TICKS_A_SECOND, percent: stolen * 100.0 / real(all) })
}

#[expect(clippy::cast_precision_loss, reason = "ticks of one run")]
fn real(number: u64) -> f64 {
    number as f64
}

fn between(before: &Glance, after: &Glance) -> Vec<Temperature> {
    let names = before.temperatures.keys().chain(after.temperatures.keys());
    let names: std::collections::BTreeSet<&String> = names.collect();
    let one = |what: &&String| Temperature {
        what: (*what).clone(),
        before_mc: before.temperatures.get(*what).copied(),
        after_mc: after.temperatures.get(*what).copied(),
    };
    names.iter().map(one).collect()
}

fn since(before: &Glance, after: &Glance) -> Vec<Throttling> {
    let one = |(what, count): (&String, &u64)| {
        let later = after.throttling.get(what);
        let events = later.and_then(|later| later.checked_sub(*count));
        Throttling { what: what.clone(), events }
    };
    before.throttling.iter().map(one).collect()
}

/// Links of the drives' functions.
fn links(root: &dyn Root, machine: &Machine, drives: &[&Drive]) -> BTreeMap<String, LinkState> {
    let controllers = drives.iter().flat_map(|drive| &drive.controllers);
    let addresses = controllers.filter_map(|controller| controller.function);
    let has_link = |function: &&Function| function.link.is_some();
    let state = |address| {
        let functions = machine.functions.iter().filter(has_link);
        let function = functions.into_iter().find(|function| function.address == address)?;
        let name = function.address.to_string();
        let folder = Dir::new(root, format!("/sys/bus/pci/devices/{name}"));
        let speed = folder.text("current_link_speed").ok();
        let speed = speed.and_then(|text| text.split(' ').next()?.parse().ok());
        let width = folder.parse::<u8>("current_link_width").ok();
        Some((name.clone(), LinkState { function: name, speed_gts: speed, width, kept: None }))
    };
    addresses.filter_map(state).collect()
}

fn kept(before: &LinkState, after: &BTreeMap<String, LinkState>) -> LinkState {
    let same = |after: &LinkState| {
        let told = before.speed_gts.is_some() && after.speed_gts.is_some();
        told.then(|| before.speed_gts == after.speed_gts && before.width == after.width)
    };
    LinkState { kept: after.get(&before.function).and_then(same), ..before.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;

    fn rooted(temperature: &str, throttled: &str, stat: &str) -> MemoryRoot {
        let mut root = MemoryRoot::new();
        root.file("/sys/class/nvme/nvme0/hwmon3/temp1_input", temperature);
        root.file("/sys/class/hwmon/hwmon1/name", "k10temp\n");
        root.file("/sys/class/hwmon/hwmon1/temp1_input", "52125\n");
        root.file("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", throttled);
        root.file("/proc/stat", stat);
        root
    }

    fn machine() -> Machine {
        let mut machine = support::made::server(support::made::Shape {
            packages: 1,
            nodes: 1,
            cores: 1,
            threads: 1,
            order: support::made::Order::Linear,
        });
        support::made::add_drive(&mut machine, support::made::Place { number: 0, node: 0 });
        machine
    }

    #[test]
    fn what_changed_within_a_run_is_told() {
        let machine = machine();
        let drives: Vec<&Drive> = machine.drives.iter().collect();
        let (early, late) = (
            rooted("41850\n", "7\n", "cpu  100 0 100 700 0 0 0 100 0 0\ncpu0 1 2\n"),
            rooted("60850\n", "9\n", "cpu  200 0 200 1300 0 0 0 300 0 0\n"),
        );
        let (before, after) = (glance(&early, &machine, &drives), glance(&late, &machine, &drives));
        assert_eq!(after.warmest_drive_mc(), Some(60_850));
        let told = environment(&late, &machine, &drives, (&before, &after));
        let warm: Vec<_> = told
            .temperatures
            .iter()
            .map(|one| (one.what.as_str(), one.before_mc, one.after_mc))
            .collect();
        let nvme = ("nvme0", Some(41_850), Some(60_850));
        assert_eq!(warm, [nvme, ("package 0", Some(52_125), Some(52_125))]);
        assert_eq!(told.throttling[0].events, Some(2));
        assert_eq!(told.steal, Some(Steal { stolen_seconds: 2.0, percent: 20.0 }));
    }

    #[test]
    fn counters_that_are_not_there_or_go_back_are_not_told() {
        for text in ["", "cpu", "cpu  1 2 3", "cpu  1 2 3 4 5 6 7 x", "intr 5"] {
            assert_eq!(ticks(text), None, "{text:?}");
        }
        let now = Ticks { all: 5, stolen: 1 };
        assert_eq!(steal(now, Ticks { all: 4, stolen: 0 }), None);
        assert_eq!(steal(now, now), None);
    }
}
