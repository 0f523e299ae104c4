// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which function it is: class, ids and driver, in as few reads as the tree allows.
//!
//! `uevent` holds all of it in one file. Trees that were copied without it have `modalias`, which
//! holds the ids alone, or one file for each.

use machine::PciClass;
use root::Dir;

use super::config::Config;
use super::files::Files;

/// Class, ids and driver of a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(super) class: PciClass,
    pub(super) vendor: u16,
    pub(super) device: u16,
    pub(super) subsystem_vendor: u16,
    pub(super) subsystem_device: u16,
    pub(super) driver: Option<String>,
}

/// Reads what identifies a function; all zero where nothing tells.
pub(super) fn read(dir: &Dir<'_>, files: &Files, config: &Config<'_>) -> Identity {
    let uevent = files.text(dir, "uevent").ok().and_then(|text| parse_uevent(&text));
    let found = uevent.or_else(|| {
        let modalias = files.text(dir, "modalias").ok()?;
        let driver = if files.has("driver") { dir.link_name("driver").ok() } else { None };
        Some(Identity { driver, ..parse_modalias(&modalias)? })
    });
    found.unwrap_or_else(|| from_single_files(dir, files, config))
}

/// The text of `uevent`:
/// ```text
/// DRIVER=nvme
/// PCI_CLASS=10802
/// PCI_ID=1344:51C3
/// PCI_SUBSYS_ID=1344:1300
/// PCI_SLOT_NAME=0000:3e:00.0
/// MODALIAS=pci:v00001344d000051C3sv00001344sd00001300bc01sc08i02
/// ```
pub(crate) fn parse_uevent(text: &str) -> Option<Identity> {
    let value = |key: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        lines.find(|(name, _)| *name == key).map(|(_, value)| value)
    };
    let pair = |text: &str| {
        let (one, other) = text.split_once(':')?;
        Some((half(one)?, half(other)?))
    };
    let (vendor, device) = pair(value("PCI_ID")?)?;
    let (subsystem_vendor, subsystem_device) = value("PCI_SUBSYS_ID").and_then(pair)?;
    let class = class(hex(value("PCI_CLASS")?, 6)?)?;
    let driver = value("DRIVER").filter(|name| !name.is_empty()).map(str::to_owned);
    Some(Identity { class, vendor, device, subsystem_vendor, subsystem_device, driver })
}

/// `pci:v00008086d00002030sv00001028sd00000000bc06sc04i00`
pub(crate) fn parse_modalias(text: &str) -> Option<Identity> {
    let rest = text.trim().strip_prefix("pci:")?;
    let (vendor, rest) = tagged(rest, "v", 8)?;
    let (device, rest) = tagged(rest, "d", 8)?;
    let (subsystem_vendor, rest) = tagged(rest, "sv", 8)?;
    let (subsystem_device, rest) = tagged(rest, "sd", 8)?;
    let (base, rest) = tagged(rest, "bc", 2)?;
    let (sub, rest) = tagged(rest, "sc", 2)?;
    let (interface, _) = tagged(rest, "i", 2)?;
    Some(Identity {
        class: class(base << 16 | sub << 8 | interface)?,
        vendor: u16::try_from(vendor).ok()?,
        device: u16::try_from(device).ok()?,
        // A function without a subsystem says 0 here, and PCI_ANY_ID on old kernels.
        subsystem_vendor: u16::try_from(subsystem_vendor).unwrap_or(0),
        subsystem_device: u16::try_from(subsystem_device).unwrap_or(0),
        driver: None,
    })
}

fn tagged<'a>(text: &'a str, tag: &str, digits: usize) -> Option<(u32, &'a str)> {
    let (number, rest) = text.strip_prefix(tag)?.split_at_checked(digits)?;
    Some((hex(number, digits)?, rest))
}

fn from_single_files(dir: &Dir<'_>, files: &Files, config: &Config<'_>) -> Identity {
    let id = |name| files.text(dir, name).ok().and_then(|text| half(&text));
    let words = |text: String| class(hex(&text, 6)?);
    let from_config = || {
        let (base, sub, interface) = config.class()?;
        Some(PciClass { base, sub, interface })
    };
    let class = files.text(dir, "class").ok().and_then(words).or_else(from_config);
    // A virtual function's own registers read as 0xffff.
    let own = |id: Option<u16>| id.filter(|id| *id != 0xffff);
    let (subsystem_vendor, subsystem_device) = config.subsystem().unwrap_or_default();
    Identity {
        class: class.unwrap_or_default(),
        vendor: id("vendor").or_else(|| own(config.vendor())).unwrap_or(0),
        device: id("device").or_else(|| own(config.device())).unwrap_or(0),
        subsystem_vendor: id("subsystem_vendor").unwrap_or(subsystem_vendor),
        subsystem_device: id("subsystem_device").unwrap_or(subsystem_device),
        driver: if files.has("driver") { dir.link_name("driver").ok() } else { None },
    }
}

/// A 24-bit class code.
fn class(code: u32) -> Option<PciClass> {
    let [_, base, sub, interface] = code.to_be_bytes();
    (code <= 0x00ff_ffff).then_some(PciClass { base, sub, interface })
}

fn half(text: &str) -> Option<u16> {
    u16::try_from(hex(text, 4)?).ok()
}

/// Hexadecimal digits, at most so many, with or without `0x`.
fn hex(text: &str, max_digits: usize) -> Option<u32> {
    let text = text.trim();
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let plain = !digits.is_empty()
        && digits.len() <= max_digits
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nvme() -> Identity {
        Identity {
            class: PciClass { base: 1, sub: 8, interface: 2 },
            vendor: 0x1344,
            device: 0x51c3,
            subsystem_vendor: 0x1344,
            subsystem_device: 0x1300,
            driver: None,
        }
    }

    #[test]
    fn both_forms_tell_the_same() {
        let modalias = "pci:v00001344d000051C3sv00001344sd00001300bc01sc08i02";
        assert_eq!(parse_modalias(modalias), Some(nvme()));
        let uevent = "DRIVER=nvme\nPCI_CLASS=10802\nPCI_ID=1344:51C3\nPCI_SUBSYS_ID=1344:1300\n";
        let driver = Some("nvme".to_owned());
        assert_eq!(parse_uevent(uevent), Some(Identity { driver, ..nvme() }));
    }

    #[test]
    fn what_is_cut_is_refused() {
        for text in ["", "pci:v00008086d0000", "pci:vZZZZ", "usb:v1D6Bp0002", "pci:v0000\u{e9}000"]
        {
            assert_eq!(parse_modalias(text), None, "{text}");
        }
        for text in ["PCI_ID=1344", "PCI_CLASS=1000000\nPCI_ID=1:2\nPCI_SUBSYS_ID=1:2", "="] {
            assert_eq!(parse_uevent(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,80}", tail in "[0-9A-Za-z]{0,60}") {
            let _ = (parse_uevent(&text), parse_modalias(&text));
            let _ = parse_modalias(&format!("pci:v{tail}"));
            let _ = parse_uevent(&format!("PCI_ID={text}\nPCI_SUBSYS_ID={text}\nPCI_CLASS={text}"));
        }
    }
}
