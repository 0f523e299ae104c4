// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is near a device: the CPUs and memory to use for it, and a line that does so.

use std::collections::BTreeMap;

use machine::{Below, Machine, Near, NodeFrom};
use units::{CpuSet, NodeId};

use crate::error::UnknownDevice;
use crate::frame::{field, field_in};
use crate::style::{Line, Role, Style, paint};
use crate::{names, text, words};

/// Columns of the labels.
const LABEL: usize = 10;

/// Draws what is near a device, named as a person names it.
///
/// # Errors
/// A device that the machine does not have.
pub fn draw(machine: &Machine, device: &str, style: &Style) -> Result<String, UnknownDevice> {
    let near = machine.near(device).ok_or_else(|| UnknownDevice::of(machine, device))?;
    let columns = style.columns();
    let mut lines = title(machine, &near, columns);
    lines.extend(field("node", &node_text(&near), LABEL, columns));
    lines.extend(cpus(machine, &near, columns));
    lines.extend(memory(machine, &near, columns));
    let others = names::compact(near.others.iter().map(String::as_str));
    if !others.is_empty() {
        lines.extend(field("also near", &others, LABEL, columns));
    }
    lines.extend(far(&near, columns));
    lines.extend(by_hand(machine, &near));
    Ok(paint(&lines, style))
}

/// The device, its function and its link: what the function is stands on a line of its own where one
/// is too short.
fn title(machine: &Machine, near: &Near, columns: usize) -> Vec<Line> {
    let mut line = Line::of(Role::Strong, &near.device);
    if let Some(address) = near.function.filter(|address| address.to_string() != near.device) {
        line.push(Role::Dim, format!(" · {address}"));
    }
    let Some(function) = near.function.and_then(|address| machine.function(address)) else {
        return vec![line.cut(columns)];
    };
    let mut rest = Line::of(Role::Dim, words::function_name(function));
    let (role, link) = words::function_link(Some(function));
    if !link.is_empty() {
        rest.push(role, format!(" · {link}"));
    }
    if line.width() + 3 + rest.width() > columns {
        return vec![line.cut(columns), rest.cut(columns)];
    }
    line.push(Role::Dim, " · ");
    line.append(rest);
    vec![line]
}

fn node_text(near: &Near) -> String {
    let Some(node) = near.node else {
        return match (near.below.as_slice(), near.function) {
            (below @ [_, _, ..], _) => several(below),
            (_, Some(_)) => {
                "unknown: neither the firmware nor the bridges above tell it".to_owned()
            }
            (_, None) => "none: no hardware is below it".to_owned(),
        };
    };
    if !near.below.is_empty() {
        let below = names::compact(near.below.iter().map(|one| one.device.as_str()));
        return format!("{node}, of {below} below it");
    }
    let from = match near.node_from {
        NodeFrom::Own => "as the firmware says for the device itself",
        NodeFrom::Parent => "as the firmware says for a bridge above it",
        NodeFrom::LocalCpus => "the device's local CPUs are the CPUs of this node",
        NodeFrom::Proximity => "by the ACPI proximity of its host bridge",
        NodeFrom::Only => "the only node of this machine",
        NodeFrom::Unknown => return node.to_string(),
    };
    format!("{node}, {from}")
}

/// Devices of which no node is common, by their nodes.
fn several(below: &[Below]) -> String {
    let mut by_node: BTreeMap<Option<NodeId>, Vec<&str>> = BTreeMap::new();
    for one in below {
        by_node.entry(one.node).or_default().push(&one.device);
    }
    let parts = by_node.into_iter().map(|(node, devices)| {
        let node =
            node.map_or("a node that is not known".to_owned(), |node| format!("node {node}"));
        format!("{} on {node}", names::compact(devices))
    });
    format!("several: {}", parts.collect::<Vec<_>>().join("; "))
}

