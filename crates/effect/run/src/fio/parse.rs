// SPDX-License-Identifier: MIT OR Apache-2.0
//! From fio's documents to [`Report`]s.

use serde_json::Value;

use super::error::Refused;
use super::field::Object;
use super::report::{Disk, Flow, Job, Latency, Report, Steady, Way};
use super::stream;

/// What an output of fio holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// The runs, in the order in which they are written.
    pub reports: Vec<Report>,
    /// Lines beside the documents, as `fio: pid=1, err=22/file:io_u.c:1876, ...`.
    pub notes: Vec<String>,
}

/// The name that fio gives to what all clients did together.
const ALL_CLIENTS: &str = "All clients";

/// Reads what fio printed with `--output-format=json` or `json+`, lines around it included.
///
/// ```text
/// { "fio version" : "fio-3.33", "timestamp_ms" : 1796023391400, "jobs" : [ { "jobname" : "x", ...
/// ```
///
/// # Errors
/// There is no document, it breaks off, contradicts itself, or is of a version whose units differ.
pub fn parse(text: &str) -> Result<Output, Refused> {
    let stream = stream::split(text)?;
    let read = |(line, value): &(usize, Value)| {
        report(value).map_err(|refused| match refused {
            Refused::Field { path, what } if stream.documents.len() > 1 => {
                Refused::Field { path: format!("document of line {line}: {path}"), what }
            }
            refused => refused,
        })
    };
    let reports = stream.documents.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    Ok(Output { reports: last_of_each(reports)?, notes: stream.notes })
}

/// Of the reports that `--status-interval` wrote of one run, the last.
///
/// All of one run have the same start: their time less what they have run. Runs that were appended
/// to one file begin at least as much later as the later one ran.
fn last_of_each(reports: Vec<Report>) -> Result<Vec<Report>, Refused> {
    let several = reports.len() > 1;
    let mut last: Vec<Report> = Vec::new();
    for report in reports {
        if several && report.written_ms.is_none() {
            let what = "several documents without it: give each run a file of its own";
            return Err(Refused::field("timestamp_ms", what));
        }
        match last.last_mut() {
            Some(earlier) if is_continued(earlier, &report) => *earlier = report,
            _ => last.push(report),
        }
    }
    Ok(last)
}

fn is_continued(earlier: &Report, later: &Report) -> bool {
    let jobs = |report: &Report| -> Vec<(String, u64)> {
        report.jobs.iter().map(|job| (job.name.clone(), job.group)).collect()
    };
    let ran = |report: &Report| {
        let flows = report.jobs.iter().flat_map(|job| &job.flows);
        flows.filter_map(|flow| flow.runtime_ms).max().unwrap_or(0)
    };
    let (Some(first), Some(second)) = (earlier.written_ms, later.written_ms) else { return false };
    let (before, after) = (ran(earlier), ran(later));
    let apart = first.saturating_sub(before).abs_diff(second.saturating_sub(after));
    // A document is written some time after the counters are read.
    let tolerance = (after / 2).clamp(1, 500);
    jobs(earlier) == jobs(later) && second >= first && after >= before && apart <= tolerance
}

fn report(value: &Value) -> Result<Report, Refused> {
    let top = Object::top(value)?;
    let version = version(&top)?;
    let clients = top.has("client_stats");
    let jobs = top.objects(if clients { "client_stats" } else { "jobs" })?;
    if jobs.is_empty() {
        return Err(Refused::field("jobs", "there is none"));
    }
    let jobs = jobs.iter().map(job).collect::<Result<Vec<_>, _>>()?;
    // Where some jobs are reported as a group and others are not, fio 3.33 adds an entry without
    // name and operations.
    let is_nobody = |job: &Job| job.name.is_empty() && job.flows.is_empty();
    let single = |job: &Job| !is_nobody(job) && (!clients || job.name != ALL_CLIENTS);
    let seconds = || Ok(top.count("timestamp")?.and_then(|seconds| seconds.checked_mul(1000)));
    Ok(Report {
        version,
        written_ms: top.count("timestamp_ms")?.map_or_else(seconds, |ms| Ok(Some(ms)))?,
        options: top.options("global options")?,
        jobs: jobs.into_iter().filter(single).collect(),
        disks: top.objects("disk_util")?.iter().map(disk).collect::<Result<_, _>>()?,
    })
}

/// What follows `fio-`; 2 and older are refused by name.
fn version(top: &Object<'_>) -> Result<String, Refused> {
    let key = "fio version";
    let text = top.text(key)?.ok_or_else(|| top.refuse(key, "it is not there: not fio's"))?;
    let version = text.strip_prefix("fio-").ok_or_else(|| top.refuse(key, format!("{text:?}")))?;
    let major = version.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    match major.parse::<u32>() {
        Ok(3..) => Ok(version.to_owned()),
        Ok(_) => Err(Refused::Version(text.to_owned())),
        Err(_) => Err(top.refuse(key, format!("{text:?} names no version"))),
    }
}

fn job(object: &Object<'_>) -> Result<Job, Refused> {
    let error = object.number("error")?;
    let mut flows = Vec::new();
    for way in [Way::Read, Way::Write, Way::Trim] {
        flows.extend(flow(object, way)?);
    }
    // `unified_rw_reporting=both` says the same once more, and fio 3.38 zeros (fio#1882).
    if flows.is_empty() {
        flows.extend(flow(object, Way::Mixed)?);
    }
    let port = object.count("port")?;
    let host = object.text("hostname")?.map(|host| match port {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    });
    Ok(Job {
        name: object.text("jobname")?.unwrap_or_default().to_owned(),
        group: object.count("groupid")?.unwrap_or(0),
        host,
        error,
        errors: object.count("total_err")?.unwrap_or(0),
        options: object.options("job options")?,
        thread_ms: object.count("job_runtime")?,
        user_percent: object.amount("usr_cpu")?,
        system_percent: object.amount("sys_cpu")?,
        depths: object.shares("iodepth_level")?,
        flows,
        steady: object.object("steadystate")?.map(|steady| self::steady(&steady)).transpose()?,
    })
}

