// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of nanoseconds in log-linear buckets: 64 an octave, as fio has them.
//!
//! ```text
//! 0, 1, 2 ... 127        each its own bucket
//! 2^k to 2^(k+1) - 1     64 buckets of 2^(k-6) each, k = 7 to 46
//! ```
//!
//! A bucket is 1.6 % wide at most and is named by its middle, which is what fio's `bins` of JSON+ are
//! named by (fio, stat.c, `plat_idx_to_val`), so that histograms of both merge exactly. fio ends at
//! 2^34 ns (17 s); this one goes on to 2^47 ns (39 hours), and what is longer counts in its last.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Buckets an octave, as a power of two.
const BITS: u32 = 6;
const AN_OCTAVE: usize = 1 << BITS;
/// The octave that the last bucket ends.
const LAST_OCTAVE: u32 = 46;
const BUCKETS: usize = ((LAST_OCTAVE - BITS + 2) << BITS) as usize;

/// How often each latency came. In JSON the buckets that hold something, by their middle.
#[derive(Clone, Serialize, Deserialize)]
#[serde(into = "Bins", try_from = "Bins")]
pub struct Histogram {
    counts: Counts,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

/// How often each bucket came.
#[derive(Clone)]
enum Counts {
    /// All buckets, for counting.
    All(Box<[u64; BUCKETS]>),
    /// Those that hold something, by rising bucket, for keeping: a record of a few bytes must not
    /// take the memory of all.
    Filled(Vec<(u16, u64)>),
}

impl Counts {
    fn empty() -> Self {
        Self::All(Box::new([0; BUCKETS]))
    }

    /// The buckets that hold something.
    fn filled(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let (all, filled) = match self {
            Self::All(all) => (all.as_slice(), [].as_slice()),
            Self::Filled(filled) => ([].as_slice(), filled.as_slice()),
        };
        let all = all.iter().copied().enumerate().filter(|(_, count)| *count > 0);
        all.chain(filled.iter().map(|(bucket, count)| (usize::from(*bucket), *count)))
    }

    /// A place for every bucket.
    fn widened(&self) -> Box<[u64; BUCKETS]> {
        let mut all = Box::new([0; BUCKETS]);
        for (bucket, count) in self.filled() {
            if let Some(place) = all.get_mut(bucket) {
                *place = count;
            }
        }
        all
    }

    /// The place of a bucket; none beyond the last.
    #[inline]
    fn place(&mut self, bucket: usize) -> Option<&mut u64> {
        if let Self::Filled(_) = self {
            *self = Self::All(self.widened());
        }
        match self {
            Self::All(all) => all.get_mut(bucket),
            Self::Filled(_) => None,
        }
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        (self.sum_ns, self.min_ns, self.max_ns) == (other.sum_ns, other.min_ns, other.max_ns)
            && self.counts.filled().eq(other.counts.filled())
    }
}

impl Eq for Histogram {}

/// A histogram as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Histogram")]
struct Bins {
    /// The shortest, in ns; 0 where there is none.
    min_ns: u64,
    /// The longest, in ns; 0 where there is none.
    max_ns: u64,
    /// All of them added up, in ns.
    sum_ns: u64,
    /// Pairs of a bucket's middle in ns and how often it came, by rising middle.
    bins: Vec<(u64, u64)>,
}

impl JsonSchema for Histogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Bins::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Bins::json_schema(generator)
    }
}

/// Why bins are no histogram of this kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A bin that is named by something else than a middle.
    #[error("{ns} ns is not the middle of a bucket")]
    NotAMiddle {
        /// What it is named.
        ns: u64,
    },
    /// More than can be counted.
    #[error("the counts add up to more than 2^64")]
    TooMany,
    /// A sum that the bins cannot have.
    #[error("the bins contradict a sum of {sum_ns} ns")]
    Sum {
        /// The sum that was told.
        sum_ns: u64,
    },
    /// Limits that the bins contradict.
    #[error("the bins contradict a minimum of {min_ns} ns and a maximum of {max_ns} ns")]
    Limits {
        /// The minimum that was told.
        min_ns: u64,
        /// The maximum that was told.
        max_ns: u64,
    },
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Counts::empty(), sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Bins::from(self.clone()).fmt(f)
    }
}

