// SPDX-License-Identifier: MIT OR Apache-2.0
//! From what fio reported to records of runs.

use std::collections::BTreeMap;

use record::{
    Direction, Doubt, DoubtKind, DriveState, Engine, Environment, Histogram, Kind, Latency,
    Measured, Outcome, Percentile, Run, SCHEMA, Unknown,
};

use super::error::Refused;
use super::job_file::{self, Given, Section};
use super::judge;
use super::parse::Output;
use super::report::{self, Flow, Job, Report, Way};
use crate::stamp;

/// What is known of runs beside what fio printed.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// When they are taken to have begun where the output does not say, in ms since 1970.
    pub fallback_ms: u64,
    /// What they were for, in the person's words; fio's own job names where there is nothing.
    pub note: Option<String>,
    /// The command line, where nearside drove it.
    pub command: Vec<String>,
}

/// The runs of an output: jobs that ran together and asked for the same are one.
///
/// # Errors
/// Figures that contradict each other.
pub fn runs(output: &Output, about: &About) -> Result<Vec<Run>, Refused> {
    let mut runs = Vec::new();
    for report in &output.reports {
        let parts = parts(report);
        let beside = parts.len() > 1;
        let failure = judge::failure(report, &output.notes);
        for jobs in parts {
            let mut run = run(report, &jobs, about);
            run.outcome = match &failure {
                Some(failed) => Outcome::Failed(failed.clone()),
                None if judge::is_interrupted(&output.notes) => Outcome::Cancelled,
                None => Outcome::Measured(Box::new(measured(report, &jobs, beside)?)),
            };
            if let Some(what) = stamp::contradiction(&run) {
                return Err(Refused::Contradiction(what));
            }
            run.id = stamp::id(&run);
            runs.push(run);
        }
    }
    Ok(runs)
}

/// Options that differ between jobs of one load: which device and where.
const OF_ONE_JOB: [&str; 10] = [
    "name",
    "description",
    "filename",
    "directory",
    "offset",
    "cpus_allowed",
    "numa_cpu_nodes",
    "numa_mem_policy",
    "write_bw_log",
    "stonewall",
];

