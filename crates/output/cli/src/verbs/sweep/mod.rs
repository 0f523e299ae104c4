// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside sweep`: a grid of loads on the same targets, one run a cell.
//!
//! What loads more comes last and rising, so that a line of cells can end where more brings no more.
//! The first cell is run once more at the end: what else has changed than the loads.

mod axes;

use std::path::Path;

use analyse::{KneeWhy, Point};
use record::Run;
use report::json::{SweepCell, SweepDrift, SweepKnee};
use root::Overwrite;

use self::axes::{Axes, Cell};
use super::bench::{self, Asked, Chosen, Ground};
use super::topology::write_picture;
use crate::args::{Common, Sweep};
use crate::expected::{Ended, Expected};
use crate::terminal;

pub(crate) fn run(common: &Common, sweep: &Sweep) -> Result<Ended, Expected> {
    bench::refuse_early(common, &sweep.means)?;
    let axes = Axes::of(sweep)?;
    let cells = axes.cells();
    let most = sweep.cells.get();
    if cells.len() > usize::try_from(most).unwrap_or(usize::MAX) {
        let what = format!("{} cells are more than {most}", cells.len());
        return Err(Expected::usage(what, "vary less, or allow them: --cells N"));
    }
    // Before an hour of measuring, not after it.
    if let Some(file) = sweep.svg.as_deref().filter(|file| !sweep.force && file.exists()) {
        return Err(cannot_write(file, "it is there already"));
    }
    let ground = Ground::open(&sweep.means)?;
    let size = sweep.load.size.as_deref();
    let reads = cells.iter().all(|cell| cell.load.reads());
    let chosen = bench::choose(&ground, &sweep.target, size, reads)?;
    let laid = chosen.lay_out(&ground, reads)?;
    let mut going = Going { sweep, ground: &ground, chosen: &laid.chosen, runs: Vec::new() };
    chosen.said.iter().for_each(|said| terminal::hint(said));
    let document = going.all(&axes, cells)?;
    drop(laid.files);
    if common.json {
        terminal::document(&document)?;
    } else {
        terminal::answer(&report::sweep::draw(&document, &terminal::style(common.color)))?;
    }
    if let Some(svg) = &sweep.svg {
        write_picture(&report::sweep::picture(&document), svg, sweep.overwrite())?;
    }
    let is_refused = document.cells.iter().any(|cell| cell.outcome == "refused");
    Ok(if is_refused { Ended::Impossible } else { bench::ended(&going.runs) })
}

impl Sweep {
    fn overwrite(&self) -> Overwrite {
        if self.force { Overwrite::Replace } else { Overwrite::Never }
    }
}

fn cannot_write(file: &Path, why: &str) -> Expected {
    let what = format!("cannot write {}: {why}", file.display());
    Expected::precondition(what, "name another file, or give --force")
}

/// A sweep under way.
struct Going<'a> {
    sweep: &'a Sweep,
    ground: &'a Ground,
    chosen: &'a Chosen,
    runs: Vec<Run>,
}

