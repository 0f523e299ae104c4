// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workload: everything that is asked of an engine, and nothing about where it runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::WorkloadError;

mod access;
mod hash;

pub use access::{Access, Cache, IoWait, Path, Polling, Submission, Wait};

/// A load on block devices and files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// What is read and written.
    pub targets: Vec<Target>,
    /// How threads and targets go together.
    #[serde(default)]
    pub sharing: Sharing,
    /// Threads: of each target, or of all of them, as `sharing` says. 1 to 65,536.
    pub threads: u32,
    /// Operations that a thread keeps in flight at most. 1 to 32,768.
    pub depth: u32,
    /// The share of each direction.
    pub mix: Mix,
    /// The order of places.
    pub pattern: Pattern,
    /// Sizes of operations.
    pub blocks: Blocks,
    /// Sizes of writes and trims where they differ from those of reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_blocks: Option<Blocks>,
    /// The part of each target that is used: its beginning, in bytes.
    #[serde(default)]
    pub offset_bytes: u64,
    /// The part of each target that is used: its length in bytes; to the end where not told.
    #[serde(default)]
    pub length_bytes: Option<u64>,
    /// Whether threads of one target each have the whole of that part, or a piece of it.
    #[serde(default)]
    pub division: Division,
    /// When operations start.
    #[serde(default)]
    pub pace: Pace,
    /// When it ends.
    pub limits: Limits,
    /// The way to the device.
    #[serde(default)]
    pub access: Access,
    /// Whether contents are checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
    /// What places, sizes, directions and contents are drawn from.
    #[serde(default)]
    pub seed: u64,
}

/// A block device or a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Its path.
    pub path: String,
    /// For a file that the run makes: its size in bytes. None for what is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub make_bytes: Option<u64>,
}

/// How threads and targets go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Each target has threads of its own.
    #[default]
    EachItsOwn,
    /// Each thread works on all targets, in turn.
    EveryThreadAll,
}

/// Shares of operations in percent; together 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Reads.
    pub read_percent: u8,
    /// Writes.
    #[serde(default)]
    pub write_percent: u8,
    /// Discards.
    #[serde(default)]
    pub trim_percent: u8,
}

impl Mix {
    /// Reads only.
    pub const READS: Self = Self { read_percent: 100, write_percent: 0, trim_percent: 0 };
    /// Writes only.
    pub const WRITES: Self = Self { read_percent: 0, write_percent: 100, trim_percent: 0 };
    /// Discards only.
    pub const TRIMS: Self = Self { read_percent: 0, write_percent: 0, trim_percent: 100 };

    /// Whether what is on the target changes.
    pub fn destroys(self) -> bool {
        self.write_percent > 0 || self.trim_percent > 0
    }
}

/// The order of places.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Pattern {
    /// One block after the other, from the beginning again at the end.
    Sequential,
    /// Any place as likely as any other; places may come twice.
    Uniform,
    /// The n-th most wanted place is wanted in proportion to 1 / n^theta; the wanted are scattered
    /// over the whole.
    Zipf {
        /// Above 0 and below 10, not 1.
        theta: f64,
    },
    /// A share of operations goes to a share of the places, at the beginning; the others anywhere
    /// else.
    HotSpot {
        /// Operations, in percent, above 0 and below 100.
        operations_percent: f64,
        /// Places, in percent, above 0 and below 100.
        places_percent: f64,
    },
}

/// Sizes of operations. Each a multiple of the target's logical block where access is direct.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Blocks {
    /// All the same.
    One {
        /// In bytes.
        bytes: u64,
    },
    /// Any multiple of the smallest, as likely as any other.
    Range {
        /// The smallest, in bytes.
        min_bytes: u64,
        /// The largest, in bytes; a multiple of the smallest.
        max_bytes: u64,
    },
    /// Each with its share.
    Shares {
        /// The sizes; shares add up to 100.
        shares: Vec<BlockShare>,
    },
}

/// A size and how often it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockShare {
    /// In bytes.
    pub bytes: u64,
    /// Of operations, in percent.
    pub percent: u8,
}

