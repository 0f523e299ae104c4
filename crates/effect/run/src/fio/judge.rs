// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a report is of a run that went well, and what speaks against its numbers.

use std::collections::BTreeMap;

use record::{Doubt, DoubtKind, Failed, Failure, FailureKind};

use super::job_file::is_one_at_a_time;
use super::report::{Flow, Job, Report, Way};

/// What failed of a run; nothing where all went well.
///
/// A part of the jobs that failed makes the whole a failed run: with `group_reporting` fio adds up
/// what the others did, and that looks like a result (fio#539).
pub(super) fn failure(report: &Report, notes: &[String]) -> Option<Failed> {
    let mut failures: Vec<Failure> = report.jobs.iter().filter_map(failed_job).collect();
    failures.extend(missing_jobs(report));
    let said = notes.iter().find(|note| is_complaint(note));
    if failures.is_empty() {
        // A job that was killed, or whose file could not be made, has no error; of a group it is not
        // even in the report.
        failures.extend(said.map(|note| failure_of(None, note.clone())));
    }
    let first = failures.first()?;
    let text = match &first.kind {
        FailureKind::Job { text } => text.clone(),
        other => format!("{other:?}"),
    };
    let why = match said.filter(|said| **said != text) {
        Some(said) => format!("{text} ({said})"),
        None => text,
    };
    Some(Failed { why, failures })
}

/// Whether fio says in a line that something failed, as `fio: failed to create dir (/x): ...` and
/// `fio: pid=7, got signal=9`.
fn is_complaint(note: &str) -> bool {
    const WORDS: [&str; 8] =
        ["failed", "err=", "error", "got signal", "dropped", "not loadable", "enospc", "unable"];
    let note = note.to_ascii_lowercase();
    note.starts_with("fio: ") && WORDS.iter().any(|word| note.contains(word))
}

fn failure_of(count: Option<u64>, text: String) -> Failure {
    Failure { kind: FailureKind::Job { text }, target: None, count, offset_bytes: None }
}

fn failed_job(job: &Job) -> Option<Failure> {
    let name = &job.name;
    match job.error {
        Some(error) if error != 0 => {
            let text = format!("job {name} ended with error {}", errno(error));
            return Some(failure_of(None, text));
        }
        _ => {}
    }
    if job.flows.is_empty() {
        return Some(failure_of(None, format!("job {name} did no operation")));
    }
    // With continue_on_error, operations that failed are counted as done.
    let text = format!("job {name} counts {} failed operations as done", job.errors);
    (job.errors > 0).then(|| failure_of(Some(job.errors), text))
}

/// `22 (Invalid argument)`.
fn errno(number: i64) -> String {
    match i32::try_from(number) {
        Ok(code) if code > 0 => {
            let text = std::io::Error::from_raw_os_error(code).to_string();
            let words = text.split(" (os error").next().unwrap_or_default();
            format!("{number} ({words})")
        }
        _ => number.to_string(),
    }
}

/// Clones of a job that have no entry, or no running time, though they were asked for.
fn missing_jobs(report: &Report) -> Vec<Failure> {
    let mut entries: BTreeMap<(&str, u64, Option<&str>), (u64, &Job)> = BTreeMap::new();
    for job in &report.jobs {
        let entry = entries.entry((&job.name, job.group, job.host.as_deref()));
        entry.or_insert((0, job)).0 += 1;
    }
    let missing = |(&(name, ..), &(count, job)): (&(&str, u64, Option<&str>), &(u64, &Job))| {
        let asked = clones(report, job);
        let text = if count > 1 && count < asked {
            format!("{count} of {asked} jobs {name} are reported")
        } else if count == 1 && asked > 1 && ran_alone(job) {
            format!("one of {asked} jobs {name} ran")
        } else {
            return None;
        };
        Some(failure_of(None, text))
    };
    entries.iter().filter_map(missing).collect()
}

/// How many jobs were asked for by one section.
pub(super) fn clones(report: &Report, job: &Job) -> u64 {
    report.option(job, "numjobs").and_then(|text| text.trim().parse().ok()).unwrap_or(1).max(1)
}