impl Histogram {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one latency, in ns.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        if let Some(count) = self.counts.place(bucket(ns)) {
            *count += 1;
        }
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds all that another one counted.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, more) in other.counts.filled() {
            if let Some(count) = self.counts.place(bucket) {
                *count = count.saturating_add(more);
            }
        }
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// A histogram of bins that somebody else counted, each named by its middle in ns, as fio's JSON+
    /// are. The sum is made of the middles; the limits are those told, or the outermost middles.
    ///
    /// # Errors
    /// A bin that is no bucket here, counts beyond 2^64, or limits that lie within other buckets.
    pub fn from_bins(
        bins: impl IntoIterator<Item = (u64, u64)>,
        limits: Option<(u64, u64)>,
    ) -> Result<Self, Unfit> {
        let mut filled: Vec<(u16, u64)> = Vec::new();
        for (ns, count) in bins {
            let bucket = bucket(ns);
            let number = u16::try_from(bucket).ok().filter(|_| middle(bucket) == ns);
            let number = number.ok_or(Unfit::NotAMiddle { ns })?;
            if count > 0 {
                filled.push((number, count));
            }
        }
        filled.sort_unstable_by_key(|(bucket, _)| *bucket);
        let mut histogram = Self { counts: Counts::Filled(Vec::new()), ..Self::new() };
        histogram.keep(filled)?;
        if let Some((min_ns, max_ns)) = limits {
            histogram.limit(min_ns, max_ns)?;
        }
        Ok(histogram)
    }

    /// Takes buckets in order; the same one can be there several times.
    fn keep(&mut self, filled: Vec<(u16, u64)>) -> Result<(), Unfit> {
        let mut kept: Vec<(u16, u64)> = Vec::new();
        let mut total = 0_u64;
        for (number, count) in filled {
            total = total.checked_add(count).ok_or(Unfit::TooMany)?;
            let ns = middle(number.into());
            self.sum_ns = self.sum_ns.saturating_add(ns.saturating_mul(count));
            (self.min_ns, self.max_ns) = (self.min_ns.min(ns), self.max_ns.max(ns));
            match kept.last_mut() {
                Some((last, sum)) if *last == number => *sum += count,
                _ => kept.push((number, count)),
            }
        }
        self.counts = Counts::Filled(kept);
        Ok(())
    }

    /// Takes limits that are known better than from the middles.
    fn limit(&mut self, min_ns: u64, max_ns: u64) -> Result<(), Unfit> {
        let same = |one: u64, other: u64| bucket(one) == bucket(other);
        // fio counts all above 2^34 ns in its last bucket, whatever the maximum is.
        let is_over = self.max_ns == FIO_LAST_MIDDLE && max_ns >= FIO_LAST_MIDDLE;
        let fits = self.is_empty()
            || (min_ns <= max_ns
                && same(min_ns, self.min_ns)
                && (same(max_ns, self.max_ns) || is_over));
        if !fits {
            return Err(Unfit::Limits { min_ns, max_ns });
        }
        if !self.is_empty() {
            (self.min_ns, self.max_ns) = (min_ns, max_ns);
            // Middles can lie beyond what is known of the outermost ones.
            let count = self.count();
            let (least, most) = (min_ns.saturating_mul(count), max_ns.saturating_mul(count));
            self.sum_ns = self.sum_ns.clamp(least, most);
        }
        Ok(())
    }

    /// Takes a sum that was told, where the buckets can have it.
    fn take_sum(&mut self, sum_ns: u64) -> Result<(), Unfit> {
        let bounds = |(bucket, count): (usize, u64)| {
            let (least, most) = edges(bucket);
            // fio's last bucket holds all that is longer.
            let most = if middle(bucket) == FIO_LAST_MIDDLE { self.max_ns.max(most) } else { most };
            (u128::from(least) * u128::from(count), u128::from(most) * u128::from(count))
        };
        let (mut least, mut most) = (0_u128, 0_u128);
        for one in self.counts.filled().map(bounds) {
            (least, most) = (least + one.0, most + one.1);
        }
        // A sum that has reached the end of its type is some sum beyond it.
        let is_cut = sum_ns == u64::MAX && most > u128::from(u64::MAX);
        if !is_cut && !(least..=most).contains(&u128::from(sum_ns)) {
            return Err(Unfit::Sum { sum_ns });
        }
        self.sum_ns = sum_ns;
        Ok(())
    }

    /// The same in no more memory than it needs.
    #[must_use]
    pub fn compact(self) -> Self {
        let number = |(bucket, count)| Some((u16::try_from(bucket).ok()?, count));
        Self { counts: Counts::Filled(self.counts.filled().filter_map(number).collect()), ..self }
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.counts.filled().fold(0, |sum: u64, (_, count)| sum.saturating_add(count))
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.filled().next().is_none()
    }

    /// The shortest, in ns.
    pub fn min_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.min_ns)
    }

    /// The longest, in ns.
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max_ns)
    }

    /// The mean, in ns.
    #[expect(clippy::cast_precision_loss, reason = "a mean needs no more than 52 bits")]
    pub fn mean_ns(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum_ns as f64 / count as f64)
    }

    /// The latency that a share of all, `percent` from 0 to 100, did not exceed, in ns: the middle of
    /// the bucket in which that one lies, within the shortest and the longest. None where nothing was
    /// counted or the percentage is none.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let total = self.count();
        if total == 0 || !(0.0..=100.0).contains(&percent) {
            return None;
        }
        let rank = rank(percent, total);
        let mut seen = 0_u64;
        let reaches = |(_, count): &(usize, u64)| {
            seen = seen.saturating_add(*count);
            seen >= rank
        };
        let ns = self.counts.filled().find(reaches).map_or(self.max_ns, |one| middle(one.0));
        Some(ns.clamp(self.min_ns, self.max_ns))
    }

    /// The buckets that hold something: middle in ns, and how many.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.filled().map(|(bucket, count)| (middle(bucket), count))
    }
}