impl Blocks {
    /// The smallest, in bytes.
    pub fn min_bytes(&self) -> u64 {
        match self {
            Self::One { bytes } => *bytes,
            Self::Range { min_bytes, .. } => *min_bytes,
            Self::Shares { shares } => shares.iter().map(|share| share.bytes).min().unwrap_or(0),
        }
    }

    /// The largest, in bytes.
    pub fn max_bytes(&self) -> u64 {
        match self {
            Self::One { bytes } => *bytes,
            Self::Range { max_bytes, .. } => *max_bytes,
            Self::Shares { shares } => shares.iter().map(|share| share.bytes).max().unwrap_or(0),
        }
    }
}

/// Whether threads of one target share its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Division {
    /// Each thread goes over all of it.
    #[default]
    Whole,
    /// Each thread goes over a piece of its own.
    Pieces,
}

/// When operations start.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Pace {
    /// As soon as another has ended: closed loop.
    #[default]
    Closed,
    /// At equal distances, whether others have ended or not: open loop.
    Constant {
        /// Operations a second of the whole run; threads share it evenly.
        iops: f64,
        /// What becomes of an operation whose time comes while the queue is full.
        #[serde(default)]
        when_full: WhenFull,
    },
    /// At random distances (a Poisson process), whether others have ended or not: open loop.
    Poisson {
        /// Operations a second of the whole run, on average; threads share it evenly.
        iops: f64,
        /// What becomes of an operation whose time comes while the queue is full.
        #[serde(default)]
        when_full: WhenFull,
    },
}

/// What becomes of an operation of an open loop when as many as may be are in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// It is submitted later, and its latency counts from when it was meant to start.
    #[default]
    Delay,
    /// It is not submitted, and counted as missed.
    Miss,
}

/// When a run ends: at the first of those told.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Seconds that count, the ramp not among them.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// Seconds before, which do not count.
    #[serde(default)]
    pub ramp_seconds: f64,
    /// Bytes of all threads together.
    #[serde(default)]
    pub bytes: Option<u64>,
}

/// Whether contents are checked. Each block then begins with where it belongs, which writing of it
/// that was, and a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verify {
    /// What the run wrote is read and checked when it has ended.
    AfterWrites,
    /// Reads check what an earlier run of the same seed wrote.
    Reads,
}

impl Workload {
    /// Whether what is on a target that was there before changes.
    pub fn destroys(&self) -> bool {
        self.mix.destroys() && self.targets.iter().any(|target| target.make_bytes.is_none())
    }

    /// How many threads it has in all; saturating.
    pub fn thread_count(&self) -> u32 {
        match self.sharing {
            Sharing::EachItsOwn => {
                let targets = u32::try_from(self.targets.len()).unwrap_or(u32::MAX);
                self.threads.saturating_mul(targets)
            }
            Sharing::EveryThreadAll => self.threads,
        }
    }

    /// A name for exactly this workload: BLAKE3 of its JSON without blanks and with keys in order, in
    /// hex. A field that is added later does not change the hash of those that do not use it.
    pub fn hash(&self) -> String {
        hash::of(self)
    }

    /// Holds that it can be carried out at all. What a target's block size and length forbid is for
    /// the engine to say.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), WorkloadError> {
        self.check_targets()?;
        within("the number of threads", u64::from(self.threads), 1..=65_536, "1 to 65,536")?;
        within("the depth", u64::from(self.depth), 1..=32_768, "1 to 32,768")?;
        self.mix.check()?;
        self.pattern.check()?;
        self.blocks.check()?;
        self.write_blocks.as_ref().map_or(Ok(()), Blocks::check)?;
        self.pace.check()?;
        self.limits.check()?;
        self.access.check()?;
        self.check_verify()
    }

    fn check_targets(&self) -> Result<(), WorkloadError> {
        let mut paths: Vec<&str> = self.targets.iter().map(|target| target.path.as_str()).collect();
        paths.sort_unstable();
        if paths.is_empty() {
            return Err(WorkloadError::NoTarget);
        }
        let twice = paths.iter().zip(paths.iter().skip(1)).find(|(one, next)| one == next);
        twice.map_or(Ok(()), |(path, _)| Err(WorkloadError::TargetTwice((*path).to_owned())))
    }

    fn check_verify(&self) -> Result<(), WorkloadError> {
        let smallest = self.blocks.min_bytes();
        let smallest = self.write_blocks.as_ref().map_or(smallest, |w| smallest.min(w.min_bytes()));
        match self.verify {
            None => Ok(()),
            Some(_) if smallest < 512 => {
                Err(range("the smallest block of a verified run", smallest, "512 bytes or more"))
            }
            Some(_) if self.mix.trim_percent > 0 => Err(WorkloadError::Excludes {
                one: "verifying",
                other: "trims",
                why: "what a device gives back after a trim is its own affair",
            }),
            Some(Verify::Reads) if self.mix.write_percent > 0 => Err(WorkloadError::Excludes {
                one: "checking what was written before",
                other: "writes",
                why: "they would replace it",
            }),
            Some(_) => Ok(()),
        }
    }
}

