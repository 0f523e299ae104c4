// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reports made up here, each with one trap.

use record::{DoubtKind, Outcome, Run};
use serde_json::{Value, json};

use super::{About, Refused, parse, runs};

/// One job that read for 2 s: 20,000 operations of 4 KiB.
fn job() -> Value {
    json!({
        "jobname": "x", "groupid": 0, "error": 0,
        "job options": {"name": "x", "ioengine": "io_uring", "filename": "/dev/nvme0n1",
            "rw": "randread", "bs": "4k", "iodepth": "4", "direct": "1", "runtime": "2"},
        "read": {
            "io_bytes": 81_920_000, "io_kbytes": 80_000, "bw_bytes": 40_960_000, "bw": 40_000,
            "iops": 10_000.0, "runtime": 2000, "total_ios": 20_000, "short_ios": 0, "drop_ios": 0,
            "slat_ns": {"min": 500, "max": 900, "mean": 600.0, "stddev": 1.0, "N": 20_000},
            "clat_ns": {"min": 200_000, "max": 900_000, "mean": 399_400.0, "stddev": 9.0,
                "N": 20_000, "percentile": {"50.000000": 399_360, "99.000000": 602_112}},
            "lat_ns": {"min": 200_600, "max": 900_700, "mean": 400_000.0, "stddev": 9.0, "N": 20_000},
            // Per job, where iops is of the group: no import may take it.
            "iops_mean": 123.0, "bw_mean": 456.0
        },
        "write": {"total_ios": 0}, "trim": {"total_ios": 0},
        "job_runtime": 2000, "usr_cpu": 5.0, "sys_cpu": 15.0
    })
}

fn report(jobs: Vec<Value>) -> Value {
    json!({
        "fio version": "fio-3.33", "timestamp": 1_772_366_402, "timestamp_ms": 1_772_366_402_000_u64,
        "jobs": jobs,
        "disk_util": [{"name": "nvme0n1", "read_ios": 20_000, "write_ios": 0}]
    })
}

fn imported(text: &str) -> Result<Vec<Run>, Refused> {
    runs(&parse(text)?, &About::default())
}

fn of(report: &Value) -> Vec<Run> {
    imported(&report.to_string()).unwrap()
}

fn refusal(text: &str) -> String {
    imported(text).unwrap_err().to_string()
}

fn why(run: &Run) -> &str {
    match &run.outcome {
        Outcome::Failed(failed) => &failed.why,
        other => panic!("{other:?}"),
    }
}

fn doubts(run: &Run) -> Vec<DoubtKind> {
    run.outcome.measured().unwrap().doubts.iter().map(|doubt| doubt.kind).collect()
}

#[test]
fn a_plain_report_becomes_a_run() {
    let runs = of(&report(vec![job()]));
    let [run] = runs.as_slice() else { panic!("{runs:#?}") };
    assert_eq!(run.started, "2026-03-01T12:00:00.000Z");
    assert!(run.id.starts_with("20260301-120000-"), "{}", run.id);
    let measured = run.outcome.measured().unwrap();
    assert!(measured.doubts.is_empty(), "{:?}", measured.doubts);
    let read = &measured.directions[0];
    assert_eq!((read.operations, read.bytes), (20_000, 81_920_000));
    assert!((read.iops - 10_000.0).abs() < 1e-9 && (read.seconds - 2.0).abs() < 1e-9);
    // 20 % of 2 s over 20,000 operations; 10,000 a second for 0.4 ms each.
    assert!((measured.cpu_ns_per_op.unwrap() - 20_000.0).abs() < 1e-6);
    assert!((measured.mean_depth.unwrap() - 4.0).abs() < 1e-9);
    let latency = read.latency.as_ref().unwrap();
    assert_eq!((latency.percentile(99.0), latency.percentile(90.0)), (Some(602_112), None));
    let workload = run.workload.as_ref().unwrap();
    assert_eq!((workload.depth, workload.targets[0].path.as_str()), (4, "/dev/nvme0n1"));
    assert_eq!(of(&report(vec![job()]))[0].id, run.id, "an import is the same run again");
}

