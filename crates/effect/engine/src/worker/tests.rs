// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ways that break, stall and are slow, and what is counted of them.

use record::{Pace, Verify};

use super::*;
use crate::draw::Stretch;
use crate::made;
use crate::region::Region;

const STRETCH: Stretch = Stretch { start: 0, bytes: 1 << 20, step: 4096 };
const MS: u64 = 1_000_000;

/// Random reads 8 deep without an end.
fn task<'a>(stop: Stop<'a>, progress: &'a Progress, stretch: Stretch) -> Task<'a> {
    Task {
        clock: Clock::start("tsc"),
        draw: Draw::new(&made::workload("any"), &[stretch], 0),
        schedule: None,
        when_full: WhenFull::Delay,
        want: 1,
        from_ns: 0,
        to_ns: u64::MAX,
        bytes: None,
        files: 1,
        writings: None,
        salt: Random::of(1, 1),
        stop,
        progress,
    }
}

fn schedule(iops: f64) -> Option<Schedule> {
    Schedule::new(Pace::Constant { iops, when_full: WhenFull::Delay }, 1, 0, 1)
}

/// A way that takes some operations, answers them, and then takes no more.
struct Failing {
    region: Region,
    takes: usize,
    ended: Vec<Done>,
}

impl Queue for Failing {
    fn push(&mut self, operation: &Operation, slot: usize) -> io::Result<()> {
        self.takes = self.takes.checked_sub(1).ok_or(io::ErrorKind::Other)?;
        let result = i32::try_from(operation.bytes).unwrap();
        self.ended.push(Done { slot, result, status: 0 });
        Ok(())
    }

    fn turn(&mut self, want: usize, _: Option<Duration>) -> io::Result<()> {
        assert!(want <= self.ended.len(), "it would wait for ever");
        Ok(())
    }

    fn next(&mut self) -> Option<Done> {
        self.ended.pop()
    }

    fn region(&mut self) -> &mut Region {
        &mut self.region
    }

    fn is_immediate(&self, _: Kind) -> bool {
        false
    }

    fn depth(&self) -> usize {
        self.region.slots()
    }
}

/// A way that answers each operation after a while, and nothing before a moment.
struct Slow {
    region: Region,
    clock: Clock,
    while_ns: u64,
    not_before_ns: u64,
    /// When each ends.
    in_flight: Vec<(u64, Done)>,
}

impl Slow {
    fn new(task: &Task<'_>, depth: usize, while_ns: u64, not_before_ns: u64) -> Self {
        let region = Region::new(depth, 4096, None).unwrap();
        Self { region, clock: task.clock, while_ns, not_before_ns, in_flight: Vec::new() }
    }
}

impl Queue for Slow {
    fn push(&mut self, operation: &Operation, slot: usize) -> io::Result<()> {
        let result = i32::try_from(operation.bytes).unwrap();
        let ends = (self.clock.now_ns() + self.while_ns).max(self.not_before_ns);
        self.in_flight.push((ends, Done { slot, result, status: 0 }));
        Ok(())
    }

    fn turn(&mut self, want: usize, at_most: Option<Duration>) -> io::Result<()> {
        let now = self.clock.now_ns();
        let first = self.in_flight.iter().map(|(ends, _)| *ends).min();
        let wait = first.map(|ends| Duration::from_nanos(ends.saturating_sub(now)));
        let wait = wait.into_iter().chain(at_most).min();
        std::thread::sleep(wait.filter(|_| want > 0).unwrap_or_default());
        Ok(())
    }

    fn next(&mut self) -> Option<Done> {
        let now = self.clock.now_ns();
        let at = self.in_flight.iter().position(|(ends, _)| *ends <= now)?;
        Some(self.in_flight.swap_remove(at).1)
    }

    fn region(&mut self) -> &mut Region {
        &mut self.region
    }

    fn is_immediate(&self, _: Kind) -> bool {
        false
    }

    fn depth(&self) -> usize {
        self.region.slots()
    }
}