impl From<Histogram> for Bins {
    fn from(histogram: Histogram) -> Self {
        let (min_ns, max_ns) = (histogram.min_ns().unwrap_or(0), histogram.max_ns);
        Self { min_ns, max_ns, sum_ns: histogram.sum_ns, bins: histogram.bins().collect() }
    }
}

impl TryFrom<Bins> for Histogram {
    type Error = Unfit;

    fn try_from(bins: Bins) -> Result<Self, Unfit> {
        let limits = Some((bins.min_ns, bins.max_ns));
        let mut histogram = Self::from_bins(bins.bins, limits)?;
        histogram.take_sum(bins.sum_ns)?;
        Ok(histogram)
    }
}

/// The middle of fio's last bucket (`FIO_IO_U_PLAT_GROUP_NR` 29).
const FIO_LAST_MIDDLE: u64 = (1 << 34) - (1 << 26);

/// The bucket of a latency.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "below BUCKETS by the min and the shifts")]
fn bucket(ns: u64) -> usize {
    let octave = (ns | 1).ilog2();
    if octave <= BITS {
        return ns as usize;
    }
    let shift = octave - BITS;
    let within = (ns >> shift) as usize & (AN_OCTAVE - 1);
    (((shift as usize + 1) << BITS) + within).min(BUCKETS - 1)
}

/// Which of `total`, counted from 1 by rising latency, is the one that `percent` of all do not exceed.
/// A percentage is taken as whole millionths of a percent: 99.9 of 1,000 is the 999th, where binary
/// fractions make it the 1,000th.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "0 to 100 million; and a rank is at most the total"
)]
fn rank(percent: f64, total: u64) -> u64 {
    const WHOLE: u128 = 100_000_000;
    let millionths = (percent * 1e6).round() as u128;
    (millionths * u128::from(total)).div_ceil(WHOLE) as u64
}

/// The least and the most that a bucket holds, in ns; the last has no end.
fn edges(bucket: usize) -> (u64, u64) {
    let (group, within) = (bucket >> BITS, (bucket & (AN_OCTAVE - 1)) as u64);
    if group < 2 {
        return (bucket as u64, bucket as u64);
    }
    let shift = group - 1;
    let least = ((AN_OCTAVE as u64) << shift) + (within << shift);
    let most = if bucket == BUCKETS - 1 { u64::MAX } else { least + (1 << shift) - 1 };
    (least, most)
}

