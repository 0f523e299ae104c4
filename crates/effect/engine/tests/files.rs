// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole runs on files, by every way that there is.

#![expect(clippy::unwrap_used, reason = "a panic is how these tests fail")]

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use nearside_engine::{Error, Fallback, Finished, Request, Seat, run};
use record::{
    Blocks, Cache, Division, DoubtKind, FailureKind, Kind, Limits, Measured, Mix, Outcome, Pace,
    Pattern, Sharing, Target, Verify, WhenFull, Workload,
};
use root::LiveRoot;
use support::made::workload;

const MIB: u64 = 1 << 20;

/// A file of random-looking bytes in the target folder: the folder for temporary files may be in memory.
struct Made {
    folder: tempfile::TempDir,
}

impl Made {
    fn new(bytes: u64) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut file = std::fs::File::create(folder.path().join("file")).unwrap();
        let piece: Vec<u8> = (0..MIB).map(|at| (at % 251) as u8).collect();
        for _ in 0..bytes / MIB {
            file.write_all(&piece).unwrap();
        }
        file.sync_all().unwrap();
        Self { folder }
    }

    fn path(&self) -> String {
        self.folder.path().join("file").to_string_lossy().into_owned()
    }
}

fn go(workload: &Workload, fallback: Fallback) -> Result<Finished, Error> {
    let root = LiveRoot::open().unwrap();
    let request = Request {
        workload,
        seats: &[],
        placed_as: None,
        token: &|_| None,
        stop: &AtomicBool::new(false),
        watch: &|_| {},
        fallback,
    };
    run(&root, &request)
}

fn measured(finished: &Finished) -> &Measured {
    finished.outcome.measured().unwrap_or_else(|| panic!("{:?}", finished.outcome))
}

#[test]
fn every_way_reads_and_counts_the_same() {
    let file = Made::new(8 * MIB);
    let ways = [
        (Fallback::None, "io_uring"),
        (Fallback::Aio, "io_submit"),
        (Fallback::Positioned, "pread"),
    ];
    for (fallback, name) in ways {
        let amount = Limits { bytes: Some(4 * MIB), ..Limits::default() };
        let workload = Workload { limits: amount, ..workload(&file.path()) };
        let finished = go(&workload, fallback).unwrap();
        assert_eq!(finished.engine.way.as_deref(), Some(name));
        let measured = measured(&finished);
        let [reads] = measured.directions.as_slice() else { panic!("{measured:?}") };
        assert_eq!((reads.kind, reads.operations, reads.bytes), (Kind::Read, 1024, 4 * MIB));
        let latency = reads.latency.as_ref().unwrap();
        assert_eq!(latency.count, Some(1024));
        let series: u64 = reads.series.iter().map(|second| second.operations).sum();
        assert_eq!(series, 1024, "{name}");
        // What was asked by name is no second best.
        assert!(measured.doubts.iter().all(|doubt| doubt.kind != DoubtKind::Fallback));
        let own: u64 = measured.devices.iter().map(|device| device.own_read.bytes).sum();
        // A file system without a device of its own (overlayfs, tmpfs) has no counters.
        let has_device = !measured.devices.is_empty();
        assert_eq!(own, if has_device { 4 * MIB } else { 0 });
    }
}

#[test]
fn time_ends_a_run_and_the_ramp_does_not_count() {
    let file = Made::new(4 * MIB);
    let limits = Limits { seconds: Some(0.3), ramp_seconds: 0.2, bytes: None };
    let workload = Workload { limits, ..workload(&file.path()) };
    let finished = go(&workload, Fallback::None).unwrap();
    let measured = measured(&finished);
    let reads = &measured.directions[0];
    assert!((0.2..=0.31).contains(&measured.seconds), "{}", measured.seconds);
    let all: u64 = reads.series.iter().map(|second| second.operations).sum();
    assert!(reads.operations > 0 && reads.operations < all);
    assert!((reads.iops * measured.seconds - reads.operations as f64).abs() < 1.0);
    assert!(measured.cpu_ns_per_op.is_some_and(|ns| ns > 50.0));
}

#[test]
fn a_hole_is_no_device() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("sparse");
    std::fs::File::create(&path).unwrap().set_len(64 * MIB).unwrap();
    let finished = go(&workload(&path.to_string_lossy()), Fallback::None).unwrap();
    let kinds: Vec<DoubtKind> = measured(&finished).doubts.iter().map(|doubt| doubt.kind).collect();
    assert!(kinds.iter().any(|kind| kind.is_no_device()), "{kinds:?}");
}

