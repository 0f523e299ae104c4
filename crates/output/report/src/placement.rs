// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a command runs, and why, for a person.

use place::{Memory, Placement, Policy};

use crate::frame::{field, field_in};
use crate::style::{Line, Role, Style, paint};
use crate::text;

/// Columns of the labels.
const LABEL: usize = 10;

/// Draws a placement.
pub fn draw(placement: &Placement, style: &Style) -> String {
    let columns = style.columns();
    let cores = match placement.cores.len() {
        0 => String::new(),
        count => format!("   {}", text::count(count, "core")),
    };
    let cpus = format!("{}{cores}", placement.cpus);
    let mut lines = field_in(Role::Strong, "CPUs", &cpus, LABEL, columns);
    lines.extend(field("memory", &memory(&placement.memory), LABEL, columns));
    let left_out: Vec<String> = placement.left_out.iter().map(ToString::to_string).collect();
    lines.extend(several(Role::Plain, "because", &placement.because, columns));
    lines.extend(several(Role::Dim, "left out", &left_out, columns));
    lines.extend(several(Role::Warn, "but", &placement.doubts, columns));
    paint(&lines, style)
}

fn several(role: Role, label: &str, texts: &[String], columns: usize) -> Vec<Line> {
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    let lines = labels.zip(texts);
    // Names of volumes and files come from whoever made them.
    let drawn = |(label, text): (&str, &String)| {
        field_in(role, label, &text::harmless(text), LABEL, columns)
    };
    lines.flat_map(drawn).collect()
}

fn memory(memory: &Memory) -> String {
    let nodes = &memory.nodes;
    match memory.policy {
        Policy::Bind => format!("bound to node {nodes}"),
        Policy::Prefer => format!("from node {nodes} while there is some"),
        Policy::Local => "from the node of the CPU that asks".to_owned(),
    }
}
