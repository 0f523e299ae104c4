// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sweep as one SVG document: curves where one thing varies, maps of colour where several do.
//!
//! The picture stands alone, as that of the machine does: no script, no font, nothing from outside.

use std::fmt::Write as _;

use super::{Measure, cell, map, missing, named};
use crate::json::{Sweep, SweepCell};
use crate::svg::escape;

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 24.0;
/// A curve's field: left edge, width and height.
const FIELD: (f64, f64, f64) = (110.0, 800.0, 240.0);

const STYLE: &str = "\
.paper{fill:#fff}.text,.strong{fill:#1b1f24}.strong{font-weight:bold}.dim{fill:#57606a}\
.grid{stroke:#d0d7de}.axis{stroke:#57606a}.one{stroke:#1f6feb;fill:none;stroke-width:2}\
.onedot{fill:#1f6feb}.two{stroke:#bc4c00;fill:none;stroke-width:2;stroke-dasharray:6 3}\
.twodot{fill:#bc4c00}.knee{stroke:#2f7d4f;stroke-dasharray:2 3;stroke-width:2}.kneetext{fill:#2f7d4f;\
font-weight:bold}.none{fill:#f6f8fa;stroke:#d0d7de}\
@media (prefers-color-scheme:dark){.paper{fill:#0d1117}.text,.strong{fill:#e6edf3}.dim{fill:#9da7b3}\
.grid{stroke:#30363d}.axis{stroke:#9da7b3}.none{fill:#161b22;stroke:#30363d}}";

/// Draws a sweep as an SVG document.
pub fn picture(sweep: &Sweep) -> String {
    let mut canvas = Canvas::default();
    let targets = sweep.targets.join(", ");
    canvas.text((MARGIN, 36.0), 18, "strong", &format!("nearside sweep of {targets}"));
    canvas.text((MARGIN, 56.0), 12, "dim", &sweep.started);
    let bottom = match sweep.axes.as_slice() {
        [] | [_] => curves(&mut canvas, sweep, 80.0),
        _ => maps(&mut canvas, sweep, 80.0),
    };
    canvas.finish(bottom + MARGIN)
}

/// A document being drawn.
#[derive(Debug, Default)]
struct Canvas(String);

impl Canvas {
    // Writing to a String cannot fail.

    fn text(&mut self, (x, y): (f64, f64), size: u32, class: &str, text: &str) {
        self.placed((x, y), size, class, "start", text);
    }

    fn placed(&mut self, (x, y): (f64, f64), size: u32, class: &str, anchor: &str, text: &str) {
        let text = escape(&crate::text::harmless(text));
        let _ = writeln!(
            self.0,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" \
             text-anchor=\"{anchor}\">{text}</text>"
        );
    }

    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        let _ = writeln!(
            self.0,
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        );
    }

    fn curve(&mut self, points: &[(f64, f64)], class: &str) {
        let places: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(self.0, "<polyline class=\"{class}\" points=\"{}\"/>", places.join(" "));
        for (x, y) in points {
            let dot = format!("<circle class=\"{class}dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>");
            let _ = writeln!(self.0, "{dot}");
        }
    }

    fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), fill: &str) {
        let _ = writeln!(
            self.0,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" {fill}/>"
        );
    }

    fn finish(self, height: f64) -> String {
        let body = self.0;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {WIDTH} {height:.0}\" \
             font-family=\"'DejaVu Sans',Verdana,'Segoe UI',sans-serif\">\n<style>{STYLE}</style>\n\
             <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height:.0}\"/>\n{body}</svg>\n"
        )
    }
}

/// Two fields over one axis: the rate above, latencies below.
fn curves(canvas: &mut Canvas, sweep: &Sweep, top: f64) -> f64 {
    let rate = Measure::of(sweep);
    let value = move |cell: &SweepCell| rate.value(cell);
    let middle = field(canvas, sweep, top, &Plot { measure: rate, of: &[("one", &value)] });
    let p50 = |cell: &SweepCell| cell.p50_ns.map(real);
    let p99 = |cell: &SweepCell| cell.p99_ns.map(real);
    let plot = Plot { measure: Measure::P99, of: &[("one", &p50), ("two", &p99)] };
    let bottom = field(canvas, sweep, middle + 46.0, &plot);
    let name = sweep.axes.first().map_or("", |axis| axis.name.as_str());
    canvas.placed((FIELD.0 + FIELD.1 / 2.0, bottom + 40.0), 13, "text", "middle", name);
    bottom + 40.0
}