impl Mix {
    fn check(self) -> Result<(), WorkloadError> {
        let shares = [self.read_percent, self.write_percent, self.trim_percent];
        let sum = shares.into_iter().map(u32::from).sum();
        if sum == 100 { Ok(()) } else { Err(WorkloadError::Mix(sum)) }
    }
}

impl Pattern {
    fn check(self) -> Result<(), WorkloadError> {
        let share = |what, value: f64| {
            let is_share = value > 0.0 && value < 100.0;
            if is_share { Ok(()) } else { Err(range(what, value, "above 0 and below 100")) }
        };
        match self {
            Self::Sequential | Self::Uniform => Ok(()),
            Self::Zipf { theta } if theta > 0.0 && theta < 10.0 && (theta - 1.0).abs() > 1e-6 => {
                Ok(())
            }
            Self::Zipf { theta } => {
                Err(range("theta of the Zipf distribution", theta, "above 0, below 10 and not 1"))
            }
            Self::HotSpot { operations_percent, places_percent } => {
                share("the hot spot's share of operations", operations_percent)?;
                share("the hot spot's share of places", places_percent)
            }
        }
    }
}

/// The largest operation: the block layer splits what is larger, and a buffer has to hold it.
const LARGEST: u64 = 1 << 30;

impl Blocks {
    fn check(&self) -> Result<(), WorkloadError> {
        let (min, max) = (self.min_bytes(), self.max_bytes());
        within("the block size in bytes", min, 1..=LARGEST, "1 byte to 1 GiB")?;
        within("the largest block size in bytes", max, min..=LARGEST, "the smallest to 1 GiB")?;
        match self {
            Self::Range { .. } if max % min != 0 => {
                Err(range("the largest block size", max, "a multiple of the smallest"))
            }
            Self::Shares { shares } => {
                let sum: u32 = shares.iter().map(|share| u32::from(share.percent)).sum();
                let whole = sum == 100;
                let wanted = "100 percent in all";
                if whole { Ok(()) } else { Err(range("the shares of block sizes", sum, wanted)) }
            }
            _ => Ok(()),
        }
    }
}

impl Pace {
    fn check(self) -> Result<(), WorkloadError> {
        match self {
            Self::Closed => Ok(()),
            Self::Constant { iops, .. } | Self::Poisson { iops, .. } => {
                let is_rate = (1e-3..=1e9).contains(&iops);
                let wanted = "0.001 to 1,000,000,000";
                if is_rate { Ok(()) } else { Err(range("the rate a second", iops, wanted)) }
            }
        }
    }
}

impl Limits {
    fn check(self) -> Result<(), WorkloadError> {
        const A_YEAR: f64 = 366.0 * 86_400.0;
        let wanted = "above 0 and at most a year";
        match self.seconds {
            Some(seconds) if !(seconds > 0.0 && seconds <= A_YEAR) => {
                return Err(range("the time in seconds", seconds, wanted));
            }
            None if self.bytes.is_none() => return Err(WorkloadError::Endless),
            _ => {}
        }
        if self.bytes == Some(0) {
            return Err(range("the amount in bytes", 0, "above 0"));
        }
        let is_time = (0.0..=A_YEAR).contains(&self.ramp_seconds);
        if is_time { Ok(()) } else { Err(range("the ramp in seconds", self.ramp_seconds, wanted)) }
    }
}

pub(crate) fn range(
    what: &'static str,
    value: impl ToString,
    wanted: &'static str,
) -> WorkloadError {
    WorkloadError::Range { what, value: value.to_string(), wanted }
}

