// SPDX-License-Identifier: MIT OR Apache-2.0
//! fio itself, driven: runs, failures, an end half way, several hosts; and gdsio by a stand-in.

use std::cell::Cell;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nearside_run::child::Limits;
use nearside_run::fio::{self, Fio, Task};
use nearside_run::gdsio::{self, Gdsio};
use nearside_run::{DriveError, fio::job_file};
use record::{Outcome, Run};
use support::{Failed, Need, failed, trial};

fn main() {
    let fio = [Need::Tool("fio")];
    support::run(vec![
        trial("a_run_has_numbers", &fio, a_run_has_numbers),
        trial("options_are_probed", &fio, options_are_probed),
        trial("failures_have_reasons", &fio, failures_have_reasons),
        trial("a_file_that_is_read_stays_as_it_is", &fio, what_is_read_stays),
        trial("one_job_of_two_that_fails_is_a_failed_run", &fio, one_of_two),
        trial("cancelled_half_way_nothing_is_left", &fio, cancelled_half_way),
        trial("past_its_time_nothing_is_left", &fio, past_its_time),
        trial("two_hosts_are_one_run", &fio, two_hosts),
        trial("old_and_strange_versions_are_refused", &[], versions),
        trial("gdsio_is_driven", &[], gdsio_is_driven),
    ])
}

fn hold(holds: bool, what: impl std::fmt::Display) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(failed(what)) }
}

fn limits() -> Limits {
    Limits {
        time: Duration::from_secs(120),
        output_bytes: 64 << 20,
        grace: Duration::from_secs(10),
        files: Vec::new(),
    }
}

/// A job file that reads a file of 4 MiB in `folder` for so many seconds.
fn jobs(folder: &Path, seconds: u32) -> String {
    format!(
        "[global]\nioengine=psync\nsize=4m\nrw=randread\nbs=4k\nruntime={seconds}\ntime_based\n\
         [reader]\nfilename={}/file\n",
        folder.display()
    )
}

fn task(job_file: String) -> Task {
    Task { job_file, now_ms: 1_772_366_400_000, ..Task::default() }
}

fn carry_out(task: &Task) -> Result<Vec<Run>, Failed> {
    let fio = Fio::find().map_err(failed)?;
    fio.carry_out(task, &limits(), &|| false).map_err(failed)
}

fn only(runs: Vec<Run>) -> Result<Run, Failed> {
    let [run] = <[Run; 1]>::try_from(runs).map_err(|runs| failed(format!("{runs:#?}")))?;
    Ok(run)
}

fn why(run: &Run) -> Result<&str, Failed> {
    match &run.outcome {
        Outcome::Failed(failed) => Ok(&failed.why),
        other => Err(failed(format!("{other:?}"))),
    }
}

fn a_run_has_numbers() -> Result<(), Failed> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let text = jobs(folder.path(), 1);
    let run = only(carry_out(&task(text.clone()))?)?;
    let measured = run.outcome.measured().ok_or_else(|| failed(format!("{run:#?}")))?;
    let [read] = measured.directions.as_slice() else { return Err(failed("one direction")) };
    hold(read.operations > 10 && read.bytes == read.operations * 4096, read.operations)?;
    let latency = read.latency.as_ref().ok_or_else(|| failed("no latency"))?;
    let histogram = latency.histogram.as_ref().ok_or_else(|| failed("no histogram"))?;
    hold(histogram.count() == read.operations, "the histogram has every operation")?;
    hold(measured.cpu_ns_per_op.is_some_and(|ns| ns > 0.0), "CPU time")?;
    let steps = job_file::parse(&text).map_err(failed)?;
    hold(run.workload.as_ref() == steps.first().map(|step| &step.workload), "the workload")?;
    hold(run.engine.command.iter().any(|word| word == "--output-format=json+"), "the command")?;
    let json = serde_json::to_string(&run).map_err(failed)?;
    hold(Run::parse(&json).map_err(failed)? == run, "it changes on its way through JSON")
}

fn options_are_probed() -> Result<(), Failed> {
    let fio = Fio::find().map_err(failed)?;
    hold(fio.engine_knows("libaio", "userspace_reap").map_err(failed)?, "libaio's own option")?;
    hold(!fio.engine_knows("libaio", "no_such_option").map_err(failed)?, "no option")?;
    hold(!fio.engine_knows("no_such_engine", "x").map_err(failed)?, "no engine")?;
    fio.knows_nodes().map_err(failed)?;
    Ok(())
}

