// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who serves interrupts under load after `apply --goal throughput`, by the kernel's own counters.

use std::collections::BTreeMap;

use nearside_lab::{Guest, Kernel};
use support::{Failed, failed};

use crate::change::{self, ensure, ours};
use crate::facts::{Facts, numbers, same};
use crate::look::said;

const TRAFFIC: &str = include_str!("traffic.py");
/// The share that has to be served on the device's node.
const NEAR: f64 = 0.95;
/// Fewer tell nothing of a share.
const ENOUGH: u64 = 100;

/// Interrupts of a function: those on its node, and all.
type Served = BTreeMap<String, (u64, u64)>;

pub(crate) fn near(machine: &str, kernel: Kernel) -> Result<(), Failed> {
    let mut guest = change::guest(machine, kernel, None)?;
    said(&mut guest, &format!("cat > /root/traffic.py <<'END'\n{TRAFFIC}END"))?;
    // Whatever was placed before: far from home, so that a trial that changes nothing fails.
    said(&mut guest, AWAY)?;
    let far = served(&mut guest)?;
    ours(&mut guest, "apply --goal throughput", &[0])?;
    let near = served(&mut guest)?;
    ensure(!near.is_empty(), || "no function has interrupts".to_owned())?;
    let share = |(local, all): &(u64, u64)| *local as f64 / (*all).max(1) as f64;
    for (function, count) in &near {
        let was = far.get(function).map_or(0.0, share);
        eprintln!(
            "{machine}/{kernel}: {function}: {:.1} % of {} near, {:.1} % before",
            100.0 * share(count),
            count.1,
            100.0 * was
        );
    }
    for (function, count) in &near {
        ensure(count.1 >= ENOUGH || function.starts_with("drive"), || {
            format!("{function} has {} interrupts only", count.1)
        })?;
        ensure(share(count) >= NEAR, || format!("{function}: {count:?} are near"))?;
    }
    ensure(far.values().any(|count| share(count) < NEAR), || "all was near before".to_owned())?;
    tuna(&mut guest)?;
    ours(&mut guest, "revert", &[0])?;
    guest.off().map_err(failed)?;
    Ok(())
}

/// Every interrupt of a function with a node to the CPUs of other nodes, where the kernel lets it.
const AWAY: &str = "for f in /sys/bus/pci/devices/*; do n=$(cat $f/numa_node); \
    [ $n -ge 0 ] && [ -d $f/msi_irqs ] || continue; \
    other=$(for c in /sys/devices/system/node/node*/cpulist; do \
    case $c in */node$n/*) ;; *) cat $c ;; esac; done | head -1); \
    for i in $f/msi_irqs/*; do echo $other > /proc/irq/${i##*/}/smp_affinity_list; done; \
    done 2>/dev/null; true";

fn served(guest: &mut Guest) -> Result<Served, Failed> {
    let text = said(guest, "python3 /root/traffic.py")?;
    let mut all = Served::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [function, name, local, sum] = words.as_slice() else { continue };
        let kind = if name.starts_with("nvme") { "drive" } else { "NIC or other" };
        let entry = all.entry(format!("{kind} {function}")).or_default();
        entry.0 += local.parse::<u64>().map_err(failed)?;
        entry.1 += sum.parse::<u64>().map_err(failed)?;
    }
    Ok(all)
}

/// tuna reads the same placement as we say.
fn tuna(guest: &mut Guest) -> Result<(), Failed> {
    let document = said(guest, "nearside topology --json")?;
    let document: serde_json::Value = serde_json::from_str(&document).map_err(failed)?;
    let text = said(guest, "tuna --show_irqs")?;
    let theirs: BTreeMap<u64, Vec<usize>> = text.lines().filter_map(line).collect();
    let irqs = document["irqs"].as_array().cloned().unwrap_or_default();
    let (mut said, mut wanted) = (Facts::new(), Facts::new());
    for irq in &irqs {
        let number = irq["irq"].as_u64().unwrap_or(u64::MAX);
        let cpus = numbers(irq["cpus"].as_str().unwrap_or_default());
        let Some(other) = theirs.get(&number).filter(|cpus| !cpus.is_empty()) else { continue };
        said.insert(format!("interrupt {number}: {cpus:?}"));
        wanted.insert(format!("interrupt {number}: {other:?}"));
    }
    ensure(said.len() >= 5, || format!("tuna tells of {} interrupts only:\n{text}", said.len()))?;
    same("tuna", &wanted, &said)
}

// Example:
//   57 eth2-rxtx-0       0,1,2,3  vmxnet3
fn line(line: &str) -> Option<(u64, Vec<usize>)> {
    let mut words = line.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let cpus = words.nth(1)?;
    let is_list = cpus.chars().all(|c| c.is_ascii_digit() || c == ',' || c == '-');
    is_list.then(|| (number, numbers(cpus)))
}