type Of<'a> = &'a dyn Fn(&SweepCell) -> Option<f64>;

/// What a field shows: curves by their class.
struct Plot<'a> {
    measure: Measure,
    of: &'a [(&'static str, Of<'a>)],
}

impl Plot<'_> {
    fn title(&self) -> &'static str {
        match self.measure {
            Measure::P99 => "latency: median (full line), 99th percentile (dashed)",
            other => other.title(),
        }
    }
}

/// One field from zero to what is round above the highest. Gives its lower edge.
fn field(canvas: &mut Canvas, sweep: &Sweep, top: f64, plot: &Plot<'_>) -> f64 {
    let (left, width, height) = FIELD;
    let bottom = top + 24.0 + height;
    canvas.text((left, top + 12.0), 13, "text", plot.title());
    let all = plot.of.iter().flat_map(|(_, of)| sweep.cells.iter().filter_map(|cell| of(cell)));
    let highest = round_above(all.fold(0.0, f64::max));
    for step in 0..=4 {
        let share = f64::from(step) / 4.0;
        let y = bottom - share * height;
        canvas.line((left, y), (left + width, y), if step == 0 { "axis" } else { "grid" });
        let label = plot.measure.short(share * highest);
        let label = if step == 0 { "0" } else { label.as_str() };
        canvas.placed((left - 8.0, y + 4.0), 12, "dim", "end", label);
    }
    let x = |at: usize| left + width * (index(at) + 0.5) / index(values(sweep).max(1));
    for at in 0..values(sweep) {
        let value = sweep.axes.first().and_then(|axis| axis.values.get(at));
        let label = value.map_or("", String::as_str);
        canvas.placed((x(at), bottom + 18.0), 12, "dim", "middle", label);
    }
    for knee in &sweep.knees {
        let [at] = knee.at.as_slice() else { continue };
        canvas.line((x(*at), top + 24.0), (x(*at), bottom), "knee");
        canvas.text((x(*at) + 6.0, top + 36.0), 12, "kneetext", "knee");
    }
    for (class, of) in plot.of {
        let points = (0..values(sweep)).filter_map(|at| {
            let value = of(cell(sweep, &[at])?)?;
            Some((x(at), bottom - value / highest * height))
        });
        canvas.curve(&points.collect::<Vec<_>>(), class);
    }
    bottom
}

fn values(sweep: &Sweep) -> usize {
    sweep.axes.first().map_or(0, |axis| axis.values.len())
}

/// 1, 2, 2.5, 4, 5 or 8 times a power of ten, at or above a value: what divides by four well.
fn round_above(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10.0_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 2.5, 4.0, 5.0, 8.0, 10.0];
    let fit = steps.into_iter().find(|step| step * power >= value * (1.0 - 1e-9));
    fit.unwrap_or(10.0) * power
}

/// A map for each combination of what varies beside the last two, and for each measure.
fn maps(canvas: &mut Canvas, sweep: &Sweep, top: f64) -> f64 {
    let mut top = top;
    for outer in map::outer_places(sweep) {
        for measure in [Measure::of(sweep), Measure::P99] {
            let names = outer.iter().enumerate().map(|(axis, at)| named(sweep, axis, *at));
            let title: Vec<String> =
                names.chain(std::iter::once(measure.title().to_owned())).collect();
            canvas.text((MARGIN, top + 14.0), 14, "strong", &title.join(" · "));
            top = colours(canvas, sweep, (&outer, measure), top + 26.0) + 30.0;
        }
    }
    if !sweep.knees.is_empty() {
        let text = "framed in green: the knee, beyond which more in flight is not worth it";
        canvas.text((MARGIN, top), 12, "dim", text);
        top += 16.0;
    }
    top - 20.0
}

