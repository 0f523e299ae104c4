// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a run's rate had settled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the rate went over the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Course {
    /// The same from beginning to end.
    Flat,
    /// It rose to what it then kept.
    WarmUp,
    /// It fell to what it then kept: a cache that filled, a drive that grew hot.
    SlowDown,
    /// It did not settle.
    Unsteady,
    /// Too few seconds to tell.
    TooShort,
}

/// The verdict on a series of rates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steady {
    /// The verdict.
    pub course: Course,
    /// Seconds at the beginning that do not belong to the steady part.
    pub warm_up_seconds: u32,
    /// The mean of the steady part in operations a second; none where there is none.
    pub mean: Option<f64>,
    /// Largest less smallest of the five windows of the steady part, in percent of the mean.
    pub range_percent: Option<f64>,
    /// What a straight line through the windows rises (falls, if negative) from first to last, in
    /// percent of the mean.
    pub slope_percent: Option<f64>,
}
