// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is told of latencies: a histogram where there is one, and its summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Histogram;

/// The percentages that are told where a histogram is there to answer any.
pub const PERCENTS: [f64; 9] = [1.0, 10.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// Latencies of one direction. Tools differ in what they tell; what they do not is none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// How many it is of; none where the tool does not tell.
    pub count: Option<u64>,
    /// The shortest, in ns.
    pub min_ns: Option<u64>,
    /// The longest, in ns.
    pub max_ns: Option<u64>,
    /// The mean, in ns.
    pub mean_ns: Option<f64>,
    /// By rising percentage; empty where the tool tells none.
    #[serde(default)]
    pub percentiles: Vec<Percentile>,
    /// All of them; none where the tool does not tell.
    #[serde(default)]
    pub histogram: Option<Histogram>,
}

/// The latency that a share of all did not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentile {
    /// The share, from 0 to 100.
    pub percent: f64,
    /// In ns.
    pub ns: u64,
}

impl From<Histogram> for Latency {
    fn from(histogram: Histogram) -> Self {
        let percentile =
            |percent| histogram.percentile(percent).map(|ns| Percentile { percent, ns });
        Self {
            count: Some(histogram.count()),
            min_ns: histogram.min_ns(),
            max_ns: histogram.max_ns(),
            mean_ns: histogram.mean_ns(),
            percentiles: PERCENTS.into_iter().filter_map(percentile).collect(),
            histogram: Some(histogram.compact()),
        }
    }
}

impl Latency {
    /// A percentile in ns: of the histogram where there is one, else one that was told.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let told = |told: &&Percentile| (told.percent - percent).abs() < 1e-9;
        match &self.histogram {
            Some(histogram) => histogram.percentile(percent),
            None => self.percentiles.iter().find(told).map(|told| told.ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_answers_any_percentage_and_a_list_its_own() {
        let mut histogram = Histogram::new();
        (1..=100).for_each(|ns| histogram.record(ns));
        let latency = Latency::from(histogram);
        assert_eq!(latency.percentile(99.0), Some(99));
        assert_eq!(latency.percentile(42.0), Some(42));
        let told = Latency { histogram: None, ..latency };
        assert_eq!((told.percentile(99.0), told.percentile(42.0)), (Some(99), None));
    }
}