fn failures_have_reasons() -> Result<(), Failed> {
    for (text, wanted) in [
        ("[x]\nfilename=/proc/self/none\nrw=read\nsize=1m\n", "job x "),
        ("[x]\nfilename=/dev/null\nbs=banana\n", "fio ended with 1: "),
        ("[x]\nno_such_option=1\n", "fio ended with 1: "),
        ("[x]\nioengine=no_such_engine\nsize=1m\n", "fio ended with 1: "),
        ("", "fio ended with 1: "),
    ] {
        let run = only(carry_out(&task(text.to_owned()))?)?;
        hold(why(&run)?.contains(wanted), format!("{text:?}: {}", why(&run)?))?;
    }
    Ok(())
}

/// fio makes a file anew that is shorter than its job asks: never one that is somebody's.
fn what_is_read_stays() -> Result<(), Failed> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let (path, made) = (folder.path().join("file"), folder.path().join("made"));
    let content: Vec<u8> = (0..104_000_u32).map(|at| (at % 251) as u8).collect();
    fs::write(&path, &content).map_err(failed)?;
    let text = jobs(folder.path(), 1);
    let step = job_file::parse(&text).map_err(failed)?.into_iter().next();
    let mut workload = step.ok_or_else(|| failed("no step"))?.workload;
    for target in &mut workload.targets {
        target.make_bytes = None;
    }
    workload.length_bytes = Some(4 << 20);
    let reads = Task { workload: Some(workload.clone()), ..task(text.clone()) };
    let server = Server::start()?;
    let remote = Task { hosts: vec![server.1.clone()], ..reads.clone() };
    let run = only(carry_out(&remote)?)?;
    hold(!why(&run)?.is_empty(), why(&run)?)?;
    hold(fs::read(&path).map_err(failed)? == content, "the host's file was made anew")?;
    let error = carry_out(&reads).err().map(|error| format!("{error:?}")).unwrap_or_default();
    hold(error.contains("of the 4194304 that are asked"), error)?;
    // What is only in the job file, and in no workload, is held back by fio itself.
    workload.length_bytes = None;
    let run = only(carry_out(&Task { workload: Some(workload.clone()), ..reads.clone() })?)?;
    hold(!why(&run)?.is_empty(), why(&run)?)?;
    // Beside one that is made there is no --readonly.
    workload.length_bytes = Some(4 << 20);
    let made = made.to_string_lossy().into_owned();
    workload.targets.push(record::Target { path: made, make_bytes: Some(4 << 20) });
    hold(carry_out(&Task { workload: Some(workload), ..reads }).is_err(), "a made one beside it")?;
    hold(fs::read(&path).map_err(failed)? == content, "the file was made anew")
}

/// The other job does well, and counts for nothing.
fn one_of_two() -> Result<(), Failed> {
    let folder = tempfile::tempdir().map_err(failed)?;
    for grouping in ["", "[global]\ngroup_reporting\n"] {
        // A folder of the kernel's in which no file can be made.
        let lost = "[lost]\nfilename=/proc/self/none\n";
        let text = format!("{grouping}{}{lost}", jobs(folder.path(), 1));
        for run in carry_out(&task(text))? {
            hold(!why(&run)?.is_empty(), why(&run)?)?;
        }
    }
    Ok(())
}

/// Processes whose command line or working folder names a file that is asked for.
fn users_of(needle: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = std::process::id().to_string();
    let pids = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let pids = pids.filter(|pid| *pid != own && pid.bytes().all(|byte| byte.is_ascii_digit()));
    let uses = |pid: &String| {
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        descriptors
            .filter_map(|entry| fs::read_link(entry.path()).ok())
            .any(|path| path.to_string_lossy().contains(needle))
    };
    pids.filter(uses).collect()
}

