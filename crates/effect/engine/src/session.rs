// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run from beginning to end: targets, threads, start, end, and what came of it.
//!
//! ```text
//! check ─> targets ready (guard) ─> doubts ─> threads set up ┄ all wait ┄> clock starts ─> work
//!                                      counters before ┘          counters after ─> read back ─> sum
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, OnceLock};
use std::time::Duration;

use record::{Doubt, Engine, Failed, Histogram, Outcome, Placement, Sharing, Verify, Workload};
use root::LiveRoot;

use crate::clock::Clock;
use crate::counters::{self, Stat};
use crate::draw::{self, Draw, Random, Stretch};
use crate::pace::Schedule;
use crate::region::{Pages, Region};
use crate::seat::{self, Seat};
use crate::sum::{Summed, sum};
use crate::target::{self, Kind, Target};
use crate::verify::Writings;
use crate::way::{self, Tools, Way};
use crate::worker::{Progress, Tally, Task};
use crate::{Error, Fallback, kernel, kernel_threads, look};

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
    gate: Barrier,
    clock: OnceLock<Clock>,
    /// Set by a thread that something went wrong in, besides whoever asked.
    stop: &'a AtomicBool,
    setups: Mutex<Vec<Setup>>,
}

/// How a thread was set up.
struct Setup {
    thread: u32,
    flags: Vec<record::Flag>,
    pages: Pages,
    memory_node: Option<u16>,
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
    check_verify(workload)?;
    let (way, said) = way::choose(workload.access, request.fallback)?;
    let targets = target::ready(root, workload, request.token, request.stop)?;
    check_polling(root, workload, &targets)?;
    check_memory(root, workload)?;
    let mut doubts = doubts(workload, &targets, way, said);
    let before = stats(root, &targets);
    let offered =
        root::text(root, "/sys/devices/system/clocksource/clocksource0/available_clocksource");
    let clock = Clock::start(&offered.unwrap_or_default());
    let threads = threads(workload);
    let shared = Shared {
        workload,
        seats: request.seats,
        way,
        targets: &targets,
        gate: Barrier::new(threads.len() + 1),
        clock: OnceLock::new(),
        stop: request.stop,
        setups: Mutex::new(Vec::new()),
    };
    let progress: Vec<Progress> = threads.iter().map(|_| Progress::default()).collect();
    let (ended, helper_ns) = all(&shared, &threads, &progress, clock, request.watch);
    let after = stats(root, &targets);
    let setups = shared.setups.into_inner().unwrap_or_default();
    let placement = placement(root, request, &threads, &setups);
    let flags = flags(setups, clock);
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

/// Starts all threads, lets them go together, watches, and waits for them.
fn all(
    shared: &Shared<'_>,
    threads: &[Vec<u32>],
    progress: &[Progress],
    clock: Clock,
    tell: &dyn Fn(Seen),
) -> (Result<Vec<Ended>, way::Stopped>, u64) {
    std::thread::scope(|scope| {
        let numbered = (0_u32..).zip(threads).zip(progress);
        let handles: Vec<_> = numbered
            .map(|((number, targets), progress)| {
                scope.spawn(move || thread(shared, number, targets, progress))
            })
            .collect();
        shared.gate.wait();
        let is_ready = shared.setups.lock().is_ok_and(|setups| setups.len() == threads.len());
        let clock = clock.restarted();
        if is_ready {
            let _ = shared.clock.set(clock);
        }
        shared.gate.wait();
        let helper_ns =
            if is_ready { watch(shared.workload, &handles, progress, clock, tell) } else { 0 };
        let join = |handle: std::thread::ScopedJoinHandle<'_, Result<Ended, way::Stopped>>| {
            let panicked = || ("a thread", std::io::Error::other("it panicked"));
            handle.join().unwrap_or_else(|_| Err(panicked()))
        };
        let results: Vec<_> = handles.into_iter().map(join).collect();
        (together(results), helper_ns)
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
    let (mut first, mut last) = (None, 0);
    while handles.iter().any(|handle| !handle.is_finished()) {
        let now = clock.now_ns();
        if first.is_none() && now >= from_ns {
            first = Some(kernel_threads::cpu_ns());
        }
        if now < to_ns {
            last = kernel_threads::cpu_ns();
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
fn thread(
    shared: &Shared<'_>,
    number: u32,
    targets: &[u32],
    progress: &Progress,
) -> Result<Ended, way::Stopped> {
    let workload = shared.workload;
    let mut is_through = false;
    let result = set_up(shared, number, targets).and_then(|(files, region, node)| {
        let pages = region.pages();
        let begin = |flags| {
            let setup = Setup { thread: number, flags, pages, memory_node: node };
            shared.setups.lock().ok()?.push(setup);
            is_through = true;
            shared.gate.wait();
            shared.gate.wait();
            let clock = *shared.clock.get()?;
            Some(task(shared, clock, number, targets, progress))
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
    });
    if !is_through {
        // The others wait for all, and then see that not all are ready.
        shared.gate.wait();
        shared.gate.wait();
    }
    result
}

fn set_up(
    shared: &Shared<'_>,
    number: u32,
    targets: &[u32],
) -> Result<(Vec<std::fs::File>, Region, Option<u16>), way::Stopped> {
    let workload = shared.workload;
    let place = usize::try_from(number).unwrap_or(usize::MAX);
    let seat = shared.seats.get(place).cloned().unwrap_or_default();
    seat::take(&seat).map_err(|error| ("binding a thread to its CPU", error))?;
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
    Ok((files, region, node))
}

/// The stretches of a thread, one a target.
fn stretches(shared: &Shared<'_>, number: u32, targets: &[u32]) -> Vec<Stretch> {
    let workload = shared.workload;
    let used = targets.iter().filter_map(|at| shared.targets.get(*at as usize));
    used.map(|target| {
        let whole = target.stretch(workload);
        match workload.division {
            record::Division::Whole => whole,
            record::Division::Pieces => {
                whole.piece(number % workload.threads, workload.threads, draw::largest(workload))
            }
        }
    })
    .collect()
}

fn task<'a>(
    shared: &'a Shared<'_>,
    clock: Clock,
    number: u32,
    targets: &[u32],
    progress: &'a Progress,
) -> Task<'a> {
    let workload = shared.workload;
    let stretches = stretches(shared, number, targets);
    let threads = workload.thread_count();
    let (from_ns, to_ns) = window(workload);
    let writings = workload
        .verify
        .and_then(|mode| Writings::new(workload.seed, mode, &stretches, draw::step(workload)));
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
    if shared.stop.load(Ordering::Relaxed) {
        return;
    }
    let (mut wrong, all) = (Vec::new(), &mut tally.all);
    let read = writings.read_back(
        files,
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
    if let Err(error) = read {
        tally.broken = Some(format!("reading back what was written: {error}"));
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

/// Doubts that the targets and the way give before anything is measured.
fn doubts(workload: &Workload, targets: &[Target], way: Way, said: Option<String>) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if let Some(said) = said {
        let text = format!("{said}: {} was used instead", way.name());
        doubts.push(Doubt { kind: record::DoubtKind::Fallback, target: None, text });
    }
    let is_read = workload.mix.read_percent > 0;
    for target in targets.iter().filter(|_| is_read) {
        let stretch = target.stretch(workload);
        let opened = target.open(record::Access::default(), false);
        match (target.kind, opened) {
            (Kind::File, Ok(file)) => doubts.extend(look::file(&file, &target.name(), stretch)),
            (Kind::Block, Ok(file)) => {
                let looked = look::device(&file, &target.name(), stretch, workload.seed);
                doubts.extend(looked);
            }
            _ => {}
        }
        if workload.access.cache == record::Cache::Buffered {
            let text =
                "reads can come from the page cache: this measures memory as much as a device";
            let (kind, target) = (record::DoubtKind::PageCache, Some(target.name()));
            doubts.push(Doubt { kind, target, text: text.to_owned() });
        }
    }
    doubts
}

/// Verifying needs to know who wrote what.
fn check_verify(workload: &Workload) -> Result<(), Error> {
    let unsupported =
        |why: &str| Err(Error::Unsupported { what: "verifying".to_owned(), why: why.to_owned() });
    let unit = draw::step(workload);
    let sizes = |blocks: &record::Blocks| match blocks {
        record::Blocks::Shares { shares } => shares.iter().all(|share| share.bytes % unit == 0),
        blocks => blocks.min_bytes() % unit == 0 && blocks.max_bytes() % unit == 0,
    };
    let is_shared = workload.threads > 1 && workload.division == record::Division::Whole;
    match workload.verify {
        None => Ok(()),
        Some(Verify::AfterWrites) if is_shared => {
            unsupported("threads that share places cannot tell whose writing was the last")
        }
        Some(_) if !sizes(&workload.blocks) || !workload.write_blocks.iter().all(sizes) => {
            unsupported("every block size must be a multiple of the smallest")
        }
        Some(_) if workload.access.path == record::Path::Passthrough => {
            unsupported("it reads back through the block device")
        }
        Some(_) => Ok(()),
    }
}

/// A device that nobody polls makes a polled ring spin for ever, or for an interrupt.
fn check_polling(root: &LiveRoot, workload: &Workload, targets: &[Target]) -> Result<(), Error> {
    if workload.access.polling == record::Polling::Interrupt {
        return Ok(());
    }
    for target in targets {
        let number = target.number.as_deref().unwrap_or_default();
        let path = |above: &str| format!("/sys/dev/block/{number}/{above}queue/io_poll");
        let polls = root::text(root, &path("")).or_else(|_| root::text(root, &path("../")));
        if polls.as_deref() != Ok("1") {
            return Err(Error::Unsupported {
                what: format!("polling {}", target.name()),
                why: "its io_poll is not 1: it has no queues for it (nvme.poll_queues), and the \
                      kernel would spin until an interrupt comes"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// Buffers of all threads must fit into half of the memory that is available.
fn check_memory(root: &LiveRoot, workload: &Workload) -> Result<(), Error> {
    let slots = u64::from(workload.thread_count()).saturating_mul(workload.depth.into());
    let wanted = slots.saturating_mul(draw::largest(workload).next_multiple_of(512));
    let text = root::text(root, "/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    match kib.map(|kib| kib.saturating_mul(1024)) {
        Some(available) if wanted > available / 2 => Err(Error::Unsupported {
            what: format!("buffers of {wanted} bytes for threads, depth and block size"),
            why: format!("{available} bytes of memory are available, and half of them may be used"),
        }),
        _ => Ok(()),
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

/// The flags of the first thread: all are made alike; and what memory and clock they had.
fn flags(mut setups: Vec<Setup>, clock: Clock) -> Vec<record::Flag> {
    setups.sort_by_key(|setup| setup.thread);
    let Some(first) = setups.into_iter().next() else { return Vec::new() };
    let mut flags = first.flags;
    let used = |name: &str| record::Flag { name: name.to_owned(), state: record::FlagState::Used };
    flags.push(used(match first.pages {
        Pages::Huge => "MAP_HUGETLB",
        Pages::Advised => "MADV_HUGEPAGE",
        Pages::Small => "pages of 4 KiB",
    }));
    flags.push(used(clock.name()));
    flags
}

/// A failed outcome.
pub(crate) fn failed(why: String, failures: Vec<record::Failure>) -> Outcome {
    Outcome::Failed(Failed { why, failures })
}
