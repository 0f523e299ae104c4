// SPDX-License-Identifier: MIT OR Apache-2.0
//! PCI addresses as sysfs writes them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ParseError;

/// A PCI function's address: `domain:bus:device.function`, all but the function in hexadecimal.
///
/// The domain is 32 bits wide: Intel VMD and Hyper-V number theirs above 0xffff
/// (`10000:e1:00.0`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PciAddress {
    /// Segment group.
    pub domain: u32,
    /// Bus number.
    pub bus: u8,
    /// Device number, 0 to 31.
    pub device: u8,
    /// Function number, 0 to 7.
    pub function: u8,
}

impl PciAddress {
    /// Domain, bus and device: what the functions of one card have in common.
    pub const fn card(self) -> (u32, u8, u8) {
        (self.domain, self.bus, self.device)
    }
}

impl FromStr for PciAddress {
    type Err = ParseError;

    /// Reads `0000:3e:00.0`, or `3e:00.0` for domain 0.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse(text).ok_or_else(|| ParseError::new("PCI address", text))
    }
}

fn parse(text: &str) -> Option<PciAddress> {
    let (rest, function) = text.rsplit_once('.')?;
    let mut parts = rest.rsplit(':');
    let device = hex(parts.next()?, 2)?;
    let bus = hex(parts.next()?, 2)?;
    let domain = parts.next().map_or(Some(0), |part| hex(part, 8))?;
    let function = hex(function, 1)?;
    let in_range = parts.next().is_none() && device < 32 && function < 8;
    in_range.then_some(PciAddress {
        domain,
        bus: u8::try_from(bus).ok()?,
        device: u8::try_from(device).ok()?,
        function: u8::try_from(function).ok()?,
    })
}

/// Hexadecimal digits only: `from_str_radix` alone would take a sign.
fn hex(text: &str, max_digits: usize) -> Option<u32> {
    let digits = !text.is_empty()
        && text.len() <= max_digits
        && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits.then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, bus, device, function } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
    }
}

impl fmt::Debug for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<PciAddress> for String {
    fn from(address: PciAddress) -> Self {
        address.to_string()
    }
}

impl TryFrom<String> for PciAddress {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_print_as_they_were_read() {
        for text in ["0000:3e:00.0", "10000:e1:1f.7", "ffff:ff:1f.0"] {
            assert_eq!(text.parse::<PciAddress>().unwrap().to_string(), text);
        }
        assert_eq!("3e:00.0".parse::<PciAddress>().unwrap().to_string(), "0000:3e:00.0");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "0000:3e:00", "0000:3e:20.0", "0000:3e:00.8", "+000:3e:00.0", "1:2:3:4.0"]
        {
            assert!(text.parse::<PciAddress>().is_err(), "{text}");
        }
    }
}
