// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sweep: its cells as a table with bars, as maps of shades, and as a picture.
//!
//! ```text
//! one thing varies   ─> a row a value: rate, latencies, a bar, the knee marked
//! several things vary ─> maps: a row a value of the last but one, a column a value of the last
//! ```

mod map;
mod picture;
mod table;

#[cfg(test)]
mod tests;

use crate::frame::{field, field_in, paragraph};
use crate::json::{Sweep, SweepCell};
use crate::runs::{grouped, rate};
use crate::style::{Line, Role, Style, paint};

pub use picture::picture;

/// Columns of the labels.
const LABEL: usize = 14;

/// Percent that the first cell may differ from itself at the end without being told.
const DRIFT_PERCENT: f64 = 5.0;

/// Draws a sweep.
pub fn draw(sweep: &Sweep, style: &Style) -> String {
    let columns = style.columns();
    let mut lines = field("targets", &sweep.targets.join(", "), LABEL, columns);
    lines.push(Line::default());
    match sweep.axes.as_slice() {
        [] | [_] => lines.extend(table::lines(sweep, columns)),
        _ => lines.extend(map::lines(sweep, columns)),
    }
    lines.extend(knees(sweep, columns));
    lines.extend(remarks(sweep, columns));
    paint(&lines, style)
}

/// What a sweep is drawn by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    Operations,
    Bytes,
    P99,
}

impl Measure {
    /// Bytes where sizes vary: operations of different sizes cannot be compared.
    fn of(sweep: &Sweep) -> Self {
        let is_size = sweep.axes.iter().any(|axis| axis.name == "bs");
        if is_size { Self::Bytes } else { Self::Operations }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Operations => "operations a second",
            Self::Bytes => "bytes a second",
            Self::P99 => "99th percentile of latency",
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "four digits are shown")]
    fn value(self, cell: &SweepCell) -> Option<f64> {
        match self {
            Self::Operations => cell.iops,
            Self::Bytes => cell.bytes_per_second,
            Self::P99 => cell.p99_ns.map(|ns| ns as f64),
        }
    }

    /// A value in few letters: `904k`, `3.70 GB/s`, `85.0 us`.
    fn short(self, value: f64) -> String {
        match self {
            Self::Operations => thousands(value),
            Self::Bytes => rate(value),
            Self::P99 => crate::runs::time(value),
        }
    }
}

/// A number in four letters or five: `12.3`, `904k`, `1.52M`.
fn thousands(value: f64) -> String {
    let (value, unit) = match value {
        value if value < 1e3 => (value, ""),
        value if value < 1e6 => (value / 1e3, "k"),
        value => (value / 1e6, "M"),
    };
    let digits = usize::from(value < 99.95) + usize::from(value < 9.995);
    format!("{value:.digits$}{unit}")
}

/// What a cell without a number says instead.
fn missing(cell: Option<&SweepCell>) -> &'static str {
    match cell.map(|cell| cell.outcome.as_str()) {
        Some("skipped") => "-",
        Some("failed") => "failed",
        Some("refused") => "refused",
        _ => "",
    }
}

fn cell<'a>(sweep: &'a Sweep, at: &[usize]) -> Option<&'a SweepCell> {
    sweep.cells.iter().find(|cell| cell.at == at)
}

/// The value of an axis at a place, with its option: `iodepth=32`.
fn named(sweep: &Sweep, axis: usize, at: usize) -> String {
    let value = sweep.axes.get(axis).and_then(|axis| Some((&axis.name, axis.values.get(at)?)));
    value.map_or_else(String::new, |(name, value)| format!("{name}={value}"))
}

fn names(sweep: &Sweep, at: &[usize]) -> String {
    let names: Vec<String> =
        at.iter().enumerate().map(|(axis, at)| named(sweep, axis, *at)).collect();
    names.join(" ")
}

fn knees(sweep: &Sweep, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for knee in &sweep.knees {
        let text = format!("{}: {}", names(sweep, &knee.at), knee.why);
        lines.extend(field("knee", &text, LABEL, columns));
    }
    if !lines.is_empty() {
        lines.insert(0, Line::default());
    }
    lines
}

fn remarks(sweep: &Sweep, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(drift) = &sweep.drift {
        let text = format!(
            "the first cell gave {} operations a second at first and {} at the end, {:+.1} %",
            grouped(drift.first_iops),
            grouped(drift.last_iops),
            drift.percent
        );
        let is_far = drift.percent.abs() > DRIFT_PERCENT;
        let role = if is_far { Role::Warn } else { Role::Plain };
        let more = ": what lies between cells may be the machine's, not the load's";
        let text = if is_far { format!("{text}{more}") } else { text };
        lines.extend(field_in(role, "drift", &text, LABEL, columns));
    }
    for (doubt, cells) in doubts(sweep) {
        let text = format!("{doubt} ({cells})");
        lines.extend(field_in(Role::Warn, "in doubt", &text, LABEL, columns));
    }
    let failed = sweep.cells.iter().filter_map(|cell| Some((cell, cell.why.as_ref()?)));
    for (cell, why) in failed {
        let text = format!("{}: {why}", names(sweep, &cell.at));
        lines.extend(field_in(Role::Bad, &cell.outcome, &text, LABEL, columns));
    }
    if sweep.cells.iter().any(|cell| cell.outcome == "skipped") {
        let text = "- was not run: two steps before it had brought nothing (--all runs all)";
        lines.extend(paragraph(Role::Dim, text, 0, columns));
    }
    if !lines.is_empty() {
        lines.insert(0, Line::default());
    }
    lines
}

/// Doubts without their figures, and how many cells have them: ten cells of one doubt are a line.
fn doubts(sweep: &Sweep) -> Vec<(String, String)> {
    let mut alike: Vec<(String, Vec<&SweepCell>, &str)> = Vec::new();
    for cell in &sweep.cells {
        for doubt in &cell.doubts {
            let kind: String = doubt.chars().filter(|c| c.is_alphabetic()).collect();
            match alike.iter_mut().find(|(known, ..)| *known == kind) {
                Some((_, cells, _)) => cells.push(cell),
                None => alike.push((kind, vec![cell], doubt)),
            }
        }
    }
    let told = alike.into_iter().map(|(_, cells, doubt)| {
        let of = match cells.as_slice() {
            [one] => names(sweep, &one.at),
            [one, ..] => format!("{} and {} others", names(sweep, &one.at), cells.len() - 1),
            [] => String::new(),
        };
        (doubt.to_owned(), of)
    });
    told.collect()
}