#[test]
fn a_way_that_takes_no_more_ends_the_run_and_nothing_is_waited_for() {
    let (asked, failed) = (AtomicBool::new(false), AtomicBool::new(false));
    let (stop, progress) = (Stop { asked: &asked, failed: &failed }, Progress::default());
    for takes in [0, 3, 8, 100] {
        let queue = Failing { region: Region::new(8, 4096, None).unwrap(), takes, ended: vec![] };
        let (tally, _) = work(task(stop, &progress, STRETCH), queue);
        assert!(tally.broken.is_some());
        assert_eq!(tally.lanes[0].counted.operations, takes as u64);
    }
}

/// A device that stalls over the end: whoever was to start before it waited, and that is told.
#[test]
fn what_a_stall_holds_up_beyond_the_end_is_in_the_latencies_and_not_in_the_rate() {
    let (asked, failed) = (AtomicBool::new(false), AtomicBool::new(false));
    let (stop, progress) = (Stop { asked: &asked, failed: &failed }, Progress::default());
    let mut task = task(stop, &progress, STRETCH);
    (task.schedule, task.to_ns) = (schedule(1000.0), 40 * MS);
    let queue = Slow::new(&task, 64, 0, 80 * MS);
    let (tally, _) = work(task, queue);
    let lane = &tally.lanes[0];
    assert_eq!(lane.counted.operations, 0);
    assert_eq!(lane.latency.count() + tally.missed, 40);
    assert_eq!(
        (lane.service.count(), lane.latency.count()),
        (40 - tally.missed, 40 - tally.missed)
    );
    // Those of the first half waited for 60 ms at least.
    assert!(lane.latency.percentile(50.0).unwrap() > 55 * MS, "{:?}", lane.latency);
}

#[test]
fn of_an_amount_only_what_ended_within_the_time_counts() {
    let (asked, failed) = (AtomicBool::new(false), AtomicBool::new(false));
    let (stop, progress) = (Stop { asked: &asked, failed: &failed }, Progress::default());
    let mut task = task(stop, &progress, STRETCH);
    (task.bytes, task.to_ns) = (Some(1 << 30), 20 * MS);
    let queue = Slow::new(&task, 8, 0, 40 * MS);
    let (tally, _) = work(task, queue);
    assert_eq!((tally.lanes[0].counted.operations, tally.all[0][0].operations), (0, 8));
}

/// One place only, and two at once never touch it: what is due waits for it, and is late.
#[test]
fn what_cannot_start_yet_is_late_and_not_lost() {
    let (asked, failed) = (AtomicBool::new(false), AtomicBool::new(false));
    let (stop, progress) = (Stop { asked: &asked, failed: &failed }, Progress::default());
    let stretch = Stretch { start: 0, bytes: 4096, step: 4096 };
    let mut task = task(stop, &progress, stretch);
    (task.schedule, task.to_ns) = (schedule(1000.0), 60 * MS);
    task.writings = Some(Writings::new(1, Verify::AfterWrites, &[stretch], 4096).unwrap());
    let queue = Slow::new(&task, 4, 2 * MS, 0);
    let (tally, _) = work(task, queue);
    let lane = &tally.lanes[0];
    assert_eq!(lane.latency.count() + tally.missed, 60);
    assert!(lane.late > 0 && lane.latency.count() > 5, "{lane:?}");
}

#[test]
fn what_came_due_while_the_queue_was_full_is_missed_and_the_others_are_in_time() {
    let (asked, failed) = (AtomicBool::new(false), AtomicBool::new(false));
    let (stop, progress) = (Stop { asked: &asked, failed: &failed }, Progress::default());
    let mut task = task(stop, &progress, STRETCH);
    (task.schedule, task.to_ns) = (schedule(1e5), 60 * MS);
    task.when_full = WhenFull::Miss;
    let queue = Slow::new(&task, 1, MS, 0);
    let (tally, _) = work(task, queue);
    let lane = &tally.lanes[0];
    assert_eq!(lane.latency.count() + tally.missed, 6000);
    // Each would be late by the time that the one before it took.
    assert!(lane.late * 2 < lane.latency.count(), "{} of {}", lane.late, lane.latency.count());
}