#[test]
fn a_failure_of_one_job_leaves_no_number() {
    let mut bad = job();
    bad["error"] = json!(5);
    bad["jobname"] = json!("bad");
    for run in of(&report(vec![job(), bad])) {
        assert_eq!(why(&run), "job bad ended with error 5 (Input/output error)");
    }
    let mut survived = job();
    survived["total_err"] = json!(7);
    let runs = of(&report(vec![survived]));
    assert_eq!(why(&runs[0]), "job x counts 7 failed operations as done");
}

#[test]
fn lines_beside_the_report_count() {
    let text = report(vec![job()]).to_string();
    let run = &imported(&format!("fio: pid=77, got signal=9\n{text}")).unwrap()[0];
    assert_eq!(why(run), "fio: pid=77, got signal=9");
    let run = &imported(&format!("fio: failed to create dir (/x): No space\n{text}")).unwrap()[0];
    assert_eq!(why(run), "fio: failed to create dir (/x): No space");
    let run = &imported(&format!("fio: terminating on signal 2\n{text}")).unwrap()[0];
    assert_eq!(run.outcome, Outcome::Cancelled);
    let run = &imported(&format!("note: both iodepth >= 1 and synchronous\n{text}")).unwrap()[0];
    assert!(run.outcome.measured().is_some());
}

#[test]
fn jobs_that_did_not_run_make_a_failed_run() {
    let clone = |asked: u32| {
        let mut clone = job();
        clone["job options"]["numjobs"] = json!(asked.to_string());
        clone
    };
    assert!(of(&report(vec![clone(2), clone(2)]))[0].outcome.measured().is_some());
    assert_eq!(why(&of(&report(vec![clone(3), clone(3)]))[0]), "2 of 3 jobs x are reported");
    assert_eq!(why(&of(&report(vec![clone(4)]))[0]), "one of 4 jobs x ran");
    let mut group = clone(4);
    group["job_runtime"] = json!(8000);
    assert!(of(&report(vec![group.clone()]))[0].outcome.measured().is_some());
    group["job_runtime"] = json!(5000);
    assert!(doubts(&of(&report(vec![group]))[0]).contains(&DoubtKind::Uneven));
    let mut nothing = job();
    nothing["read"]["total_ios"] = json!(0);
    assert_eq!(why(&of(&report(vec![nothing]))[0]), "job x did no operation");
}

#[test]
fn an_entry_of_nobody_is_left_out() {
    let nobody = json!({"groupid": 4_294_967_295_u64, "error": 0, "read": {"total_ios": 0}});
    let runs = of(&report(vec![job(), nobody]));
    assert_eq!(runs.len(), 1);
    assert!(doubts(&runs[0]).is_empty());
}

#[test]
fn contradictions_and_other_units_are_refused_by_name() {
    let change = |path: &str, value: Value| {
        let mut report = report(vec![job()]);
        *report.pointer_mut(path).unwrap() = value;
        refusal(&report.to_string())
    };
    for (path, value, wanted) in [
        ("/fio version", json!("fio-2.2.10"), "fio-2.2.10 counts latencies in microseconds"),
        ("/fio version", json!("fio-x"), "fio version: \"fio-x\" names no version"),
        ("/jobs", json!([]), "jobs: there is none"),
        ("/jobs/0/read/iops", json!(20_000.0), "jobs[0].read.iops: 20000, where total_ios over"),
        ("/jobs/0/read/bw_bytes", json!(9), "jobs[0].read.bw: 9 bytes a second, where io_bytes"),
        ("/jobs/0/read/total_ios", json!(-1), "jobs[0].read.total_ios: -1 is no count"),
        ("/jobs/0/read/total_ios", json!(1.5), "jobs[0].read.total_ios: 1.5 is no count"),
        ("/jobs/0/read/clat_ns/mean", json!("x"), "jobs[0].read.clat_ns.mean: \"x\" is no amount"),
        (
            "/jobs/0/read/clat_ns/min",
            json!(1_000_000),
            "the smallest is 1000000 ns and the largest",
        ),
        (
            "/jobs/0/read/clat_ns/percentile",
            json!({"50.0": 9, "99.0": 8}),
            "jobs[0].read.clat_ns.percentile: the 99th is 8 ns and the 50th 9 ns",
        ),
        ("/jobs/0/read/clat_ns/percentile", json!({"x": 9}), "the key is no number"),
        ("/jobs/0/read", json!([]), "jobs[0].read: it is no object"),
        (
            "/jobs/0/read/clat_ns/mean",
            json!(9e12),
            "the numbers contradict each other: Read: latency: a mean of 9000000000000 ns",
        ),
    ] {
        let refusal = change(path, value);
        assert!(refusal.contains(wanted), "{path}: {refusal}");
    }
    let twice = report(vec![job()]).to_string().replace("\"iops\":", "\"iops\":1.0,\"iops\":");
    assert!(refusal(&twice).contains("\"iops\" is there twice with different values"));
}

