// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interrupts of a device: which queue, which CPUs, near or far, and who may move them.

use std::collections::BTreeSet;

use machine::{Channels, Fact, Irq, Machine, Managed, Nic, ReceiveSpread, Rings, Why};
use units::{CpuSet, NodeId, PciAddress};

use crate::error::UnknownDevice;
use crate::frame::{Table, field, paragraph};
use crate::style::{Line, Role, Style, paint};
use crate::{text, words};

/// Draws the interrupts of a device, named as `near` takes it; a bond or bridge stands for its
/// ports.
///
/// # Errors
/// A device that the machine does not have.
pub fn draw(machine: &Machine, device: &str, style: &Style) -> Result<String, UnknownDevice> {
    let columns = style.columns();
    let subjects = subjects(machine, device).ok_or_else(|| UnknownDevice::of(machine, device))?;
    let mut lines = Vec::new();
    for subject in subjects {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.extend(subject.lines(machine, columns));
    }
    Ok(paint(&lines, style))
}

/// A device whose interrupts are shown.
struct Subject<'a> {
    name: String,
    functions: BTreeSet<PciAddress>,
    /// Names by which interrupts may call it.
    names: BTreeSet<String>,
    node: Option<NodeId>,
    nic: Option<&'a Nic>,
}

fn subjects<'a>(machine: &'a Machine, device: &str) -> Option<Vec<Subject<'a>>> {
    if let Some(nic) = machine.nics.iter().find(|nic| nic.name == device) {
        let ports: Vec<Subject<'a>> = nic
            .lower
            .iter()
            .filter(|_| nic.function.is_none())
            .filter_map(|name| machine.nics.iter().find(|port| port.name == *name))
            .map(nic_subject)
            .collect();
        return Some(if ports.is_empty() { vec![nic_subject(nic)] } else { ports });
    }
    let (function, node) = machine.place_of(device)?;
    let mut names = BTreeSet::from([device.to_owned()]);
    let drive = machine.drives.iter().find(|drive| drive.name == device);
    let mut functions: BTreeSet<PciAddress> = function.into_iter().collect();
    for controller in drive.into_iter().flat_map(|drive| &drive.controllers) {
        names.insert(controller.name.clone());
        functions.extend(controller.function);
    }
    Some(vec![Subject { name: device.to_owned(), functions, names, node, nic: None }])
}

fn nic_subject(nic: &Nic) -> Subject<'_> {
    Subject {
        name: nic.name.clone(),
        functions: nic.function.into_iter().collect(),
        names: BTreeSet::from([nic.name.clone()]),
        node: nic.node,
        nic: Some(nic),
    }
}

