// SPDX-License-Identifier: MIT OR Apache-2.0
//! What fio reported, in plain units, before anybody judges it.

use std::collections::BTreeMap;

/// One document: what one run of fio reported, or had reported so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// `3.33`, `3.42-135-gf5344`: what follows `fio-`.
    pub version: String,
    /// When it was written, in milliseconds since 1970; some edited files have none.
    pub written_ms: Option<u64>,
    /// Options that all jobs share, as they were given.
    pub options: BTreeMap<String, String>,
    /// The jobs, or groups of them, in fio's order. That of all clients together is not among them.
    pub jobs: Vec<Job>,
    /// What the kernel counted for the drives below, over the same time.
    pub disks: Vec<Disk>,
}

/// A job, or with `group_reporting` a group of jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its name in the job file.
    pub name: String,
    /// Jobs of one number ran at the same time unless `new_group` says otherwise.
    pub group: u64,
    /// The host that ran it, with `--client`.
    pub host: Option<String>,
    /// The first error number; 0 for none, nothing where the file does not say.
    pub error: Option<i64>,
    /// Errors that were survived (`continue_on_error`), each counted as an operation.
    pub errors: u64,
    /// Options as they were given. Those without a value are missing before fio 3.42.
    pub options: BTreeMap<String, String>,
    /// Milliseconds that its threads ran, summed; nothing before fio 3.2.
    pub thread_ms: Option<u64>,
    /// CPU in user mode, in percent of `thread_ms`.
    pub user_percent: Option<f64>,
    /// CPU in the kernel, in percent of `thread_ms`.
    pub system_percent: Option<f64>,
    /// Shares of the depths that were reached, by fio's names: `1`, `2`, `4`, ..., `>=64`.
    pub depths: BTreeMap<String, f64>,
    /// What was done, by direction; those without an operation are left out.
    pub flows: Vec<Flow>,
    /// The verdict of `steadystate`, where that was asked.
    pub steady: Option<Steady>,
}

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// From the drive.
    Read,
    /// To the drive.
    Write,
    /// Blocks given back.
    Trim,
    /// All together (`unified_rw_reporting`).
    Mixed,
}

impl Way {
    /// Its key in fio's documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Mixed => "mixed",
        }
    }
}

/// What was done in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Which.
    pub way: Way,
    /// Operations that were issued.
    pub operations: u64,
    /// Bytes moved; nothing in edited files that lack them.
    pub bytes: Option<u64>,
    /// Milliseconds of the longest job of the group.
    pub runtime_ms: Option<u64>,
    /// Operations a second of the whole group.
    pub iops: Option<f64>,
    /// Bytes a second of the whole group.
    pub bytes_per_second: Option<f64>,
    /// Operations that moved less than asked.
    pub short: u64,
    /// Operations that were given up.
    pub dropped: u64,
    /// From the call to its return.
    pub submission: Option<Latency>,
    /// From the end of the submission to the completion.
    pub completion: Option<Latency>,
    /// Both together.
    pub total: Option<Latency>,
}

/// A latency; all figures in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Latency {
    /// Samples; fio before 3.18 or so does not say.
    pub samples: Option<u64>,
    /// The smallest.
    pub min_ns: Option<u64>,
    /// The largest.
    pub max_ns: Option<u64>,
    /// The mean.
    pub mean_ns: f64,
    /// The standard deviation.
    pub deviation_ns: Option<f64>,
    /// (percent, value), rising.
    pub percentiles: Vec<(f64, u64)>,
    /// (middle of the bin, samples), rising; only in JSON+.
    pub bins: Vec<(u64, u64)>,
}

/// What the kernel counted for a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// Its kernel name.
    pub name: String,
    /// Reads that it was given, those that were merged into others included.
    pub reads: u64,
    /// Writes, likewise.
    pub writes: u64,
}

/// The verdict of fio's own steady-state detection, which ends a run as soon as it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steady {
    /// As `iops:90.000000%`.
    pub wanted: String,
    /// Whether it was reached.
    pub attained: bool,
    /// What was found, as `19.498796%`.
    pub found: Option<String>,
}

impl Report {
    /// An option of a job: its own, or else one that all share.
    pub fn option<'a>(&'a self, job: &'a Job, name: &str) -> Option<&'a str> {
        job.options.get(name).or_else(|| self.options.get(name)).map(String::as_str)
    }
}
