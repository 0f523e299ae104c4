// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lane budget: what the devices of each root complex could ask for at once.

use machine::{Machine, RootLanes};
use units::{ByteRate, PciAddress};

use crate::frame::{Table, paragraph};
use crate::style::{Line, Role, Style, paint};
use crate::topology::owners;
use crate::{names, text, words};

/// Draws the lane budget.
pub fn draw(machine: &Machine, style: &Style) -> String {
    let columns = style.columns();
    let roots = machine.lanes();
    let mut lines = summary(machine, &roots, columns);
    let owners = owners(machine);
    for root in &roots {
        lines.push(Line::default());
        lines.extend(heading(root, columns));
        let mut table = Table::new(4);
        for part in &root.used_by {
            let generation = part.generation.map_or_else(String::new, |gen_| format!("Gen{gen_} "));
            let function = machine.function(part.function);
            let name = function.map_or_else(String::new, words::function_name);
            // The functions of one card share a link: each port's name belongs to it.
            let card = owners.iter().filter(|(address, _)| is_one_card(**address, part.function));
            let owner = names::compact(card.flat_map(|(_, all)| all).map(String::as_str));
            table.row(vec![
                (Role::Plain, format!("  {}", part.function)),
                (Role::Plain, format!("{generation}x{}", part.lanes)),
                (Role::Plain, format!("{:>9}", part.rate.to_string())),
                (Role::Plain, format!("{:>4}", percent(part.share))),
                (Role::Dim, name),
                (Role::Strong, owner),
            ]);
        }
        lines.extend(table.lines(columns));
    }
    paint(&lines, style)
}

fn summary(machine: &Machine, roots: &[RootLanes], columns: usize) -> Vec<Line> {
    if roots.is_empty() {
        let reason = if machine.functions.is_empty() {
            "no PCI functions"
        } else {
            "no function tells of its link: a virtual machine hides it, or all are part of the chip"
        };
        return paragraph(Role::Plain, &format!("no lanes to count: {reason}"), 0, columns);
    }
    let lanes: u64 = roots.iter().map(|root| u64::from(root.lanes)).sum();
    let rate = ByteRate(roots.iter().map(|root| root.rate.0).sum());
    let text = format!(
        "{lanes} lanes in use, {rate} in each direction if all devices ran at the best of their \
         links at once; a root complex itself may carry less"
    );
    paragraph(Role::Plain, &text, 0, columns)
}

fn heading(root: &RootLanes, columns: usize) -> Vec<Line> {
    let generations: Vec<String> = root
        .by_generation
        .iter()
        .rev()
        .map(|(generation, lanes)| format!("{lanes} of Gen{generation}"))
        .collect();
    let name = Line::of(Role::Strong, &root.root).and(Role::Dim, format!(" · {}", node(root)));
    let sum = format!("{} lanes ({}) · {}", root.lanes, generations.join(", "), root.rate);
    if name.width() + 3 + text::width(&sum) > columns {
        return vec![name.cut(columns), Line::of(Role::Dim, format!("  {sum}")).cut(columns)];
    }
    vec![name.and(Role::Dim, format!(" · {sum}"))]
}

/// `node 1`; where the devices below one root complex disagree, all that they say.
fn node(root: &RootLanes) -> String {
    if root.nodes.len() < 2 {
        return words::node(root.node());
    }
    let nodes: Vec<String> = root.nodes.iter().map(ToString::to_string).collect();
    format!("told to be on nodes {}", nodes.join(" and "))
}

fn is_one_card(a: PciAddress, b: PciAddress) -> bool {
    (a.domain, a.bus, a.device) == (b.domain, b.bus, b.device)
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}