impl Subject<'_> {
    fn lines(&self, machine: &Machine, columns: usize) -> Vec<Line> {
        let irqs: Vec<&Irq> = machine.irqs.iter().filter(|irq| self.raises(irq)).collect();
        let mut lines = vec![self.heading(irqs.len())];
        if irqs.is_empty() {
            let text = "the kernel lists no interrupt for it";
            lines.extend(paragraph(Role::Dim, text, 0, columns));
        } else {
            lines.extend(self.table(machine, &irqs, columns).lines(columns));
            lines.extend(self.far(machine, &irqs, columns));
            lines.extend(remarks(&irqs, columns));
        }
        if let Some(nic) = self.nic {
            lines.extend(sizes(nic, columns));
            lines.extend(steering(nic, columns));
        }
        lines
    }

    fn raises(&self, irq: &Irq) -> bool {
        irq.source.as_ref().is_some_and(|source| {
            source.function.is_some_and(|address| self.functions.contains(&address))
                || self.names.contains(&source.device)
        })
    }

    fn heading(&self, number: usize) -> Line {
        let functions: Vec<String> = self.functions.iter().map(ToString::to_string).collect();
        let mut line = Line::of(Role::Strong, &self.name);
        for part in functions.into_iter().filter(|part| *part != self.name) {
            line.push(Role::Dim, format!(" · {part}"));
        }
        let count = text::count(number, "interrupt");
        line.and(Role::Dim, format!(" · {} · {count}", words::node(self.node)))
    }

    /// How many of the queues' interrupts that could be near are not.
    fn far(&self, machine: &Machine, irqs: &[&Irq], columns: usize) -> Vec<Line> {
        let near = self.near(machine);
        let carries = |irq: &&&Irq| {
            irq.managed == Managed::No && irq.source.as_ref().is_some_and(|source| source.is_io)
        };
        let movable: Vec<&&Irq> = irqs.iter().filter(carries).collect();
        let far = movable.iter().filter(|irq| is_far(irq, near)).count();
        let (Some(node), 1..) = (self.node, far) else { return Vec::new() };
        let text = format!(
            "{far} of {} are taken by CPUs of other nodes than the device's, node {node}",
            text::count(movable.len(), "queue interrupt"),
        );
        paragraph(Role::Warn, &text, 0, columns)
    }

    /// The CPUs of the device's node.
    fn near<'m>(&self, machine: &'m Machine) -> Option<&'m CpuSet> {
        let node = machine.nodes.iter().find(|node| Some(node.id) == self.node);
        node.map(|node| &node.cpus).filter(|cpus| !cpus.is_empty())
    }

    fn table(&self, machine: &Machine, irqs: &[&Irq], columns: usize) -> Table {
        let near = self.near(machine);
        let mut table = Table::new(2).cap(3, 18).cap(4, 18).cap(8, 32);
        // The action's name tells receive from transmit vectors, where there is room for it.
        let name = if columns >= 100 { "name" } else { "" };
        table.heading(&[
            "irq",
            "queue",
            "CPUs",
            "effective",
            "hint",
            "node",
            "placed by",
            "count",
            name,
        ]);
        for irq in irqs {
            let (role, node) = nodes_of(machine, irq, near);
            table.row(vec![
                (Role::Plain, irq.number.to_string()),
                (Role::Plain, queue(irq)),
                (Role::Plain, set(&irq.affinity)),
                (Role::Plain, set(&irq.effective)),
                (Role::Dim, irq.hint.to_string()),
                (role, node),
                (Role::Dim, placed_by(irq.managed).to_owned()),
                (Role::Plain, total(irq).to_string()),
                (
                    Role::Dim,
                    irq.actions.first().filter(|_| !name.is_empty()).cloned().unwrap_or_default(),
                ),
            ]);
        }
        table
    }
}

fn queue(irq: &Irq) -> String {
    let Some(source) = &irq.source else { return String::new() };
    match (source.queue, source.is_io) {
        (Some(queue), _) => queue.to_string(),
        (None, true) => "I/O".to_owned(),
        (None, false) => irq.actions.first().map_or_else(
            || "control".to_owned(),
            |name| {
                if name.contains("config") { "config".to_owned() } else { "control".to_owned() }
            },
        ),
    }
}

/// A CPU set, or why it is unknown.
fn set(cpus: &Fact<CpuSet>) -> String {
    match cpus {
        Ok(cpus) if cpus.is_empty() => "none".to_owned(),
        Ok(cpus) => cpus.to_string(),
        Err(_) => "unknown".to_owned(),
    }
}

/// The nodes of the CPUs that an interrupt goes to, marked when none of them is near. Managed
/// vectors of drives are spread over all nodes by design: far is no fault there.
fn nodes_of(machine: &Machine, irq: &Irq, near: Option<&CpuSet>) -> (Role, String) {
    let Some(cpus) = taken_by(irq) else {
        return (Role::Dim, "unknown".to_owned());
    };
    let nodes = machine.nodes.iter().filter(|node| node.cpus.overlaps(cpus));
    let text = nodes.map(|node| node.id.to_string()).collect::<Vec<_>>().join(",");
    match (is_far(irq, near), irq.managed) {
        (false, _) => (Role::Plain, text),
        (true, Managed::No) => (Role::Warn, format!("{text} far")),
        (true, _) => (Role::Dim, format!("{text} far")),
    }
}

