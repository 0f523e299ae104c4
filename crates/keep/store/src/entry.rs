// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lists show of a run.

use record::{Direction, Kind, Outcome, Run};

/// A line of a list. Numbers are null where the run has none.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its id, which sorts by time.
    pub id: String,
    /// When it began: RFC 3339, UTC.
    pub started: String,
    /// What carried it out.
    pub engine: String,
    /// The engine's version.
    pub engine_version: String,
    /// What it was for, in the person's words.
    pub note: Option<String>,
    /// The hash of what was asked; equal for runs that can be compared.
    pub workload_hash: Option<String>,
    /// The hash of what it took place in, without what changes by itself.
    pub environment_hash: String,
    /// Vendor and product of the host.
    pub host: Option<String>,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// The first target.
    pub target: Option<String>,
    /// `measured`, `failed`, `cancelled`.
    pub outcome: String,
    /// Why it failed.
    pub why: Option<String>,
    /// The time that counts, in seconds.
    pub seconds: Option<f64>,
    /// Operations a second of all directions.
    pub iops: Option<f64>,
    /// Bytes a second of all directions.
    pub bytes_per_second: Option<f64>,
    /// Median latency of the first direction that has one, in ns.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the same, in ns.
    pub p99_ns: Option<u64>,
    /// How many things speak against the numbers.
    pub doubts: u64,
}

impl From<&Run> for Entry {
    fn from(run: &Run) -> Self {
        let measured = run.outcome.measured();
        let directions = measured.map_or(&[][..], |measured| &measured.directions);
        let sum = |of: fn(&Direction) -> f64| measured.map(|_| directions.iter().map(of).sum());
        let latency = directions.iter().find_map(|direction| direction.latency.as_ref());
        let percentile = |percent| latency.and_then(|latency| latency.percentile(percent));
        let targets = run.workload.as_ref().map(|workload| workload.targets.as_slice());
        Self {
            id: run.id.clone(),
            started: run.started.clone(),
            engine: run.engine.name.clone(),
            engine_version: run.engine.version.clone(),
            note: run.note.clone(),
            workload_hash: run.workload_hash.clone(),
            environment_hash: environment_hash(run),
            host: run.environment.host.clone(),
            kernel: run.environment.kernel.clone(),
            target: targets.and_then(|targets| targets.first()).map(|target| target.path.clone()),
            outcome: word(&run.outcome).to_owned(),
            why: match &run.outcome {
                Outcome::Failed(failed) => Some(failed.why.clone()),
                Outcome::Measured(_) | Outcome::Cancelled => None,
            },
            seconds: measured.map(|measured| measured.seconds),
            iops: sum(|direction| direction.iops),
            bytes_per_second: sum(|direction| direction.bytes_per_second),
            p50_ns: percentile(50.0),
            p99_ns: percentile(99.0),
            doubts: measured.map_or(0, |measured| measured.doubts.len() as u64),
        }
    }
}

/// The word of an outcome.
pub(crate) fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Measured(_) => "measured",
        Outcome::Failed(_) => "failed",
        Outcome::Cancelled => "cancelled",
    }
}

/// The word of a direction.
pub(crate) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Trim => "trim",
        Kind::Mixed => "mixed",
    }
}

/// What two runs must share to differ in nothing but chance: hardware, firmware, kernel, settings
/// and links; temperatures and stolen time change by themselves.
fn environment_hash(run: &Run) -> String {
    let environment = &run.environment;
    let lasting = (
        &environment.topology_hash,
        &environment.host,
        &environment.firmware,
        &environment.kernel,
        &environment.command_line,
        &environment.knobs,
        environment.links.iter().map(|link| (&link.function, link.speed_gts, link.width)).collect(),
    );
    let lasting: (_, _, _, _, _, _, Vec<_>) = lasting;
    let text = serde_json::to_string(&lasting).unwrap_or_default();
    blake3::hash(text.as_bytes()).to_hex().get(..16).unwrap_or_default().to_owned()
}
