// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run from beginning to end: targets, threads, start, end, and what came of it.
//!
//! ```text
//! check ─> targets ready (guard) ─> doubts ─> threads set up ┄ all wait ┄> clock starts ─> work
//!                                      counters before ┘          counters after ─> read back ─> sum
//! ```

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use record::{Doubt, Engine, Failed, Histogram, Outcome, Placement, Sharing, Verify, Workload};
use root::LiveRoot;

use crate::clock::Clock;
use crate::counters::{self, Stat};
use crate::draw::{self, Draw, Random};
use crate::gate::Gate;
use crate::pace::Schedule;
use crate::region::{Pages, Region};
use crate::seat::{self, Seat};
use crate::sum::{Summed, sum};
use crate::target::{self, Target};
use crate::verify::{ReadBack, Writings};
use crate::way::{self, Tools, Way};
use crate::worker::{Progress, Stop, Tally, Task};
use crate::{Error, Fallback, before, flags, kernel, kernel_threads};

/// What a run is asked.
pub struct Request<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// One a thread, in their order; threads beyond the last may move and have memory anywhere.
    pub seats: &'a [Seat],
    /// What was asked of the placement, for the record.
    pub placed_as: Option<String>,
    /// What a device that is written to is to be known by: its serial number, by its path.
    pub token: &'a dyn Fn(&str) -> Option<String>,
    /// Set by anybody who wants the run to end.
    pub stop: &'a AtomicBool,
    /// Called about five times a second while it runs.
    pub watch: &'a dyn Fn(Seen),
    /// Ways that are not to be used.
    pub fallback: Fallback,
}

/// What can be seen of a run while it goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Since its start, the ramp included.
    pub elapsed: Duration,
    /// Operations that have ended.
    pub operations: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// The 99th percentile of their latencies in ns, as it was at the last full second; none before.
    pub p99_ns: Option<u64>,
}

impl std::fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("workload", self.workload).finish_non_exhaustive()
    }
}

/// A run that has ended.
#[derive(Debug)]
pub struct Finished {
    /// What came.
    pub outcome: Outcome,
    /// What carried it out.
    pub engine: Engine,
    /// Where its threads were.
    pub placement: Placement,
}

/// What all threads share.
struct Shared<'a> {
    workload: &'a Workload,
    seats: &'a [Seat],
    way: Way,
    targets: &'a [Target],
    gate: Gate,
    stop: Stop<'a>,
    setups: Mutex<Vec<Setup>>,
}

/// How a thread was set up.
pub(crate) struct Setup {
    pub(crate) thread: u32,
    pub(crate) flags: Vec<record::Flag>,
    pub(crate) pages: Pages,
    pub(crate) memory_node: Option<u16>,
}

/// What a thread comes back with.
pub(crate) struct Ended {
    /// Its targets, by their place in the workload.
    pub(crate) targets: Vec<u32>,
    pub(crate) tally: Tally,
}

/// Carries a workload out.
///
/// # Errors
/// Why it did not start. What goes wrong after that is its outcome.
pub fn run(root: &LiveRoot, request: &Request<'_>) -> Result<Finished, Error> {
    let workload = request.workload;
    workload.check()?;
    before::check_verify(workload)?;
    let (way, said) = way::choose(workload.access, request.fallback)?;
    let targets = target::ready(root, workload, request.token, request.stop)?;
    before::check_polling(root, workload, &targets)?;
    let threads = threads(workload);
    let units = before::check_account(workload, &targets, &threads)?;
    before::check_memory(root, workload, units)?;
    let mut doubts = before::doubts(root, workload, &targets, way, said);
    let before = stats(root, &targets);
    let offered =
        root::text(root, "/sys/devices/system/clocksource/clocksource0/available_clocksource");
    let clock = Clock::start(&offered.unwrap_or_default());
    let failed = AtomicBool::new(false);
    let shared = Shared {
        workload,
        seats: request.seats,
        way,
        targets: &targets,
        gate: Gate::default(),
        stop: Stop { asked: request.stop, failed: &failed },
        setups: Mutex::new(Vec::new()),
    };
    let progress: Vec<Progress> = threads.iter().map(|_| Progress::default()).collect();
    let (ended, helper_ns) = all(&shared, &threads, &progress, clock, request.watch);
    let after = stats(root, &targets);
    let setups = shared.setups.into_inner().unwrap_or_default();
    let placement = placement(root, request, &threads, &setups);
    let flags = flags::of_all(&setups, clock.name());
    let ended = ended.map_err(|(what, source)| Error::Machine { what: what.to_owned(), source })?;
    let stats: Vec<(Option<Stat>, Option<Stat>)> = before.into_iter().zip(after).collect();
    let outcome =
        sum(Summed { workload, targets: &targets, ended, stats, helper_ns, flags }, &mut doubts);
    let engine = Engine {
        name: "nearside".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        way: Some(way.name().to_owned()),
        command: Vec::new(),
    };
    Ok(Finished { outcome: with(outcome, doubts), engine, placement })
}

