// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts: what raised them, where they may go, where they went.
//!
//! `/proc/interrupts` names the interrupts that have an action; `msi_irqs` of the functions add
//! vectors that no driver listens to. Each then costs a few small files in `/proc/irq/N`.

pub(crate) mod interrupts;
mod managed;
pub(crate) mod name;
mod source;
mod vectors;

use std::collections::{BTreeMap, BTreeSet};

use machine::{Fact, Function, Irq, IrqSource, Managed, Nic, Why};
use root::{Dir, Root};
use units::{CpuSet, PciAddress};

pub(crate) use self::interrupts::Interrupts;
use self::interrupts::Line;
use self::managed::Modes;
use self::source::Devices;
pub use self::vectors::{Vector, vectors};
use crate::{Troubles, parallel};

const INTERRUPTS: &str = "/proc/interrupts";

/// What `/proc/interrupts` says, by itself: on a large machine the longest text of all.
pub(crate) fn text(root: &dyn Root) -> Fact<Interrupts> {
    root.stream(INTERRUPTS).and_then(interrupts::parse)
}

pub(crate) fn read(
    root: &dyn Root,
    text: Fact<Interrupts>,
    functions: &[Function],
    nics: &[Nic],
    troubles: &mut Troubles,
) -> Vec<Irq> {
    let devices = Devices::gather(root, functions, nics);
    let lines = lines(root, text, &devices, troubles);
    settled(root, lines, &devices)
}

/// The interrupts of some functions alone.
pub(crate) fn of(root: &dyn Root, functions: &[Function], troubles: &mut Troubles) -> Vec<Irq> {
    let devices = Devices::gather(root, functions, &[]);
    let mut lines = lines(root, text(root), &devices, troubles);
    lines.retain(|line| {
        let source = devices.source(line).and_then(|source| source.function);
        functions.iter().any(|function| source == Some(function.address))
    });
    settled(root, lines, &devices)
}

/// Reads the files of every line, and tells what takes several lines to tell.
fn settled(root: &dyn Root, lines: Vec<Line>, devices: &Devices<'_>) -> Vec<Irq> {
    let hints = Hints::of(root, &lines);
    let read = parallel::map(lines, |line| {
        let source = devices.source(&line);
        files(root, line, source, hints)
    });
    let told = Modes::of(read.iter().filter_map(|(_, mode)| *mode));
    let settle = |(mut irq, mode): (Irq, Option<u32>)| {
        let function = irq.source.as_ref().and_then(|source| source.function);
        let driver = function.and_then(|address| devices.driver(address));
        let name = irq.actions.first().map(|action| name::parse(action));
        irq.managed = managed::judge(told, mode, driver, name.as_ref());
        irq
    };
    let mut irqs: Vec<Irq> = read.into_iter().map(settle).collect();
    settle_single_vectors(&mut irqs);
    forget_cut_queues(&mut irqs);
    irqs
}

/// Lines by number, those of the functions' unused vectors included.
fn lines(
    root: &dyn Root,
    text: Fact<Interrupts>,
    devices: &Devices<'_>,
    troubles: &mut Troubles,
) -> Vec<Line> {
    let found = troubles.keep("interrupts", INTERRUPTS, text);
    let is_missing = found.is_none();
    let Interrupts { lines, bad } = found.unwrap_or_default();
    if let Some(line) = bad {
        troubles.note("counts of some interrupts", &Why::Unparsed(line), INTERRUPTS);
    }
    let mut all: BTreeMap<u32, Line> = BTreeMap::new();
    for line in lines {
        all.entry(line.number).or_insert(line);
    }
    let listed = if is_missing { root.list("/proc/irq").unwrap_or_default() } else { Vec::new() };
    let listed = listed.iter().filter_map(|name| name.parse::<u32>().ok());
    for number in devices.vectors().chain(listed) {
        all.entry(number).or_insert_with(|| unused(number));
    }
    all.into_values().collect()
}

