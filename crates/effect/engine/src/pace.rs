// SPDX-License-Identifier: MIT OR Apache-2.0
//! When operations of an open loop are meant to start.
//!
//! The schedule knows nothing of what ended: an operation that had to wait counts from the moment
//! that it was meant to start, or a device that stalls would be asked less and look well.

use record::Pace;

use crate::draw::Random;

/// A submission later than this counts as late. An idle kernel wakes a thread within it; what is
/// later was held up by a full queue or a thread that had no CPU.
pub(crate) const LATE_NS: u64 = 100_000;

/// The intended starts of one thread, in ns of the run's clock.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    next_ns: f64,
    period_ns: f64,
    law: Law,
}

#[derive(Debug, Clone)]
enum Law {
    Constant,
    Poisson(Random),
}

impl Schedule {
    /// The part of a workload's pace that one of `threads` has; none in closed loop. Threads of a
    /// constant pace take turns.
    pub(crate) fn new(pace: Pace, seed: u64, thread: u32, threads: u32) -> Option<Self> {
        let (iops, law) = match pace {
            Pace::Closed => return None,
            Pace::Constant { iops, .. } => (iops, Law::Constant),
            Pace::Poisson { iops, .. } => {
                (iops, Law::Poisson(Random::of(!seed, u64::from(thread))))
            }
        };
        let period_ns = 1e9 / iops * f64::from(threads.max(1));
        let first_ns = period_ns / f64::from(threads.max(1)) * f64::from(thread);
        let mut schedule = Self { next_ns: first_ns, period_ns, law };
        if matches!(schedule.law, Law::Poisson(_)) {
            schedule.next_ns = schedule.distance_ns();
        }
        Some(schedule)
    }

    /// When the next operation is meant to start.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "never negative; beyond 2^53 ns, 104 days, to the next 2 ns"
    )]
    pub(crate) fn due_ns(&self) -> u64 {
        self.next_ns as u64
    }

    /// Goes on to the one after it.
    pub(crate) fn advance(&mut self) {
        self.next_ns += self.distance_ns();
    }

    /// How many more were meant to start before a moment. Of a random pace with more than a million
    /// left, as many as its rate gives: nobody drew them, and drawing them could take longer than the
    /// run.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "never negative, and saturating"
    )]
    pub(crate) fn left_before(&mut self, end_ns: u64) -> u64 {
        const DRAWN: u64 = 1_000_000;
        let mut left = 0;
        while left < DRAWN && self.due_ns() < end_ns {
            left += 1;
            self.advance();
        }
        let rest = (end_ns as f64 - self.next_ns) / self.period_ns;
        left.saturating_add(rest.max(0.0).ceil() as u64)
    }

    fn distance_ns(&mut self) -> f64 {
        match &mut self.law {
            Law::Constant => self.period_ns,
            // 1 less a share below 1 is never 0, whose logarithm there is none of.
            Law::Poisson(random) => -(1.0 - random.share()).ln() * self.period_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::WhenFull::Delay;

    fn starts(pace: Pace, thread: u32, threads: u32, count: usize) -> Vec<u64> {
        let mut schedule = Schedule::new(pace, 1, thread, threads).unwrap();
        let mut next = || {
            let due = schedule.due_ns();
            schedule.advance();
            due
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_constant_pace_is_shared_in_turns() {
        let pace = Pace::Constant { iops: 1000.0, when_full: Delay };
        assert_eq!(starts(pace, 0, 1, 3), [0, 1_000_000, 2_000_000]);
        assert_eq!(starts(pace, 0, 2, 3), [0, 2_000_000, 4_000_000]);
        assert_eq!(starts(pace, 1, 2, 3), [1_000_000, 3_000_000, 5_000_000]);
        assert!(Schedule::new(Pace::Closed, 1, 0, 1).is_none());
    }

    #[test]
    fn poisson_keeps_its_rate_and_its_spread() {
        let pace = Pace::Poisson { iops: 10_000.0, when_full: Delay };
        let starts = starts(pace, 0, 1, 100_000);
        let last = u32::try_from(starts[99_999] / 1_000_000).unwrap();
        // 10 s; the standard deviation of the sum is 32 ms.
        assert!(last.abs_diff(10_000) < 200, "{last} ms");
        let short = starts.windows(2).filter(|pair| pair[1] - pair[0] < 69_315).count();
        // The median distance of an exponential law is ln 2 of the mean.
        assert!(short.abs_diff(50_000) < 1000, "{short}");
    }

    #[test]
    fn what_was_left_is_counted() {
        let pace = Pace::Constant { iops: 1000.0, when_full: Delay };
        let mut schedule = Schedule::new(pace, 1, 0, 1).unwrap();
        assert_eq!(schedule.left_before(10_000_000), 10);
        assert_eq!(schedule.left_before(10_000_000), 0);
        let pace = Pace::Constant { iops: 1e9, when_full: Delay };
        let mut schedule = Schedule::new(pace, 1, 0, 1).unwrap();
        assert_eq!(schedule.left_before(3_600_000_000_000), 3_600_000_000_000);
    }
}
