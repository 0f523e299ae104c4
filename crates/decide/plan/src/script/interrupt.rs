// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number of an interrupt, or its place among its function's where the number will change.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Irq, Machine};
use setting::{Ethtool, Place, Plan, Planned};
use units::PciAddress;

/// How a script finds an interrupt.
pub(super) enum Found<'a> {
    /// By number, with the name that it has now.
    Number(u32, &'a str),
    /// By its place among those of the function, from 1.
    At(PciAddress, usize),
    /// Not at all.
    Unknown,
}

/// Interrupts by what a plan calls them.
pub(super) struct Numbers<'a> {
    pub(super) machine: &'a Machine,
    functions: BTreeMap<PciAddress, Vec<&'a Irq>>,
    /// Functions whose channels the plan changes.
    renumbered: BTreeSet<PciAddress>,
}

impl<'a> Numbers<'a> {
    pub(super) fn of(plan: &Plan, machine: &'a Machine) -> Self {
        let mut functions: BTreeMap<PciAddress, Vec<&Irq>> = BTreeMap::new();
        for irq in &machine.irqs {
            if let Some(at) = irq.source.as_ref().and_then(|source| source.function) {
                functions.entry(at).or_default().push(irq);
            }
        }
        functions.values_mut().for_each(|irqs| irqs.sort_by_key(|irq| irq.number));
        let channels = |one: &&Planned| one.place == Place::Ethtool { what: Ethtool::Channels };
        let changed = plan.changes.iter().filter(channels);
        let renumbered =
            changed.filter_map(|one| one.device.as_ref()?.function).collect::<BTreeSet<_>>();
        Self { machine, functions, renumbered }
    }

    /// The interrupt of a change.
    pub(super) fn find(&self, planned: &Planned) -> Found<'a> {
        let Place::Interrupt { queue, ordinal } = planned.place else { return Found::Unknown };
        let function = planned.device.as_ref().and_then(|device| device.function);
        let Some((at, irqs)) = function.and_then(|at| Some((at, self.functions.get(&at)?))) else {
            return Found::Unknown;
        };
        let place = place(irqs, queue, ordinal);
        if self.renumbered.contains(&at) {
            // One that is not there yet lies as far behind the first as its queue's number says.
            let place = place.or_else(|| beyond(irqs, queue?, ordinal));
            return place.map_or(Found::Unknown, |place| Found::At(at, place.saturating_add(1)));
        }
        let irq = place.and_then(|place| irqs.get(place));
        irq.map_or(Found::Unknown, |irq| {
            Found::Number(irq.number, irq.actions.first().map_or("", String::as_str))
        })
    }
}

/// The place of the `ordinal`-th vector of a queue.
fn place(irqs: &[&Irq], queue: Option<u32>, ordinal: u32) -> Option<usize> {
    let is_of = |irq: &&Irq| irq.source.as_ref().is_some_and(|source| source.queue == queue);
    let mut own = irqs.iter().enumerate().filter(|(_, irq)| is_of(irq)).map(|(place, _)| place);
    own.nth(usize::try_from(ordinal).ok()?)
}

/// Where a vector will be that is added, when vectors of a queue stand together and queues in the
/// order of their numbers.
fn beyond(irqs: &[&Irq], queue: u32, ordinal: u32) -> Option<usize> {
    let queues = irqs.iter().filter_map(|irq| irq.source.as_ref()?.queue);
    let first = queues.clone().min()?;
    let each = queues.filter(|number| *number == first).count();
    let start = place(irqs, Some(first), 0)?;
    let steps = usize::try_from(queue.checked_sub(first)?).ok()?;
    let ordinal = usize::try_from(ordinal).ok()?;
    start.checked_add(steps.checked_mul(each)?)?.checked_add(ordinal)
}
