// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts of captured machines: every line, its counts, its device, its CPUs.
//!
//! The oracle is the tree itself, read here in the plainest way: words of lines, folders of
//! `msi_irqs`, text of files.

mod net_common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use machine::{Irq, Machine, Managed};
use root::MemoryRoot;
use support::{Capture, Failed, Need, failed, lab_captures, shared, tree_captures, trial};

use self::net_common::{read, same};

fn main() {
    let captures: &[Need] = &[Need::Captures];
    let mut trials = vec![
        trial("irq_trees::r740xd", captures, r740xd),
        trial("irq_trees::twin_has_nine_vectors_a_drive", captures, twin),
        trial("irq_trees::texts", captures, texts),
    ];
    for capture in lab_captures().into_iter().chain(tree_captures()) {
        let title = format!("irq_trees::every_line::{}", capture.name);
        trials.push(trial(title, captures, move || every_root(&capture)));
    }
    support::run(trials);
}

fn every_root(capture: &Capture) -> Result<(), Failed> {
    let folder = capture.folder()?;
    let roots = [folder.clone(), folder.join("tree")];
    for root in roots.iter().filter(|root| root.join("proc/interrupts").is_file()) {
        let machine = read(root)?;
        let text = fs::read_to_string(root.join("proc/interrupts"))?;
        lines_are_all_there(&machine, &text)?;
        files_are_as_read(&machine, root)?;
        devices_are_those_of_msi_irqs(&machine, root)?;
    }
    Ok(())
}

/// (number, counts by CPU, last words) of each line with a number, by white space alone.
type Row<'a> = (u32, BTreeMap<u32, u64>, Vec<&'a str>);

fn rows(text: &str) -> Vec<Row<'_>> {
    let header = text.lines().next().unwrap_or_default().split_whitespace();
    let cpus: Vec<u32> =
        header.filter_map(|word| word.trim_start_matches("CPU").parse().ok()).collect();
    let row = |line: &'_ str| -> Option<(u32, usize)> {
        let (number, _) = line.split_once(':')?;
        Some((number.trim().parse().ok()?, line.find(':')? + 1))
    };
    text.lines()
        .filter_map(|line| row(line).map(|(number, at)| (number, &line[at..])))
        .map(|(number, rest)| {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let counts =
                cpus.iter().zip(&words).filter_map(|(cpu, word)| Some((*cpu, word.parse().ok()?)));
            let counts = counts.filter(|(_, count)| *count > 0).collect();
            (number, counts, words.into_iter().skip(cpus.len()).collect())
        })
        .collect()
}

fn lines_are_all_there(machine: &Machine, text: &str) -> Result<(), Failed> {
    let irqs: BTreeMap<u32, &Irq> = machine.irqs.iter().map(|irq| (irq.number, irq)).collect();
    let rows = rows(text);
    for (number, counts, tail) in &rows {
        let irq = irqs.get(number).ok_or_else(|| failed(format!("interrupt {number} is lost")))?;
        same("counts", irq.counts.iter().copied().collect::<BTreeMap<_, _>>(), counts.clone())?;
        let words = format!("{} {}", irq.chip, irq.actions.join(", "));
        let expected = tail.join(" ").replace('\u{ad}', "-");
        same("words", words.trim(), expected.as_str())?;
        let named = expected.is_empty() || !irq.actions.is_empty() || tail.len() <= 3;
        same(&format!("{number} has an action"), named, true)?;
    }
    same("some line was compared", rows.is_empty(), false)
}

fn files_are_as_read(machine: &Machine, root: &Path) -> Result<(), Failed> {
    for irq in &machine.irqs {
        let folder = root.join(format!("proc/irq/{}", irq.number));
        let text =
            |name: &str| fs::read_to_string(folder.join(name)).ok().map(|t| t.trim().to_owned());
        let list =
            |cpus: &machine::Fact<units::CpuSet>| cpus.as_ref().ok().map(ToString::to_string);
        same("affinity", list(&irq.affinity), text("smp_affinity_list"))?;
        same("effective", list(&irq.effective), text("effective_affinity_list"))?;
    }
    Ok(())
}

/// Vectors of `msi_irqs`; and where the chip's or the action's name holds an address, that one. The
/// latter also checks addresses that were decoded from hardware numbers.
fn devices_are_those_of_msi_irqs(machine: &Machine, root: &Path) -> Result<(), Failed> {
    let vectors = msi_irqs(root);
    for irq in &machine.irqs {
        let by_folder = vectors.get(&irq.number).cloned();
        let by_chip = irq
            .chip
            .split_whitespace()
            .next()
            .and_then(|word| word.rfind("-0000:").map(|at| &word[at + 1..]));
        let by_action = irq.actions.first().and_then(|name| {
            let (_, address) = name.split_once("@pci:").or_else(|| name.split_once('['))?;
            Some(address.trim_end_matches(']'))
        });
        let known = by_folder.as_deref().or(by_chip).or(by_action);
        let Some(expected) = known else { continue };
        let function = irq.source.as_ref().and_then(|source| source.function);
        let what = format!("function of {} {:?}", irq.number, irq.actions);
        same(&what, function.map(|f| f.to_string()).as_deref(), Some(expected))?;
    }
    Ok(())
}