#[test]
fn many_targets_and_threads_sum_to_what_each_did() {
    let (one, other) = (Made::new(4 * MIB), Made::new(4 * MIB));
    for sharing in [Sharing::EachItsOwn, Sharing::EveryThreadAll] {
        let mut workload = workload(&one.path());
        workload.targets.push(Target { path: other.path(), make_bytes: None });
        (workload.threads, workload.sharing) = (2, sharing);
        workload.pattern = Pattern::Sequential;
        workload.division = Division::Pieces;
        workload.limits = Limits { bytes: Some(8 * MIB), ..Limits::default() };
        let finished = go(&workload, Fallback::None).unwrap();
        assert_eq!(measured(&finished).directions[0].bytes, 8 * MIB);
        let threads = if sharing == Sharing::EachItsOwn { 4 } else { 2 };
        assert_eq!(finished.placement.threads.len(), threads);
    }
}

/// A file of the run's own, written to and verified.
fn written(path: &Path, mix: Mix, verify: Option<Verify>) -> Workload {
    let mut workload = workload(&path.to_string_lossy());
    workload.targets[0].make_bytes = Some(4 * MIB);
    (workload.mix, workload.verify) = (mix, verify);
    workload.blocks = Blocks::Range { min_bytes: 4096, max_bytes: 16_384 };
    workload.limits = Limits { bytes: Some(4 * MIB), ..Limits::default() };
    workload
}

#[test]
fn writes_are_verified_by_every_way_and_their_file_is_taken_away() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("made");
    let mixed = Mix { read_percent: 30, write_percent: 70, trim_percent: 0 };
    for fallback in [Fallback::None, Fallback::Aio, Fallback::Positioned] {
        for mix in [Mix::WRITES, mixed] {
            let workload = written(&path, mix, Some(Verify::AfterWrites));
            let finished = go(&workload, fallback).unwrap();
            let bytes: u64 = measured(&finished).directions.iter().map(|one| one.bytes).sum();
            assert!((4 * MIB..5 * MIB).contains(&bytes), "{bytes}");
            assert!(!path.exists());
        }
    }
}

#[test]
fn what_was_never_written_is_found_lost() {
    let file = Made::new(MIB);
    let mut workload = workload(&file.path());
    workload.verify = Some(Verify::Reads);
    let finished = go(&workload, Fallback::None).unwrap();
    let Outcome::Failed(failed) = &finished.outcome else { panic!("{:?}", finished.outcome) };
    assert!(failed.failures.iter().all(|failure| failure.kind == FailureKind::Lost));
    assert!(!failed.failures.is_empty());
}

#[test]
fn trims_make_holes_in_a_file_of_the_runs_own() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let workload = written(&folder.path().join("made"), Mix::TRIMS, None);
    let finished = go(&workload, Fallback::None).unwrap();
    let [trims] = measured(&finished).directions.as_slice() else { panic!() };
    assert!(trims.kind == Kind::Trim && trims.bytes >= 4 * MIB);
    assert!(trims.latency.as_ref().unwrap().min_ns > Some(0));
}

#[test]
fn a_file_that_is_there_is_never_written() {
    let file = Made::new(MIB);
    let before = std::fs::read(file.path()).unwrap();
    let workload = Workload { mix: Mix::WRITES, ..workload(&file.path()) };
    let error = go(&workload, Fallback::None).unwrap_err().to_string();
    assert!(error.ends_with("it is a regular file, not a block device"), "{error}");
    assert_eq!(std::fs::read(file.path()).unwrap(), before);
}

#[test]
fn an_open_loop_keeps_its_rate_and_misses_what_it_cannot() {
    let file = Made::new(4 * MIB);
    let mut workload = workload(&file.path());
    workload.pace = Pace::Constant { iops: 400.0, when_full: WhenFull::Delay };
    workload.limits = Limits { seconds: Some(1.0), ..Limits::default() };
    let finished = go(&workload, Fallback::None).unwrap();
    let reads = &measured(&finished).directions[0];
    // What is in flight at the end is in the latencies, and not in the rate.
    let told = reads.latency.as_ref().unwrap().count.unwrap();
    assert_eq!(told + measured(&finished).missed.unwrap(), 400);
    assert!((1..=told).contains(&reads.operations), "{}", reads.operations);
    assert_eq!(reads.service.as_ref().unwrap().count, Some(told));
}