impl Going<'_> {
    fn all(&mut self, axes: &Axes, cells: Vec<Cell>) -> Result<report::json::Sweep, Expected> {
        let started = run::stamp::rfc3339(bench::now_ms());
        let asked = cells.iter().map(|cell| self.ask(cell)).collect::<Result<Vec<_>, _>>()?;
        let count = cells.len();
        terminal::hint(&format!("{count} cells, {}", axes::about(&asked)));
        let mut told = Vec::new();
        let mut line: Vec<Point> = Vec::new();
        for (number, (cell, asked)) in cells.iter().zip(&asked).enumerate() {
            if self.ground.is_stopped() {
                break;
            }
            if axes.begins_a_line(cell) {
                line.clear();
            }
            if analyse::is_past(&line) && !self.sweep.all {
                told.push(SweepCell::without(cell.at.clone(), "skipped", None));
                continue;
            }
            terminal::hint(&format!("{} of {count}: {}", number + 1, axes.names(cell)));
            let found = self.cell(cell, asked, &axes.names(cell))?;
            line.extend(point(asked, &found));
            told.push(found);
        }
        let knees = knees(axes, &cells, &asked, &told);
        let drift = cells.first().zip(asked.first()).and_then(|first| self.drift(first, &told));
        Ok(report::json::Sweep {
            schema: "sweep/1".to_owned(),
            started,
            targets: self.chosen.targets.iter().map(|target| target.path.clone()).collect(),
            axes: axes.told(),
            cells: told,
            knees,
            drift,
        })
    }

    fn ask(&self, cell: &Cell) -> Result<Asked, Expected> {
        bench::ask(self.ground, &self.chosen.first(cell.devices), &cell.load, &cell.means)
    }

    /// One cell, kept as a run. What is refused before it begins refuses the sweep at its first cell,
    /// and is told of a later one.
    fn cell(&mut self, cell: &Cell, asked: &Asked, names: &str) -> Result<SweepCell, Expected> {
        let mut means = cell.means.clone();
        means.note = Some(
            self.sweep
                .means
                .note
                .clone()
                .map_or_else(|| format!("sweep {names}"), |note| format!("{note}: sweep {names}")),
        );
        let runs = match bench::carry_out(self.ground, asked, &means) {
            Ok(runs) => runs,
            Err(error) if self.runs.is_empty() => return Err(error),
            Err(error) => {
                let why = Some(error.to_string());
                return Ok(SweepCell::without(cell.at.clone(), "refused", why));
            }
        };
        bench::keep(&means, &runs)?;
        let found = runs.first().map(|run| SweepCell::of(cell.at.clone(), run));
        self.runs.extend(runs);
        Ok(found.unwrap_or_else(|| SweepCell::without(cell.at.clone(), "failed", None)))
    }

    /// The first cell once more, where all others were reached.
    fn drift(&mut self, (cell, asked): (&Cell, &Asked), told: &[SweepCell]) -> Option<SweepDrift> {
        if told.len() < 2 || self.ground.is_stopped() {
            return None;
        }
        let first_iops = told.first()?.iops?;
        terminal::hint("the first cell once more");
        let last_iops = self.cell(cell, asked, "the first cell again").ok()?.iops?;
        let percent = (last_iops / first_iops - 1.0) * 100.0;
        Some(SweepDrift { first_iops, last_iops, percent })
    }
}

/// What a cell says about more in flight.
#[expect(clippy::cast_precision_loss, reason = "a latency that ratios are made of")]
fn point(asked: &Asked, cell: &SweepCell) -> Option<Point> {
    let workload = &asked.workload;
    Some(Point {
        in_flight: f64::from(workload.thread_count()) * f64::from(workload.depth),
        iops: cell.iops?,
        p99_ns: cell.p99_ns.map(|ns| ns as f64),
    })
}

/// The knee of each line of cells that differ in what is in flight alone.
fn knees(axes: &Axes, cells: &[Cell], asked: &[Asked], told: &[SweepCell]) -> Vec<SweepKnee> {
    let (mut knees, mut line): (Vec<SweepKnee>, Vec<(Point, &[usize])>) = (Vec::new(), Vec::new());
    let mut end = |line: &mut Vec<(Point, &[usize])>| {
        let points: Vec<Point> = line.iter().map(|(point, _)| *point).collect();
        if let Some(knee) = analyse::knee(&points)
            && let Some((_, at)) = line.get(knee.at)
        {
            knees.push(SweepKnee { at: at.to_vec(), why: why(knee.why) });
        }
        line.clear();
    };
    for ((cell, asked), found) in cells.iter().zip(asked).zip(told) {
        if axes.begins_a_line(cell) {
            end(&mut line);
        }
        line.extend(point(asked, found).map(|point| (point, cell.at.as_slice())));
    }
    end(&mut line);
    knees
}

fn why(why: KneeWhy) -> String {
    match why {
        KneeWhy::Gain(gain) => {
            let percent = (gain * 100.0).max(0.0);
            format!(
                "at the next one, twice as much in flight brings {percent:.0} % more operations"
            )
        }
        KneeWhy::Latency(times) => {
            format!("at the next one the 99th percentile is {times:.1} times the first one's")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_sentences() {
        assert!(why(KneeWhy::Gain(-0.01)).contains(" 0 % more"));
        assert!(why(KneeWhy::Latency(2.54)).contains("2.5 times"));
    }
}
