// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sizes and rates, each a type of its own.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A size in bytes. Prints in binary units: `14.9 GiB`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A rate in bits a second, as network links are rated. Prints in decimal units: `100 Gb/s`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct BitRate(pub u64);

/// A rate in bytes a second, as storage and PCIe are rated. Prints in decimal units: `15.8 GB/s`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ByteRate(pub f64);

/// Transfers a second on one PCIe lane, in units of 0.1 GT/s, so that 2.5 GT/s stays exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Transfers(pub u16);

impl Transfers {
    /// The PCIe generation: 1 for 2.5 GT/s up to 7 for 128 GT/s; none for other figures.
    pub const fn generation(self) -> Option<u8> {
        match self.0 {
            25 => Some(1),
            50 => Some(2),
            80 => Some(3),
            160 => Some(4),
            320 => Some(5),
            640 => Some(6),
            1280 => Some(7),
            _ => None,
        }
    }

    /// The speed of a PCIe generation.
    pub const fn of_generation(generation: u8) -> Option<Self> {
        match generation {
            1 => Some(Self(25)),
            2 => Some(Self(50)),
            3 => Some(Self(80)),
            4 => Some(Self(160)),
            5 => Some(Self(320)),
            6 => Some(Self(640)),
            7 => Some(Self(1280)),
            _ => None,
        }
    }

    /// GT/s as a number.
    pub fn gts(self) -> f64 {
        f64::from(self.0) / 10.0
    }

    /// What one lane carries in one direction after line coding: 8b/10b up to 5 GT/s, 128b/130b up
    /// to 32 GT/s, 242 of 256 bytes in FLIT mode above (PCI Express Base Specification 6.0).
    pub fn lane_rate(self) -> ByteRate {
        let coding = match self.0 {
            0..=50 => 8.0 / 10.0,
            51..=320 => 128.0 / 130.0,
            _ => 242.0 / 256.0,
        };
        ByteRate(self.gts() * 1e9 / 8.0 * coding)
    }

    /// What so many lanes carry together in one direction after line coding.
    pub fn rate(self, lanes: u8) -> ByteRate {
        ByteRate(self.lane_rate().0 * f64::from(lanes))
    }
}

impl fmt::Display for Transfers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 % 10 {
            0 => write!(f, "{} GT/s", self.0 / 10),
            tenth => write!(f, "{}.{tenth} GT/s", self.0 / 10),
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
        scaled(f, self.0 as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
        scaled(f, self.0 as f64, 1000.0, &["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"])
    }
}

impl fmt::Display for ByteRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, 1000.0, &["B/s", "kB/s", "MB/s", "GB/s", "TB/s"])
    }
}

/// Three significant digits, no trailing zeros after the point.
fn scaled(f: &mut fmt::Formatter<'_>, value: f64, step: f64, units: &[&str]) -> fmt::Result {
    let mut value = value;
    let mut units = units.iter();
    let mut unit = units.next().unwrap_or(&"");
    for next in units {
        if value < step - 0.5 {
            break;
        }
        value /= step;
        unit = next;
    }
    let digits = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    write!(f, "{text} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_print_with_their_own_prefix() {
        assert_eq!(Bytes(16 << 30).to_string(), "16 GiB");
        assert_eq!(Bytes(0).to_string(), "0 B");
        assert_eq!(BitRate(100_000_000_000).to_string(), "100 Gb/s");
        assert_eq!(BitRate(2_500_000_000).to_string(), "2.5 Gb/s");
        assert_eq!(Transfers(25).to_string(), "2.5 GT/s");
        assert_eq!(Transfers(320).to_string(), "32 GT/s");
    }

    #[test]
    fn lane_rates_follow_the_line_coding() {
        let gen5_x4 = Transfers(320).rate(4);
        assert_eq!(gen5_x4.to_string(), "15.8 GB/s");
        assert!((Transfers(25).lane_rate().0 - 250e6).abs() < 1.0);
    }
}