/// Far more than any device does, one at a time: most are missed, and it says so.
#[test]
fn what_comes_due_while_the_queue_is_full_is_counted_of_mixed_loads_too() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mixed = Mix { read_percent: 30, write_percent: 70, trim_percent: 0 };
    for mix in [Mix::WRITES, mixed] {
        let mut workload = written(&folder.path().join("made"), mix, None);
        workload.depth = 1;
        workload.pace = Pace::Poisson { iops: 5e6, when_full: WhenFull::Miss };
        workload.limits = Limits { seconds: Some(0.2), ..Limits::default() };
        let finished = go(&workload, Fallback::None).unwrap();
        let measured = measured(&finished);
        let done: u64 = measured.directions.iter().map(|one| one.operations).sum();
        assert!(measured.missed.unwrap() > done, "{measured:?}");
        assert!(measured.doubts.iter().any(|doubt| doubt.kind == DoubtKind::Late));
    }
}

#[test]
fn a_run_that_is_stopped_has_no_number() {
    let file = Made::new(4 * MIB);
    let mut workload = workload(&file.path());
    workload.limits.seconds = Some(600.0);
    let stop = AtomicBool::new(false);
    let request = Request {
        workload: &workload,
        seats: &[Seat::default()],
        placed_as: Some("near".to_owned()),
        token: &|_| None,
        stop: &stop,
        watch: &|seen| stop.store(seen.operations > 0, Ordering::Relaxed),
        fallback: Fallback::None,
    };
    let finished = run(&LiveRoot::open().unwrap(), &request).unwrap();
    assert_eq!(finished.outcome, Outcome::Cancelled);
    assert_eq!(finished.placement.asked.as_deref(), Some("near"));
}

#[test]
fn an_error_of_the_device_is_a_failed_run() {
    let file = Made::new(MIB);
    let mut workload = workload(&file.path());
    workload.limits.seconds = Some(30.0);
    let (shrunk, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let request = Request {
        workload: &workload,
        seats: &[],
        placed_as: None,
        token: &|_| None,
        stop: &stop,
        watch: &|seen| {
            if seen.operations > 0 && !shrunk.swap(true, Ordering::Relaxed) {
                let file = std::fs::OpenOptions::new().write(true).open(file.path()).unwrap();
                file.set_len(8192).unwrap();
            }
        },
        fallback: Fallback::None,
    };
    let finished = run(&LiveRoot::open().unwrap(), &request).unwrap();
    // What fails is no wish of whoever runs several: the next one may go on.
    assert!(!stop.load(Ordering::Relaxed));
    let Outcome::Failed(failed) = finished.outcome else { panic!("{:?}", finished.outcome) };
    assert_eq!(failed.failures[0].kind, FailureKind::Short);
    assert_eq!(failed.failures[0].target.as_deref(), Some(file.path().as_str()));
}

#[test]
fn what_cannot_be_is_refused_before_anything_runs() {
    let file = Made::new(MIB);
    type Change = fn(&mut Workload);
    let cases: [(Change, &str); 5] = [
        (|w| w.depth = 0, "the depth is 0"),
        (|w| w.targets[0].path.push_str("-no"), "No such file"),
        (|w| w.targets[0].path = "/dev/null".to_owned(), "neither a block device nor a file"),
        (|w| w.blocks = Blocks::One { bytes: 1 << 30 }, "fewer than one operation"),
        (
            |w| {
                (w.depth, w.threads) = (32_768, 65_536);
                w.blocks = Blocks::One { bytes: MIB };
            },
            "half of them may be used",
        ),
    ];
    for (change, wanted) in cases {
        let mut workload = workload(&file.path());
        change(&mut workload);
        let error = go(&workload, Fallback::None).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn buffered_reads_say_that_they_may_come_from_memory() {
    let file = Made::new(MIB);
    let mut workload = workload(&file.path());
    workload.access.cache = Cache::Buffered;
    let finished = go(&workload, Fallback::None).unwrap();
    let doubts = &measured(&finished).doubts;
    assert!(doubts.iter().any(|doubt| doubt.kind == DoubtKind::PageCache));
}

#[test]
fn writes_into_memory_say_so() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { panic!("there is no /dev/shm") };
    let mut workload = written(&folder.path().join("made"), Mix::WRITES, None);
    workload.access.cache = Cache::Buffered;
    let finished = go(&workload, Fallback::None).unwrap();
    let kinds: Vec<DoubtKind> = measured(&finished).doubts.iter().map(|doubt| doubt.kind).collect();
    assert!(
        kinds.contains(&DoubtKind::Memory) && kinds.contains(&DoubtKind::PageCache),
        "{kinds:?}"
    );
}
