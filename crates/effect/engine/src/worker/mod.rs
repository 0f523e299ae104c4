// SPDX-License-Identifier: MIT OR Apache-2.0
//! One thread's work: draws operations, keeps them in flight, and counts what comes.
//!
//! ```text
//! fill free slots ─> stamp ─> turn (submit, wait for one) ─> stamp ─> take all, count, free slots
//! ```
//!
//! The clock is read once before operations are handed to the kernel and once after it came back, for
//! all of them that were handed over, or seen, by that call: that is when they were submitted, and when
//! a program could know that they had ended. Every operation has its own latency in the histogram.

mod tally;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use record::{FailureKind, Histogram, Kind, Second, WhenFull};

use crate::clock::{Clock, thread_cpu_ns};
use crate::content;
use crate::draw::{Draw, Operation, Random};
use crate::error::errno_word;
use crate::pace::{LATE_NS, Schedule};
use crate::queue::{Done, Queue};
use crate::verify::Writings;

use tally::Lane;
pub(crate) use tally::{KINDS, Tally, place};

/// What a thread is given.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    pub(crate) clock: Clock,
    pub(crate) draw: Draw,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) when_full: WhenFull,
    /// For how many completions to wait when every slot is in flight.
    pub(crate) want: usize,
    /// When the time that counts begins and ends, in ns of the clock.
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    /// Bytes to move; none where only time ends it.
    pub(crate) bytes: Option<u64>,
    pub(crate) files: usize,
    pub(crate) writings: Option<Writings>,
    pub(crate) salt: Random,
    pub(crate) stop: Stop<'a>,
    pub(crate) progress: &'a Progress,
}

/// Whether a run is to end: whoever asked for it says so, or a thread in which something went wrong.
/// What is asked is only read here: it may be for more runs than this one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stop<'a> {
    pub(crate) asked: &'a AtomicBool,
    pub(crate) failed: &'a AtomicBool,
}

impl Stop<'_> {
    #[inline]
    pub(crate) fn is_set(self) -> bool {
        self.asked.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }
}

/// What others can see of a thread while it works. On cache lines of its own: processors fetch them in
/// pairs of 64 bytes.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Progress {
    pub(crate) operations: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Latencies so far, as they were at the last full second.
    latency: Mutex<Histogram>,
}

impl Progress {
    /// Adds; only its own thread does, so that no locked instruction is needed.
    #[inline]
    fn add(&self, operations: u64, bytes: u64) {
        for (sum, more) in [(&self.operations, operations), (&self.bytes, bytes)] {
            sum.store(sum.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
        }
    }

    /// Shows latencies, unless somebody looks at the older ones right now.
    fn show(&self, lanes: &[Lane]) {
        if let Ok(mut latency) = self.latency.try_lock() {
            *latency = Histogram::new();
            lanes.iter().for_each(|lane| latency.merge(&lane.latency));
        }
    }

    /// Adds what was last shown to what others have shown.
    pub(crate) fn add_latencies_to(&self, all: &mut Histogram) {
        if let Ok(latency) = self.latency.lock() {
            all.merge(&latency);
        }
    }
}

/// An operation in flight.
#[derive(Debug, Clone, Copy)]
struct Slot {
    operation: Operation,
    /// When it was meant to start; in closed loop, when it was submitted.
    meant_ns: u64,
    submitted_ns: u64,
}

impl Slot {
    /// Field by field: a structure that was just made of narrow stores stalls where it is copied by a
    /// wide load (7 ns an operation, by perf).
    #[inline]
    fn note(&mut self, operation: &Operation, meant_ns: u64, submitted_ns: u64) {
        self.operation.kind = operation.kind;
        self.operation.file = operation.file;
        self.operation.offset = operation.offset;
        self.operation.bytes = operation.bytes;
        self.meant_ns = meant_ns;
        self.submitted_ns = submitted_ns;
    }
}

const IDLE: Slot = Slot {
    operation: Operation { kind: Kind::Read, file: 0, offset: 0, bytes: 0 },
    meant_ns: 0,
    submitted_ns: 0,
};

/// What became of an operation that was to start.
enum Started {
    /// The queue has it.
    Handed,
    /// It was carried out at once; it is to be counted before another starts.
    Ended,
    /// There was none that could start.
    Not,
}

const SECOND_NS: u64 = 1_000_000_000;

/// A thread at work.
struct Worker<'a, Q> {
    task: Task<'a>,
    queue: Q,
    slots: Vec<Slot>,
    free: Vec<usize>,
    fresh: Vec<usize>,
    tally: Tally,
    /// The next moment at which something changes: a second, the ramp's end, the run's.
    event_ns: u64,
    second: usize,
    is_ending: bool,
    /// Open loop: whether no slot was left when operations had been put into them.
    was_full: bool,
    cpu_ns: u64,
    left_bytes: u64,
}

