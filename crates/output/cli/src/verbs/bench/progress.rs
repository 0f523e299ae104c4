// SPDX-License-Identifier: MIT OR Apache-2.0
//! The line on a terminal that tells how far a run is.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use engine::Seen;
use machine::Drive;
use record::Workload;
use report::runs::Moment;

use super::ground::Ground;
use crate::terminal;

/// A line that is written over until the run has ended; silent where nobody sees it.
pub(super) struct Progress<'a> {
    ground: &'a Ground,
    drives: Vec<&'a Drive>,
    whole: Option<Duration>,
    /// What was seen within the last second, the oldest first.
    seen: RefCell<VecDeque<Seen>>,
    is_shown: bool,
}

impl<'a> Progress<'a> {
    pub(super) fn new(ground: &'a Ground, drives: &[&'a Drive], workload: &Workload) -> Self {
        let limits = workload.limits;
        let whole = limits.seconds.map(|seconds| seconds + limits.ramp_seconds);
        Self {
            ground,
            drives: drives.to_vec(),
            whole: whole.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            seen: RefCell::new(VecDeque::new()),
            is_shown: terminal::is_watched(),
        }
    }

    /// Tells of what was seen. Rates are those of the last second.
    pub(super) fn tell(&self, now: Seen) {
        if !self.is_shown {
            return;
        }
        let mut seen = self.seen.borrow_mut();
        let is_old = |one: &Seen| now.elapsed.saturating_sub(one.elapsed) > Duration::from_secs(1);
        while seen.front().is_some_and(is_old) && seen.len() > 1 {
            seen.pop_front();
        }
        let since = seen.front().copied();
        seen.push_back(now);
        let (iops, bytes_per_second) = since.map_or((0.0, 0.0), |since| rates(&since, &now));
        terminal::status(&report::runs::moment(&Moment {
            fraction: self.whole.map(|whole| now.elapsed.as_secs_f64() / whole.as_secs_f64()),
            iops,
            bytes_per_second,
            p99_ns: now.p99_ns,
            warmest_mc: self.ground.glance(&self.drives).warmest_drive_mc(),
        }));
    }

    /// Takes the line away.
    pub(super) fn end(&self) {
        if self.is_shown {
            terminal::status("");
        }
    }
}

/// Operations and bytes a second between two sights.
#[expect(clippy::cast_precision_loss, reason = "four digits are shown")]
fn rates(since: &Seen, now: &Seen) -> (f64, f64) {
    let seconds = now.elapsed.saturating_sub(since.elapsed).as_secs_f64();
    let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let operations = now.operations.saturating_sub(since.operations);
    (rate(operations), rate(now.bytes.saturating_sub(since.bytes)))
}
