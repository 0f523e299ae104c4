// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a warm-up ends: the marginal standard error rule.
//!
//! White, "An effective truncation heuristic for bias reduction in simulation output", Simulation
//! 69(6), 1997: drop as many values from the beginning as make the squared standard error of the mean of
//! the rest smallest.

/// Where to cut a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// For each number of values dropped, from 0: sum of squared distances to the mean of the rest,
    /// over the square of how many the rest are.
    pub statistic: Vec<f64>,
    /// How many to drop: where that is smallest.
    pub at: usize,
}

impl Cut {
    /// Whether the smallest lies at the bound, half of the values: the series never settled, or the
    /// bound hides where it did.
    pub fn is_at_bound(&self) -> bool {
        self.at > 0 && self.at + 1 == self.statistic.len()
    }
}

/// The cut of a series, at most half of it. None for an empty series or one with values that are no
/// numbers.
pub fn mser(values: &[f64]) -> Option<Cut> {
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let statistic: Vec<f64> =
        (0..=values.len() / 2).filter_map(|drop| values.get(drop..).map(of_rest)).collect();
    // Of equal ones the first: what differs by less than arithmetic does is equal.
    let scale = values.iter().map(|value| value.powi(2)).sum::<f64>() / count(values.len());
    let least = statistic.iter().copied().min_by(f64::total_cmp)? + scale * 1e-12;
    let at = statistic.iter().position(|one| *one <= least).unwrap_or(0);
    Some(Cut { statistic, at })
}

fn of_rest(rest: &[f64]) -> f64 {
    let count = count(rest.len());
    let mean = rest.iter().sum::<f64>() / count;
    rest.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count.powi(2)
}

/// A number of values as one to reckon with.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
pub(crate) fn count(values: usize) -> f64 {
    values as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_is_cut_off_and_a_flat_series_is_not() {
        let rise = [10.0, 60.0, 90.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0];
        assert_eq!(mser(&rise).map(|cut| cut.at), Some(3));
        assert_eq!(mser(&[5.0; 10]).map(|cut| (cut.at, cut.is_at_bound())), Some((0, false)));
    }

    #[test]
    fn a_series_that_always_rises_ends_at_the_bound() {
        let line: Vec<f64> = (0..20).map(f64::from).collect();
        assert!(mser(&line).is_some_and(|cut| cut.is_at_bound()));
    }

    #[test]
    fn what_is_no_series_has_no_cut() {
        assert_eq!(mser(&[]), None);
        assert_eq!(mser(&[1.0, f64::NAN]), None);
    }
}
