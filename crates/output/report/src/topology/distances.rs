// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far nodes are from each other.

use std::collections::BTreeMap;

use machine::{Machine, Node};
use units::NodeId;

use crate::frame;
use crate::style::{Line, Role};

/// Up to this many nodes a matrix is easier to read than sentences.
const MATRIX: usize = 8;

/// The distances, where there is more than one node.
pub(crate) fn lines(machine: &Machine, columns: usize) -> Vec<Line> {
    if machine.nodes.len() < 2 || machine.nodes.iter().all(|node| node.distances.len() < 2) {
        return Vec::new();
    }
    if machine.nodes.len() <= MATRIX { matrix(machine) } else { sentences(machine, columns) }
}

fn matrix(machine: &Machine) -> Vec<Line> {
    let ids = machine.nodes.iter().map(|node| format!("{:>5}", node.id)).collect::<String>();
    let mut lines = vec![Line::of(Role::Dim, format!("distance{ids}"))];
    for node in &machine.nodes {
        let mut line = Line::of(Role::Dim, format!("node{:>4}", node.id));
        for other in &machine.nodes {
            let cell = distance(node, other.id).map_or_else(|| "?".to_owned(), |d| d.to_string());
            let role = if other.id == node.id { Role::Dim } else { Role::Plain };
            line.push(role, format!("{cell:>5}"));
        }
        lines.push(line);
    }
    lines
}

/// The kernel's distance from a node to another.
pub(crate) fn distance(node: &Node, to: NodeId) -> Option<u32> {
    node.distances.iter().find(|(other, _)| *other == to).map(|(_, distance)| *distance)
}

fn sentences(machine: &Machine, columns: usize) -> Vec<Line> {
    let mut lines = vec![Line::of(Role::Dim, "distance from each node to the others")];
    for node in &machine.nodes {
        let mut by_distance: BTreeMap<u32, Vec<NodeId>> = BTreeMap::new();
        for (other, distance) in node.distances.iter().filter(|(other, _)| *other != node.id) {
            by_distance.entry(*distance).or_default().push(*other);
        }
        let parts: Vec<String> = by_distance
            .iter()
            .map(|(distance, nodes)| format!("{distance} to {}", super::nodes_text(nodes)))
            .collect();
        let label = format!("node {}", node.id);
        lines.extend(frame::field(&label, &parts.join("; "), 10, columns));
    }
    lines
}
