// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where more in flight brings no more: the knee of a sweep over depth.
//!
//! Up to saturation a device answers as fast as alone and operations a second grow with their number in
//! flight; beyond it latency grows instead (Little's law: what is in flight is the rate times the
//! latency). The knee is the last point before that.

/// One cell of a sweep over what is in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// In flight: threads times depth.
    pub in_flight: f64,
    /// Operations a second.
    pub iops: f64,
    /// 99th percentile of latency in ns; none where it was not told.
    pub p99_ns: Option<f64>,
}

/// The last point that was worth it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knee {
    /// Its place among the points.
    pub at: usize,
    /// Why the next one is not worth it.
    pub why: Why,
}

/// Why more is not worth it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Why {
    /// Twice as much in flight would bring less than a tenth more operations a second: this share.
    Gain(f64),
    /// The 99th percentile is more than twice that of the first point, and twice as much in flight
    /// would bring less than half as many operations more: so many times it.
    Latency(f64),
}

/// Twice as much in flight has to bring at least a tenth more work to be worth it.
const LEAST_GAIN: f64 = 0.1;
/// So many times the first point's 99th percentile is too long, unless it buys [`GOOD_GAIN`].
const LONGEST: f64 = 2.0;
/// Latency for so much more work is a choice, not a knee.
const GOOD_GAIN: f64 = 0.5;

/// The knee of points by rising number in flight; none where they do not reach it.
pub fn knee(points: &[Point]) -> Option<Knee> {
    let first = points.first()?;
    let steps = points.iter().zip(points.iter().skip(1)).enumerate();
    steps.into_iter().find_map(|(at, (one, next))| Some(Knee { at, why: why(first, one, next)? }))
}

fn why(first: &Point, one: &Point, next: &Point) -> Option<Why> {
    let gain = gain(one, next)?;
    if gain < LEAST_GAIN {
        return Some(Why::Gain(gain));
    }
    let times = next.p99_ns? / first.p99_ns.filter(|ns| *ns > 0.0)?;
    (times > LONGEST && gain < GOOD_GAIN).then_some(Why::Latency(times))
}

/// What twice as much in flight brings of operations a second, by the step between two points: 1 where
/// the rate doubles too, 0 where it stays. By logarithm, so that steps of two and of eight are alike.
fn gain(one: &Point, next: &Point) -> Option<f64> {
    let doublings = (next.in_flight / one.in_flight).log2();
    let gain = ((next.iops / one.iops).log2() / doublings).exp2() - 1.0;
    (doublings > 0.0 && gain.is_finite()).then_some(gain)
}

/// Whether two steps in a row brought nothing: further points would only wait longer.
pub fn is_past(points: &[Point]) -> bool {
    let last: Vec<f64> = points
        .iter()
        .zip(points.iter().skip(1))
        .map(|(one, next)| gain(one, next).unwrap_or(1.0))
        .collect();
    last.len() >= 2 && last.iter().rev().take(2).all(|gain| *gain < LEAST_GAIN / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that answers in 100 us and saturates at a rate: what M/D/1-like queues tend to.
    fn device(saturation: f64, depths: &[u32]) -> Vec<Point> {
        let point = |depth: &u32| {
            let in_flight = f64::from(*depth);
            let iops = (in_flight * 10_000.0).min(saturation);
            Point { in_flight, iops, p99_ns: Some(in_flight / iops * 1e9) }
        };
        depths.iter().map(point).collect()
    }

    #[test]
    fn the_planted_knee_is_found() {
        let depths = [1, 2, 4, 8, 16, 32, 64, 128];
        for (saturation, wanted) in [(80_000.0, 8), (160_000.0, 16), (10_000.0, 1)] {
            let points = device(saturation, &depths);
            let knee = knee(&points).unwrap();
            assert!((points[knee.at].in_flight - f64::from(wanted)).abs() < 1e-9, "{knee:?}");
        }
        assert_eq!(knee(&device(1e9, &depths)), None, "it is not reached");
    }

    #[test]
    fn latency_that_doubles_for_little_more_is_a_knee() {
        let point = |in_flight, iops, p99| Point { in_flight, iops, p99_ns: Some(p99) };
        let points =
            [point(1.0, 10_000.0, 1e5), point(2.0, 19_000.0, 1.1e5), point(4.0, 24_000.0, 2.6e5)];
        let knee = knee(&points).unwrap();
        assert_eq!(knee.at, 1);
        assert!(matches!(knee.why, Why::Latency(times) if times > 2.5));
    }

    #[test]
    fn wide_steps_are_judged_like_narrow_ones() {
        let all: Vec<u32> = (0..8).map(|power| 1 << power).collect();
        let wide = [1, 8, 64];
        for depths in [all.as_slice(), &wide] {
            let points = device(600_000.0, depths);
            assert!(!is_past(&points) && knee(&points).is_none_or(|knee| knee.at > 0));
        }
    }

    #[test]
    fn nothing_follows_from_nothing() {
        assert_eq!(knee(&[]), None);
        let zero = Point { in_flight: 1.0, iops: 0.0, p99_ns: None };
        assert_eq!(knee(&[zero, zero]), None);
        assert!(!is_past(&[zero]));
    }

    #[test]
    fn a_sweep_ends_after_two_steps_that_brought_nothing() {
        let points = device(80_000.0, &[1, 8, 16, 32]);
        assert!(!is_past(&points[..3]) && is_past(&points));
    }
}
