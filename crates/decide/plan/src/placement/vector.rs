// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts of a function, told apart by what does not change when they are numbered anew.

use std::collections::BTreeMap;

use machine::{Irq, Machine, Managed};
use units::PciAddress;

/// One interrupt of a function.
#[derive(Debug, Clone)]
pub(crate) struct Vector<'a> {
    /// None where it will be there only after a change of channels.
    pub(crate) irq: Option<&'a Irq>,
    pub(crate) queue: Option<u32>,
    /// Which of those with the same queue, or of those without, by number.
    pub(crate) ordinal: u32,
    pub(crate) is_io: bool,
}

impl Vector<'_> {
    /// Whether a person may move it.
    pub(crate) fn is_movable(&self) -> bool {
        self.irq.is_none_or(|irq| irq.managed == Managed::No)
    }
}

/// All interrupts by function.
#[derive(Debug)]
pub(crate) struct Vectors<'a>(BTreeMap<PciAddress, Vec<Vector<'a>>>);

impl<'a> Vectors<'a> {
    pub(crate) fn of(machine: &'a Machine) -> Self {
        let mut all: BTreeMap<PciAddress, Vec<Vector<'a>>> = BTreeMap::new();
        let mut irqs: Vec<&Irq> = machine.irqs.iter().collect();
        irqs.sort_by_key(|irq| irq.number);
        let mut counts: BTreeMap<(PciAddress, Option<u32>), u32> = BTreeMap::new();
        for irq in irqs {
            let Some(source) = &irq.source else { continue };
            let Some(function) = source.function else { continue };
            let count = counts.entry((function, source.queue)).or_default();
            all.entry(function).or_default().push(Vector {
                irq: Some(irq),
                queue: source.queue,
                ordinal: *count,
                is_io: source.is_io,
            });
            *count = count.saturating_add(1);
        }
        Self(all)
    }

    pub(crate) fn of_function(&self, function: PciAddress) -> &[Vector<'a>] {
        self.0.get(&function).map_or(&[], Vec::as_slice)
    }
}

/// Vectors that carry I/O, those of one queue together: by queue, then those whose name tells none.
pub(crate) fn by_queue<'a>(vectors: &[Vector<'a>]) -> Vec<Vec<Vector<'a>>> {
    let mut queues: BTreeMap<(bool, u32), Vec<Vector<'a>>> = BTreeMap::new();
    for vector in vectors.iter().filter(|vector| vector.is_io && vector.is_movable()) {
        let key = match vector.queue {
            Some(queue) => (false, queue),
            None => (true, vector.ordinal),
        };
        queues.entry(key).or_default().push(vector.clone());
    }
    queues.into_values().collect()
}

/// The queues that there will be with `count` channels: the first of those there are, and such as
/// will be added, which look like the first.
pub(crate) fn with_channels<'a>(
    queues: Vec<Vec<Vector<'a>>>,
    count: usize,
) -> Vec<Vec<Vector<'a>>> {
    let pattern = queues.first().cloned().unwrap_or_default();
    let last = queues.last().and_then(|queue| queue.first()?.queue);
    let mut queues: Vec<_> = queues.into_iter().take(count).collect();
    let Some(last) = last else { return queues };
    for number in (last..).skip(1).take(count.saturating_sub(queues.len())) {
        let added = |vector: &Vector<'a>| Vector {
            irq: None,
            queue: Some(number),
            ordinal: vector.ordinal,
            is_io: true,
        };
        queues.push(pattern.iter().map(added).collect());
    }
    queues
}
