// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a stall does to an open loop: a process that is stopped for a fifth of its run.
//!
//! fio, which takes the time when it gets to an operation, reports such a run as better than an
//! undisturbed one. Operations that were meant to start while nothing ran are late here, all of them.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nearside_engine::{Fallback, Request, run};
use record::{DoubtKind, Outcome, Workload};
use root::LiveRoot;

const CHILD: &str = "NEARSIDE_STALL_CHILD";

/// The run itself, in a process of its own that can be stopped.
#[test]
fn child() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let text = format!(
        r#"{{"targets": [{{"path": {path:?}, "make_bytes": 4194304}}], "threads": 1, "depth": 4,
            "mix": {{"read_percent": 100}}, "pattern": {{"kind": "uniform"}},
            "blocks": {{"kind": "one", "bytes": 4096}}, "limits": {{"seconds": 5.0}},
            "pace": {{"kind": "constant", "iops": 1000.0}}}}"#
    );
    let workload: Workload = serde_json::from_str(&text).unwrap();
    let has_said = AtomicBool::new(false);
    let say = || {
        let mut output = std::io::stderr();
        output.write_all(b"R").unwrap();
        output.flush().unwrap();
    };
    let request = Request {
        workload: &workload,
        seats: &[],
        placed_as: None,
        token: &|_| None,
        stop: &AtomicBool::new(false),
        watch: &|seen| {
            if seen.elapsed > Duration::from_secs(1) && !has_said.swap(true, Ordering::Relaxed) {
                say();
            }
        },
        fallback: Fallback::None,
    };
    let finished = run(&LiveRoot::open().unwrap(), &request).unwrap();
    let text = serde_json::to_string(&finished.outcome).unwrap();
    std::io::stderr().write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_stall_is_seen_by_all_that_were_to_start_in_it() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD, folder.path().join("made"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = child.stderr.take().unwrap();
    let mut said = [0];
    output.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"R");
    let signal = |name: &str| {
        let number = child.id().to_string();
        assert!(Command::new("kill").args([name, &number]).status().unwrap().success());
    };
    signal("-STOP");
    std::thread::sleep(Duration::from_secs(1));
    signal("-CONT");
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    let outcome: Outcome = serde_json::from_str(&text).unwrap();
    let measured = outcome.measured().unwrap();
    let reads = &measured.directions[0];
    let p90 = reads.latency.as_ref().unwrap().percentile(90.0).unwrap();
    // A fifth of all were to start within the second, and half of those waited for half of it.
    assert!(p90 >= 400_000_000, "p90 {p90} ns");
    assert!(reads.service.as_ref().unwrap().percentile(50.0).unwrap() < 400_000_000);
    assert!(measured.doubts.iter().any(|doubt| doubt.kind == DoubtKind::Late));
}