/// One map. Gives its lower edge.
fn colours(
    canvas: &mut Canvas,
    sweep: &Sweep,
    (outer, measure): (&[usize], Measure),
    top: f64,
) -> f64 {
    const HEIGHT: f64 = 30.0;
    let [.., down, across] = sweep.axes.as_slice() else { return top };
    let left = FIELD.0 + 30.0;
    let width = ((WIDTH - MARGIN - left) / index(across.values.len().max(1))).min(120.0);
    let place = |row: usize, column: usize| [outer, &[row, column]].concat();
    let value = |row, column| cell(sweep, &place(row, column)).and_then(|c| measure.value(c));
    let all = (0..down.values.len())
        .flat_map(|row| (0..across.values.len()).map(move |column| (row, column)));
    let known: Vec<f64> = all.filter_map(|(row, column)| value(row, column)).collect();
    let corner = format!("{} \\ {}", down.name, across.name);
    canvas.placed((left - 8.0, top + 14.0), 12, "dim", "end", &corner);
    for (column, name) in across.values.iter().enumerate() {
        let x = left + width * (index(column) + 0.5);
        canvas.placed((x, top + 14.0), 12, "dim", "middle", name);
    }
    for (row, name) in down.values.iter().enumerate() {
        let y = top + 22.0 + HEIGHT * index(row);
        canvas.placed((left - 8.0, y + 20.0), 12, "text", "end", name);
        for column in 0..across.values.len() {
            let (x, at) = (left + width * index(column), place(row, column));
            let is_knee = sweep.knees.iter().any(|knee| knee.at == at);
            let tile = Tile { corner: (x, y), size: (width, HEIGHT), is_knee };
            match value(row, column) {
                Some(value) => {
                    tile.full(canvas, map::share(value, &known), &measure.short(value));
                }
                None => tile.empty(canvas, missing(cell(sweep, &at))),
            }
        }
    }
    top + 22.0 + HEIGHT * index(down.values.len())
}

/// A cell of a map.
struct Tile {
    corner: (f64, f64),
    size: (f64, f64),
    is_knee: bool,
}

impl Tile {
    /// From pale to deep blue; the text is dark on the pale and white on the deep ones.
    fn full(&self, canvas: &mut Canvas, share: f64, text: &str) {
        let mix = |pale: f64, deep: f64| pale + (deep - pale) * share;
        let (red, green, blue) = (mix(222.0, 8.0), mix(235.0, 69.0), mix(247.0, 148.0));
        let fill = format!("fill=\"rgb({red:.0},{green:.0},{blue:.0})\" stroke=\"#fff\"");
        canvas.rect(self.corner, self.size, &fill);
        if self.is_knee {
            let (x, y) = self.corner;
            let inner = (self.size.0 - 4.0, self.size.1 - 4.0);
            let edge = "fill=\"none\" stroke=\"#2f7d4f\" stroke-width=\"3\"";
            canvas.rect((x + 2.0, y + 2.0), inner, edge);
        }
        let ink = if share > 0.5 { "#ffffff" } else { "#1b1f24" };
        let place = self.middle();
        let text = escape(text);
        let _ = writeln!(
            canvas.0,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"12\" text-anchor=\"middle\" \
             fill=\"{ink}\">{text}</text>",
            place.0, place.1
        );
    }

    fn empty(&self, canvas: &mut Canvas, text: &str) {
        canvas.rect(self.corner, self.size, "class=\"none\"");
        canvas.placed(self.middle(), 12, "dim", "middle", text);
    }

    fn middle(&self) -> (f64, f64) {
        (self.corner.0 + self.size.0 / 2.0, self.corner.1 + self.size.1 / 2.0 + 4.0)
    }
}

#[expect(clippy::cast_precision_loss, reason = "the place of a value on an axis")]
fn index(at: usize) -> f64 {
    at as f64
}

#[expect(clippy::cast_precision_loss, reason = "a latency that is drawn")]
fn real(ns: u64) -> f64 {
    ns as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_figures() {
        for (value, wanted) in
            [(0.0, 1.0), (1.0, 1.0), (1.01, 2.0), (21_000.0, 25_000.0), (8.1e5, 1e6), (4e9, 4e9)]
        {
            let found = round_above(value);
            assert!((found / wanted - 1.0).abs() < 1e-9, "{value}: {found}");
        }
    }
}
