// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stands above the boxes: which machine, how much of what, how its CPUs are numbered.

use std::collections::BTreeSet;

use machine::{Container, InterleavingState, Machine, Siblings, SubNumaKind, Virtual};
use units::Bytes;

use crate::style::{Line, Role};
use crate::{frame, layout, text};

/// Columns of the labels.
const LABEL: usize = 12;

/// The head of the drawing.
pub(crate) fn lines(machine: &Machine, columns: usize) -> Vec<Line> {
    let mut lines = title(machine, columns);
    lines.extend(frame::paragraph(Role::Plain, &counts(machine), 0, columns));
    for (label, text) in numbering(machine) {
        lines.extend(field(label, &text, columns));
    }
    lines.extend(surroundings(machine).iter().flat_map(|text| field("runs in", text, columns)));
    lines
}

/// How CPUs are numbered and whether packages are split; of no interest where there is one domain.
fn numbering(machine: &Machine) -> Vec<(&'static str, String)> {
    let sub_numa = machine.sub_numa();
    let split = sub_numa.kind != SubNumaKind::None;
    if packages(machine) < 2 && machine.nodes.len() < 2 && !split {
        return Vec::new();
    }
    let told = |word: &str, why: &str| match why {
        "" => word.to_owned(),
        why => format!("{word}: {why}"),
    };
    let numbering = machine.numbering();
    let mut fields = vec![("numbering", told(&numbering.kind.to_string(), &numbering.why))];
    if machine.cpus.smt.threads_per_core > 1 {
        let text = match machine.siblings() {
            Siblings::Adjacent => "adjacent: the threads of a core have successive numbers",
            Siblings::SecondHalf => {
                "second half: the first threads of all cores, then the second ones"
            }
            Siblings::None => "none online",
            Siblings::Other => "in no pattern",
        };
        fields.push(("siblings", text.to_owned()));
    }
    let kind = match sub_numa.per_package {
        0 | 1 => sub_numa.kind.to_string(),
        per => format!("{}, {per} nodes a package", sub_numa.kind),
    };
    fields.push(("sub-NUMA", told(&kind, &sub_numa.why)));
    let interleaving = machine.node_interleaving();
    if interleaving.state == InterleavingState::On {
        fields.push(("interleaved", interleaving.why));
    }
    fields
}

/// The same as lines of text.
pub(crate) fn numbering_texts(machine: &Machine) -> Vec<String> {
    numbering(machine).into_iter().map(|(label, text)| format!("{label} {text}")).collect()
}

fn field(label: &str, text: &str, columns: usize) -> Vec<Line> {
    frame::field(label, text, LABEL, columns)
}

/// Maker, model, firmware, kernel, processors.
pub(crate) fn title(machine: &Machine, columns: usize) -> Vec<Line> {
    let host = &machine.host;
    let known = |fact: &machine::Fact<String>| fact.as_ref().ok().cloned();
    let named: Vec<String> = [&host.vendor, &host.product].into_iter().filter_map(known).collect();
    let name = if named.is_empty() { "unnamed machine".to_owned() } else { named.join(" ") };
    let mut rest = Vec::new();
    rest.extend(known(&host.firmware).map(|version| format!("BIOS {version}")));
    rest.extend(known(&host.kernel).map(|release| format!("Linux {release}")));
    let tail = rest.iter().map(|part| format!(" · {part}")).collect::<String>();
    let first = Line::of(Role::Strong, &name).and(Role::Dim, &tail);
    let mut lines = if first.width() <= columns {
        vec![first]
    } else {
        vec![
            Line::of(Role::Strong, name).cut(columns),
            Line::of(Role::Dim, rest.join(" · ")).cut(columns),
        ]
    };
    if let Some(model) = known(&host.cpu_model) {
        let packages = packages(machine);
        let times = if packages > 1 { format!("{packages} × ") } else { String::new() };
        let model = model.split_whitespace().collect::<Vec<_>>().join(" ");
        lines.push(Line::plain(format!("{times}{model}")).cut(columns));
    }
    lines
}

fn packages(machine: &Machine) -> usize {
    let ids: BTreeSet<_> =
        machine.cpus.threads.iter().filter_map(|thread| thread.package.as_ref().ok()).collect();
    ids.len()
}

/// `2 packages · 4 nodes · 128 cores · 256 CPUs · 1 TiB memory`.
pub(crate) fn counts(machine: &Machine) -> String {
    let cpus = &machine.cpus;
    let cores: BTreeSet<_> = cpus.threads.iter().map(|thread| thread.core).collect();
    let memory_only = layout::memory_only(machine).len();
    let nodes = machine.nodes.len().saturating_sub(memory_only);
    let mut parts = vec![match (packages(machine), cores.len()) {
        (0, 1..) => "packages not told".to_owned(),
        (packages, _) => text::count(packages, "package"),
    }];
    parts.push(match (machine.nodes.len(), memory_only) {
        (0, _) => "no NUMA nodes told".to_owned(),
        (_, 0) => text::count(nodes, "node"),
        (_, more) => format!("{} + {more} without CPUs", text::count(nodes, "node")),
    });
    parts.push(text::count(cores.len(), "core"));
    parts.push(format!("{}{}", text::count(cpus.threads.len(), "CPU"), exceptions(machine)));
    parts.extend(total_memory(machine).map(|bytes| format!("{bytes} memory")));
    parts.join(" · ")
}

/// `(2 offline, 4 isolated, 12 allowed here)`.
fn exceptions(machine: &Machine) -> String {
    let cpus = &machine.cpus;
    let mut parts = Vec::new();
    if !cpus.offline.is_empty() {
        parts.push(format!("{} offline", cpus.offline.len()));
    }
    if !cpus.isolated.is_empty() {
        parts.push(format!("{} isolated", cpus.isolated.len()));
    }
    if !cpus.allowed.is_empty() && !cpus.online.is_subset(&cpus.allowed) {
        parts.push(format!("only {} allowed here", cpus.allowed.and(&cpus.online).len()));
    }
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// The memory of all nodes; none where that of any node is unknown.
fn total_memory(machine: &Machine) -> Option<Bytes> {
    let sum = machine.nodes.iter().try_fold(0_u64, |sum, node| {
        node.memory.as_ref().ok().map(|bytes| sum.saturating_add(bytes.0))
    })?;
    (sum > 0).then_some(Bytes(sum))
}

/// The virtual machine and the container around, with the signs that told.
pub(crate) fn surroundings(machine: &Machine) -> Vec<String> {
    let mut texts = Vec::new();
    if let Virtual::Yes { name, sign } = &machine.host.virtual_machine {
        // `vm-other` is what systemd calls a hypervisor that does not give its name.
        let name = match name.as_str() {
            "vm-other" => "of a hypervisor that gives no name",
            name => name,
        };
        texts.push(format!("a virtual machine, {name} (told by {sign})"));
    }
    if let Container::Yes { name, sign } = &machine.host.container {
        texts.push(format!("a container, {name} (told by {sign})"));
    }
    texts
}
