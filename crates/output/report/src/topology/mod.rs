// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine as a drawing: packages and nodes as boxes, devices in the box they belong to.

mod devices;
mod distances;
mod head;
mod node;
mod spans;

use std::collections::BTreeMap;

use machine::Machine;
use units::NodeId;

use crate::frame::{beside, boxed, inner};
use crate::layout::{self, Devices, Group};
use crate::style::{Line, Role, Style, paint};
use crate::{marks, names, words};

pub(crate) use devices::rdma_of;
pub(crate) use devices::rows as device_rows;
pub(crate) use head::{counts, numbering_texts, title};
pub(crate) use node::{l3_text, memory};
pub(crate) use spans::owners;

/// From this width on two packages stand beside each other.
const TWO_ABREAST: usize = 164;

/// Draws the machine for a terminal.
pub fn draw(machine: &Machine, style: &Style) -> String {
    let columns = style.columns();
    let mut lines = head::lines(machine, columns);
    lines.push(Line::default());
    lines.extend(boxes(machine, columns));
    lines.push(marks::legend(machine));
    for part in below_boxes(machine, columns).into_iter().chain([spans::unseen(machine, columns)]) {
        if !part.is_empty() {
            lines.push(Line::default());
            lines.extend(part);
        }
    }
    paint(&lines, style)
}

/// What stands below the boxes, in parts; none of them empty.
pub(crate) fn below_boxes(machine: &Machine, columns: usize) -> Vec<Vec<Line>> {
    let mut parts = vec![
        spans::memory_only(machine, columns),
        spans::stacked(machine, columns),
        distances::lines(machine, columns),
        spans::links_below_best(machine, columns),
    ];
    parts.retain(|part| !part.is_empty());
    parts
}

/// A box for each package, and one for devices whose node is unknown.
pub(crate) fn boxes(machine: &Machine, columns: usize) -> Vec<Line> {
    let mut homes = layout::devices(machine);
    let homeless = homes.remove(&None).unwrap_or_default();
    let groups = layout::groups(machine);
    let abreast = columns >= TWO_ABREAST && groups.len() > 1;
    let each = if abreast { (columns - 1) / 2 } else { columns };
    let drawn: Vec<Vec<Line>> =
        groups.iter().map(|group| group_box(machine, group, &homes, each)).collect();
    let mut lines = if abreast { pairs(drawn, each) } else { drawn.concat() };
    lines.extend(homeless_box(machine, &homeless, columns));
    lines
}

fn pairs(drawn: Vec<Vec<Line>>, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut drawn = drawn.into_iter();
    while let Some(left) = drawn.next() {
        match drawn.next() {
            Some(right) => lines.extend(beside(left, right, columns)),
            None => lines.extend(left),
        }
    }
    lines
}

fn group_box(
    machine: &Machine,
    group: &Group,
    homes: &BTreeMap<Option<NodeId>, Devices<'_>>,
    columns: usize,
) -> Vec<Line> {
    let empty = Devices::default();
    let home = |node: NodeId| homes.get(&Some(node)).unwrap_or(&empty);
    let title = group_title(group);
    let mut nodes = group.nodes.iter();
    match (nodes.next(), nodes.next()) {
        (Some(node), None) => {
            let title = title.and(Role::Dim, " · ").and(Role::Strong, format!("node {node}"));
            boxed(title, node::body(machine, *node, home(*node), inner(columns)), columns)
        }
        (None, _) => boxed(title, node::packages_body(machine, group, inner(columns)), columns),
        _ => {
            let draw = |node: &NodeId| {
                let body = node::body(machine, *node, home(*node), inner(inner(columns)));
                boxed(Line::of(Role::Strong, format!("node {node}")), body, inner(columns))
            };
            boxed(title, group.nodes.iter().flat_map(draw).collect(), columns)
        }
    }
}

fn group_title(group: &Group) -> Line {
    let ids: Vec<String> = group.packages.iter().map(ToString::to_string).collect();
    let text = match ids.as_slice() {
        [] => "package unknown".to_owned(),
        [id] => format!("package {id}"),
        ids => format!("packages {}", names::compact(ids.iter().map(String::as_str))),
    };
    Line::of(Role::Strong, text)
}

fn homeless_box(machine: &Machine, devices: &Devices<'_>, columns: usize) -> Vec<Line> {
    if devices.is_empty() {
        return Vec::new();
    }
    let (title, reason) = if machine.nodes.is_empty() {
        ("devices", "the kernel tells of no NUMA nodes")
    } else {
        ("node unknown", "neither the firmware nor the bridges above say which node these are near")
    };
    let mut body = crate::frame::paragraph(Role::Dim, reason, 0, inner(columns));
    body.extend(device_rows(machine, devices, inner(columns)));
    boxed(Line::of(Role::Warn, title), body, columns)
}

/// The names of nodes as a person reads them: `node 0`, `nodes 0, 2`.
pub(crate) fn nodes_text(nodes: &[NodeId]) -> String {
    let ids: Vec<String> = nodes.iter().map(ToString::to_string).collect();
    match nodes {
        [] => words::node(None),
        [one] => words::node(Some(*one)),
        _ => format!("nodes {}", names::compact(ids.iter().map(String::as_str))),
    }
}
