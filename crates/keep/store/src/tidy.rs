// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs as a tidy table: one value a row, so that any program can filter and group it.

use record::{Direction, Run};

use crate::entry::{kind, word};

/// The columns.
const COLUMNS: [&str; 14] = [
    "id",
    "started",
    "engine",
    "engine_version",
    "note",
    "target",
    "workload_hash",
    "host",
    "kernel",
    "outcome",
    "direction",
    "metric",
    "unit",
    "value",
];

/// The figures of a direction: (name, unit, value).
pub(crate) fn figures(direction: &Direction) -> Vec<(String, &'static str, f64)> {
    let mut figures = vec![
        ("operations".to_owned(), "1", number(direction.operations)),
        ("bytes".to_owned(), "B", number(direction.bytes)),
        ("seconds".to_owned(), "s", direction.seconds),
        ("iops".to_owned(), "1/s", direction.iops),
        ("bytes_per_second".to_owned(), "B/s", direction.bytes_per_second),
    ];
    let mut add = |name: &str, unit, value: Option<f64>| {
        figures.extend(value.map(|value| (name.to_owned(), unit, value)));
    };
    add("cpu_ns_per_op", "ns", direction.cpu_ns_per_op);
    add("late", "1", direction.late.map(number));
    let spans = [("latency", &direction.latency), ("service", &direction.service)];
    for (span, latency) in spans.into_iter().filter_map(|(span, of)| Some((span, of.as_ref()?))) {
        add(&format!("{span}_min"), "ns", latency.min_ns.map(number));
        add(&format!("{span}_mean"), "ns", latency.mean_ns);
        add(&format!("{span}_max"), "ns", latency.max_ns.map(number));
        for told in &latency.percentiles {
            add(&format!("{span}_p{}", told.percent), "ns", Some(number(told.ns)));
        }
    }
    figures
}

#[expect(clippy::cast_precision_loss, reason = "tables are read as 64-bit floats anyway")]
pub(crate) fn number(count: u64) -> f64 {
    count as f64
}

/// Writes runs as CSV (RFC 4180), a head line first. A run without numbers has one row without a
/// value.
pub fn csv(runs: &[Run]) -> String {
    let mut table = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(vec![]);
    // Writing into memory cannot fail.
    let _ = table.write_record(COLUMNS);
    for run in runs {
        let own = own(run);
        let mut row = |direction: &str, metric: &str, unit: &str, value: String| {
            let figures = [direction, metric, unit, &value];
            let fields = own.iter().map(String::as_str).chain(figures);
            let _ = table.write_record(fields);
        };
        let Some(measured) = run.outcome.measured() else {
            row("", "", "", String::new());
            continue;
        };
        for direction in &measured.directions {
            for (name, unit, value) in figures(direction) {
                row(kind(direction.kind), &name, unit, value.to_string());
            }
        }
        // Never submitted, so of no direction.
        if let Some(missed) = measured.missed {
            row("", "missed", "1", missed.to_string());
        }
    }
    String::from_utf8(table.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// What is the same in all rows of a run.
fn own(run: &Run) -> [String; 10] {
    let text = |text: &Option<String>| safe(text.as_deref().unwrap_or_default());
    let targets = run.workload.as_ref().map(|workload| workload.targets.iter());
    let targets: Vec<&str> =
        targets.into_iter().flatten().map(|target| target.path.as_str()).collect();
    [
        safe(&run.id),
        safe(&run.started),
        safe(&run.engine.name),
        safe(&run.engine.version),
        text(&run.note),
        safe(&targets.join(" ")),
        text(&run.workload_hash),
        text(&run.environment.host),
        text(&run.environment.kernel),
        word(&run.outcome).to_owned(),
    ]
}

/// A text that a spreadsheet does not take for a formula: what begins with one of its signs gets an
/// apostrophe (OWASP, "CSV injection").
fn safe(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}