#[test]
fn bins_are_the_histogram_where_they_are_of_all_samples() {
    let mut binned = job();
    let bins = json!({"201728": 15_000, "602112": 4_990, "897024": 10});
    binned["read"]["clat_ns"]["bins"] = bins;
    binned["read"]["clat_ns"]["min"] = json!(201_000);
    let clones = of(&report(vec![binned.clone(), binned.clone()]));
    let measured = clones[0].outcome.measured().unwrap();
    let latency = measured.directions[0].latency.as_ref().unwrap();
    assert_eq!(latency.histogram.as_ref().unwrap().count(), 40_000);
    assert_eq!(latency.percentile(75.0), Some(201_728));
    assert_eq!(latency.percentile(99.9), Some(602_112));
    assert_eq!(latency.mean_ns, Some(399_400.0), "fio's mean is exact");
    for (bins, wanted) in [
        (json!({"201728": 15_000}), "they are not of 20000 samples"),
        (json!({"201729": 20_000}), "201729 ns is not the middle of a bucket"),
    ] {
        binned["read"]["clat_ns"]["bins"] = bins;
        let run = &of(&report(vec![binned.clone()]))[0];
        let doubt = &run.outcome.measured().unwrap().doubts[0];
        assert_eq!(doubt.kind, DoubtKind::Latency);
        assert!(doubt.text.contains(wanted), "{}", doubt.text);
    }
}

#[test]
fn percentiles_of_several_are_never_averaged() {
    let run = &of(&report(vec![job(), job()]))[0];
    let latency = run.outcome.measured().unwrap().directions[0].latency.clone().unwrap();
    assert_eq!((latency.percentiles.len(), latency.count), (0, Some(40_000)));
    assert!(doubts(run).contains(&DoubtKind::Latency));
}

#[test]
fn what_speaks_against_numbers_is_kept() {
    let mut early = job();
    early["job options"]["runtime"] = json!("60");
    assert_eq!(doubts(&of(&report(vec![early.clone()]))[0]), [DoubtKind::Short]);
    early["steadystate"] = json!({"ss": "iops:5%", "attained": 1, "criterion": "4.9%"});
    assert!(doubts(&of(&report(vec![early]))[0]).is_empty());
    let mut cached = report(vec![job()]);
    cached["disk_util"][0]["read_ios"] = json!(4);
    assert_eq!(doubts(&of(&cached)[0]), [DoubtKind::Counters]);
    let mut shallow = job();
    shallow["job options"]["iodepth"] = json!("32");
    assert_eq!(doubts(&of(&report(vec![shallow.clone()]))[0]), [DoubtKind::Depth]);
    shallow["job options"]["rate_iops"] = json!("10000");
    let paced = of(&report(vec![shallow]));
    assert_eq!(doubts(&paced[0]), [DoubtKind::Latency]);
    // What fio tells of a paced load is no latency from the place in the schedule.
    let reads = &paced[0].outcome.measured().unwrap().directions[0];
    assert!(reads.latency.is_none() && reads.service.is_some());
    let mut slow = job();
    slow["read"]["slat_ns"]["mean"] = json!(100_000.0);
    assert_eq!(doubts(&of(&report(vec![slow]))[0]), [DoubtKind::Latency]);
    let mut short = job();
    short["read"]["short_ios"] = json!(3);
    assert_eq!(doubts(&of(&report(vec![short]))[0]), [DoubtKind::Contradiction]);
}

