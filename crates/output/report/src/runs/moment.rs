// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run while it goes on, in one line; and a series in one word.

use super::{iops, rate, time_of};

/// What is seen of a run at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moment {
    /// How much of it is over, 0 to 1; none where nobody knows.
    pub fraction: Option<f64>,
    /// Operations a second right now.
    pub iops: f64,
    /// Bytes a second right now.
    pub bytes_per_second: f64,
    /// 99th percentile of latency so far, in ns; none where it is not known yet.
    pub p99_ns: Option<u64>,
    /// The warmest drive in thousandths of a degree Celsius; none where none tells.
    pub warmest_mc: Option<i64>,
}

/// A moment as a line without its end.
pub fn moment(moment: &Moment) -> String {
    let percent = |fraction: f64| format!("{:3.0} %", (fraction * 100.0).clamp(0.0, 100.0));
    let mut parts: Vec<String> = moment.fraction.map(percent).into_iter().collect();
    parts.push(iops(moment.iops));
    parts.push(rate(moment.bytes_per_second));
    parts.extend(moment.p99_ns.map(|ns| format!("p99 {}", time_of(ns))));
    parts.extend(moment.warmest_mc.map(|mc| format!("{} °C", (mc + 500).div_euclid(1000))));
    parts.join("  ")
}

/// A series as bars of eight heights over zero, at most `columns` of them: where there are more values,
/// each bar is the mean of its share. Empty for fewer than two values.
pub(crate) fn sparkline(values: &[f64], columns: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    if values.len() < 2 || columns == 0 {
        return String::new();
    }
    let shown = values.len().min(columns);
    let means: Vec<f64> = (0..shown).filter_map(|at| mean(values, at, shown)).collect();
    let highest = means.iter().copied().fold(0.0, f64::max);
    let bar = |value: &f64| {
        let height = if highest > 0.0 { value / highest * 8.0 } else { 0.0 };
        let steps = BARS.iter().zip(1_u8..);
        let reached = steps.take_while(|(_, step)| f64::from(*step) <= height.round());
        reached.last().map_or(BARS[0], |(bar, _)| *bar)
    };
    means.iter().map(bar).collect()
}

/// The mean of one of `shown` equal shares of a series.
#[expect(clippy::cast_precision_loss, reason = "a series of seconds")]
fn mean(values: &[f64], at: usize, shown: usize) -> Option<f64> {
    let (from, to) = (at * values.len() / shown, (at + 1) * values.len() / shown);
    let share = values.get(from..to).filter(|share| !share.is_empty())?;
    Some(share.iter().sum::<f64>() / share.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_line_of_what_is_known() {
        let known = Moment {
            fraction: Some(0.42),
            iops: 903_834.4,
            bytes_per_second: 4.63e8,
            p99_ns: Some(85_000),
            warmest_mc: Some(41_850),
        };
        assert_eq!(moment(&known), " 42 %  903,834 IOPS  463 MB/s  p99 85.0 us  42 °C");
        assert_eq!(moment(&Moment::default()), "0.00 IOPS  0 B/s");
    }

    #[test]
    fn bars_stand_over_zero() {
        assert_eq!(sparkline(&[8.0, 4.0, 1.0, 0.0], 10), "█▄▁▁");
        assert_eq!(sparkline(&[4.0, 4.0, 8.0, 8.0], 2), "▄█");
        assert_eq!(sparkline(&[0.0, 0.0], 5), "▁▁");
        assert_eq!(
            (sparkline(&[1.0], 5), sparkline(&[1.0, 2.0], 0)),
            (String::new(), String::new())
        );
    }
}