/// Works until the time or the amount is reached, or somebody says stop; then waits for what is in
/// flight. Nothing runs any more when it returns.
pub(crate) fn work<Q: Queue>(task: Task<'_>, queue: Q) -> (Tally, Option<Writings>) {
    let depth = queue.depth();
    let mut worker = Worker {
        slots: vec![IDLE; depth],
        free: (0..depth).rev().collect(),
        fresh: Vec::with_capacity(depth),
        tally: Tally::new(task.files),
        event_ns: 0,
        second: 0,
        is_ending: false,
        was_full: false,
        cpu_ns: thread_cpu_ns(),
        left_bytes: task.bytes.unwrap_or(u64::MAX),
        task,
        queue,
    };
    if let Err(error) = worker.run() {
        worker.tally.broken = Some(error.to_string());
        worker.is_ending = true;
        let _ = worker.drain();
    }
    (worker.tally, worker.task.writings)
}

impl<Q: Queue> Worker<'_, Q> {
    fn run(&mut self) -> io::Result<()> {
        let mut now = self.task.clock.now_ns();
        loop {
            let is_empty = self.left_bytes == 0 && self.free.len() == self.slots.len();
            if now >= self.event_ns || is_empty || self.task.stop.is_set() {
                self.event(now);
            }
            if self.is_ending {
                return self.drain();
            }
            self.fill(now)?;
            self.hand_over(now)?;
            now = self.task.clock.now_ns();
            self.take(now);
        }
    }

    /// Puts operations into free slots.
    #[inline]
    fn fill(&mut self, now: u64) -> io::Result<()> {
        if self.task.schedule.is_some() {
            return self.fill_due(now);
        }
        while self.left_bytes > 0
            && let Some(slot) = self.free.pop()
        {
            match self.start(slot, 0)? {
                Started::Handed => {}
                Started::Ended => break,
                Started::Not => {
                    self.free.push(slot);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Puts those operations into free slots whose time has come. One that cannot start yet, for what
    /// is in flight touches its place, stays due.
    fn fill_due(&mut self, now: u64) -> io::Result<()> {
        if std::mem::take(&mut self.was_full) && self.task.when_full == WhenFull::Miss {
            self.miss_due(now);
        }
        while let Some(schedule) = &mut self.task.schedule {
            let due = schedule.due_ns();
            if due > now || due >= self.task.to_ns || self.left_bytes == 0 {
                break;
            }
            let Some(slot) = self.free.pop() else { break };
            match self.start(slot, due)? {
                Started::Handed => self.advance(),
                Started::Ended => {
                    self.advance();
                    break;
                }
                Started::Not => {
                    self.free.push(slot);
                    break;
                }
            }
        }
        self.was_full = self.free.is_empty();
        Ok(())
    }

    fn advance(&mut self) {
        if let Some(schedule) = &mut self.task.schedule {
            schedule.advance();
        }
    }

    /// What came due while the queue was full is missed, and does not get the slot that is free now.
    fn miss_due(&mut self, now: u64) {
        let Some(schedule) = &mut self.task.schedule else { return };
        let end = now.saturating_add(1).min(self.task.to_ns);
        let missed = schedule.left_before(end);
        self.tally.missed += if self.tally.has_begun { missed } else { 0 };
    }

    /// Draws an operation and gives it to the queue.
    #[inline]
    fn start(&mut self, slot: usize, meant_ns: u64) -> io::Result<Started> {
        let Some(operation) = self.draw() else { return Ok(Started::Not) };
        if operation.kind == Kind::Write {
            self.write(slot, &operation);
        }
        self.left_bytes = self.left_bytes.saturating_sub(operation.bytes.into());
        let is_immediate = self.queue.is_immediate(operation.kind);
        let submitted_ns = if is_immediate { self.task.clock.now_ns() } else { 0 };
        if let Some(place) = self.slots.get_mut(slot) {
            place.note(&operation, meant_ns, submitted_ns);
        }
        if let Err(error) = self.queue.push(&operation, slot) {
            // It is not in flight, and nobody may wait for it.
            self.free.push(slot);
            return Err(error);
        }
        if is_immediate {
            return Ok(Started::Ended);
        }
        self.fresh.push(slot);
        Ok(Started::Handed)
    }

    /// The next operation; with verifying, one whose place nothing in flight touches: of two at once
    /// nobody could say which came last.
    #[inline]
    fn draw(&mut self) -> Option<Operation> {
        let operation = self.task.draw.next()?;
        let Some(writings) = &mut self.task.writings else { return Some(operation) };
        let mut operation = operation;
        for _ in 0..64 {
            if writings.claim(&operation) {
                return Some(operation);
            }
            operation = self.task.draw.next()?;
        }
        None
    }

    /// Makes what a write writes.
    fn write(&mut self, slot: usize, operation: &Operation) {
        let length = usize::try_from(operation.bytes).unwrap_or(usize::MAX);
        let bytes = self.queue.region().bytes(slot).and_then(|bytes| bytes.get_mut(..length));
        let Some(bytes) = bytes else { return };
        match &mut self.task.writings {
            Some(writings) => writings.fill(bytes, operation),
            None => content::salt(bytes, &mut self.task.salt),
        }
    }

    /// Hands over what is fresh, and waits: for a completion, or for the next that is due.
    #[inline]
    fn hand_over(&mut self, now: u64) -> io::Result<()> {
        let in_flight = self.slots.len() - self.free.len();
        let (want, at_most) = match &self.task.schedule {
            None => (self.task.want.min(in_flight), None),
            Some(schedule) => {
                let until = schedule.due_ns().min(self.event_ns);
                // What is due and did not start waits for something in flight to end.
                let is_stuck = self.free.is_empty() || schedule.due_ns() <= now;
                let at_most = if is_stuck { self.event_ns } else { until }.saturating_sub(now);
                (1, Some(Duration::from_nanos(at_most)))
            }
        };
        let submitted_ns = self.task.clock.now_ns();
        for slot in self.fresh.drain(..) {
            if let Some(place) = self.slots.get_mut(slot) {
                place.submitted_ns = submitted_ns;
            }
        }
        self.queue.turn(want, at_most)
    }

    /// Takes all that have ended.
    #[inline]
    fn take(&mut self, now: u64) {
        let (mut operations, mut bytes) = (0, 0);
        while let Some(done) = self.queue.next() {
            let Some(slot) = self.slots.get(done.slot).copied() else { continue };
            if self.is_to_repeat(done, &slot) {
                continue;
            }
            self.free.push(done.slot);
            if self.account(done, &slot, now) {
                operations += 1;
                bytes += u64::from(slot.operation.bytes);
            }
        }
        if operations > 0 {
            self.task.progress.add(operations, bytes);
        }
    }

    /// The kernel had no room for it, or was interrupted: the same again, its time running on.
    #[inline]
    fn is_to_repeat(&mut self, done: Done, slot: &Slot) -> bool {
        let is_passing = done.result == -libc::EAGAIN || done.result == -libc::EINTR;
        is_passing && self.queue.push(&slot.operation, done.slot).is_ok()
    }

    /// Counts an operation that has ended. False where it failed.
    #[inline]
    fn account(&mut self, done: Done, slot: &Slot, now: u64) -> bool {
        let operation = &slot.operation;
        if u32::try_from(done.result) != Ok(operation.bytes) {
            self.failed(done, operation);
            return false;
        }
        if let Some(writings) = &mut self.task.writings {
            let length = usize::try_from(operation.bytes).unwrap_or(usize::MAX);
            let bytes = self.queue.region().bytes(done.slot).and_then(|bytes| bytes.get(..length));
            let wrong = writings.settle(operation, bytes.unwrap_or_default());
            wrong.into_iter().for_each(|(kind, at)| self.tally.fail(operation.file, kind, at));
        }
        self.count(slot, now);
        true
    }

    #[inline]
    fn count(&mut self, slot: &Slot, now: u64) {
        let Slot { operation, meant_ns, submitted_ns } = slot;
        let (at, bytes) = (place(operation.kind), u64::from(operation.bytes));
        let all = self.tally.all.get_mut(usize::from(operation.file));
        if let Some(all) = all.and_then(|all| all.get_mut(at)) {
            all.operations += 1;
            all.bytes += bytes;
        }
        let Some(lane) = self.tally.lanes.get_mut(at) else { return };
        let service = now.saturating_sub(*submitted_ns);
        let is_open = self.task.schedule.is_some();
        let latency = if is_open { now.saturating_sub(*meant_ns) } else { service };
        let has_ended_within = now < self.task.to_ns;
        if has_ended_within {
            lane.counted.operations += 1;
            lane.counted.bytes += bytes;
            self.tally.busy_ns = self.tally.busy_ns.saturating_add(service);
        }
        // An open loop asks how long those waited that were meant to start within the time that
        // counts, whenever they ended: what a stall holds up beyond the end is not left out.
        let is_told = if is_open { *meant_ns >= self.task.from_ns } else { has_ended_within };
        if is_told {
            lane.latency.record(latency);
        }
        if is_told && is_open {
            lane.service.record(service);
            lane.late += u64::from(submitted_ns.saturating_sub(*meant_ns) > LATE_NS);
        }
        if let Some(second) = lane.series.get_mut(self.second) {
            second.operations += 1;
            second.bytes += bytes;
            second.max_ns = second.max_ns.max(Some(latency));
        }
    }

    /// An operation that failed ends the run: its numbers would be of something else.
    #[cold]
    fn failed(&mut self, done: Done, operation: &Operation) {
        let kind = match done {
            Done { status: 1.., .. } => {
                FailureKind::NvmeStatus { status: format!("{:#05x}", done.status) }
            }
            Done { result: ..0, .. } => FailureKind::Error { errno: errno_word(-done.result) },
            Done { .. } => FailureKind::Short,
        };
        if let Some(writings) = &mut self.task.writings {
            writings.forget(operation);
        }
        self.tally.fail(operation.file, kind, operation.offset);
        self.is_ending = true;
        self.task.stop.failed.store(true, Ordering::Relaxed);
    }

    /// A second has passed, the ramp or the run has ended, or somebody says stop.
    #[cold]
    fn event(&mut self, now: u64) {
        self.second = usize::try_from(now / SECOND_NS).unwrap_or(usize::MAX);
        for lane in &mut self.tally.lanes {
            // Never more than a day's: a run's length is bounded.
            lane.series.resize(self.second.saturating_add(1).min(40_000_000), Second::default());
        }
        if !self.tally.has_begun && now >= self.task.from_ns {
            self.tally.begin();
            self.tally.from_ns = now;
            self.cpu_ns = thread_cpu_ns();
        }
        self.task.progress.show(&self.tally.lanes);
        let is_stopped = self.task.stop.is_set();
        let is_over = now >= self.task.to_ns;
        let is_done = self.left_bytes == 0 && self.free.len() == self.slots.len();
        if is_stopped || is_over || is_done {
            self.end(now, is_stopped && !is_over && !is_done);
        }
        let next = (now / SECOND_NS + 1).saturating_mul(SECOND_NS);
        let from_ns = if self.tally.has_begun { u64::MAX } else { self.task.from_ns };
        self.event_ns = next.min(from_ns).min(self.task.to_ns);
    }

    fn end(&mut self, now: u64, is_cancelled: bool) {
        self.is_ending = true;
        self.tally.is_cancelled = is_cancelled;
        self.tally.to_ns = now.min(self.task.to_ns);
        self.tally.cpu_ns = thread_cpu_ns().saturating_sub(self.cpu_ns);
        if let Some(schedule) = &mut self.task.schedule
            && !is_cancelled
            // Where the amount is done, nothing more was meant to start.
            && self.left_bytes > 0
        {
            self.tally.missed += schedule.left_before(self.tally.to_ns);
        }
    }

    /// Waits for what is in flight.
    fn drain(&mut self) -> io::Result<()> {
        while self.free.len() < self.slots.len() {
            self.queue.turn(1, None)?;
            let now = self.task.clock.now_ns();
            self.take(now);
        }
        Ok(())
    }
}
