// SPDX-License-Identifier: MIT OR Apache-2.0
//! `run-list/1`: a list of runs. One run is `run/1`, whose types are those of the record itself.

use schemars::JsonSchema;
use serde::Serialize;
use store::{Entry, Unread};

/// A list of runs, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunList {
    /// `run-list/1`.
    pub schema: &'static str,
    /// How many there are without the limit of the list.
    pub total: u64,
    /// The runs.
    pub runs: Vec<RunLine>,
    /// Files in the store that are no record of a run.
    pub unread: Vec<RunUnread>,
}

/// A run of a list. Numbers are null where the run has none.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunLine {
    /// Its id, which sorts by time.
    pub id: String,
    /// When it began: RFC 3339, UTC.
    pub started: String,
    /// What carried it out.
    pub engine: String,
    /// The engine's version.
    pub engine_version: String,
    /// What it was for.
    pub note: Option<String>,
    /// The first target.
    pub target: Option<String>,
    /// The hash of what was asked.
    pub workload_hash: Option<String>,
    /// The hash of what lasts of its environment.
    pub environment_hash: String,
    /// Vendor and product of the host.
    pub host: Option<String>,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// `measured`, `failed` or `cancelled`.
    pub outcome: String,
    /// Why it failed.
    pub why: Option<String>,
    /// The time that counts, in seconds.
    pub seconds: Option<f64>,
    /// Operations a second of all directions.
    pub iops: Option<f64>,
    /// Bytes a second of all directions.
    pub bytes_per_second: Option<f64>,
    /// Median latency in ns of the first direction that has one.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the same, in ns.
    pub p99_ns: Option<u64>,
    /// How many things speak against the numbers.
    pub doubts: u64,
}

/// A file that is no record of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunUnread {
    /// Which.
    pub path: String,
    /// Why.
    pub what: String,
}

/// The document of a list.
pub fn run_list(entries: &[Entry], total: u64, unread: &[Unread]) -> RunList {
    let file = |file: &Unread| RunUnread {
        path: file.path.to_string_lossy().into_owned(),
        what: file.what.clone(),
    };
    RunList {
        schema: "run-list/1",
        total,
        runs: entries.iter().map(line).collect(),
        unread: unread.iter().map(file).collect(),
    }
}

fn line(entry: &Entry) -> RunLine {
    let entry = entry.clone();
    RunLine {
        id: entry.id,
        started: entry.started,
        engine: entry.engine,
        engine_version: entry.engine_version,
        note: entry.note,
        target: entry.target,
        workload_hash: entry.workload_hash,
        environment_hash: entry.environment_hash,
        host: entry.host,
        kernel: entry.kernel,
        outcome: entry.outcome,
        why: entry.why,
        seconds: entry.seconds,
        iops: entry.iops,
        bytes_per_second: entry.bytes_per_second,
        p50_ns: entry.p50_ns,
        p99_ns: entry.p99_ns,
        doubts: entry.doubts,
    }
}
