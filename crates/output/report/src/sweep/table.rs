// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sweep over one thing: a row a value.

use super::{Measure, cell, missing};
use crate::frame::Table;
use crate::json::{Sweep, SweepCell};
use crate::runs::{iops, rate, time, time_of};
use crate::style::{Line, Role};

/// Columns of the longest bar.
const BAR: usize = 24;

pub(super) fn lines(sweep: &Sweep, columns: usize) -> Vec<Line> {
    let mut table = Table::new(6);
    let name = sweep.axes.first().map_or("", |axis| axis.name.as_str()).to_uppercase();
    table.heading(&[&name, "IOPS", "RATE", "P50", "P99", "CPU/OP", ""]);
    let measure = Measure::of(sweep);
    let highest = sweep.cells.iter().filter_map(|cell| measure.value(cell)).fold(0.0, f64::max);
    let none = Vec::new();
    let values = sweep.axes.first().map_or(&none, |axis| &axis.values);
    for (at, value) in values.iter().enumerate() {
        let found = cell(sweep, &[at]);
        let mut row = vec![(Role::Strong, value.clone())];
        row.extend(figures(found));
        let is_knee = sweep.knees.iter().any(|knee| knee.at == [at]);
        let length = found.and_then(|cell| measure.value(cell)).map(|value| bar(value, highest));
        let mark = if is_knee { " ◀ knee" } else { "" };
        let role = if is_knee { Role::Good } else { Role::Plain };
        row.push((role, format!("{}{mark}", length.unwrap_or_default())));
        table.row(row);
    }
    table.lines(columns)
}

fn figures(cell: Option<&SweepCell>) -> Vec<(Role, String)> {
    let Some((cell, operations)) = cell.and_then(|cell| Some((cell, cell.iops?))) else {
        let mut row = vec![(Role::Dim, missing(cell).to_owned())];
        row.resize(5, (Role::Dim, String::new()));
        return row;
    };
    let texts = [
        Some(iops(operations).trim_end_matches(" IOPS").to_owned()),
        cell.bytes_per_second.map(rate),
        cell.p50_ns.map(time_of),
        cell.p99_ns.map(time_of),
        cell.cpu_ns_per_op.map(time),
    ];
    texts.map(|text| (Role::Plain, text.unwrap_or_default())).to_vec()
}

/// A bar in eighths of a column.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a few columns"
)]
pub(super) fn bar(value: f64, highest: f64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = if highest > 0.0 { (value / highest).clamp(0.0, 1.0) } else { 0.0 };
    let eighths = (share * (BAR * 8) as f64).round() as usize;
    let part = PARTS.get(eighths % 8).copied().unwrap_or_default();
    format!("{}{part}", "█".repeat(eighths / 8))
}