/// Adds doubts to numbers; where there are none there is nothing to doubt.
fn with(outcome: Outcome, doubts: Vec<Doubt>) -> Outcome {
    match outcome {
        Outcome::Measured(mut measured) => {
            measured.doubts = doubts;
            Outcome::Measured(measured)
        }
        other => other,
    }
}

/// Starts all threads, lets them go together, watches, and waits for them. Where one cannot be
/// started or set up, none goes.
fn all(
    shared: &Shared<'_>,
    threads: &[Vec<u32>],
    progress: &[Progress],
    clock: Clock,
    tell: &dyn Fn(Seen),
) -> (Result<Vec<Ended>, way::Stopped>, u64) {
    std::thread::scope(|scope| {
        let (mut handles, mut refused) = (Vec::with_capacity(threads.len()), None);
        for ((number, targets), progress) in (0_u32..).zip(threads).zip(progress) {
            let work = move || thread_of(shared, number, targets, progress);
            match std::thread::Builder::new().spawn_scoped(scope, work) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    refused = Some(("starting a thread", error));
                    break;
                }
            }
        }
        shared.gate.wait_for(handles.len());
        let is_ready = shared.setups.lock().is_ok_and(|setups| setups.len() == threads.len());
        let clock = clock.restarted();
        shared.gate.open(is_ready.then_some(clock));
        let helper_ns =
            if is_ready { watch(shared.workload, &handles, progress, clock, tell) } else { 0 };
        let join = |handle: std::thread::ScopedJoinHandle<'_, Result<Ended, way::Stopped>>| {
            let panicked = || ("a thread", std::io::Error::other("it panicked"));
            handle.join().unwrap_or_else(|_| Err(panicked()))
        };
        let results: Vec<_> = handles.into_iter().map(join).collect();
        (refused.map_or_else(|| together(results), Err), helper_ns)
    })
}

/// What all came back with; or what stopped the first one, not what that did to others.
fn together(results: Vec<Result<Ended, way::Stopped>>) -> Result<Vec<Ended>, way::Stopped> {
    let (mut ended, mut stopped) = (Vec::new(), None);
    for result in results {
        match result {
            Ok(one) => ended.push(one),
            Err(one) if one.0 != ANOTHER => return Err(one),
            Err(one) => stopped = Some(one),
        }
    }
    stopped.map_or(Ok(ended), Err)
}

/// What stops a thread when another one could not be set up.
const ANOTHER: &str = "another thread";

