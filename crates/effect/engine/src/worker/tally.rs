// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one thread counts.

use std::collections::BTreeMap;

use record::{Counted, FailureKind, Histogram, Kind, Second};

/// The directions, in the order in which they are told.
pub(crate) const KINDS: [Kind; 3] = [Kind::Read, Kind::Write, Kind::Trim];

/// The place of a direction in arrays of three.
#[inline]
pub(crate) fn place(kind: Kind) -> usize {
    match kind {
        Kind::Read | Kind::Mixed => 0,
        Kind::Write => 1,
        Kind::Trim => 2,
    }
}

/// One direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lane {
    /// Within the time that counts.
    pub(crate) counted: Counted,
    /// From the intended start, or from submission in closed loop.
    pub(crate) latency: Histogram,
    /// From submission; only in open loop.
    pub(crate) service: Histogram,
    pub(crate) late: u64,
    pub(crate) series: Vec<Second>,
}

/// Failures alike: how many, and the first one's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Alike {
    pub(crate) count: u64,
    pub(crate) offset: u64,
}

/// All that one thread counts.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) lanes: [Lane; 3],
    /// All of each of the thread's targets, in each direction, the ramp included.
    pub(crate) all: Vec<[Counted; 3]>,
    pub(crate) failures: BTreeMap<(u16, FailureKind), Alike>,
    pub(crate) missed: u64,
    /// CPU time of this thread within the time that counts, in ns.
    pub(crate) cpu_ns: u64,
    /// The time that counts, in ns of the run's clock.
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    /// Nanoseconds of all operations added up, for the mean depth.
    pub(crate) busy_ns: u64,
    /// Whether the time that counts has begun.
    pub(crate) has_begun: bool,
    /// Whether somebody ended the run before its time.
    pub(crate) is_cancelled: bool,
    /// The way itself failed.
    pub(crate) broken: Option<String>,
}

impl Tally {
    pub(crate) fn new(files: usize) -> Self {
        Self { all: vec![<[Counted; 3]>::default(); files], ..Self::default() }
    }

    /// Notes a failure.
    pub(crate) fn fail(&mut self, file: u16, kind: FailureKind, offset: u64) {
        let alike = self.failures.entry((file, kind)).or_insert(Alike { count: 0, offset });
        alike.count += 1;
    }

    /// Forgets what the ramp counted.
    pub(crate) fn begin(&mut self) {
        for lane in &mut self.lanes {
            lane.counted = Counted::default();
            lane.latency = Histogram::new();
            lane.service = Histogram::new();
            lane.late = 0;
        }
        (self.busy_ns, self.missed, self.has_begun) = (0, 0, true);
    }
}
