// SPDX-License-Identifier: MIT OR Apache-2.0
//! One mark a core: usable, half, isolated, not allowed, offline.
//!
//! ```text
//! ████████ ████▀▒░·   █ core  ▀ its first thread only  ▒ isolated  ░ not allowed  · offline
//! ```
//!
//! Cores that share an L3 cache stand together; a space parts the groups.

use std::collections::{BTreeMap, BTreeSet};

use machine::{CoreKind, Cpus, Machine, Thread};
use units::Cpu;

use crate::style::{Line, Role};

/// What a core's mark says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// Every thread can be used.
    Full,
    /// Only the first threads.
    First,
    /// Only later threads.
    Later,
    /// Kept from the scheduler (isolcpus or a cpuset partition).
    Isolated,
    /// Not allowed for this process.
    Forbidden,
    /// Offline.
    Offline,
}

impl Mark {
    /// The mark as a character.
    pub(crate) fn sign(self) -> char {
        match self {
            Self::Full => '█',
            Self::First => '▀',
            Self::Later => '▄',
            Self::Isolated => '▒',
            Self::Forbidden => '░',
            Self::Offline => '·',
        }
    }

    fn role(self) -> Role {
        match self {
            Self::Full => Role::Good,
            Self::First | Self::Later | Self::Isolated => Role::Warn,
            Self::Forbidden | Self::Offline => Role::Dim,
        }
    }

    /// What it means in a machine.
    pub(crate) fn meaning(self, machine: &Machine) -> String {
        let threads = machine.cpus.smt.threads_per_core;
        let alike = machine.cpus.threads.iter().all(|thread| thread.kind == CoreKind::Uniform);
        let text = match self {
            Self::Full if threads > 1 && alike => return format!("core of {threads} threads"),
            Self::Full => "core",
            Self::First => "only its first thread",
            Self::Later => "only its second thread",
            Self::Isolated => "isolated",
            Self::Forbidden => "not allowed here",
            Self::Offline => "offline",
        };
        text.to_owned()
    }
}

/// A stretch of cores that share an L3 cache and a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) kind: CoreKind,
    pub(crate) marks: Vec<Mark>,
}

/// The cores of the threads that `belongs` picks, as stretches, by kind and then by first CPU.
pub(crate) fn stretches(machine: &Machine, belongs: impl Fn(&Thread) -> bool) -> Vec<Stretch> {
    let mut cores: BTreeMap<Cpu, Vec<&Thread>> = BTreeMap::new();
    for thread in machine.cpus.threads.iter().filter(|thread| belongs(thread)) {
        cores.entry(thread.core).or_default().push(thread);
    }
    let domains = l3_of_cpus(machine);
    let mut sets: BTreeMap<(CoreKind, usize), Vec<Mark>> = BTreeMap::new();
    for (core, threads) in &cores {
        let kind = threads.first().map_or(CoreKind::Uniform, |thread| thread.kind);
        let domain = domains.get(core).copied().unwrap_or(usize::MAX);
        sets.entry((kind, domain)).or_default().push(mark(&machine.cpus, threads));
    }
    sets.into_iter().map(|((kind, _), marks)| Stretch { kind, marks }).collect()
}

/// L3 caches by CPU, numbered in the order of their first CPU.
fn l3_of_cpus(machine: &Machine) -> BTreeMap<Cpu, usize> {
    let caches = machine.caches.iter().filter(|cache| cache.level == 3);
    caches
        .enumerate()
        .flat_map(|(number, cache)| cache.cpus.iter().map(move |cpu| (cpu, number)))
        .collect()
}

fn mark(cpus: &Cpus, threads: &[&Thread]) -> Mark {
    let states: Vec<Mark> = threads.iter().map(|thread| state(cpus, thread)).collect();
    let usable = |state: &&Mark| **state == Mark::Full;
    let number = states.iter().filter(usable).count();
    if number == states.len() {
        return Mark::Full;
    }
    if number == 0 {
        return states.into_iter().min().unwrap_or(Mark::Offline);
    }
    if states.first() == Some(&Mark::Full) { Mark::First } else { Mark::Later }
}

fn state(cpus: &Cpus, thread: &Thread) -> Mark {
    if !thread.online || cpus.offline.contains(thread.cpu) {
        Mark::Offline
    } else if cpus.isolated.contains(thread.cpu) {
        Mark::Isolated
    } else if !cpus.allowed.is_empty() && !cpus.allowed.contains(thread.cpu) {
        Mark::Forbidden
    } else {
        Mark::Full
    }
}

/// The stretches as lines of at most `columns`. Kinds of core stand on lines of their own.
pub(crate) fn lines(stretches: &[Stretch], columns: usize) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut kind = None;
    for stretch in stretches {
        let mut marks = stretch.marks.as_slice();
        let starts = kind.replace(stretch.kind) != Some(stretch.kind);
        let room = lines.last().map_or(0, |line| columns.saturating_sub(line.width() + 1));
        if starts {
            lines.push(kind_label(stretch.kind));
        } else if marks.len() <= room {
            lines.last_mut().into_iter().for_each(|line| line.push(Role::Plain, " "));
        } else {
            lines.push(Line::default());
        }
        while !marks.is_empty() {
            let room = lines.last().map_or(0, |line| columns.saturating_sub(line.width())).max(1);
            let (now, later) = marks.split_at_checked(room).unwrap_or((marks, &[]));
            lines.last_mut().into_iter().for_each(|line| push_marks(line, now));
            if !later.is_empty() {
                lines.push(Line::default());
            }
            marks = later;
        }
    }
    lines
}

fn kind_label(kind: CoreKind) -> Line {
    match kind {
        CoreKind::Uniform => Line::default(),
        CoreKind::Performance => Line::of(Role::Dim, "performance "),
        CoreKind::Efficiency => Line::of(Role::Dim, "efficiency  "),
        CoreKind::LowPower => Line::of(Role::Dim, "low-power   "),
    }
}

fn push_marks(line: &mut Line, marks: &[Mark]) {
    for run in marks.chunk_by(|a, b| a == b) {
        if let Some(mark) = run.first() {
            line.push(mark.role(), mark.sign().to_string().repeat(run.len()));
        }
    }
}

/// The marks that occur in the machine.
pub(crate) fn seen(machine: &Machine) -> BTreeSet<Mark> {
    stretches(machine, |_| true).into_iter().flat_map(|stretch| stretch.marks).collect()
}

/// Says what each mark means that occurs in the machine.
pub(crate) fn legend(machine: &Machine) -> Line {
    let mut line = Line::default();
    for mark in seen(machine) {
        let gap = if line == Line::default() { "" } else { "   " };
        line.push(Role::Plain, gap);
        line.push(mark.role(), mark.sign().to_string());
        line.push(Role::Dim, format!(" {}", mark.meaning(machine)));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{Style, paint};

    fn stretch(kind: CoreKind, marks: &[Mark]) -> Stretch {
        Stretch { kind, marks: marks.to_vec() }
    }

    #[test]
    fn stretches_stand_apart_and_long_ones_break() {
        let all = [
            stretch(CoreKind::Uniform, &[Mark::Full; 4]),
            stretch(CoreKind::Uniform, &[Mark::Full, Mark::Isolated, Mark::Offline]),
            stretch(CoreKind::Uniform, &[Mark::Full; 12]),
        ];
        let text = paint(&lines(&all, 10), &Style::default());
        assert_eq!(text, "████ █▒·\n██████████\n██\n");
    }
}
