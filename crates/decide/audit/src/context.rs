// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every rule may look at, gathered once.

use std::collections::{BTreeMap, BTreeSet};

use catalogue::Catalogue;
use machine::{Function, Irq, Machine, Managed, NodeFrom, Virtual};
use setting::{Applies, Evidence, Goal, Observation};
use units::{Cpu, CpuSet, NodeId, PciAddress};

use crate::devices::Devices;
use crate::lines;
use crate::place::Places;
use crate::tags;

/// The machine with its CPUs sorted by place, its devices named, its interrupts by function.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) goal: Goal,
    pub(crate) places: Places,
    pub(crate) devices: Devices<'a>,
    pub(crate) tags: BTreeSet<String>,
    /// Entries of the machine's table that follows readers; none where it was not read.
    pub(crate) flow_entries: Option<u64>,
    irqs: BTreeMap<PciAddress, Vec<&'a Irq>>,
    /// Interrupts that irqbalance is told to leave alone.
    spared: BTreeSet<u32>,
}

const BALANCE: &str = "irqbalance";

impl<'a> Context<'a> {
    /// Gathers what the rules ask for.
    pub(crate) fn new(
        machine: &'a Machine,
        catalogue: &'a Catalogue,
        goal: Goal,
        observations: &[Observation],
    ) -> Self {
        let mut irqs: BTreeMap<PciAddress, Vec<&Irq>> = BTreeMap::new();
        for irq in &machine.irqs {
            if let Some(function) = irq.source.as_ref().and_then(|source| source.function) {
                irqs.entry(function).or_default().push(irq);
            }
        }
        Self {
            machine,
            catalogue,
            goal,
            places: Places::of(machine),
            devices: Devices::of(machine),
            tags: tags::of_machine(machine, observations),
            flow_entries: flow_entries(observations),
            irqs,
            spared: spared(machine),
        }
    }

    /// Whether the machine carries a tag.
    pub(crate) fn is(&self, tag: &str) -> bool {
        self.tags.contains(tag)
    }

    /// Whether an entry's tags hold for the machine, and for the device that carries `device`.
    pub(crate) fn meets(&self, applies: &Applies, device: &BTreeSet<String>) -> bool {
        let carries = |tag: &str| self.is(tag) || device.contains(tag);
        let holds = |tag: &String| match tag.strip_prefix('!') {
            Some(tag) => !carries(tag),
            None => carries(tag),
        };
        applies.when.iter().all(holds) && !applies.never.iter().any(holds)
    }

    /// Whether the kernel runs in a virtual machine.
    pub(crate) fn is_guest(&self) -> bool {
        matches!(self.machine.host.virtual_machine, Virtual::Yes { .. })
    }

    /// Whether a service that changes settings by itself runs.
    pub(crate) fn is_running(&self, service: &str) -> bool {
        let services = &self.machine.host.services;
        services.iter().any(|known| known.name == service && known.running == Ok(true))
    }

    /// Whether irqbalance runs and may move this interrupt: its exceptions are known by their numbers.
    pub(crate) fn is_balanced(&self, irq: u32) -> bool {
        self.is_running(BALANCE) && !self.spared.contains(&irq)
    }

    /// Interrupts of a function that carry I/O.
    pub(crate) fn io_irqs(&self, function: PciAddress) -> impl Iterator<Item = &'a Irq> + '_ {
        let irqs = self.irqs.get(&function).map_or(&[][..], Vec::as_slice);
        irqs.iter().copied().filter(|irq| irq.source.as_ref().is_some_and(|source| source.is_io))
    }

    /// Interrupts of a function that carry I/O and that a person may move.
    pub(crate) fn movable_irqs(&self, function: PciAddress) -> Vec<&'a Irq> {
        self.io_irqs(function).filter(|irq| irq.managed == Managed::No).collect()
    }

    /// Online CPUs that take an interrupt: where it went last, else where its counts are, else where
    /// it may go.
    pub(crate) fn target(&self, irq: &Irq) -> CpuSet {
        let online = |set: &CpuSet| set.and(&self.machine.cpus.online);
        let allowed = irq.affinity.as_ref().map(online).unwrap_or_default();
        let went = irq.effective.as_ref().map(online).unwrap_or_default();
        // The effective set is updated at the next interrupt only: it may still name a CPU that
        // the affinity has left behind.
        if !went.is_empty() && (allowed.is_empty() || went.is_subset(&allowed)) {
            return went;
        }
        let counted = counted(irq);
        let counted = if allowed.is_empty() { online(&counted) } else { counted.and(&allowed) };
        if counted.is_empty() { allowed } else { counted }
    }

    /// The file that tells a function's node: its own, that of the port above which it was taken
    /// from, else the CPUs of the node.
    pub(crate) fn place(&self, address: PciAddress, node: NodeId) -> Evidence {
        let own = |function: &&Function| {
            function.node_from == NodeFrom::Own && function.node == Some(node)
        };
        let itself = self.devices.function(address).into_iter();
        let mut way = itself.chain(self.devices.above(address));
        match way.find(own) {
            Some(told) => lines::function(told.address, "numa_node"),
            None => lines::node_cpus(node),
        }
    }

    /// A set in the kernel's mask notation, as wide as the online CPUs need.
    pub(crate) fn mask(&self, cpus: &CpuSet) -> String {
        let highest = self.machine.cpus.threads.iter().map(|thread| thread.cpu.0).max();
        cpus.to_mask(highest.and_then(|cpu| usize::try_from(cpu).ok()).map_or(1, |cpu| cpu + 1))
    }
}

fn spared(machine: &Machine) -> BTreeSet<u32> {
    let service = machine.host.services.iter().find(|service| service.name == BALANCE);
    let text = service.and_then(|service| service.configuration.as_ref()).map(|(_, text)| text);
    let text = text.map(String::as_bytes).unwrap_or_default();
    setting::banned(text, &setting::BAN_VARIABLES).0
}

fn flow_entries(observations: &[Observation]) -> Option<u64> {
    let mut seen = observations.iter();
    let table = seen.find(|seen| seen.setting == "rps-sock-flow-entries")?;
    table.value.as_ref().ok()?.trim().parse().ok()
}

/// CPUs that took at least a twentieth of an interrupt's count: less may be from before it moved.
fn counted(irq: &Irq) -> CpuSet {
    let total = irq.counts.iter().fold(0_u64, |total, (_, count)| total.saturating_add(*count));
    let many = irq.counts.iter().filter(|(_, count)| *count > 0 && *count >= total / 20);
    many.map(|(cpu, _)| Cpu(*cpu)).collect()
}
