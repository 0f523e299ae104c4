// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was measured: a list of runs, and one run in full.

mod list;
mod moment;
mod show;

#[cfg(test)]
mod tests;

use units::ByteRate;

pub use list::list;
pub use moment::{Moment, moment};
pub use show::show;

/// A latency: `850 ns`, `12.3 us`, `4.1 ms`, `1.2 s`.
pub(crate) fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let digits =
        usize::from(value < 99.95 && unit != "ns") + usize::from(value < 9.995 && unit != "ns");
    format!("{value:.digits$} {unit}")
}

#[expect(clippy::cast_precision_loss, reason = "four digits are shown")]
pub(crate) fn time_of(ns: u64) -> String {
    time(ns as f64)
}

/// Operations a second: `903,834 IOPS`, `2.78 IOPS`.
pub(crate) fn iops(rate: f64) -> String {
    if rate < 99.95 {
        return format!("{rate:.2} IOPS");
    }
    format!("{} IOPS", grouped(rate))
}

pub(crate) fn rate(bytes_per_second: f64) -> String {
    ByteRate(bytes_per_second).to_string()
}

/// A number without its fraction, in groups of three digits.
pub(crate) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
