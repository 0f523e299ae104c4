// SPDX-License-Identifier: MIT OR Apache-2.0
//! What belongs to no one box: memory-only nodes, things made of devices, links, what is unseen.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Function, Machine, Nic, NicKind, Volume, VolumeKind, Why};
use units::NodeId;

use crate::style::{Line, Role};
use crate::{ask, frame, layout, names, words};

use super::distances::distance;
use super::nodes_text;

/// Nodes without CPUs, each with the node that is nearest to it.
pub(crate) fn memory_only(machine: &Machine, columns: usize) -> Vec<Line> {
    let nodes = layout::memory_only(machine);
    let describe = |node: &&machine::Node| {
        let others = machine.nodes.iter().filter(|other| !other.cpus.is_empty());
        let others: Vec<(u32, NodeId)> =
            others.filter_map(|other| distance(node, other.id).map(|d| (d, other.id))).collect();
        let least = others.iter().map(|(distance, _)| *distance).min();
        let nearest: Vec<NodeId> =
            others.iter().filter(|(d, _)| Some(*d) == least).map(|(_, id)| *id).collect();
        let nearest = least.map_or_else(String::new, |distance| {
            format!(", nearest to {} (distance {distance})", nodes_text(&nearest))
        });
        let size = match &node.memory {
            Ok(size) if size.0 == 0 => String::new(),
            size => format!(" {}", words::memory(size)),
        };
        let text = format!("{}{size}{nearest}", words::node_kind(node.kind));
        frame::field(&format!("node {}", node.id), &text, 10, columns)
    };
    nodes.iter().flat_map(describe).collect()
}

/// Volumes, bonds, bridges and VLANs, with the nodes that their parts are on.
pub(crate) fn stacked(machine: &Machine, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for volume in machine.volumes.iter().filter(|volume| volume.kind != VolumeKind::Loop) {
        let text = volume_text(machine, volume);
        lines.extend(frame::field(&volume.name, &text, 12, columns));
    }
    let made = |nic: &&Nic| matches!(nic.kind, NicKind::Bond | NicKind::Bridge | NicKind::Vlan);
    for nic in machine.nics.iter().filter(made).filter(|nic| !nic.lower.is_empty()) {
        let far = far_note(&nodes_below(machine, &nic.name));
        let lower = names::compact(nic.lower.iter().map(String::as_str));
        let text = format!("{} over {lower}{far}", words::nic_kind(nic.kind));
        lines.extend(frame::field(&nic.name, &text, 12, columns));
    }
    lines
}

fn volume_text(machine: &Machine, volume: &Volume) -> String {
    let kind = match volume.kind {
        VolumeKind::Md => "md",
        VolumeKind::Lvm => "LVM",
        VolumeKind::Crypt => "dm-crypt",
        VolumeKind::Multipath => "multipath",
        VolumeKind::Dm => "device-mapper",
        VolumeKind::Bcache => "bcache",
        VolumeKind::Loop => "loop",
        VolumeKind::Other => "volume",
    };
    let label = volume.label.as_ref().map_or_else(String::new, |label| format!("{label}: "));
    let level = volume.level.as_ref().map_or_else(String::new, |level| format!(" {level}"));
    let size = volume.size.as_ref().map(|size| format!(" {}", words::drive_size(*size)));
    let far = far_note(&nodes_below(machine, &volume.name));
    let over = match volume.members.as_slice() {
        [] => String::new(),
        members => format!(" over {}", names::compact(members.iter().map(String::as_str))),
    };
    format!("{label}{kind}{level}{}{over}{far}", size.unwrap_or_default())
}

fn far_note(nodes: &BTreeSet<NodeId>) -> String {
    let nodes: Vec<NodeId> = nodes.iter().copied().collect();
    match nodes.as_slice() {
        [] => String::new(),
        [_] => format!(" on {}", nodes_text(&nodes)),
        _ => format!(" — spans {}", nodes_text(&nodes)),
    }
}

/// Nodes of the hardware under a volume or a link.
fn nodes_below(machine: &Machine, name: &str) -> BTreeSet<NodeId> {
    machine.below(name).into_iter().filter_map(|below| below.node).collect()
}

/// Links of drives, NICs and GPUs that run below what the card could do, and who holds them back.
pub(crate) fn links_below_best(machine: &Machine, columns: usize) -> Vec<Line> {
    let owners = owners(machine);
    let mut lines = Vec::new();
    for function in &machine.functions {
        let Some(owner) = owners.get(&function.address) else { continue };
        let Some(view) = ask::link(function) else { continue };
        let Some(limit) = view.limit else { continue };
        let name = names::compact(owner.iter().map(String::as_str));
        let text = format!(
            "{} at {}{}: {}",
            words::link(&view),
            function.address,
            function.slot.as_ref().map_or_else(String::new, |slot| format!(", slot {slot}")),
            if is_gpu(function) && view.is_only_slow() {
                "graphics cards slow their link while idle"
            } else {
                words::limit(limit)
            },
        );
        lines.extend(frame::field_in(Role::Plain, &name, &text, 14, columns));
    }
    if lines.is_empty() {
        return lines;
    }
    lines.insert(0, Line::of(Role::Warn, "◂ links below their best"));
    lines
}

fn is_gpu(function: &Function) -> bool {
    matches!(function.class.base, 0x03 | 0x12)
}

/// Names of drives, NICs and GPUs by function.
pub(crate) fn owners(machine: &Machine) -> BTreeMap<units::PciAddress, Vec<String>> {
    let mut owners: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for drive in &machine.drives {
        for function in drive.controllers.iter().filter_map(|path| path.function) {
            owners.entry(function).or_default().push(drive.name.clone());
        }
    }
    for nic in &machine.nics {
        if let Some(function) = nic.function {
            owners.entry(function).or_default().push(nic.name.clone());
        }
    }
    for gpu in &machine.gpus {
        let name = words::gpu_name(gpu, machine.function(gpu.function));
        owners.entry(gpu.function).or_default().push(name);
    }
    owners
}

/// What could not be read, by reason, in a line each.
pub(crate) fn unseen(machine: &Machine, columns: usize) -> Vec<Line> {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for trouble in machine.unknown.iter().filter(|trouble| trouble.why != Why::NotSupported) {
        let whats = reasons.entry(words::why(&trouble.why)).or_default();
        if !whats.contains(&trouble.what.as_str()) {
            whats.push(&trouble.what);
        }
    }
    let mut lines = Vec::new();
    for (why, whats) in &reasons {
        let (shown, more) = whats.split_at_checked(6).unwrap_or((whats, &[]));
        let more =
            if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        let text = format!("not seen ({why}): {}{more}", shown.join("; "));
        lines.extend(frame::paragraph(Role::Dim, &text, 0, columns));
    }
    lines
}