fn msi_irqs(root: &Path) -> BTreeMap<u32, String> {
    let mut vectors = BTreeMap::new();
    let devices = fs::read_dir(root.join("sys/bus/pci/devices")).into_iter().flatten().flatten();
    for device in devices {
        let address = device.file_name().to_string_lossy().into_owned();
        let numbers = fs::read_dir(device.path().join("msi_irqs")).into_iter().flatten().flatten();
        for number in numbers {
            if let Ok(number) = number.file_name().to_string_lossy().parse() {
                vectors.insert(number, address.clone());
            }
        }
    }
    vectors
}

fn capture(name: &str) -> Result<PathBuf, Failed> {
    let all = tree_captures().into_iter().chain(lab_captures());
    let mut named = all.filter(|capture| capture.name == name);
    let found = named.next().ok_or_else(|| failed(format!("no capture {name}")))?;
    Ok(found.folder()?)
}

/// Device, queue and management of a server's interrupts, counted by kind.
fn r740xd() -> Result<(), Failed> {
    let root = capture("r740xd-gold6230-rt")?;
    let machine = read(&root)?;
    let of = |irq: &Irq, prefix: &str| irq.actions.first().is_some_and(|a| a.starts_with(prefix));
    let count = |prefix: &str| machine.irqs.iter().filter(|irq| of(irq, prefix)).count();
    let text = fs::read_to_string(root.join("proc/interrupts"))?;
    let lines = |word: &str| text.lines().filter(|line| line.contains(word)).count();
    for (prefix, word) in [("nvme0q", "nvme0q"), ("i40e-", " i40e-"), ("megasas1-", "megasas1-")] {
        same(prefix, count(prefix), lines(word))?;
    }
    for irq in machine.irqs.iter().filter(|irq| of(irq, "nvme0q")) {
        let source = irq.source.as_ref().ok_or_else(|| failed("an NVMe vector without device"))?;
        let queue = irq.actions.first().and_then(|a| a.strip_prefix("nvme0q")?.parse::<u32>().ok());
        same("device", source.device.as_str(), "nvme0")?;
        same("function", source.function.map(|f| f.to_string()).as_deref(), Some("0000:3e:00.0"))?;
        same("queue", source.queue, queue.filter(|queue| *queue > 0))?;
        let expected = if queue == Some(0) { Managed::No } else { Managed::ByDriver };
        same("managed", irq.managed, expected)?;
    }
    for irq in machine.irqs.iter().filter(|irq| of(irq, "i40e-")) {
        let name = irq.actions.first().map(String::as_str).unwrap_or_default();
        // The flow director's vector carries no packets, whatever its name says.
        let packets = name.rsplit_once("-TxRx-").filter(|_| !name.contains(":fdir"));
        let queue = packets.and_then(|(_, queue)| queue.parse().ok());
        let source = irq.source.as_ref().ok_or_else(|| failed("a NIC's vector without device"))?;
        same(name, (source.queue, source.is_io), (queue, queue.is_some()))?;
        same("managed", irq.managed, Managed::No)?;
    }
    Ok(())
}

/// 24 drives with an admin vector and eight for I/O; four NICs with eight queues and events.
fn twin() -> Result<(), Failed> {
    let machine = read(&capture("r7725xd-twin")?.join("tree"))?;
    let mut vectors: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for source in machine.irqs.iter().filter_map(|irq| irq.source.as_ref()) {
        let (all, io) = vectors.entry(source.device.as_str()).or_default();
        *all += 1;
        *io += u32::from(source.is_io);
    }
    for drive in 0..24 {
        let name = format!("nvme{drive}");
        same(&name, vectors.get(name.as_str()), Some(&(9, 8)))?;
    }
    for nic in ["eth0", "eth1", "eth2", "eth3"] {
        same(nic, vectors.get(nic), Some(&(9, 8)))?;
    }
    same("virtio1", vectors.get("virtio1"), Some(&(9, 8)))
}

/// Texts of other machines, alone: no /sys beside them.
fn texts() -> Result<(), Failed> {
    let folder = shared().ok_or_else(|| failed("no captures"))?.join("captures/text/interrupts");
    let mut compared = 0;
    for entry in fs::read_dir(folder)? {
        let text = fs::read_to_string(entry?.path())?;
        let mut root = MemoryRoot::new();
        root.file("/proc/interrupts", text.clone());
        let machine = nearside_linux::read(&root);
        lines_are_all_there(&machine, &text)?;
        for irq in &machine.irqs {
            let action = irq.actions.first().map(String::as_str).unwrap_or_default();
            let device = irq.source.as_ref().map(|source| source.device.as_str());
            let expected = action.split_once("-Tx").map(|(device, _)| device);
            same(action, device.filter(|device| device.starts_with("eth")), expected)?;
        }
        compared += machine.irqs.len();
    }
    same("interrupts were compared", compared > 100, true)
}