fn within(
    what: &'static str,
    value: u64,
    may_be: std::ops::RangeInclusive<u64>,
    wanted: &'static str,
) -> Result<(), WorkloadError> {
    if may_be.contains(&value) { Ok(()) } else { Err(range(what, value, wanted)) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn random_reads() -> Workload {
        Workload {
            targets: vec![Target { path: "/dev/nvme0n1".to_owned(), make_bytes: None }],
            sharing: Sharing::EachItsOwn,
            threads: 4,
            depth: 32,
            mix: Mix::READS,
            pattern: Pattern::Uniform,
            blocks: Blocks::One { bytes: 4096 },
            write_blocks: None,
            offset_bytes: 0,
            length_bytes: None,
            division: Division::Whole,
            pace: Pace::Closed,
            limits: Limits { seconds: Some(30.0), ..Limits::default() },
            access: Access::default(),
            verify: None,
            seed: 1,
        }
    }

    /// A change that makes a workload impossible, and the complaint.
    type Case = (fn(&mut Workload), &'static str);

    #[test]
    fn what_cannot_be_carried_out_is_refused() {
        let cases: [Case; 15] = [
            (|w| w.targets.clear(), "no target"),
            (|w| w.targets.push(w.targets[0].clone()), "target /dev/nvme0n1 is named twice"),
            (|w| w.threads = 0, "the number of threads is 0, and must be 1 to 65,536"),
            (|w| w.depth = 32_769, "the depth is 32769, and must be 1 to 32,768"),
            (|w| w.mix.write_percent = 1, "reads, writes and trims add up to 101 percent, not 100"),
            (
                |w| w.pattern = Pattern::Zipf { theta: 1.0 },
                "theta of the Zipf distribution is 1, and must be above 0, below 10 and not 1",
            ),
            (
                |w| w.pattern = Pattern::Zipf { theta: f64::NAN },
                "theta of the Zipf distribution is NaN, and must be above 0, below 10 and not 1",
            ),
            (
                |w| w.blocks = Blocks::Range { min_bytes: 4096, max_bytes: 6144 },
                "the largest block size is 6144, and must be a multiple of the smallest",
            ),
            (
                |w| w.blocks = Blocks::Shares { shares: Vec::new() },
                "the block size in bytes is 0, and must be 1 byte to 1 GiB",
            ),
            (
                |w| w.pace = Pace::Poisson { iops: 0.0, when_full: WhenFull::Delay },
                "the rate a second is 0, and must be 0.001 to 1,000,000,000",
            ),
            (|w| w.limits = Limits::default(), "it has no end: neither a time nor an amount"),
            (
                |w| w.limits.seconds = Some(-1.0),
                "the time in seconds is -1, and must be above 0 and at most a year",
            ),
            (
                |w| w.limits.ramp_seconds = f64::INFINITY,
                "the ramp in seconds is inf, and must be above 0 and at most a year",
            ),
            (
                |w| {
                    (w.mix, w.verify) = (
                        Mix { read_percent: 50, write_percent: 50, trim_percent: 0 },
                        Some(Verify::Reads),
                    );
                },
                "checking what was written before and writes exclude each other: they would replace it",
            ),
            (|w| w.access.polling = Polling::Hybrid, ""),
        ];
        for (change, complaint) in cases {
            let mut workload = random_reads();
            change(&mut workload);
            let error = workload.check().err().map(|error| error.to_string());
            assert_eq!(error.unwrap_or_default(), complaint);
        }
    }

    #[test]
    fn threads_belong_to_targets_or_to_all() {
        let mut workload = random_reads();
        workload.targets.push(Target { path: "/dev/nvme1n1".to_owned(), make_bytes: None });
        assert_eq!(workload.thread_count(), 8);
        workload.sharing = Sharing::EveryThreadAll;
        assert_eq!(workload.thread_count(), 4);
    }

    #[test]
    fn a_file_of_its_own_is_not_destroyed() {
        let mut workload = Workload { mix: Mix::WRITES, ..random_reads() };
        assert!(workload.destroys());
        workload.targets[0].make_bytes = Some(1 << 30);
        assert!(!workload.destroys());
    }
}