/// The CPUs that an interrupt goes to; where that is not told, those it may go to.
fn taken_by(irq: &Irq) -> Option<&CpuSet> {
    let affinity = irq.affinity.as_ref().ok();
    // An effective set outside the affinity is of the past: the next interrupt goes elsewhere.
    let holds = |cpus: &&CpuSet| affinity.is_none_or(|affinity| cpus.is_subset(affinity));
    let effective = irq.effective.as_ref().ok().filter(|cpus| !cpus.is_empty());
    effective.filter(holds).or(affinity)
}

fn is_far(irq: &Irq, near: Option<&CpuSet>) -> bool {
    matches!((taken_by(irq), near), (Some(cpus), Some(near)) if !near.overlaps(cpus))
}

fn placed_by(managed: Managed) -> &'static str {
    match managed {
        Managed::No => "anyone",
        Managed::Told | Managed::ByDriver => "the kernel",
    }
}

fn total(irq: &Irq) -> u64 {
    irq.counts.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
}

fn remarks(irqs: &[&Irq], columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    if irqs.iter().any(|irq| irq.managed != Managed::No) {
        let text = "placed by the kernel: one vector a queue over all CPUs, far ones included; \
                    that is by design and cannot be moved";
        lines.extend(paragraph(Role::Dim, text, 0, columns));
    }
    let lagging = |irq: &&&Irq| match (&irq.affinity, &irq.effective) {
        (Ok(cpus), Ok(effective)) => !effective.is_subset(cpus),
        _ => false,
    };
    if irqs.iter().any(|irq| lagging(&irq)) {
        let text = "effective follows CPUs only at an interrupt's next arrival";
        lines.extend(paragraph(Role::Dim, text, 0, columns));
    }
    lines
}

/// Columns of the labels of channels and rings.
const LABEL: usize = 10;

/// Channels and rings of a NIC, now and at most, and whether its hardware spreads packets over the
/// receive queues. A port without hardware has none of these.
fn sizes(nic: &Nic, columns: usize) -> Vec<Line> {
    if nic.function.is_none() {
        return Vec::new();
    }
    let channels = nic.channels.as_ref().map(|channels| {
        let Channels { rx, tx, combined, other } = channels;
        now_of_most(&[("combined", combined), ("rx", rx), ("tx", tx), ("other", other)])
    });
    let rings = nic.rings.as_ref().map(|rings| {
        let Rings { rx, rx_mini, rx_jumbo, tx } = rings;
        now_of_most(&[("rx", rx), ("rx mini", rx_mini), ("rx jumbo", rx_jumbo), ("tx", tx)])
    });
    let told = |text: Result<String, &Why>| text.unwrap_or_else(words::why);
    let mut lines = vec![Line::default()];
    lines.extend(field("channels", &told(channels), LABEL, columns));
    lines.extend(field("rings", &told(rings), LABEL, columns));
    lines.extend(field("RSS", &hashing(nic), LABEL, columns));
    if let Ok(table) = &nic.receive_spread {
        lines.extend(field("RSS table", &spread(nic, table), LABEL, columns));
    }
    lines
}

/// `combined 8 of 63, other 1 of 1`; kinds that the driver does not have are left out.
fn now_of_most(kinds: &[(&str, &Option<(u32, u32)>)]) -> String {
    let kinds = kinds.iter().filter_map(|(name, count)| {
        let (now, most) = count.filter(|(_, most)| *most > 0)?;
        Some(format!("{name} {now} of {most}"))
    });
    let text = kinds.collect::<Vec<_>>().join(", ");
    if text.is_empty() { "the driver tells none".to_owned() } else { text }
}