fn unused(number: u32) -> Line {
    Line { number, counts: Vec::new(), chip: String::new(), actions: Vec::new() }
}

/// Whether the tree has drivers' hints. A kernel has the file for every interrupt or for none
/// (`register_irq_proc`, kernel/irq/proc.c); scripts that copy a tree often leave it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hints {
    Kept,
    LeftOut,
}

impl Hints {
    fn of(root: &dyn Root, lines: &[Line]) -> Self {
        let hint = |line: &Line| root.read(&format!("/proc/irq/{}/affinity_hint", line.number));
        let is_absent = |line: &Line| hint(line) == Err(Why::Absent);
        // Interrupts of the first lines may be gone, or no files were copied of them.
        let mut asked = lines.iter().filter(|line| !line.actions.is_empty()).take(16);
        if asked.all(is_absent) { Self::LeftOut } else { Self::Kept }
    }
}

/// The files in `/proc/irq/N`, and the mode bits of the one that a person would write to. A copied
/// tree may have kept only some of them.
fn files(
    root: &dyn Root,
    line: Line,
    source: Option<IrqSource>,
    hints: Hints,
) -> (Irq, Option<u32>) {
    let dir = Dir::new(root, format!("/proc/irq/{}", line.number));
    let hint = if hints == Hints::Kept { dir.text("affinity_hint").ok() } else { None };
    let hint = hint.and_then(|text| CpuSet::from_mask(&text).ok());
    let (affinity, mode) = dir.text_with_mode("smp_affinity_list");
    let effective = dir.text("effective_affinity_list");
    let irq = Irq {
        number: line.number,
        actions: line.actions,
        chip: line.chip,
        source,
        affinity: cpus(affinity, || dir.text("smp_affinity")),
        effective: cpus(effective, || dir.text("effective_affinity")),
        hint: hint.unwrap_or_default(),
        managed: Managed::No,
        counts: line.counts,
    };
    (irq, mode.ok())
}

/// A set of CPUs as a list, or as a mask where the list's file is missing.
fn cpus(list: Fact<String>, mask: impl FnOnce() -> Fact<String>) -> Fact<CpuSet> {
    let (text, set) = match list {
        Err(Why::Absent) => {
            let text = mask()?;
            let set = CpuSet::from_mask(&text);
            (text, set)
        }
        list => {
            let text = list?;
            let set = CpuSet::from_list(&text);
            (text, set)
        }
    };
    set.map_err(|_| Why::unparsed(&text))
}

/// A name without a word (`eth0`) is the traffic of a NIC with one vector, and the link changes of
/// one that has vectors for its queues (igb, ixgbe, e1000e).
fn settle_single_vectors(irqs: &mut [Irq]) {
    let queues =
        |irq: &Irq| irq.source.as_ref().filter(|s| s.queue.is_some()).and_then(|s| s.function);
    let with_queues: BTreeSet<PciAddress> = irqs.iter().filter_map(queues).collect();
    for source in irqs.iter_mut().filter_map(|irq| irq.source.as_mut()) {
        let has_queues = source.function.is_some_and(|address| with_queues.contains(&address));
        source.is_io &= source.queue.is_some() || !has_queues;
    }
}

/// Names that were cut to fit a driver's buffer may have lost digits: two vectors of one device
/// with the same name tell no queue.
fn forget_cut_queues(irqs: &mut [Irq]) {
    let key = |irq: &Irq| {
        let action = irq.actions.first()?.clone();
        Some((irq.source.as_ref().and_then(|source| source.function), action))
    };
    let mut times: BTreeMap<_, u32> = BTreeMap::new();
    for found in irqs.iter().filter_map(key) {
        *times.entry(found).or_default() += 1;
    }
    for irq in irqs.iter_mut() {
        let is_repeated = key(irq).and_then(|key| times.get(&key)).is_some_and(|times| *times > 1);
        if let Some(source) = irq.source.as_mut().filter(|_| is_repeated) {
            source.queue = None;
        }
    }
}

#[cfg(test)]
mod tests;
