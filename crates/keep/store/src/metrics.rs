// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs in OpenMetrics' text format (version 1.0.0), each sample with the time of its run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use record::{Direction, Run};

use crate::entry::kind;
use crate::tidy::number;

/// Values, each with the share of a quantile where it is one.
type Samples = Vec<(Option<f64>, f64)>;

/// A family of metrics: its name without the unit, the unit, and what it tells.
struct Family {
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    of: fn(&Direction) -> Samples,
}

const FAMILIES: [Family; 5] = [
    Family {
        name: "nearside_run_operations_per_second",
        unit: "",
        help: "Operations a second.",
        of: |direction| vec![(None, direction.iops)],
    },
    Family {
        name: "nearside_run_bytes_per_second",
        unit: "",
        help: "Bytes a second.",
        of: |direction| vec![(None, direction.bytes_per_second)],
    },
    Family {
        name: "nearside_run_duration_seconds",
        unit: "seconds",
        help: "The time that counts.",
        of: |direction| vec![(None, direction.seconds)],
    },
    Family {
        name: "nearside_run_latency_seconds",
        unit: "seconds",
        help: "The latency that a share of operations did not exceed.",
        of: percentiles,
    },
    Family {
        name: "nearside_run_cpu_seconds",
        unit: "seconds",
        help: "CPU time of an operation.",
        of: |direction| direction.cpu_ns_per_op.map(|ns| (None, ns / 1e9)).into_iter().collect(),
    },
];

fn percentiles(direction: &Direction) -> Samples {
    let latency = direction.latency.iter().flat_map(|latency| &latency.percentiles);
    // 99.9 % is 0.999, not the 0.9990000000000001 of a plain division.
    let share = |percent: f64| (percent * 1e6).round() / 1e8;
    latency.map(|told| (Some(share(told.percent)), number(told.ns) / 1e9)).collect()
}

/// Writes runs that have numbers as gauges, one sample a run and direction, and for every run
/// whether it has. `seconds_of` reads the time of a run, RFC 3339, as seconds since 1970.
pub fn open_metrics(runs: &[Run], seconds_of: &dyn Fn(&str) -> Option<f64>) -> String {
    let mut text = String::new();
    let times: BTreeMap<&str, String> = runs
        .iter()
        .filter_map(|run| Some((run.id.as_str(), format!(" {}", seconds_of(&run.started)?))))
        .collect();
    let time = |run: &Run| times.get(run.id.as_str()).map_or("", String::as_str);
    // Writing into a String cannot fail.
    let name = "nearside_run_measured";
    let _ = writeln!(text, "# TYPE {name} gauge\n# HELP {name} 1 where a run has numbers, else 0.");
    for run in runs {
        let measured = u8::from(run.outcome.measured().is_some());
        let _ = writeln!(text, "{name}{{{}}} {measured}{}", labels(run, &[]), time(run));
    }
    for family in &FAMILIES {
        head(&mut text, family);
        for run in runs {
            for direction in run.outcome.measured().iter().flat_map(|measured| &measured.directions)
            {
                for (quantile, value) in (family.of)(direction) {
                    let mut more = vec![("direction", kind(direction.kind).to_owned())];
                    more.extend(quantile.map(|quantile| ("quantile", quantile.to_string())));
                    let labels = labels(run, &more);
                    let _ = writeln!(text, "{}{{{labels}}} {value}{}", family.name, time(run));
                }
            }
        }
    }
    text.push_str("# EOF\n");
    text
}

fn head(text: &mut String, family: &Family) {
    let Family { name, unit, help, .. } = family;
    let _ = writeln!(text, "# TYPE {name} gauge");
    if !unit.is_empty() {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {help}");
}

/// The labels of a run's samples: what tells it from others, and `more`.
fn labels(run: &Run, more: &[(&str, String)]) -> String {
    let hash = run.workload_hash.as_deref().and_then(|hash| hash.get(..16)).unwrap_or_default();
    let own = [
        ("run", run.id.as_str()),
        ("engine", &run.engine.name),
        ("engine_version", &run.engine.version),
        ("workload", hash),
        ("note", run.note.as_deref().unwrap_or_default()),
    ];
    let more = more.iter().map(|(name, value)| (*name, value.as_str()));
    let label = |(name, value)| format!("{name}=\"{}\"", escaped(value));
    own.into_iter().chain(more).map(label).collect::<Vec<_>>().join(",")
}

/// Backslash, quote and line feed as OpenMetrics writes them.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
