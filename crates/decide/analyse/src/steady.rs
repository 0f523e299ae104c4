// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a rate had settled.
//!
//! After the warm-up is cut off (MSER, on means of 5 seconds where there are enough), the rest is split
//! into five windows, as the SNIA's Performance Test Specification does with rounds: their range and the
//! excursion of a straight line through them must stay within limits. Its limits are for writes (20 % and
//! 10 %); reads are held to 5 % and 2 %.

use record::{Course, Steady};

use crate::mser::{count, mser};

const WINDOWS: usize = 5;
/// Seconds below which nothing can be told: two a window.
const LEAST: usize = 2 * WINDOWS;
/// Seconds that are taken together, where there are ten times as many.
const BATCH: usize = 5;

/// What a steady rate stays within.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Largest less smallest window, in percent of the mean.
    pub range_percent: f64,
    /// The straight line's way from the first to the last window, in percent of the mean.
    pub slope_percent: f64,
}

impl Limits {
    /// For reads.
    pub const READS: Self = Self { range_percent: 5.0, slope_percent: 2.0 };
    /// For workloads that write.
    pub const WRITES: Self = Self { range_percent: 20.0, slope_percent: 10.0 };
}

/// The verdict on a series of rates, one a second.
pub fn steady(rates: &[f64], limits: Limits) -> Steady {
    let none = |course| Steady {
        course,
        warm_up_seconds: 0,
        mean: None,
        range_percent: None,
        slope_percent: None,
    };
    if rates.len() < LEAST {
        return none(Course::TooShort);
    }
    let batch = if rates.len() >= 10 * BATCH { BATCH } else { 1 };
    let batches: Vec<f64> = rates.chunks_exact(batch).map(mean).collect();
    let Some(cut) = mser(&batches) else { return none(Course::Unsteady) };
    // Noise has its least anywhere: what stays within the limits as a whole has no warm-up. Windows
    // alone would not see what jumps as often in each of them.
    let is_calm = |batches: &[f64]| spread_percent(batches) <= limits.range_percent;
    let whole = windows(rates).filter(|all| is_calm(&batches) && is_within(*all, limits));
    if let Some((mean, range, slope)) = whole {
        return Steady {
            mean: Some(mean),
            range_percent: Some(range),
            slope_percent: Some(slope),
            ..none(Course::Flat)
        };
    }
    let dropped = cut.at * batch;
    let (before, rest) = rates.split_at_checked(dropped).unwrap_or((&[], rates));
    let Some(of_rest) = windows(rest) else { return none(Course::Unsteady) };
    let (mean_of_rest, range, slope) = of_rest;
    let settled = batches.get(cut.at..).unwrap_or_default();
    let is_steady = is_within(of_rest, limits) && is_calm(settled) && !cut.is_at_bound();
    let course = if is_steady { course(before, mean_of_rest, limits) } else { Course::Unsteady };
    let warm_up = if course == Course::Flat { 0 } else { dropped };
    Steady {
        course,
        warm_up_seconds: u32::try_from(warm_up).unwrap_or(u32::MAX),
        mean: is_steady.then_some(mean_of_rest),
        range_percent: Some(range),
        slope_percent: Some(slope),
    }
}

/// Standard deviation in percent of the mean.
fn spread_percent(values: &[f64]) -> f64 {
    let middle = mean(values);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    (squares / count(values.len())).sqrt() / middle * 100.0
}

/// Whether range and slope of windows are those of a steady rate.
fn is_within((_, range, slope): (f64, f64, f64), limits: Limits) -> bool {
    range <= limits.range_percent && slope.abs() <= limits.slope_percent
}

/// How a steady rest was reached. A beginning that is no further away than windows may be is none.
fn course(before: &[f64], rest: f64, limits: Limits) -> Course {
    if before.is_empty() {
        return Course::Flat;
    }
    let apart = (mean(before) - rest) / rest * 100.0;
    match apart {
        _ if apart.abs() <= limits.range_percent => Course::Flat,
        _ if apart < 0.0 => Course::WarmUp,
        _ => Course::SlowDown,
    }
}

/// Mean, range and slope of five windows; the latter two in percent of the mean. None where there is
/// too little, or nothing happened.
fn windows(rest: &[f64]) -> Option<(f64, f64, f64)> {
    let length = rest.len() / WINDOWS;
    // What does not fill the windows is left out at the beginning, nearest to the warm-up.
    let used = rest.get(rest.len().checked_sub(length * WINDOWS)?..)?;
    let means: Vec<f64> = used.chunks_exact(length.max(1)).map(mean).collect();
    let middle = mean(&means);
    if means.len() != WINDOWS || middle <= 0.0 {
        return None;
    }
    let most = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    // Least squares over the places -2 to 2, whose squares add up to 10; four steps from end to end.
    let slope: f64 = [-2.0, -1.0, 0.0, 1.0, 2.0].iter().zip(&means).map(|(x, y)| x * y).sum();
    let percent = |value: f64| value / middle * 100.0;
    Some((middle, percent(most - least), percent(slope / 10.0 * 4.0)))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn series(first: &[f64], then: f64, seconds: usize) -> Vec<f64> {
        let wobble = |at: usize| then * [1.0, 1.004, 0.997, 1.002, 0.999][at % 5];
        first.iter().copied().chain((0..seconds).map(wobble)).collect()
    }

    #[test]
    fn courses_are_told_apart() {
        let falls: Vec<f64> = (0..60).map(|second| 1000.0 - 10.0 * f64::from(second)).collect();
        let jumps: Vec<f64> = (0..60).map(|second| [50.0, 150.0][second / 6 % 2]).collect();
        let cases = [
            ("flat", series(&[], 100.0, 60), Course::Flat),
            ("rises", series(&[20.0, 50.0, 70.0, 80.0, 90.0], 100.0, 60), Course::WarmUp),
            ("falls to a level", series(&[300.0; 10], 100.0, 60), Course::SlowDown),
            ("falls on", falls, Course::Unsteady),
            ("jumps", jumps, Course::Unsteady),
            ("stands still", vec![0.0; 60], Course::Unsteady),
            ("nine seconds", vec![100.0; 9], Course::TooShort),
            ("ten seconds", vec![100.0; 10], Course::Flat),
        ];
        for (name, rates, course) in cases {
            let verdict = steady(&rates, Limits::READS);
            assert_eq!(verdict.course, course, "{name}: {verdict:?}");
            let has_mean = matches!(course, Course::Flat | Course::WarmUp | Course::SlowDown);
            assert_eq!(verdict.mean.is_some(), has_mean, "{name}");
        }
    }

    #[test]
    fn the_warm_up_is_not_in_the_mean() {
        let rates = series(&[10.0; 10], 100.0, 60);
        let verdict = steady(&rates, Limits::READS);
        assert_eq!(verdict.warm_up_seconds, 10);
        assert!(verdict.mean.is_some_and(|mean| (mean - 100.0).abs() < 0.2), "{verdict:?}");
    }

    #[test]
    fn writes_may_vary_more() {
        let rates: Vec<f64> = (0..60).map(|second| [95.0, 105.0][second / 12 % 2]).collect();
        assert_eq!(steady(&rates, Limits::READS).course, Course::Unsteady);
        assert_eq!(steady(&rates, Limits::WRITES).course, Course::Flat);
    }

    proptest! {
        #[test]
        fn any_series_has_a_verdict(rates in proptest::collection::vec(any::<f64>(), 0..200)) {
            let verdict = steady(&rates, Limits::WRITES);
            prop_assert!(verdict.warm_up_seconds as usize <= rates.len() / 2 + BATCH);
        }
    }
}
