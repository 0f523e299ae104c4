// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where on a target operations go.

use record::Pattern;

use super::random::Random;
use super::zipf::Zipf;

/// The places of one target for one thread: a stretch of it, in steps of an alignment.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    stretch: Stretch,
    order: Order,
}

/// A part of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Its beginning, in bytes.
    pub(crate) start: u64,
    /// Its length, in bytes.
    pub(crate) bytes: u64,
    /// What all places are a multiple of, counted from its beginning, in bytes; above 0.
    pub(crate) step: u64,
}

#[derive(Debug, Clone)]
enum Order {
    Sequential { next: u64 },
    Uniform,
    Zipf { ranks: Zipf, steps: u64, factor: u64 },
    HotSpot { operations: f64, places: f64 },
}

impl Stretch {
    /// One of several pieces of equal length, each a multiple of the step; of the whole where a piece
    /// would be shorter than one operation of `largest`.
    pub(crate) fn piece(self, number: u32, pieces: u32, largest: u64) -> Self {
        let steps = self.bytes / self.step.max(1) / u64::from(pieces.max(1));
        let bytes = steps * self.step;
        if bytes < largest {
            return self;
        }
        Self { start: self.start + u64::from(number) * bytes, bytes, ..self }
    }

    /// How many places an operation of `bytes` can begin at.
    fn places(&self, bytes: u64) -> u64 {
        self.bytes.checked_sub(bytes).map_or(0, |rest| rest / self.step.max(1) + 1)
    }
}

impl Places {
    pub(crate) fn new(stretch: Stretch, pattern: Pattern) -> Self {
        let steps = stretch.places(stretch.step);
        let order = match pattern {
            Pattern::Sequential => Order::Sequential { next: 0 },
            Pattern::Uniform => Order::Uniform,
            Pattern::Zipf { theta } => {
                Order::Zipf { ranks: Zipf::new(steps, theta), steps, factor: scatter(steps) }
            }
            Pattern::HotSpot { operations_percent, places_percent } => Order::HotSpot {
                operations: operations_percent / 100.0,
                places: places_percent / 100.0,
            },
        };
        Self { stretch, order }
    }

    /// The place of the next operation of `bytes`, in bytes from the target's beginning. An operation
    /// that is longer than the stretch begins where that does.
    #[inline]
    pub(crate) fn next(&mut self, bytes: u64, random: &mut Random) -> u64 {
        let Self { stretch, order } = self;
        let places = stretch.places(bytes);
        let place = match order {
            Order::Uniform => random.below(places),
            Order::Sequential { next } => {
                if *next + bytes > stretch.bytes {
                    *next = 0;
                }
                let here = *next;
                *next += bytes;
                return stretch.start + here;
            }
            Order::Zipf { ranks, steps, factor } => {
                let rank = ranks.draw(random) - 1;
                // The wanted places are scattered; an operation that would run over the end is moved
                // back to it.
                scattered(rank, *steps, *factor).min(places.saturating_sub(1))
            }
            Order::HotSpot { operations, places: share } => {
                let hot = hot(places, *share);
                if random.share() < *operations || hot == places {
                    random.below(hot)
                } else {
                    hot + random.below(places - hot)
                }
            }
        };
        stretch.start + place * stretch.step
    }
}

/// How many of the places are hot: at least one.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of the places, clamped to them"
)]
fn hot(places: u64, share: f64) -> u64 {
    ((places as f64 * share) as u64).clamp(1, places.max(1))
}

/// A factor near the golden section of `steps` that has no divisor in common with it: multiplying by
/// it modulo `steps` takes each place to another one, and neighbours far from each other.
fn scatter(steps: u64) -> u64 {
    let golden = ((u128::from(steps) * 0x9e37_79b9_7f4a_7c15_u128) >> 64).max(1);
    let golden = u64::try_from(golden).unwrap_or(1);
    (golden..=golden.saturating_add(steps)).find(|factor| common(*factor, steps) == 1).unwrap_or(1)
}

#[expect(clippy::cast_possible_truncation, reason = "a remainder of a 64-bit number")]
fn scattered(rank: u64, steps: u64, factor: u64) -> u64 {
    (u128::from(rank) * u128::from(factor) % u128::from(steps.max(1))) as u64
}

/// The greatest common divisor.
fn common(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn stretch() -> Stretch {
        Stretch { start: 1 << 20, bytes: 64 << 10, step: 4096 }
    }

    #[test]
    fn sequential_places_follow_and_begin_again() {
        let mut places = Places::new(stretch(), Pattern::Sequential);
        let mut random = Random::new(1);
        let got: Vec<u64> = (0..5).map(|_| places.next(16 << 10, &mut random)).collect();
        let wanted = [0, 16, 32, 48, 0].map(|kib| (1 << 20) + (kib << 10));
        assert_eq!(got, wanted);
        // 24 KiB twice, and the third does not fit any more.
        let mut places = Places::new(stretch(), Pattern::Sequential);
        let got: Vec<u64> = (0..3).map(|_| places.next(24 << 10, &mut random)).collect();
        assert_eq!(got, [0, 24, 0].map(|kib| (1 << 20) + (kib << 10)));
    }

    #[test]
    fn the_wanted_are_scattered_over_all_places() {
        for steps in [1, 2, 16, 97, 1000, 65_536] {
            let factor = scatter(steps);
            let all: BTreeSet<u64> =
                (0..steps).map(|rank| scattered(rank, steps, factor)).collect();
            assert_eq!(u64::try_from(all.len()).unwrap(), steps);
        }
    }

    #[test]
    fn pieces_lie_beside_each_other() {
        let pieces = [0, 1, 2].map(|number| stretch().piece(number, 3, 4096));
        let starts = pieces.map(|piece| (piece.start - (1 << 20), piece.bytes));
        assert_eq!(starts, [(0, 20_480), (20_480, 20_480), (40_960, 20_480)]);
        assert_eq!(stretch().piece(1, 17, 4096), stretch());
    }

    #[test]
    fn a_hot_spot_gets_its_share() {
        let pattern = Pattern::HotSpot { operations_percent: 90.0, places_percent: 25.0 };
        let mut places = Places::new(stretch(), pattern);
        let mut random = Random::new(1);
        let hot = |place: &u64| *place < (1 << 20) + (16 << 10);
        let drawn = (0..10_000).map(|_| places.next(4096, &mut random)).filter(hot).count();
        assert!((8_800..9_200).contains(&drawn), "{drawn}");
    }

    proptest! {
        #[test]
        fn no_place_leaves_the_stretch(
            start in 0_u64..1 << 40, steps in 1_u64..5000, size in 1_u64..20, seed: u64, which in 0..4,
        ) {
            let stretch = Stretch { start, bytes: steps * 512, step: 512 };
            let pattern = match which {
                0 => Pattern::Sequential,
                1 => Pattern::Uniform,
                2 => Pattern::Zipf { theta: 1.2 },
                _ => Pattern::HotSpot { operations_percent: 80.0, places_percent: 10.0 },
            };
            let mut places = Places::new(stretch, pattern);
            let mut random = Random::new(seed);
            let bytes = size.min(steps) * 512;
            for _ in 0..200 {
                let place = places.next(bytes, &mut random);
                prop_assert!(place >= start && place + bytes <= start + stretch.bytes);
                prop_assert_eq!((place - start) % 512, 0);
            }
        }
    }
}
