// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether the numbers of a record can all be true: a record comes from anywhere.

use crate::{Direction, FormatError, Latency, Measured, Outcome, Run};

impl Run {
    /// Holds that a record does not contradict itself: its start is a time in UTC, its rates are its
    /// counts over its time within a percent, and its latencies are those of its histogram.
    ///
    /// # Errors
    /// What contradicts what.
    pub fn check(&self) -> Result<(), FormatError> {
        let wrong = |what: String| FormatError::Contradiction(what);
        if !is_utc(&self.started) {
            return Err(wrong(format!(
                "it started at {:?}, which is no time in UTC",
                self.started
            )));
        }
        match &self.outcome {
            Outcome::Measured(measured) => numbers(measured).map_err(wrong),
            Outcome::Failed(_) | Outcome::Cancelled => Ok(()),
        }
    }
}

/// `2026-03-01T12:00:00Z`, with or without parts of a second (RFC 3339).
fn is_utc(text: &str) -> bool {
    const FORM: &str = "0000-00-00T00:00:00";
    let Some((whole, rest)) = text.split_at_checked(FORM.len()) else { return false };
    let fits = |(found, form): (char, char)| match form {
        '0' => found.is_ascii_digit(),
        form => found == form,
    };
    let part = rest.strip_suffix('Z').map(|part| part.strip_prefix('.').unwrap_or(part));
    let is_part = |part: &str| part.len() <= 9 && part.bytes().all(|byte| byte.is_ascii_digit());
    whole.chars().zip(FORM.chars()).all(fits) && part.is_some_and(is_part)
}

fn numbers(measured: &Measured) -> Result<(), String> {
    positive("seconds", measured.seconds)?;
    for (name, value) in
        [("cpu_ns_per_op", measured.cpu_ns_per_op), ("mean_depth", measured.mean_depth)]
    {
        value.map_or(Ok(()), |value| not_negative(name, value))?;
    }
    for (n, one) in measured.directions.iter().enumerate() {
        if measured.directions.iter().take(n).any(|other| other.kind == one.kind) {
            return Err(format!("direction {:?} is there twice", one.kind));
        }
        direction(one).map_err(|what| format!("{:?}: {what}", one.kind))?;
    }
    Ok(())
}

fn direction(one: &Direction) -> Result<(), String> {
    positive("seconds", one.seconds)?;
    rate("iops", one.iops, one.operations, one.seconds)?;
    rate("bytes_per_second", one.bytes_per_second, one.bytes, one.seconds)?;
    one.cpu_ns_per_op.map_or(Ok(()), |value| not_negative("cpu_ns_per_op", value))?;
    for (name, latency) in [("latency", &one.latency), ("service", &one.service)] {
        latency.as_ref().map_or(Ok(()), self::latency).map_err(|what| format!("{name}: {what}"))?;
    }
    Ok(())
}

fn positive(name: &str, value: f64) -> Result<(), String> {
    let is_fine = value.is_finite() && value > 0.0;
    if is_fine { Ok(()) } else { Err(format!("{name} is {value}")) }
}

fn not_negative(name: &str, value: f64) -> Result<(), String> {
    let is_fine = value.is_finite() && value >= 0.0;
    if is_fine { Ok(()) } else { Err(format!("{name} is {value}")) }
}

/// Within a percent: tools print rates rounded.
fn rate(name: &str, told: f64, count: u64, seconds: f64) -> Result<(), String> {
    not_negative(name, told)?;
    let computed = real(count) / seconds;
    let is_near = (told - computed).abs() <= computed * 0.01 + 1e-9;
    if is_near { Ok(()) } else { Err(format!("{name} is {told}, and counts over time {computed}")) }
}

