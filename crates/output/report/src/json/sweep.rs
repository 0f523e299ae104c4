// SPDX-License-Identifier: MIT OR Apache-2.0
//! `sweep/1`: a grid of runs, each of which is kept as `run/1` by itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A grid of loads on the same targets, and what each gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sweep {
    /// `sweep/1`.
    pub schema: String,
    /// When it began: RFC 3339, UTC.
    pub started: String,
    /// What is measured.
    pub targets: Vec<String>,
    /// What varies, the slowest first; values are in the order in which they were asked.
    pub axes: Vec<SweepAxis>,
    /// The combinations in the order in which they were run.
    pub cells: Vec<SweepCell>,
    /// Where more in flight brought no more, one a line of cells that differ in nothing else.
    pub knees: Vec<SweepKnee>,
    /// The first cell once more at the end; null where that was not reached.
    pub drift: Option<SweepDrift>,
}

/// Something that varies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SweepAxis {
    /// The option: `iodepth`, `bs`, `rw`, `numjobs`, `rwmixread`, `rate-iops`, `place`, `devices`.
    pub name: String,
    /// As they were typed.
    pub values: Vec<String>,
}

/// One combination.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepCell {
    /// The place of its value on each axis.
    pub at: Vec<usize>,
    /// The id of its run; null where it was not run.
    pub run: Option<String>,
    /// `measured`, `failed`, `cancelled`, `refused`, or `skipped` where more would have brought no more.
    pub outcome: String,
    /// Why it has no number.
    pub why: Option<String>,
    /// Operations a second of all directions.
    pub iops: Option<f64>,
    /// Bytes a second of all directions.
    pub bytes_per_second: Option<f64>,
    /// Operations in flight, on average over time.
    pub mean_depth: Option<f64>,
    /// Median latency in ns of the first direction.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the same, in ns.
    pub p99_ns: Option<u64>,
    /// CPU time an operation in ns.
    pub cpu_ns_per_op: Option<f64>,
    /// What speaks against the numbers.
    pub doubts: Vec<String>,
}

/// The last cell of a line that was worth it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepKnee {
    /// The cell, by its place on each axis.
    pub at: Vec<usize>,
    /// Why the next one is not worth it.
    pub why: String,
}

/// The first cell, run once more at the end: what else than the loads has changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepDrift {
    /// Operations a second at first.
    pub first_iops: f64,
    /// Operations a second at the end.
    pub last_iops: f64,
    /// What the last is above the first, in percent of it.
    pub percent: f64,
}

impl SweepCell {
    /// A cell without a number.
    pub fn without(at: Vec<usize>, outcome: &str, why: Option<String>) -> Self {
        Self {
            at,
            run: None,
            outcome: outcome.to_owned(),
            why,
            iops: None,
            bytes_per_second: None,
            mean_depth: None,
            p50_ns: None,
            p99_ns: None,
            cpu_ns_per_op: None,
            doubts: Vec::new(),
        }
    }

    /// What came of a run at a place.
    pub fn of(at: Vec<usize>, run: &record::Run) -> Self {
        let (outcome, why) = match &run.outcome {
            record::Outcome::Measured(_) => ("measured", None),
            record::Outcome::Failed(failed) => ("failed", Some(failed.why.clone())),
            record::Outcome::Cancelled => ("cancelled", None),
        };
        let id = Some(run.id.clone());
        let cell = Self { run: id, ..Self::without(at, outcome, why) };
        let Some(measured) = run.outcome.measured() else { return cell };
        let sum = |of: fn(&record::Direction) -> f64| measured.directions.iter().map(of).sum();
        let latency = measured.directions.iter().find_map(|direction| direction.latency.as_ref());
        let percentile = |percent| latency.and_then(|latency| latency.percentile(percent));
        Self {
            iops: Some(sum(|direction| direction.iops)),
            bytes_per_second: Some(sum(|direction| direction.bytes_per_second)),
            mean_depth: measured.mean_depth,
            p50_ns: percentile(50.0),
            p99_ns: percentile(99.0),
            cpu_ns_per_op: measured.cpu_ns_per_op,
            doubts: measured.doubts.iter().map(|doubt| doubt.text.clone()).collect(),
            ..cell
        }
    }
}
