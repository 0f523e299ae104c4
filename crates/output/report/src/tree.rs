// SPDX-License-Identifier: MIT OR Apache-2.0
//! The PCI tree by root complex: address, name, driver, node, link, slot.
//!
//! ```text
//! pci0000:80 · node 1
//! ├─ 0000:80:01.0  Intel Root Port            pcieport
//! │  └─ 0000:81:00.0  Micron 9550 NVMe SSD    nvme      Gen5 x2 of x4 ◂  slot 3  nvme3n1
//! ```

use std::collections::{BTreeMap, BTreeSet};

use machine::{Function, Machine};
use units::{NodeId, PciAddress};

use crate::style::{Line, Role, Style, paint};
use crate::topology::{nodes_text, owners};
use crate::{names, text, words};

/// Deeper than this a tree is no real one; switches cascade a handful of levels.
const DEEPEST: usize = 24;

/// Draws the PCI tree.
pub fn draw(machine: &Machine, style: &Style) -> String {
    let tree = Tree::of(machine);
    let mut rows = Vec::new();
    for (root, tops) in &tree.roots {
        rows.push(tree.root_row(root));
        tree.below(tops, root, &mut rows);
    }
    if rows.is_empty() {
        return paint(&[Line::plain("no PCI functions")], style);
    }
    paint(&lines(rows, style.columns()), style)
}

/// A line of the tree before its columns are aligned.
struct Row {
    left: Line,
    cells: [(Role, String); 3],
}

struct Tree<'a> {
    nodes: BTreeMap<&'a str, BTreeSet<NodeId>>,
    roots: BTreeMap<&'a str, Vec<&'a Function>>,
    children: BTreeMap<PciAddress, Vec<&'a Function>>,
    owners: BTreeMap<PciAddress, Vec<String>>,
}

impl<'a> Tree<'a> {
    fn of(machine: &'a Machine) -> Self {
        let known: BTreeSet<PciAddress> = machine.functions.iter().map(|f| f.address).collect();
        let mut tree = Self {
            nodes: BTreeMap::new(),
            roots: BTreeMap::new(),
            children: BTreeMap::new(),
            owners: owners(machine),
        };
        for function in &machine.functions {
            tree.nodes.entry(&function.root).or_default().extend(function.node);
            match function.parent.filter(|parent| known.contains(parent)) {
                Some(parent) => tree.children.entry(parent).or_default().push(function),
                None => tree.roots.entry(&function.root).or_default().push(function),
            }
        }
        tree
    }

    fn nodes_of_root(&self, root: &str) -> Vec<NodeId> {
        self.nodes.get(root).into_iter().flatten().copied().collect()
    }

    fn root_row(&self, root: &str) -> Row {
        let node = nodes_text(&self.nodes_of_root(root));
        let left = Line::of(Role::Strong, root).and(Role::Dim, format!(" · {node}"));
        Row { left, cells: Default::default() }
    }

    /// Walks with a stack of its own: a hostile tree may be deeper than ours.
    fn below(&self, tops: &[&'a Function], root: &str, rows: &mut Vec<Row>) {
        let root_nodes = self.nodes_of_root(root);
        let root_node = root_nodes.first().copied().filter(|_| root_nodes.len() == 1);
        let mut seen = BTreeSet::new();
        let mut waiting: Vec<(&'a Function, String, bool)> = Vec::new();
        push_level(&mut waiting, tops, "");
        while let Some((function, indent, is_last)) = waiting.pop() {
            if !seen.insert(function.address) {
                continue;
            }
            rows.push(self.row(function, &indent, is_last, root_node));
            let next = format!("{indent}{}", if is_last { "   " } else { "│  " });
            if text::width(&next) <= DEEPEST * 3 {
                let below = self.children.get(&function.address).map_or(&[][..], Vec::as_slice);
                push_level(&mut waiting, below, &next);
            }
        }
    }

    fn row(&self, function: &Function, indent: &str, is_last: bool, root: Option<NodeId>) -> Row {
        let branch = if is_last { "└─ " } else { "├─ " };
        let mut left = Line::of(Role::Dim, format!("{indent}{branch}"))
            .and(Role::Plain, function.address.to_string());
        if function.node != root {
            left.push(Role::Warn, format!("  {}", words::node(function.node)));
        }
        left.push(Role::Plain, format!("  {}", name(function)));
        let (role, link) = words::function_link(Some(function));
        let mark = if role == Role::Warn { " ◂" } else { "" };
        let owner = self.owners.get(&function.address);
        let owner = owner.map(|owner| names::compact(owner.iter().map(String::as_str)));
        let place = [Some(words::slot(function)).filter(|slot| !slot.is_empty()), owner];
        let place = place.into_iter().flatten().collect::<Vec<_>>().join("  ");
        let driver = function.driver.clone().unwrap_or_default();
        let cells = [(Role::Dim, driver), (role, format!("{link}{mark}")), (Role::Strong, place)];
        Row { left, cells }
    }
}

/// Pushes a level in reverse, so that it comes off the stack in order.
fn push_level<'a>(
    waiting: &mut Vec<(&'a Function, String, bool)>,
    level: &[&'a Function],
    indent: &str,
) {
    for (number, function) in level.iter().rev().enumerate() {
        waiting.push((function, indent.to_owned(), number == 0));
    }
}

/// What a function is; bridges by what they are, since their names say little else.
fn name(function: &Function) -> String {
    if function.vendor == 0 {
        return "cannot be read".to_owned();
    }
    format!("{}{}", words::port(function), words::function_name(function))
}

/// The most that a driver, a link and a place take where the names on the left need the room.
const CAPS: [usize; 3] = [12, 24, 30];

/// Widths of the three cells: as wide as they are where all fits, else capped.
fn widths(rows: &[Row], columns: usize) -> [usize; 3] {
    let mut widths = [0; 3];
    for row in rows {
        for (width, (_, text)) in widths.iter_mut().zip(&row.cells) {
            *width = text::width(text).max(*width);
        }
    }
    let longest = rows.iter().map(|row| row.left.width()).max().unwrap_or(0);
    if longest + right(&widths) > columns {
        widths.iter_mut().zip(CAPS).for_each(|(width, cap)| *width = cap.min(*width));
    }
    widths
}

/// Columns of the cells with the gaps before them.
fn right(widths: &[usize; 3]) -> usize {
    widths.iter().filter(|width| **width > 0).map(|width| width + 2).sum()
}

fn lines(rows: Vec<Row>, columns: usize) -> Vec<Line> {
    let widths = widths(&rows, columns);
    let right = right(&widths);
    let longest = rows.iter().map(|row| row.left.width()).max().unwrap_or(0);
    let left = longest.min(columns.saturating_sub(right)).max(columns / 3);
    rows.into_iter()
        .map(|row| {
            if row.cells.iter().all(|(_, text)| text.is_empty()) {
                return row.left.cut(columns);
            }
            let mut line = row.left.fitted(left);
            for (number, ((role, text), width)) in (0..).zip(row.cells.into_iter().zip(widths)) {
                if width > 0 {
                    line.push(Role::Plain, "  ");
                    let cell = Line::of(role, text);
                    // The last one has what is left of the line.
                    line.append(if number == 2 { cell } else { cell.fitted(width) });
                }
            }
            line.cut(columns)
        })
        .collect()
}