/// Tells whoever watches how far it is. Gives the CPU time of the kernel's helper threads within the
/// time that counts.
fn watch<T>(
    workload: &Workload,
    handles: &[std::thread::ScopedJoinHandle<'_, T>],
    progress: &[Progress],
    clock: Clock,
    tell: &dyn Fn(Seen),
) -> u64 {
    const TICK: Duration = Duration::from_millis(200);
    let (from_ns, to_ns) = window(workload);
    let (mut first, mut last, mut has_ended) = (None, 0, false);
    while handles.iter().any(|handle| !handle.is_finished()) {
        let now = clock.now_ns();
        if first.is_none() && now >= from_ns {
            first = Some(kernel_threads::cpu_ns());
        }
        // At the end once more: a tick before it can be a fifth of a second before.
        if !has_ended {
            last = kernel_threads::cpu_ns();
            has_ended = now >= to_ns;
        }
        let add = |of: fn(&Progress) -> u64| progress.iter().map(of).fold(0, u64::wrapping_add);
        let mut latency = Histogram::new();
        progress.iter().for_each(|one| one.add_latencies_to(&mut latency));
        tell(Seen {
            elapsed: Duration::from_nanos(now),
            operations: add(|one| one.operations.load(Ordering::Relaxed)),
            bytes: add(|one| one.bytes.load(Ordering::Relaxed)),
            p99_ns: latency.percentile(99.0),
        });
        // Not longer than to the next edge of the time that counts.
        let edges = [from_ns, to_ns].into_iter().filter(|edge| *edge > now);
        let edge = edges.min().map_or(TICK, |edge| Duration::from_nanos(edge - now));
        std::thread::sleep(TICK.min(edge).max(Duration::from_millis(1)));
    }
    last.saturating_sub(first.unwrap_or(last))
}

/// One thread: sets itself up, waits for the others, works, reads back.
fn thread_of(
    shared: &Shared<'_>,
    number: u32,
    targets: &[u32],
    progress: &Progress,
) -> Result<Ended, way::Stopped> {
    let workload = shared.workload;
    let arrival = shared.gate.arrival();
    let Ready { files, region, node, writings } = set_up(shared, number, targets)?;
    let pages = region.pages();
    let begin = |flags| {
        let setup = Setup { thread: number, flags, pages, memory_node: node };
        shared.setups.lock().ok()?.push(setup);
        let clock = arrival.wait()?;
        Some(task(shared, clock, number, targets, writings, progress))
    };
    let used = || targets.iter().filter_map(|at| shared.targets.get(*at as usize));
    let namespaces = used().filter_map(|target| target.namespace).collect();
    let tools = Tools { access: workload.access, files: &files, namespaces, region };
    let worked = way::go(shared.way, tools, begin)?;
    let Some((mut tally, writings)) = worked else {
        return Err((ANOTHER, std::io::Error::other("could not be set up")));
    };
    if workload.verify == Some(Verify::AfterWrites)
        && let Some(writings) = writings
    {
        read_back(shared, &files, writings, &mut tally);
    }
    Ok(Ended { targets: targets.to_vec(), tally })
}

/// What a thread has before it begins.
struct Ready {
    files: Vec<std::fs::File>,
    region: Region,
    node: Option<u16>,
    writings: Option<Writings>,
}

fn set_up(shared: &Shared<'_>, number: u32, targets: &[u32]) -> Result<Ready, way::Stopped> {
    let workload = shared.workload;
    let place = usize::try_from(number).unwrap_or(usize::MAX);
    let seat = shared.seats.get(place).cloned().unwrap_or_default();
    let refused = |error| ("binding a thread to its CPU", std::io::Error::other(error));
    seat::take(&seat).map_err(refused)?;
    if !matches!(workload.pace, record::Pace::Closed) {
        kernel::sharpen_timers().map_err(|error| ("sharpening timers", error))?;
    }
    let open = |at: &u32| {
        let target = shared.targets.get(*at as usize);
        let target = target.ok_or_else(|| ("a target", std::io::Error::other("is missing")))?;
        let writes = workload.mix.destroys();
        let opened = target.open(workload.access, writes);
        opened.map_err(|error| ("opening a target", std::io::Error::other(error)))
    };
    let files = targets.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let memory = |error| ("getting memory on the node asked", error);
    let depth = if shared.way == Way::Positioned { 1 } else { workload.depth as usize };
    let largest = usize::try_from(draw::largest(workload)).unwrap_or(usize::MAX);
    let node = seat.memory_node.map(|node| u16::try_from(node.0).unwrap_or(u16::MAX));
    let mut region = Region::new(depth, largest, node).map_err(memory)?;
    let node = region.prepare(&mut Random::of(workload.seed, u64::from(number) << 32));
    let account = |mode| {
        let stretches = before::stretches(workload, shared.targets, number, targets);
        Writings::new(workload.seed, mode, &stretches, draw::step(workload))
            .map_err(|error| ("keeping account of what is written", error))
    };
    let writings = workload.verify.map(account).transpose()?;
    Ok(Ready { files, region, node, writings })
}

fn task<'a>(
    shared: &'a Shared<'_>,
    clock: Clock,
    number: u32,
    targets: &[u32],
    writings: Option<Writings>,
    progress: &'a Progress,
) -> Task<'a> {
    let workload = shared.workload;
    let stretches = before::stretches(workload, shared.targets, number, targets);
    let threads = workload.thread_count();
    let (from_ns, to_ns) = window(workload);
    let want = match workload.access.wait {
        record::Wait::One => 1,
        record::Wait::Batch { completions } => completions.min(workload.depth) as usize,
    };
    Task {
        clock,
        draw: Draw::new(workload, &stretches, number.into()),
        schedule: Schedule::new(workload.pace, workload.seed, number, threads),
        when_full: when_full(workload),
        want,
        from_ns,
        to_ns,
        bytes: workload.limits.bytes.map(|bytes| share(bytes, number, threads)),
        files: targets.len(),
        writings,
        salt: Random::of(workload.seed, u64::from(number) | 1 << 40),
        stop: shared.stop,
        progress,
    }
}