#[test]
fn jobs_of_other_loads_are_other_runs() {
    let mut other = job();
    other["job options"]["bs"] = json!("64k");
    other["jobname"] = json!("y");
    let runs = of(&report(vec![job(), other]));
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| doubts(run).contains(&DoubtKind::Beside)));
    let mut second = job();
    second["job options"]["filename"] = json!("/dev/nvme1n1");
    second["jobname"] = json!("second");
    let runs = of(&report(vec![job(), second]));
    let [run] = runs.as_slice() else { panic!("{runs:#?}") };
    assert_eq!(run.workload.as_ref().unwrap().targets.len(), 2);
    assert_eq!(run.outcome.measured().unwrap().directions[0].operations, 40_000);
}

#[test]
fn latencies_that_were_not_measured_are_none() {
    let mut reduced = job();
    for key in ["slat_ns", "clat_ns", "lat_ns"] {
        reduced["read"][key] = json!({"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0});
    }
    let measured = of(&report(vec![reduced]))[0].outcome.measured().unwrap().clone();
    assert_eq!((measured.directions[0].latency.clone(), measured.mean_depth), (None, None));
    // With lat_percentiles the whole latency has them, and the completion none.
    let mut whole = job();
    let percentiles = whole["read"]["clat_ns"]["percentile"].take();
    whole["read"]["clat_ns"].as_object_mut().unwrap().remove("percentile");
    whole["read"]["lat_ns"]["percentile"] = percentiles;
    let measured = of(&report(vec![whole]))[0].outcome.measured().unwrap().clone();
    let latency = measured.directions[0].latency.as_ref().unwrap();
    assert_eq!((latency.mean_ns, latency.percentile(50.0)), (Some(400_000.0), Some(399_360)));
}

#[test]
fn unified_reports_are_read_once() {
    let mut mixed = job();
    let read = mixed["read"].take();
    mixed
        .as_object_mut()
        .unwrap()
        .retain(|key, _| !["read", "write", "trim"].contains(&key.as_str()));
    mixed["mixed"] = read;
    let run = &of(&report(vec![mixed]))[0];
    assert_eq!(run.outcome.measured().unwrap().directions[0].kind, record::Kind::Mixed);
    let mut both = job();
    both["mixed"] = json!({"total_ios": 0, "io_bytes": 0});
    let run = &of(&report(vec![both]))[0];
    assert_eq!(run.outcome.measured().unwrap().directions.len(), 1);
}

#[test]
fn status_reports_of_one_run_are_one_and_appended_runs_are_several() {
    let at = |written_ms: u64, ran_ms: u64| {
        let mut report = report(vec![job()]);
        report["timestamp_ms"] = json!(written_ms);
        let read = &mut report["jobs"][0]["read"];
        read["runtime"] = json!(ran_ms);
        read["total_ios"] = json!(ran_ms * 10);
        read["io_bytes"] = json!(ran_ms * 40_960);
        report.to_string()
    };
    let begun = 1_772_366_400_000;
    let one = [at(begun + 1000, 1000), at(begun + 1500, 1500), at(begun + 2000, 2000)];
    let runs = imported(&one.join("\n")).unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].outcome.measured().unwrap().directions[0].operations, 20_000);
    let two = [at(begun + 2000, 2000), at(begun + 4100, 2000)];
    assert_eq!(imported(&two.join("\n")).unwrap().len(), 2);
    let mut timeless = report(vec![job()]);
    timeless.as_object_mut().unwrap().retain(|key, _| !key.starts_with("timestamp"));
    assert!(imported(&timeless.to_string()).is_ok());
    let twice = format!("{timeless}\n{timeless}");
    assert!(refusal(&twice).contains("give each run a file of its own"));
}

#[test]
fn hosts_are_told_apart_and_their_sum_is_left_out() {
    let on = |host: &str| {
        let mut client = job();
        client["hostname"] = json!(host);
        client["port"] = json!(8765);
        client
    };
    let mut all = job();
    all["jobname"] = json!("All clients");
    all["read"]["total_ios"] = json!(40_000);
    all["read"]["io_bytes"] = json!(163_840_000);
    all["read"]["iops"] = json!(20_000.0);
    all["read"]["bw_bytes"] = json!(81_920_000);
    let mut report = report(Vec::new());
    report.as_object_mut().unwrap().remove("jobs");
    report["client_stats"] = json!([on("a"), on("b"), all]);
    let runs = of(&report);
    let [run] = runs.as_slice() else { panic!("{runs:#?}") };
    assert_eq!(run.outcome.measured().unwrap().directions[0].operations, 40_000);
}