/// Whether a group's threads together ran no longer than its longest: then there was one.
fn ran_alone(job: &Job) -> bool {
    let longest = job.flows.iter().filter_map(|flow| flow.runtime_ms).max().unwrap_or(0);
    longest >= 100 && job.thread_ms.is_some_and(|sum| sum <= longest.saturating_add(longest / 50))
}

/// Whether somebody ended it before its time, by what it said.
pub(super) fn is_interrupted(notes: &[String]) -> bool {
    notes.iter().any(|note| note.starts_with("fio: terminating on signal"))
}

/// What speaks against the numbers of some jobs of a report that ran together.
pub(super) fn doubts(report: &Report, jobs: &[&Job]) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    doubts.extend(short(report, jobs));
    doubts.extend(counters(report, jobs));
    doubts.extend(depth(report, jobs));
    doubts.extend(uneven(report, jobs));
    doubts.extend(lost(jobs));
    doubts.extend(submission(jobs));
    doubts
}

fn doubt(kind: DoubtKind, text: String) -> Doubt {
    Doubt { kind, target: None, text }
}

fn flows<'a>(jobs: &'a [&'a Job]) -> impl Iterator<Item = &'a Flow> {
    jobs.iter().flat_map(|job| &job.flows)
}

/// It ended before its time, or soon. Without `time_based` fio ends where the file does.
fn short(report: &Report, jobs: &[&Job]) -> Option<Doubt> {
    let ran = flows(jobs).filter_map(|flow| flow.runtime_ms).max()?;
    #[expect(clippy::cast_precision_loss, reason = "a running time in ms is far below 2^52")]
    let seconds = ran as f64 / 1e3;
    let asked = jobs.first().and_then(|job| report.option(job, "runtime"));
    let asked = asked.and_then(|text| super::job_file::seconds(text).ok());
    let steady = jobs.iter().any(|job| job.steady.as_ref().is_some_and(|steady| steady.attained));
    let text = match asked {
        Some(asked) if asked > 0.0 && seconds < asked * 0.95 && !steady => {
            format!(
                "it ended after {seconds} s of the {asked} s asked: it came to the end of its size"
            )
        }
        _ if seconds < 1.0 => format!("it ran for {seconds} s"),
        _ => return None,
    };
    Some(doubt(DoubtKind::Short, text))
}

/// The drives counted far fewer operations than fio: a cache, a hole in a file, or another device.
fn counters(report: &Report, jobs: &[&Job]) -> Option<Doubt> {
    let is_all = jobs.len() == report.jobs.len();
    let one_way = |way: Way, counted: fn(&super::report::Disk) -> u64| {
        let own: u64 = flows(jobs).filter(|flow| flow.way == way).map(|flow| flow.operations).sum();
        let theirs: u64 = report.disks.iter().map(counted).sum();
        let fewer = own >= 100 && theirs < own / 2;
        fewer.then(|| format!("{theirs} {}s where fio counts {own}", way.name()))
    };
    if report.disks.is_empty() || !is_all {
        return None;
    }
    let reads = one_way(Way::Read, |disk| disk.reads);
    let writes = one_way(Way::Write, |disk| disk.writes);
    let mixed = one_way(Way::Mixed, |disk| disk.reads.saturating_add(disk.writes));
    let said: Vec<String> = [reads, writes, mixed].into_iter().flatten().collect();
    let disks: Vec<&str> = report.disks.iter().map(|disk| disk.name.as_str()).collect();
    let text = format!("{} counted {}: this measures no device", disks.join(", "), said.join(", "));
    (!said.is_empty()).then(|| doubt(DoubtKind::Counters, text))
}

/// The depth asked for was not there.
fn depth(report: &Report, jobs: &[&Job]) -> Option<Doubt> {
    let job = jobs.first()?;
    let asked: u64 = report.option(job, "iodepth")?.trim().parse().ok()?;
    let engine = report.option(job, "ioengine").unwrap_or("psync");
    if asked > 1 && is_one_at_a_time(engine) {
        let text = format!("{engine} has one operation in flight, not the {asked} asked");
        return Some(doubt(DoubtKind::Depth, text));
    }
    let others = ["rate_min", "thinktime", "steadystate"];
    let is_held = others.iter().any(|name| report.option(job, name).is_some());
    let is_paced = is_held || is_paced(report, jobs);
    let threads: u64 = jobs.iter().map(|job| threads(report, jobs, job)).sum();
    #[expect(clippy::cast_precision_loss, reason = "a depth is far below 2^52")]
    let wanted = asked.saturating_mul(threads) as f64;
    let mean = mean_depth(jobs).filter(|mean| *mean < wanted / 2.0 && !is_paced && asked > 1)?;
    let text = format!("{mean:.1} operations were in flight on average, not the {wanted} asked");
    Some(doubt(DoubtKind::Depth, text))
}

/// Whether operations have a place in a schedule.
pub(super) fn is_paced(report: &Report, jobs: &[&Job]) -> bool {
    let of_job = |job: &&Job| ["rate", "rate_iops"].map(|name| report.option(job, name).is_some());
    jobs.iter().flat_map(of_job).any(|is_there| is_there)
}

/// How many threads an entry is of: all clones where it is the only one of its name.
fn threads(report: &Report, jobs: &[&Job], job: &Job) -> u64 {
    let same = |other: &&&Job| other.name == job.name && other.host == job.host;
    if jobs.iter().filter(same).count() == 1 { clones(report, job) } else { 1 }
}

/// Operations in flight on average: rate times time (Little's law).
pub(super) fn mean_depth(jobs: &[&Job]) -> Option<f64> {
    let flight = |flow: &Flow| Some(flow.iops? * flow.total.as_ref()?.mean_ns / 1e9);
    let all: Option<Vec<f64>> = flows(jobs).map(flight).collect();
    all.filter(|all| !all.is_empty()).map(|all| all.iter().sum())
}

/// Jobs that did not run all the time: the rate is of the longest.
fn uneven(report: &Report, jobs: &[&Job]) -> Option<Doubt> {
    let ran = |job: &Job| job.flows.iter().filter_map(|flow| flow.runtime_ms).max();
    let times: Vec<u64> = jobs.iter().filter_map(|job| ran(job)).collect();
    let (least, most) = (times.iter().min()?, times.iter().max()?);
    let grouped = |job: &&&Job| {
        let threads = threads(report, jobs, job);
        let whole = ran(job)?.checked_mul(threads)?;
        job.thread_ms.filter(|sum| threads > 1 && whole > 1000 && *sum < whole / 10 * 9)
    };
    if *most > 1000 && *least < most / 10 * 9 {
        let text = format!("its jobs ran for {least} to {most} ms; the rate is over the longest");
        return Some(doubt(DoubtKind::Uneven, text));
    }
    let sum = jobs.iter().find_map(|job| grouped(&job))?;
    let text = format!("its jobs ran for {sum} ms together: some far shorter than the longest");
    Some(doubt(DoubtKind::Uneven, text))
}

fn lost(jobs: &[&Job]) -> Option<Doubt> {
    let (short, dropped) = flows(jobs).fold((0_u64, 0_u64), |(short, dropped), flow| {
        (short.saturating_add(flow.short), dropped.saturating_add(flow.dropped))
    });
    let text = format!("{short} operations moved less than asked, {dropped} were given up");
    (short + dropped > 0).then(|| doubt(DoubtKind::Contradiction, text))
}

/// Percentiles of the completion leave out the time in the call that submits.
fn submission(jobs: &[&Job]) -> Option<Doubt> {
    let flow = flows(jobs).next()?;
    let (called, total) = (flow.submission.as_ref()?.mean_ns, flow.total.as_ref()?.mean_ns);
    let of_completion =
        flow.completion.as_ref().is_some_and(|latency| !latency.percentiles.is_empty());
    let text = format!(
        "latencies are from the end of the submitting call, which took {:.1} us more on average",
        called / 1e3
    );
    (of_completion && called > total * 0.05).then(|| doubt(DoubtKind::Latency, text))
}
