// SPDX-License-Identifier: MIT OR Apache-2.0
//! Zipf-distributed ranks by rejection-inversion.
//!
//! Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 6(3), 1996: constant time and memory whatever the number of ranks,
//! where a table or a sum over all ranks would take as much as the drive has blocks.

use super::random::Random;

/// Draws ranks 1 to n with a probability in proportion to 1 / rank^theta.
#[derive(Debug, Clone)]
pub(crate) struct Zipf {
    ranks: f64,
    theta: f64,
    /// The integral's value at 1.5, less 1; and at n + 0.5.
    low: f64,
    high: f64,
    /// Below this distance to the rank no rejection is needed.
    safe: f64,
}

impl Zipf {
    /// `theta` above 0 and not 1.
    #[expect(clippy::cast_precision_loss, reason = "one rank in 2^53 is lost among its neighbours")]
    pub(crate) fn new(ranks: u64, theta: f64) -> Self {
        let mut zipf = Self { ranks: ranks.max(1) as f64, theta, low: 0.0, high: 0.0, safe: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.ranks + 0.5);
        zipf.safe = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// A rank, from 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 1 and the number of ranks"
    )]
    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let under = self.high + random.share() * (self.low - self.high);
            let x = self.inverse(under);
            let rank = x.round().clamp(1.0, self.ranks);
            if rank - x <= self.safe || under >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64;
            }
        }
    }

    /// The integral of the density, x^(1 - theta) / (1 - theta).
    fn integral(&self, x: f64) -> f64 {
        let power = 1.0 - self.theta;
        x.powf(power) / power
    }

    fn inverse(&self, value: f64) -> f64 {
        let power = 1.0 - self.theta;
        (value * power).max(0.0).powf(1.0 / power)
    }

    fn density(&self, x: f64) -> f64 {
        x.powf(-self.theta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_come_as_often_as_the_law_says() {
        const DRAWS: u32 = 200_000;
        for theta in [0.5, 0.99, 1.2, 2.5] {
            let zipf = Zipf::new(20, theta);
            let mut random = Random::new(3);
            let mut seen = [0_u32; 21];
            for _ in 0..DRAWS {
                seen[usize::try_from(zipf.draw(&mut random)).unwrap()] += 1;
            }
            let weights: Vec<f64> = (1..=20).map(|rank| f64::from(rank).powf(-theta)).collect();
            let total: f64 = weights.iter().sum();
            let squares = seen[1..].iter().zip(&weights).map(|(count, weight)| {
                let wanted = f64::from(DRAWS) * weight / total;
                (f64::from(*count) - wanted).powi(2) / wanted
            });
            // Chi-square with 19 degrees of freedom: 43.8 is exceeded once in 1,000.
            let chi: f64 = squares.sum();
            assert!(seen[0] == 0 && chi < 43.8, "theta {theta}: {chi}");
        }
    }

    #[test]
    fn any_number_of_ranks_can_be_drawn_from() {
        let mut random = Random::new(5);
        for ranks in [0, 1, 2, 1 << 40, u64::MAX] {
            let zipf = Zipf::new(ranks, 1.1);
            assert!((0..1000).all(|_| (1..=ranks.max(1)).contains(&zipf.draw(&mut random))));
        }
    }
}