/// The middle of a bucket, in ns.
fn middle(bucket: usize) -> u64 {
    let (group, within) = (bucket >> BITS, (bucket & (AN_OCTAVE - 1)) as u64);
    if group < 2 {
        return bucket as u64;
    }
    let shift = group - 1;
    ((AN_OCTAVE as u64) << shift) + (within << shift) + (1 << (shift - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_are_fios() {
        // (ns, fio's bin), worked out with fio's plat_val_to_idx and plat_idx_to_val.
        let cases = [
            (0, 0),
            (63, 63),
            (127, 127),
            (128, 129),
            (129, 129),
            (255, 255),
            (256, 258),
            (9_344, 9_408),
            (9_471, 9_408),
            (1_000_000, 1_003_520),
            (17_179_869_183, FIO_LAST_MIDDLE),
        ];
        for (ns, bin) in cases {
            assert_eq!(middle(bucket(ns)), bin, "{ns}");
        }
        assert_eq!(bucket(FIO_LAST_MIDDLE), 29 * 64 - 1);
    }

    #[test]
    fn what_is_longer_than_the_last_bucket_counts_in_it() {
        let mut histogram = Histogram::new();
        histogram.record(u64::MAX);
        assert_eq!(histogram.count(), 1);
        assert_eq!(histogram.max_ns(), Some(u64::MAX));
        assert_eq!(bucket((1 << 47) - 1), BUCKETS - 1);
        assert!(bucket(1 << 46) < BUCKETS - 1);
    }

    #[test]
    fn an_empty_one_has_no_number() {
        let empty = Histogram::new();
        assert_eq!((empty.min_ns(), empty.max_ns(), empty.mean_ns()), (None, None, None));
        assert_eq!(empty.percentile(50.0), None);
    }

    #[test]
    fn percentiles_are_middles_within_the_limits() {
        let mut histogram = Histogram::new();
        for ns in [1000, 2000, 3000, 100_000] {
            histogram.record(ns);
        }
        assert_eq!(histogram.percentile(0.0), Some(1004));
        assert_eq!(histogram.percentile(50.0), Some(2008));
        // 97 to 98 x 1024 ns is the bucket of 100,000.
        assert_eq!(histogram.percentile(75.1), Some(99_840));
        assert_eq!(histogram.percentile(100.0), Some(99_840));
        assert_eq!([-1.0, 100.1, f64::NAN].map(|p| histogram.percentile(p)), [None; 3]);
    }

    #[test]
    fn bins_of_others_are_checked() {
        let bins = |bins: &[(u64, u64)]| Histogram::from_bins(bins.to_vec(), None);
        assert_eq!(bins(&[(128, 1)]), Err(Unfit::NotAMiddle { ns: 128 }));
        assert_eq!(bins(&[(1, u64::MAX), (2, 1)]), Err(Unfit::TooMany));
        assert_eq!(bins(&[(1, u64::MAX), (1, 1)]), Err(Unfit::TooMany));
        let limited = Histogram::from_bins([(129, 2)], Some((128, 500)));
        assert_eq!(limited, Err(Unfit::Limits { min_ns: 128, max_ns: 500 }));
        // One latency of 128 ns, whose middle is 129: the sum keeps to what is known.
        let one = Histogram::from_bins([(129, 1)], Some((128, 128))).unwrap();
        assert_eq!(one.mean_ns(), Some(128.0));
        // A stall of 40 s: fio's last bucket with a longer maximum.
        let long = Histogram::from_bins([(FIO_LAST_MIDDLE, 1)], Some((FIO_LAST_MIDDLE, 40 << 30)));
        assert_eq!(long.unwrap().max_ns(), Some(40 << 30));
    }

    #[test]
    fn sums_that_no_latencies_have_are_refused() {
        let parse = |text: &str| serde_json::from_str::<Histogram>(text).map(|_| ());
        let with = |sum: &str, bins: &str| {
            parse(&format!(r#"{{"min_ns": 128, "max_ns": 300, "sum_ns": {sum}, "bins": {bins}}}"#))
        };
        for sum in [128 + 300, 129 + 303] {
            assert!(with(&sum.to_string(), "[[129, 1], [302, 1]]").is_ok(), "{sum}");
        }
        for sum in ["0", "427", "434", "9999999"] {
            assert!(with(sum, "[[129, 1], [302, 1]]").is_err(), "{sum}");
        }
        let empty = |sum: u64| {
            parse(&format!(r#"{{"min_ns": 0, "max_ns": 0, "sum_ns": {sum}, "bins": []}}"#)).is_ok()
        };
        assert!(empty(0) && !empty(5));
    }

    /// The ranks are worked out by hand: `percent` of so many, rounded up.
    #[test]
    fn the_rank_of_a_percentage_is_exact() {
        for (percent, total, wanted) in [
            (99.9, 1000, 999),
            (99.99, 10_000, 9999),
            (99.9, 10_000, 9990),
            (99.9, 999, 999),
            (50.0, 4, 2),
            (50.0, 5, 3),
            (0.1, 1000, 1),
            (0.0, 10, 0),
            (100.0, u64::MAX, u64::MAX),
            (29.0, 100, 29),
            (57.0, 100, 57),
            (1.0, 1, 1),
        ] {
            assert_eq!(rank(percent, total), wanted, "{percent} of {total}");
        }
        let mut histogram = Histogram::new();
        (0..999).for_each(|_| histogram.record(100));
        histogram.record(1_000_000);
        assert_eq!(histogram.percentile(99.9), Some(100));
    }

    #[test]
    fn what_is_kept_takes_no_more_than_its_bins_and_counts_on() {
        let mut histogram = Histogram::new();
        [5, 1000, 1 << 40].iter().for_each(|ns| histogram.record(*ns));
        let mut kept = histogram.clone().compact();
        assert!(matches!(&kept.counts, Counts::Filled(filled) if filled.len() == 3));
        assert_eq!(kept, histogram);
        [5, 77].iter().for_each(|ns| histogram.record(*ns));
        [5, 77].iter().for_each(|ns| kept.record(*ns));
        assert_eq!(kept, histogram);
    }

    proptest! {
        #[test]
        fn edges_are_where_buckets_meet(ns in 0_u64..1 << 46) {
            let (least, most) = edges(bucket(ns));
            prop_assert!(least <= ns && ns <= most);
            prop_assert_eq!((bucket(least), bucket(most + 1)), (bucket(ns), bucket(ns) + 1));
        }

        #[test]
        fn a_middle_is_at_most_one_in_128_away(ns in 0_u64..1 << 47) {
            let distance = middle(bucket(ns)).abs_diff(ns);
            prop_assert!(distance * 128 <= ns, "{ns} {distance}");
        }

        #[test]
        fn buckets_rise_with_what_they_hold(one: u64, other: u64) {
            prop_assert!(bucket(one.min(other)) <= bucket(one.max(other)));
        }

        #[test]
        fn merging_is_recording_all(
            ones in proptest::collection::vec(0_u64..1 << 50, 0..200),
            others in proptest::collection::vec(0_u64..1 << 50, 0..200),
        ) {
            let of = |all: &mut dyn Iterator<Item = &u64>| {
                let mut histogram = Histogram::new();
                all.for_each(|ns| histogram.record(*ns));
                histogram
            };
            let mut merged = of(&mut ones.iter());
            merged.merge(&of(&mut others.iter()));
            prop_assert_eq!(&merged, &of(&mut ones.iter().chain(&others)));
            let text = serde_json::to_string(&merged).unwrap();
            let back: Result<Histogram, _> = serde_json::from_str(&text);
            prop_assert_eq!(back.unwrap(), merged);
        }

        #[test]
        fn a_percentile_is_that_of_the_sorted_list(
            mut all in proptest::collection::vec(0_u64..1 << 40, 1..300), millionths in 0_u32..100_000_000,
        ) {
            let mut histogram = Histogram::new();
            all.iter().for_each(|ns| histogram.record(*ns));
            all.sort_unstable();
            // So many millionths of a percent, and of them rank x 100 % of the list are at least as many.
            let percent = f64::from(millionths) / 1e6;
            let reaches = |rank: &usize| {
                *rank as u128 * 100_000_000 >= u128::from(millionths) * all.len() as u128
            };
            let rank = (1..=all.len()).find(reaches).unwrap();
            let exact = all[rank - 1];
            prop_assert_eq!(bucket(histogram.percentile(percent).unwrap()), bucket(exact));
        }
    }
}
