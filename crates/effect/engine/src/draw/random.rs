// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random numbers for places and contents.
//!
//! SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): one addition and three shift-multiply steps, no
//! table, any seed is a good one.

/// A stream of 64-bit numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream of a seed. Streams of a run's threads have seeds of their own.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The stream of one of many users of the same seed.
    pub(crate) fn of(seed: u64, user: u64) -> Self {
        let mut apart = Self::new(seed ^ user.wrapping_mul(0xd6e8_feb8_6659_fd93));
        Self::new(apart.next())
    }

    /// The next number.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`; 0 for a limit of 0. Its bias is below limit / 2^64.
    #[inline]
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// A number from 0 up to, not including, 1.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "53 bits are all that there are")]
    pub(crate) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Fills bytes.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(8) {
            let next = self.next().to_le_bytes();
            piece.iter_mut().zip(next).for_each(|(byte, new)| *byte = new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_splitmix64() {
        // The published sequence of the seed 1234567.
        let mut random = Random::new(1_234_567);
        let wanted = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([random.next(), random.next()], wanted);
    }

    #[test]
    fn numbers_stay_below_and_reach_everywhere() {
        let mut random = Random::new(7);
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[usize::try_from(random.below(10)).unwrap()] += 1;
        }
        // Expected 1,000 each; 6 standard deviations are 180.
        assert!(seen.iter().all(|count| (820..1180).contains(count)), "{seen:?}");
        assert_eq!(random.below(0), 0);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&random.share())));
    }
}
