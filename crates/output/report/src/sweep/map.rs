// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sweep over several things: maps of shades, a row and a column for the last two of them.

use super::{Measure, cell, missing, named};
use crate::frame::Table;
use crate::json::Sweep;
use crate::style::{Line, Role};

/// From the least to the most of a map.
const SHADES: [&str; 5] = ["  ", "░░", "▒▒", "▓▓", "██"];

pub(super) fn lines(sweep: &Sweep, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for outer in outer_places(sweep) {
        for measure in [Measure::of(sweep), Measure::P99] {
            if !lines.is_empty() {
                lines.push(Line::default());
            }
            let names = outer.iter().enumerate().map(|(axis, at)| named(sweep, axis, *at));
            let title: Vec<String> =
                names.chain(std::iter::once(measure.title().to_owned())).collect();
            lines.push(Line::of(Role::Strong, title.join(" · ")));
            lines.extend(map(sweep, &outer, measure, columns));
        }
    }
    lines
}

/// Every combination of what varies beside the last two.
pub(super) fn outer_places(sweep: &Sweep) -> Vec<Vec<usize>> {
    let outer = sweep.axes.len().saturating_sub(2);
    let mut places = vec![Vec::new()];
    for axis in sweep.axes.iter().take(outer) {
        let longer = |place: &Vec<usize>| {
            let place = place.clone();
            (0..axis.values.len()).map(move |at| [place.as_slice(), &[at]].concat())
        };
        places = places.iter().flat_map(longer).collect();
    }
    places
}

fn map(sweep: &Sweep, outer: &[usize], measure: Measure, columns: usize) -> Vec<Line> {
    let [.., down, across] = sweep.axes.as_slice() else { return Vec::new() };
    let place = |row: usize, column: usize| [outer, &[row, column]].concat();
    let value = |row, column| cell(sweep, &place(row, column)).and_then(|c| measure.value(c));
    let all = (0..down.values.len())
        .flat_map(|row| (0..across.values.len()).map(move |column| (row, column)));
    let known: Vec<f64> = all.filter_map(|(row, column)| value(row, column)).collect();
    let mut table = Table::new(0);
    let corner = format!("{} \\ {}", down.name, across.name);
    let heads: Vec<&str> =
        std::iter::once(corner.as_str()).chain(across.values.iter().map(String::as_str)).collect();
    table.heading(&heads);
    for (row, name) in down.values.iter().enumerate() {
        let mut cells = vec![(Role::Strong, name.clone())];
        for column in 0..across.values.len() {
            let at = place(row, column);
            let is_knee = sweep.knees.iter().any(|knee| knee.at == at);
            let text = match value(row, column) {
                None => missing(cell(sweep, &at)).to_owned(),
                Some(value) => {
                    let mark = if is_knee { "◀" } else { "" };
                    format!("{} {}{mark}", shade(value, &known), measure.short(value))
                }
            };
            cells.push((if is_knee { Role::Good } else { Role::Plain }, text));
        }
        table.row(cells);
    }
    table.lines(columns)
}

/// Shades go by the logarithm: a grid of sizes and depths spans three powers of ten.
fn shade(value: f64, known: &[f64]) -> &'static str {
    let step = (share(value, known) * 5.0).min(4.0);
    let at = SHADES.iter().zip(0_u8..).take_while(|(_, at)| f64::from(*at) <= step);
    at.last().map_or(SHADES[0], |(shade, _)| *shade)
}

/// Where a value lies between the least and the most, 0 to 1, by logarithm.
pub(super) fn share(value: f64, known: &[f64]) -> f64 {
    let least = known.iter().copied().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    let most = known.iter().copied().fold(0.0, f64::max);
    let width = (most / least).ln();
    if value <= 0.0 || !width.is_finite() || width <= 0.0 {
        return if value > 0.0 { 1.0 } else { 0.0 };
    }
    ((value / least).ln() / width).clamp(0.0, 1.0)
}