/// Jobs that ran together and asked for the same, in fio's order.
fn parts(report: &Report) -> Vec<Vec<&Job>> {
    /// The group and the options of a load, which its jobs share.
    type Load<'a> = (u64, BTreeMap<&'a str, &'a str>);
    let mut parts: Vec<(Load<'_>, Vec<&Job>)> = Vec::new();
    for job in &report.jobs {
        let options = job.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let options = options.filter(|(name, _)| !OF_ONE_JOB.contains(name)).collect();
        let key = (job.group, options);
        match parts.iter_mut().find(|(other, _)| *other == key) {
            Some((_, jobs)) => jobs.push(job),
            None => parts.push((key, vec![job])),
        }
    }
    parts.into_iter().map(|(_, jobs)| jobs).collect()
}

fn run(report: &Report, jobs: &[&Job], about: &About) -> Run {
    let ran = jobs.iter().flat_map(|job| &job.flows).filter_map(|flow| flow.runtime_ms).max();
    let written = report.written_ms.map(|ms| ms.saturating_sub(ran.unwrap_or(0)));
    let workload = workload(report, jobs);
    let mut environment = Environment::default();
    if about.command.is_empty() {
        let why = "the run was made elsewhere".to_owned();
        environment.unknown.push(Unknown { what: "environment".to_owned(), why });
    }
    if let Err(why) = &workload {
        let unknown = Unknown { what: "workload".to_owned(), why: why.clone() };
        environment.unknown.push(unknown);
    }
    let workload = workload.ok();
    Run {
        schema: SCHEMA.to_owned(),
        id: String::new(),
        started: stamp::rfc3339(written.unwrap_or(about.fallback_ms)),
        note: about.note.clone().or_else(|| Some(names(jobs))),
        workload_hash: workload.as_ref().map(record::Workload::hash),
        workload,
        engine: Engine {
            name: "fio".to_owned(),
            version: report.version.clone(),
            way: jobs.first().and_then(|job| report.option(job, "ioengine")).map(str::to_owned),
            command: about.command.clone(),
        },
        placement: None,
        environment,
        outcome: Outcome::Cancelled,
    }
}

/// `fio: reader, writer`.
fn names(jobs: &[&Job]) -> String {
    let mut names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
    names.dedup();
    format!("fio: {}", names.join(", "))
}

/// What was asked, as far as the options in the report tell it.
fn workload(report: &Report, jobs: &[&Job]) -> Result<record::Workload, String> {
    let mut sections = Vec::new();
    for job in jobs {
        let mut options = BTreeMap::new();
        for (name, value) in report.options.iter().chain(&job.options) {
            let value = Some(value.clone()).filter(|value| !value.is_empty());
            options.insert(name.clone(), Given { value, line: None });
        }
        if options.is_empty() {
            return Err("the output does not list options".to_owned());
        }
        sections.push(Section { name: job.name.clone(), line: None, options });
    }
    // Clones of a job each have an entry of their own, all with the same options.
    sections.dedup();
    let steps = job_file::together(sections).map_err(|error| error.to_string())?;
    match <[_; 1]>::try_from(steps) {
        Ok([step]) => Ok(step.workload),
        Err(_) => Err("its jobs ran one after another".to_owned()),
    }
}

fn measured(report: &Report, jobs: &[&Job], beside: bool) -> Result<Measured, Refused> {
    let mut doubts = judge::doubts(report, jobs);
    let mut directions = Vec::new();
    for way in [Way::Read, Way::Write, Way::Trim, Way::Mixed] {
        let of_way = |job: &&Job| job.flows.iter().find(|flow| flow.way == way).cloned();
        let flows: Vec<Flow> = jobs.iter().filter_map(of_way).collect();
        if !flows.is_empty() {
            directions.push(direction(way, &flows, &mut doubts)?);
        }
    }
    if beside {
        let text = "other jobs of the same output ran beside it or before it".to_owned();
        doubts.push(Doubt { kind: DoubtKind::Beside, target: None, text });
    }
    if judge::is_paced(report, jobs) {
        of_service(&mut directions, &mut doubts);
    }
    let operations: u64 = directions.iter().map(|direction| direction.operations).sum();
    let cpu_ns_per_op = cpu_ns(jobs).map(|ns| ns / number(operations));
    if let [only] = directions.as_mut_slice() {
        only.cpu_ns_per_op = cpu_ns_per_op;
    }
    Ok(Measured {
        seconds: directions.iter().map(|direction| direction.seconds).fold(0.0, f64::max),
        directions,
        cpu_ns_per_op,
        mean_depth: judge::mean_depth(jobs),
        missed: None,
        devices: Vec::new(),
        steady: None,
        flags: Vec::new(),
        drive_state: DriveState::Unknown,
        doubts,
    })
}

/// fio takes the time of a paced operation after it has slept for the rate (io_u.c,
/// `rate_ddir`): an operation that a stall holds up begins when the stall has ended. What it tells is
/// the service time, and no latency from the place in the schedule.
pub(super) fn of_service(directions: &mut [Direction], doubts: &mut Vec<Doubt>) {
    let mut is_moved = false;
    for direction in directions.iter_mut().filter(|direction| direction.service.is_none()) {
        direction.service = direction.latency.take();
        is_moved |= direction.service.is_some();
    }
    if is_moved {
        let text = "fio's latencies of a paced load are from when each operation was submitted, and \
                    not from when it was meant to be: what a stall holds up is left out \
                    (coordinated omission)";
        doubts.push(doubt(DoubtKind::Latency, text.to_owned()));
    }
}

#[expect(clippy::cast_precision_loss, reason = "rates and means need no more than 52 bits")]
fn number(count: u64) -> f64 {
    count as f64
}

/// CPU time of all jobs in ns: its share is of the threads' summed running time.
fn cpu_ns(jobs: &[&Job]) -> Option<f64> {
    let of_job = |job: &&Job| {
        let percent = job.user_percent? + job.system_percent?;
        Some(percent / 100.0 * number(job.thread_ms.filter(|ms| *ms > 0)?) * 1e6)
    };
    jobs.iter().map(of_job).sum()
}

fn direction(way: Way, flows: &[Flow], doubts: &mut Vec<Doubt>) -> Result<Direction, Refused> {
    let operations = flows.iter().try_fold(0_u64, |sum, flow| sum.checked_add(flow.operations));
    let operations = operations.ok_or_else(|| too_many(way))?;
    let seconds = seconds(way, flows, doubts)?;
    let bytes = bytes(way, flows, seconds)?;
    Ok(Direction {
        kind: match way {
            Way::Read => Kind::Read,
            Way::Write => Kind::Write,
            Way::Trim => Kind::Trim,
            Way::Mixed => Kind::Mixed,
        },
        operations,
        bytes,
        seconds,
        iops: number(operations) / seconds,
        bytes_per_second: number(bytes) / seconds,
        latency: latency(flows, doubts),
        service: None,
        cpu_ns_per_op: None,
        late: None,
        series: Vec::new(),
    })
}

fn too_many(way: Way) -> Refused {
    Refused::field(way.name(), "counts add up to more than 2^64")
}

/// Why there is no rate.
const NO_TIME: &str = "it is not told, or was less than a millisecond: there is no rate";

/// How long the longest ran. In files from which somebody took the running time it follows from the
/// rate, which fio made by dividing by it.
fn seconds(way: Way, flows: &[Flow], doubts: &mut Vec<Doubt>) -> Result<f64, Refused> {
    let mut longest = 0.0_f64;
    for flow in flows {
        let told = flow.runtime_ms.filter(|ms| *ms > 0).map(|ms| number(ms) / 1e3);
        let derived =
            || flow.iops.filter(|iops| *iops > 0.0).map(|iops| number(flow.operations) / iops);
        if told.is_none() {
            let text = format!("how long the {}s took follows from their rate", way.name());
            doubts.push(Doubt { kind: DoubtKind::Contradiction, target: None, text });
        }
        let seconds = told.or_else(derived);
        let path = format!("{}.runtime", way.name());
        longest = longest.max(seconds.ok_or_else(|| Refused::field(&path, NO_TIME))?);
    }
    Ok(longest)
}

fn bytes(way: Way, flows: &[Flow], seconds: f64) -> Result<u64, Refused> {
    let of_flow = |flow: &Flow| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an amount from 0; what is beyond 2^64 saturates"
        )]
        let derived = || flow.bytes_per_second.map(|rate| (rate * seconds).round() as u64);
        flow.bytes.or_else(derived)
    };
    let path = format!("{}.io_bytes", way.name());
    let mut sum = 0_u64;
    for flow in flows {
        let bytes = of_flow(flow).ok_or_else(|| Refused::field(&path, "it is not told"))?;
        sum = sum.checked_add(bytes).ok_or_else(|| too_many(way))?;
    }
    Ok(sum)
}