fn latency(told: &Latency) -> Result<(), String> {
    let (min_ns, max_ns) = (told.min_ns.unwrap_or(0), told.max_ns.unwrap_or(u64::MAX));
    if min_ns > max_ns {
        return Err(format!("its minimum, {min_ns} ns, is above its maximum, {max_ns} ns"));
    }
    // A mean is exact, and limits are whole ns; some tools print in us.
    let within = (real(min_ns) * 0.99 - 1000.0)..=(real(max_ns) * 1.01 + 1000.0);
    if let Some(mean_ns) = told.mean_ns.filter(|mean| !within.contains(mean)) {
        return Err(format!("a mean of {mean_ns} ns is not between {min_ns} and {max_ns} ns"));
    }
    let rises = |pair: &[crate::Percentile]| match pair {
        [one, other] => one.percent < other.percent && one.ns <= other.ns,
        _ => true,
    };
    let is_share = |one: &crate::Percentile| (0.0..=100.0).contains(&one.percent);
    if !told.percentiles.iter().all(is_share) || !told.percentiles.windows(2).all(rises) {
        return Err("its percentiles do not rise".to_owned());
    }
    told.histogram.as_ref().map_or(Ok(()), |histogram| of_histogram(told, histogram))
}

/// What is told beside a histogram follows from it. A percentile may be that of the neighbour: ways
/// of rounding a rank differ.
fn of_histogram(told: &Latency, histogram: &crate::Histogram) -> Result<(), String> {
    let same = |name: &str, told: Option<u64>, own: Option<u64>| match told {
        Some(told) if own != Some(told) => {
            Err(format!("its {name} is {told}, and its histogram's is {own:?}"))
        }
        _ => Ok(()),
    };
    same("count", told.count, Some(histogram.count()))?;
    same("minimum", told.min_ns, histogram.min_ns())?;
    same("maximum", told.max_ns, histogram.max_ns())?;
    let one = 100.0 / real(histogram.count().max(1)) + 1e-6;
    for percentile in &told.percentiles {
        let at = |percent: f64| histogram.percentile(percent.clamp(0.0, 100.0)).unwrap_or(0);
        let (least, most) = (at(percentile.percent - one), at(percentile.percent + one));
        if !(least..=most).contains(&percentile.ns) {
            let (percent, ns) = (percentile.percent, percentile.ns);
            return Err(format!(
                "{percent} % did not exceed {ns} ns, and its histogram contradicts"
            ));
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a check within a percent")]
fn real(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Histogram, Kind};

    fn good() -> Direction {
        let mut histogram = Histogram::new();
        (1..=1000).for_each(|n| histogram.record(n * 1000));
        Direction {
            kind: Kind::Read,
            operations: 1000,
            bytes: 4_096_000,
            seconds: 2.0,
            iops: 500.0,
            bytes_per_second: 2_048_000.0,
            latency: Some(Latency::from(histogram)),
            service: None,
            cpu_ns_per_op: Some(700.0),
            late: None,
            series: Vec::new(),
        }
    }

    #[test]
    fn numbers_that_contradict_each_other_are_refused() {
        assert_eq!(direction(&good()), Ok(()));
        type Change = fn(&mut Direction, &mut Latency);
        let changes: [(Change, &str); 11] = [
            (|d, _| d.iops = 1e9, "iops is 1000000000"),
            (|d, _| d.iops = f64::NAN, "iops is NaN"),
            (|d, _| d.bytes_per_second = 1.0, "bytes_per_second is 1"),
            (|d, _| d.seconds = 0.0, "seconds is 0"),
            (|d, _| d.seconds = -2.0, "seconds is -2"),
            (|d, _| d.cpu_ns_per_op = Some(-1.0), "cpu_ns_per_op is -1"),
            (|_, l| l.count = Some(3), "its count is 3"),
            (|_, l| l.max_ns = Some(2_000_000), "its maximum is 2000000"),
            (|_, l| l.mean_ns = Some(1e9), "a mean of 1000000000 ns"),
            (|_, l| l.percentiles[6].ns = 300_000, "do not rise"),
            (|_, l| l.percentiles[2].ns = 400_000, "50 % did not exceed 400000 ns"),
        ];
        for (change, wanted) in changes {
            let mut one = good();
            let mut latency = one.latency.take().unwrap();
            change(&mut one, &mut latency);
            one.latency = Some(latency);
            let error = direction(&one).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn a_start_is_a_time_in_utc() {
        for (text, is_fine) in [
            ("2026-03-01T12:00:00Z", true),
            ("2026-03-01T12:00:00.123Z", true),
            ("2026-03-01T12:00:00+02:00", false),
            ("2026-03-01 12:00:00Z", false),
            ("=HYPERLINK(1)", false),
            ("", false),
            ("2026-03-01T12:00:00.1234567890Z", false),
        ] {
            assert_eq!(is_utc(text), is_fine, "{text}");
        }
    }
}