/// Cancelled when fio has the file open, so that it surely runs.
fn cancelled_half_way() -> Result<(), Failed> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let needle = folder.path().join("file").display().to_string();
    let begun: Cell<Option<Instant>> = Cell::new(None);
    let is_cancelled = || {
        if begun.get().is_none() && !users_of(&needle).is_empty() {
            begun.set(Some(Instant::now()));
        }
        begun.get().is_some_and(|begun| begun.elapsed() > Duration::from_millis(300))
    };
    let fio = Fio::find().map_err(failed)?;
    let text = jobs(folder.path(), 100) + "numjobs=3\n";
    let run = only(fio.carry_out(&task(text), &limits(), &is_cancelled).map_err(failed)?)?;
    hold(begun.get().is_some(), "it was seen running")?;
    hold(run.outcome == Outcome::Cancelled, format!("{:?}", run.outcome))?;
    hold(users_of(&needle).is_empty(), "a process of fio is left")
}

fn past_its_time() -> Result<(), Failed> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let needle = folder.path().join("file").display().to_string();
    let fio = Fio::find().map_err(failed)?;
    let limits = Limits { time: Duration::from_secs(1), ..limits() };
    let task = task(jobs(folder.path(), 100));
    let run = only(fio.carry_out(&task, &limits, &|| false).map_err(failed)?)?;
    hold(why(&run)?.contains("longer than it may"), why(&run)?)?;
    hold(users_of(&needle).is_empty(), "a process of fio is left")
}

/// A server of fio on the loopback address, ended with its handle.
struct Server(Child, String);