/// The latency that has percentiles or bins: of the completion, unless `lat_percentiles` was asked.
fn latency(flows: &[Flow], doubts: &mut Vec<Doubt>) -> Option<Latency> {
    let rich =
        |latency: &report::Latency| !latency.percentiles.is_empty() || !latency.bins.is_empty();
    let of_total = flows.iter().all(|flow| {
        flow.total.as_ref().is_some_and(rich) && !flow.completion.as_ref().is_some_and(rich)
    });
    let pick = |flow: &Flow| if of_total { flow.total.clone() } else { flow.completion.clone() };
    let all: Vec<report::Latency> = flows.iter().map(pick).collect::<Option<_>>()?;
    let histogram = match merged(&all) {
        Ok(histogram) => histogram,
        Err(what) => {
            doubts.push(doubt(DoubtKind::Latency, format!("its bins are no histogram: {what}")));
            None
        }
    };
    let told = summary(&all, flows);
    Some(match histogram {
        // The mean that was told is exact, where that of bins is of their middles.
        Some(histogram) => Latency { mean_ns: told.mean_ns, ..Latency::from(histogram) },
        None => {
            if all.len() > 1 && all.iter().any(rich) {
                let text = "percentiles of several jobs cannot be averaged, and there are no bins: \
                            use --output-format=json+";
                doubts.push(doubt(DoubtKind::Latency, text.to_owned()));
            }
            told
        }
    })
}

fn doubt(kind: DoubtKind, text: String) -> Doubt {
    Doubt { kind, target: None, text }
}

/// The bins of all as one histogram; none where one of them has no bins.
fn merged(all: &[report::Latency]) -> Result<Option<Histogram>, String> {
    let mut merged = Histogram::new();
    for latency in all {
        if latency.bins.is_empty() {
            return Ok(None);
        }
        let counted = latency.bins.iter().try_fold(0_u64, |sum, bin| sum.checked_add(bin.1));
        if let Some(samples) = latency.samples.filter(|samples| counted != Some(*samples)) {
            return Err(format!("they are not of {samples} samples"));
        }
        let limits = latency.min_ns.zip(latency.max_ns);
        let one = Histogram::from_bins(latency.bins.iter().copied(), limits)
            .map_err(|error| error.to_string())?;
        merged.merge(&one);
    }
    Ok(Some(merged))
}

/// What is told of several without their samples: count, limits, the mean; percentiles of one.
fn summary(all: &[report::Latency], flows: &[Flow]) -> Latency {
    let weight = |(latency, flow): (&report::Latency, &Flow)| {
        number(latency.samples.unwrap_or(flow.operations))
    };
    let weights: Vec<f64> = all.iter().zip(flows).map(weight).collect();
    let sum: f64 = all.iter().zip(&weights).map(|(latency, weight)| latency.mean_ns * weight).sum();
    let percentiles = match all {
        [one] => one.percentiles.iter().map(|&(percent, ns)| Percentile { percent, ns }).collect(),
        _ => Vec::new(),
    };
    let all_told = |figure: fn(&report::Latency) -> Option<u64>| -> Option<Vec<u64>> {
        all.iter().map(figure).collect()
    };
    Latency {
        count: all_told(|latency| latency.samples).map(|counts| counts.iter().sum()),
        min_ns: all_told(|latency| latency.min_ns).and_then(|all| all.into_iter().min()),
        max_ns: all_told(|latency| latency.max_ns).and_then(|all| all.into_iter().max()),
        mean_ns: Some(sum / weights.iter().sum::<f64>()).filter(|mean| mean.is_finite()),
        percentiles,
        histogram: None,
    }
}