fn when_full(workload: &Workload) -> record::WhenFull {
    match workload.pace {
        record::Pace::Closed => record::WhenFull::Delay,
        record::Pace::Constant { when_full, .. } | record::Pace::Poisson { when_full, .. } => {
            when_full
        }
    }
}

/// A thread's share of an amount; the first ones have one more where it does not divide.
fn share(amount: u64, number: u32, threads: u32) -> u64 {
    let threads = u64::from(threads.max(1));
    amount / threads + u64::from(u64::from(number) < amount % threads)
}

/// When the time that counts begins and ends, in ns from the start.
fn window(workload: &Workload) -> (u64, u64) {
    let ns = |seconds: f64| u64::try_from(Duration::from_secs_f64(seconds).as_nanos());
    let ramp = ns(workload.limits.ramp_seconds).unwrap_or(u64::MAX);
    let length = workload.limits.seconds.map_or(u64::MAX, |s| ns(s).unwrap_or(u64::MAX));
    (ramp, ramp.saturating_add(length))
}

fn read_back(
    shared: &Shared<'_>,
    files: &[std::fs::File],
    mut writings: Writings,
    tally: &mut Tally,
) {
    let (mut wrong, all) = (Vec::new(), &mut tally.all);
    let read = writings.read_back(
        files,
        shared.stop,
        |file, one| wrong.push((file, one)),
        |file, bytes| {
            let reads = all.get_mut(usize::from(file)).and_then(|kinds| kinds.first_mut());
            reads.into_iter().for_each(|reads| {
                reads.operations += 1;
                reads.bytes += bytes;
            });
        },
    );
    for (file, (kind, offset)) in wrong {
        tally.fail(file, kind, offset);
    }
    match read {
        Ok(ReadBack::All) => {}
        // What was not read is not verified.
        Ok(ReadBack::Stopped) => tally.is_cancelled = true,
        Err(error) => tally.broken = Some(format!("reading back what was written: {error}")),
    }
}

/// The targets of each thread.
fn threads(workload: &Workload) -> Vec<Vec<u32>> {
    let targets = u32::try_from(workload.targets.len()).unwrap_or(u32::MAX);
    match workload.sharing {
        Sharing::EachItsOwn => {
            (0..targets).flat_map(|at| (0..workload.threads).map(move |_| vec![at])).collect()
        }
        Sharing::EveryThreadAll => (0..workload.threads).map(|_| (0..targets).collect()).collect(),
    }
}

fn stats(root: &LiveRoot, targets: &[Target]) -> Vec<Option<Stat>> {
    let read = |target: &Target| counters::read(root, target.number.as_deref()?);
    targets.iter().map(read).collect()
}

fn placement(
    root: &LiveRoot,
    request: &Request<'_>,
    threads: &[Vec<u32>],
    setups: &[Setup],
) -> Placement {
    let placed = |(number, targets): (u32, &Vec<u32>)| {
        let seat = request.seats.get(number as usize).cloned().unwrap_or_default();
        let setup = setups.iter().find(|setup| setup.thread == number);
        let node = setup.and_then(|setup| setup.memory_node);
        seat::taken(root, number, targets.clone(), &seat, node)
    };
    let threads = (0..).zip(threads).map(placed).collect();
    Placement { asked: request.placed_as.clone(), threads }
}

/// A failed outcome.
pub(crate) fn failed(why: String, failures: Vec<record::Failure>) -> Outcome {
    Outcome::Failed(Failed { why, failures })
}