/// The CPUs to use: one thread of each core first, then their siblings.
fn cpus(machine: &Machine, near: &Near, columns: usize) -> Vec<Line> {
    let first: CpuSet = near.cores.iter().filter_map(CpuSet::first).collect();
    let rest = near.usable.minus(&first);
    let mut lines = Vec::new();
    if near.usable.is_empty() {
        let reason = match near.node {
            None if near.below.len() > 1 => {
                "none to prefer: `nearside exec --near` takes all nodes"
            }
            None => "none to prefer, since its node is not known",
            Some(_) if near.cpus.is_empty() => "none: this node has no CPUs",
            Some(_) => "none: all CPUs of the node are offline, isolated or not allowed here",
        };
        return field_in(Role::Warn, "CPUs", reason, LABEL, columns);
    }
    let cores = text::count(near.cores.len(), "core");
    let each = match rest.is_empty() && near.cores.iter().all(|core| core.len() == 1) {
        true => cores,
        false => format!("one thread of each of {cores}"),
    };
    lines.extend(field("CPUs", &format!("{first}   {each}"), LABEL, columns));
    if !rest.is_empty() {
        let text = format!("{rest}   their siblings, once those are busy");
        lines.extend(field("", &text, LABEL, columns));
    }
    let kept = near.cpus.and(&machine.cpus.online).minus(&near.usable);
    if !kept.is_empty() {
        let text = format!("{kept}   of the node too, but isolated or not allowed here");
        lines.extend(field_in(Role::Dim, "", &text, LABEL, columns));
    }
    lines
}

fn memory(machine: &Machine, near: &Near, columns: usize) -> Vec<Line> {
    let Some(node) = machine.nodes.iter().find(|node| Some(node.id) == near.node) else {
        return Vec::new();
    };
    let mut text = format!("node {}, {}", node.id, words::memory(&node.memory));
    if node.memory.as_ref().is_ok_and(|size| size.0 == 0) {
        let nearest = nearest_memory(machine, near);
        text = format!("node {} has none of its own{nearest}", node.id);
    } else if let Ok(free) = &node.memory_free {
        text.push_str(&format!(", {free} free"));
    }
    field("memory", &text, LABEL, columns)
}

fn nearest_memory(machine: &Machine, near: &Near) -> String {
    let has_memory = |id: NodeId| {
        let node = machine.nodes.iter().find(|node| node.id == id);
        node.is_some_and(|node| node.memory.as_ref().is_ok_and(|size| size.0 > 0))
    };
    let nearest = near.distances.iter().filter(|(id, _)| has_memory(*id)).min_by_key(|(_, d)| *d);
    nearest.map_or_else(String::new, |(id, distance)| {
        format!("; nearest is node {id} (distance {distance})")
    })
}

fn far(near: &Near, columns: usize) -> Vec<Line> {
    let others = near.distances.iter().filter(|(node, _)| Some(*node) != near.node);
    let parts: Vec<String> =
        others.map(|(node, distance)| format!("{distance} to node {node}")).collect();
    if parts.is_empty() {
        return Vec::new();
    }
    field("distance", &parts.join(", "), LABEL, columns)
}

/// Lines that a person could type.
fn by_hand(machine: &Machine, near: &Near) -> Vec<Line> {
    if near.usable.is_empty() {
        return Vec::new();
    }
    let has_memory = machine.nodes.iter().any(|node| {
        Some(node.id) == near.node && node.memory.as_ref().is_ok_and(|size| size.0 > 0)
    });
    let whole_node = near.usable == near.cpus.and(&machine.cpus.online);
    let numactl = match near.node {
        Some(node) if has_memory && whole_node => {
            Some(format!("numactl --cpunodebind={node} --membind={node} COMMAND"))
        }
        Some(node) if has_memory => {
            Some(format!("numactl --physcpubind={} --membind={node} COMMAND", near.usable))
        }
        _ => None,
    };
    let taskset = format!("taskset --cpu-list {} COMMAND", near.usable);
    let exec = format!("nearside exec --near {} -- COMMAND", near.device);
    let mut lines = Vec::new();
    for (number, command) in [exec].into_iter().chain(numactl).chain([taskset]).enumerate() {
        let label = ["command", "by hand", "or"].get(number).unwrap_or(&"");
        let label = Line::of(Role::Dim, text::pad(label, LABEL));
        lines.push(label.and(Role::Strong, command).whole());
    }
    lines
}