fn steady(object: &Object<'_>) -> Result<Steady, Refused> {
    Ok(Steady {
        wanted: object.text("ss")?.unwrap_or_default().to_owned(),
        attained: object.count("attained")? == Some(1),
        // A text, as "19.498796%" (fio 3.33), or a number in older ones.
        found: object.text("criterion").ok().flatten().map(str::to_owned),
    })
}

fn flow(job: &Object<'_>, way: Way) -> Result<Option<Flow>, Refused> {
    let Some(object) = job.object(way.name())? else { return Ok(None) };
    let operations = object
        .count("total_ios")?
        .ok_or_else(|| object.refuse("total_ios", "it is not there: the output is cut down"))?;
    if operations == 0 {
        return Ok(None);
    }
    // `bw` is in KiB a second; fio 3.1 has no other.
    let kib = || Ok(object.amount("bw")?.map(|kib| kib * 1024.0));
    let flow = Flow {
        way,
        operations,
        bytes: object.count("io_bytes")?,
        runtime_ms: object.count("runtime")?,
        iops: object.amount("iops")?,
        bytes_per_second: object.amount("bw_bytes")?.map_or_else(kib, |bytes| Ok(Some(bytes)))?,
        short: object.count("short_ios")?.unwrap_or(0),
        dropped: object.count("drop_ios")?.unwrap_or(0),
        submission: latency(&object, "slat_ns")?,
        completion: latency(&object, "clat_ns")?,
        total: latency(&object, "lat_ns")?,
    };
    is_consistent(&flow).map_err(|(key, what)| object.refuse(key, what))?;
    Ok(Some(flow))
}

/// Holds the rates against the counts that fio made them of.
#[expect(clippy::cast_precision_loss, reason = "a check within a percent")]
fn is_consistent(flow: &Flow) -> Result<(), (&'static str, String)> {
    let Some(ms) = flow.runtime_ms.filter(|ms| *ms > 0) else { return Ok(()) };
    let of = |count: u64| count as f64 * 1e3 / ms as f64;
    let differs = |told: Option<f64>, count: u64| {
        // The last digit of a KiB a second, or of a rate, is rounded.
        told.filter(|told| (told - of(count)).abs() > of(count) * 0.01 + 1024.0)
    };
    if let Some(told) =
        flow.iops.filter(|told| (told - of(flow.operations)).abs() > told * 0.01 + 1.0)
    {
        let counted = of(flow.operations);
        return Err(("iops", format!("{told}, where total_ios over runtime is {counted:.1}")));
    }
    match flow.bytes.and_then(|bytes| differs(flow.bytes_per_second, bytes)) {
        Some(told) => {
            let counted = of(flow.bytes.unwrap_or(0));
            Err((
                "bw",
                format!("{told} bytes a second, where io_bytes over runtime is {counted:.0}"),
            ))
        }
        None => Ok(()),
    }
}

/// A latency that was measured; fio writes one of zeros where it was not (`gtod_reduce`,
/// `disable_clat`, a synchronous engine's submission).
fn latency(flow: &Object<'_>, key: &str) -> Result<Option<Latency>, Refused> {
    let Some(object) = flow.object(key)? else { return Ok(None) };
    let mean_ns = object.amount("mean")?.unwrap_or(0.0);
    let samples = object.count("N")?;
    let max_ns = object.count("max")?;
    if samples == Some(0) || (mean_ns == 0.0 && max_ns.unwrap_or(0) == 0) {
        return Ok(None);
    }
    let latency = Latency {
        samples,
        min_ns: object.count("min")?,
        max_ns,
        mean_ns,
        deviation_ns: object.amount("stddev")?,
        // fio pads the list with a percentile of 0.
        percentiles: object.pairs("percentile")?.into_iter().filter(|pair| pair.0 > 0.0).collect(),
        bins: object.bins("bins")?.into_iter().filter(|bin| bin.1 > 0).collect(),
    };
    is_possible(&latency).map_err(|what| object.refuse("percentile", what))?;
    Ok(Some(latency))
}

/// Whether the figures of a latency can be of one set of samples.
fn is_possible(latency: &Latency) -> Result<(), String> {
    let (min, max) = (latency.min_ns.unwrap_or(0), latency.max_ns.unwrap_or(u64::MAX));
    if min > max {
        return Err(format!("the smallest is {min} ns and the largest {max} ns"));
    }
    for pair in latency.percentiles.windows(2) {
        if let [(low, before), (high, after)] = pair
            && before > after
        {
            return Err(format!("the {high}th is {after} ns and the {low}th {before} ns"));
        }
    }
    match latency.percentiles.last() {
        Some((percent, _)) if *percent > 100.0 => Err(format!("there is a {percent}th")),
        _ => Ok(()),
    }
}

fn disk(object: &Object<'_>) -> Result<Disk, Refused> {
    let sum = |ios, merges| -> Result<u64, Refused> {
        let (ios, merges) = (object.count(ios)?, object.count(merges)?);
        Ok(ios.unwrap_or(0).saturating_add(merges.unwrap_or(0)))
    };
    Ok(Disk {
        name: object.text("name")?.unwrap_or_default().to_owned(),
        reads: sum("read_ios", "read_merges")?,
        writes: sum("write_ios", "write_merges")?,
    })
}