impl Server {
    fn start() -> Result<Self, Failed> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        drop(listener);
        let mut command = Command::new("fio");
        command.arg(format!("--server=ip:127.0.0.1,{port}"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(failed)?;
        let server = Self(child, format!("ip:127.0.0.1,{port}"));
        let start = Instant::now();
        // Not by connecting: that would be a client to it.
        let listens = || {
            let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
            table.contains(&format!("0100007F:{port:04X} 00000000:0000 0A"))
        };
        while !listens() && start.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The percentiles of two hosts are those of all their samples together; fio 3.33 gives none for
/// all clients.
fn two_hosts() -> Result<(), Failed> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let servers = [Server::start()?, Server::start()?];
    let hosts: Vec<String> = servers.iter().map(|server| server.1.clone()).collect();
    let task = Task { hosts, ..task(jobs(folder.path(), 1)) };
    let run = only(carry_out(&task)?)?;
    let measured = run.outcome.measured().ok_or_else(|| failed(format!("{run:#?}")))?;
    let [read] = measured.directions.as_slice() else { return Err(failed("one direction")) };
    let histogram = read.latency.as_ref().and_then(|latency| latency.histogram.as_ref());
    let histogram = histogram.ok_or_else(|| failed(format!("no histogram: {measured:#?}")))?;
    hold(histogram.count() == read.operations, "every operation of both")?;

    let jobs_file = folder.path().join("jobs.fio");
    fs::write(&jobs_file, format!("[global]\nthread=1\n{}", task.job_file)).map_err(failed)?;
    let output = folder.path().join("out.json");
    let mut command = Command::new("fio");
    command.arg("--output-format=json+").arg(format!("--output={}", output.display()));
    for host in &task.hosts {
        command.arg(format!("--client={host}")).arg(&jobs_file);
    }
    hold(command.status().map_err(failed)?.success(), "fio as client")?;
    let text = fs::read_to_string(&output).map_err(failed)?;
    let run = only(
        fio::runs(&fio::parse(&text).map_err(failed)?, &fio::About::default()).map_err(failed)?,
    )?;
    let start = text.find('{').unwrap_or(0);
    let value: serde_json::Value =
        serde_json::from_str(text.get(start..).unwrap_or_default()).map_err(failed)?;
    let clients = value["client_stats"].as_array().ok_or_else(|| failed("no client_stats"))?;
    let all = clients.iter().find(|client| client["jobname"] == "All clients");
    let all = all.ok_or_else(|| failed("no entry of all clients"))?;
    let measured = run.outcome.measured().ok_or_else(|| failed("no numbers"))?;
    let read = measured.directions.first().ok_or_else(|| failed("no reads"))?;
    hold(all["read"]["total_ios"] == read.operations, "operations of both")?;
    let samples = samples(clients);
    hold(samples.len() as u64 == read.operations, format!("{} samples", samples.len()))?;
    for permille in [10, 500, 900, 990, 999] {
        let rank = (samples.len() * permille).div_ceil(1000).max(1);
        let theirs = samples.get(rank - 1).copied();
        #[expect(clippy::cast_precision_loss, reason = "at most 999")]
        let percent = permille as f64 / 10.0;
        let ours = read.latency.as_ref().and_then(|latency| latency.percentile(percent));
        hold(ours == theirs, format!("{percent}: {ours:?}, not {theirs:?}"))?;
    }
    Ok(())
}

/// Every sample of every client, by the middle of its bin, sorted.
fn samples(clients: &[serde_json::Value]) -> Vec<u64> {
    let mut samples = Vec::new();
    for bins in clients.iter().filter_map(|client| client["read"]["clat_ns"]["bins"].as_object()) {
        for (middle, count) in bins {
            let (middle, count) = (middle.parse().unwrap_or(0), count.as_u64().unwrap_or(0));
            samples.extend((0..count).map(|_| middle));
        }
    }
    samples.sort_unstable();
    samples
}

/// A script that stands in for a program.
fn stand_in(folder: &Path, name: &str, script: &str) -> Result<std::path::PathBuf, Failed> {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).map_err(failed)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    Ok(path)
}

fn versions() -> Result<(), Failed> {
    let folder = tempfile::tempdir().map_err(failed)?;
    for (script, wanted) in [
        ("echo fio-2.2.10", "is fio-2.2.10; driven are fio-3.1 and newer"),
        ("echo fio-3.0", "is fio-3.0; driven"),
        ("echo something else", "is something else; driven"),
        ("exit 1", "is silent on its version; driven"),
    ] {
        let program = stand_in(folder.path(), "fio", script)?;
        let error = Fio::at(&program).err().ok_or_else(|| failed(script))?.to_string();
        hold(error.contains(wanted), error)?;
    }
    let program = stand_in(folder.path(), "fio", "echo fio-3.1")?;
    hold(Fio::at(&program).map_err(failed)?.version() == "3.1", "3.1 is new enough")?;
    let absent = Fio::at(&folder.path().join("none"));
    hold(matches!(absent, Err(DriveError::NotStarted { .. })), "it is not there")
}

fn gdsio_is_driven() -> Result<(), Failed> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let line = "IoType: READ XferType: GPUD Threads: 4 DataSetSize: 8388608/8388608(KiB) IOSize: \
                1024(KiB) Throughput: 4.000000 GiB/sec, Avg_Latency: 1000.000000 usecs ops: 8192 \
                total_time 2.000000 secs";
    let task = gdsio::Task {
        file: "/mnt/x".into(),
        gpu: 1,
        node: Some(0),
        threads: 4,
        set_bytes: 8 << 30,
        io_bytes: 1 << 20,
        transfer: gdsio::Transfer::Direct,
        access: gdsio::Access::Read,
        seconds: Some(2),
        note: None,
        now_ms: 0,
    };
    let outcome = |script: &str| -> Result<Run, Failed> {
        let gdsio = Gdsio::at(&stand_in(folder.path(), "gdsio", script)?);
        only(gdsio.carry_out(&task, &limits(), &|| false).map_err(failed)?)
    };
    let words = "-d 1 -w 4 -s 8388608K -i 1024K -x 0 -I 0 -n 0 -T 2 -f /mnt/x";
    let run = outcome(&format!("[ \"$*\" = \"{words}\" ] && echo '{line}'"))?;
    let measured = run.outcome.measured().ok_or_else(|| failed(format!("{run:#?}")))?;
    hold(measured.directions.first().is_some_and(|read| read.operations == 8192), "operations")?;
    for (script, wanted) in [
        ("echo 'file register error: not supported'; exit 0", "gdsio says: file register error"),
        (
            &format!("echo '{line}'; echo 'file register error: x' >&2"),
            "gdsio says: file register error",
        ),
        ("echo 'no GPU' >&2; exit 7", "gdsio ended with 7: no GPU"),
        (&format!("echo '{line}'; exit 1"), "gdsio ended with 1"),
        ("exit 0", "no results of gdsio in it: it is empty"),
    ] {
        let run = outcome(script)?;
        hold(why(&run)?.contains(wanted), why(&run)?)?;
    }
    Ok(())
}