/// Whether the hardware hashes flows over its receive queues: the kernel's feature `rx-hashing`.
fn hashing(nic: &Nic) -> String {
    let features = match &nic.features {
        Ok(features) => features,
        Err(why) => return words::why(why),
    };
    let feature = features.iter().find(|feature| feature.name == "rx-hashing");
    let queues = text::count(nic.rx_queues.len(), "receive queue");
    match feature.map(|feature| (feature.active, feature.fixed)) {
        Some((true, _)) => format!("receive hashing on, {queues}"),
        Some((false, true)) => format!("receive hashing off and fixed, {queues}"),
        Some((false, false)) => format!("receive hashing off, {queues}"),
        None => "the driver does not tell".to_owned(),
    }
}

/// Which queues the hardware spreads packets over: `128 entries, even over queues 0-7`, or each
/// stretch of queues with its share.
fn spread(nic: &Nic, spread: &ReceiveSpread) -> String {
    let entries = format!("{} entries", spread.table.len());
    let count = spread.queues.map_or(nic.rx_queues.len(), |queues| queues as usize);
    let shares: Vec<(u32, usize)> = spread.shares().into_iter().collect();
    let idle = match count.saturating_sub(shares.len()) {
        0 => String::new(),
        idle => format!("; {idle} of {} get none", text::count(count, "queue")),
    };
    if let Some(even) = spread.even_over() {
        return format!("{entries}, even over queues {}{idle}", range(0, even.saturating_sub(1)));
    }
    let run = |run: &[(u32, usize)]| {
        let ((first, share), (last, _)) = (run.first()?, run.last()?);
        Some(format!("{share} for queue {}", range(*first, *last)))
    };
    let follows =
        |a: &(u32, usize), b: &(u32, usize)| a.1 == b.1 && a.0.checked_add(1) == Some(b.0);
    let runs: Vec<String> = shares.chunk_by(follows).filter_map(run).collect();
    format!("{entries}: {}{idle}", runs.join(", "))
}

/// RPS and XPS of a NIC, queues that agree as one line.
fn steering(nic: &Nic, columns: usize) -> Vec<Line> {
    if nic.rx_queues.is_empty() && nic.tx_queues.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(2);
    table.heading(&["queues", "", "CPUs", "flows"]);
    for run in nic.rx_queues.chunk_by(|a, b| a.rps == b.rps && a.flow_count == b.flow_count) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let flows = words::or_unknown(&first.flow_count);
        table.row(vec![
            (Role::Plain, format!("rx {}", range(first.number, last.number))),
            (Role::Dim, "RPS".to_owned()),
            (Role::Plain, steered(&first.rps)),
            (Role::Plain, flows),
        ]);
    }
    for run in nic.tx_queues.chunk_by(|a, b| a.xps == b.xps) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        table.row(vec![
            (Role::Plain, format!("tx {}", range(first.number, last.number))),
            (Role::Dim, "XPS".to_owned()),
            (Role::Plain, steered(&first.xps)),
        ]);
    }
    let mut lines = vec![Line::default()];
    lines.extend(table.lines(columns));
    lines
}

fn range(first: u32, last: u32) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

fn steered(cpus: &Fact<CpuSet>) -> String {
    match cpus {
        Ok(cpus) if cpus.is_empty() => "off".to_owned(),
        Ok(cpus) => cpus.to_string(),
        Err(why) => words::why(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use support::made;

    #[test]
    fn a_table_is_told_by_the_shares_of_its_queues() {
        let nic = made::nic("eth0", machine::NicKind::Physical);
        let told = |queues: u32, table: &[u32]| {
            spread(&nic, &ReceiveSpread { queues: Some(queues), table: table.to_vec() })
        };
        assert_eq!(told(4, &[0, 1, 2, 3, 0, 1, 2, 3]), "8 entries, even over queues 0-3");
        assert_eq!(
            told(4, &[0, 1, 0, 1]),
            "4 entries, even over queues 0-1; 2 of 4 queues get none"
        );
        assert_eq!(told(3, &[0, 0, 0, 1, 2]), "5 entries: 3 for queue 0, 1 for queue 1-2");
        assert_eq!(
            told(4, &[1, 1, 3, 3]),
            "4 entries: 2 for queue 1, 2 for queue 3; 2 of 4 queues get none"
        );
    }
}
