// SPDX-License-Identifier: MIT OR Apache-2.0
//! A link's speed and width: `32x4` is 32 GT/s on four lanes.

use std::fmt;

use serde::Deserialize;

/// Speed and width of a PCIe link, written `32x4`, `2.5x1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Lanes {
    /// Generation, 1 to 6: the code that link registers hold.
    pub generation: u8,
    /// Lanes: 1, 2, 4, 8, 12, 16 or 32.
    pub width: u8,
}

/// Speeds in the order of their codes (PCI Express Base Specification 6.0, Supported Link Speeds
/// Vector), in the words of sysfs.
const SPEEDS: [(&str, &str); 6] = [
    ("2.5", "2.5 GT/s PCIe"),
    ("5", "5.0 GT/s PCIe"),
    ("8", "8.0 GT/s PCIe"),
    ("16", "16.0 GT/s PCIe"),
    ("32", "32.0 GT/s PCIe"),
    ("64", "64.0 GT/s PCIe"),
];

impl Lanes {
    /// The speed as `current_link_speed` has it.
    pub fn speed_text(self) -> &'static str {
        let index = usize::from(self.generation).saturating_sub(1);
        SPEEDS.get(index).map_or("Unknown", |(_, text)| text)
    }
}

impl TryFrom<String> for Lanes {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no link such as 32x4 or 2.5x1");
        let (speed, width) = text.split_once('x').ok_or_else(wrong)?;
        let index = SPEEDS.iter().position(|(name, _)| *name == speed).ok_or_else(wrong)?;
        let width: u8 = width.parse().map_err(|_| wrong())?;
        if !matches!(width, 1 | 2 | 4 | 8 | 12 | 16 | 32) {
            return Err(wrong());
        }
        Ok(Self { generation: u8::try_from(index + 1).map_err(|_| wrong())?, width })
    }
}

impl fmt::Display for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x{}", self.speed_text(), self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_or_refused() {
        let link = Lanes::try_from("32x4".to_owned()).unwrap();
        assert_eq!((link.generation, link.width, link.speed_text()), (5, 4, "32.0 GT/s PCIe"));
        assert_eq!(Lanes::try_from("2.5x1".to_owned()).unwrap().speed_text(), "2.5 GT/s PCIe");
        for text in ["", "32", "32x", "x4", "7x4", "32x3", "32x256", "32 x4"] {
            assert!(Lanes::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
