// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs as they are drawn.

use record::Run;
use store::Entry;

use super::*;
use crate::Style;

/// A run as it lies in a store.
const RUN: &str = r#"{"schema": "run/1", "id": "20260301-120000-1f0c8e2b7d",
    "started": "2026-03-01T12:00:00.000Z", "note": "before\u001b[31m", "workload": null,
    "workload_hash": null, "engine": {"name": "fio", "version": "3.33", "way": "io_uring"},
    "environment": {"topology_hash": null, "host": "made up", "firmware": null, "kernel": "6.1",
        "unknown": [{"what": "workload", "why": "not told"}]},
    "outcome": {"class": "measured", "seconds": 30.0, "mean_depth": 31.9, "directions": [
        {"kind": "read", "operations": 4972890, "bytes": 2546119680, "seconds": 30.0,
         "iops": 165763.0, "bytes_per_second": 84870656.0, "latency": {"count": 4972890,
            "min_ns": 850, "max_ns": 4100000, "mean_ns": 192400.5,
            "percentiles": [{"percent": 50, "ns": 180224}, {"percent": 99, "ns": 1204224}]}}],
        "doubts": [{"kind": "short", "text": "it ended early"}]}}"#;

fn run() -> Run {
    Run::parse(RUN).unwrap()
}

#[test]
fn a_run_is_drawn() {
    let text = show(&run(), &Style::default());
    for part in [
        "20260301-120000-1f0c8e2b7d · 2026-03-01T12:00:00.000Z · fio 3.33 (io_uring)\n",
        "before\u{fffd}[31m\n",
        "read          165,763 IOPS, 84.9 MB/s, 4,972,890 operations\n",
        "p99       1.20 ms\n",
        "in doubt      it ended early\n",
        "not known     workload: not told\n",
    ] {
        assert!(text.contains(part), "{part:?}\n{text}");
    }
    assert!(!text.contains("p95"), "what is not told is not shown");
}

#[test]
fn a_failed_run_shows_its_reason_and_no_number() {
    let mut run = run();
    run.outcome = record::Outcome::Failed(record::Failed {
        why: "job x ended with error 22".to_owned(),
        failures: Vec::new(),
    });
    let text = show(&run, &Style::default());
    assert!(text.contains("failed        job x ended with error 22"), "{text}");
    let text = list(&[Entry::from(&run)], 1, &Style::default());
    assert!(text.contains("failed") && !text.contains("IOPS"), "{text}");
}

#[test]
fn a_list_says_what_it_leaves_out() {
    let entry = Entry::from(&run());
    let text = list(&[entry], 100_000, &Style { width: 80, ..Style::default() });
    assert!(text.contains("1 newest of 100000; --all lists the others"), "{text}");
    assert!(text.contains("doubtful"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(list(&[], 0, &Style::default()).contains("no such run is kept"));
}

#[test]
fn figures_have_three_digits_or_groups() {
    assert_eq!(
        [1.0, 999.0, 1234.0, 99_960.0, 4.1e6, 1.5e9, 2.5e11].map(time),
        ["1 ns", "999 ns", "1.23 us", "100 us", "4.10 ms", "1.50 s", "250 s"]
    );
    assert_eq!([2.777, 999.6, 165_767.2].map(iops), ["2.78 IOPS", "1,000 IOPS", "165,767 IOPS"]);
}
