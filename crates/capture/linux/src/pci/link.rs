// SPDX-License-Identifier: MIT OR Apache-2.0
//! A function's link: from its configuration space, or from the files that sysfs makes of it.

use machine::{Aspm, Fact, Link, LinkSide, PortKind, Why};
use root::Dir;
use units::{PciAddress, Transfers};

use super::config::{Config, LinkRegisters};
use super::files::Files;

/// A link's end as read, before both ends are brought together.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) speed: Fact<Transfers>,
    pub(super) width: Fact<u8>,
    pub(super) best: LinkSide,
    pub(super) aspm: Aspm,
}

impl End {
    /// The link that has this end below and `above` above it.
    pub(super) fn into_link(self, above: Option<(PciAddress, LinkSide)>) -> Link {
        let (port, above) = above.unzip();
        let Self { speed, width, best: own, aspm } = self;
        Link { speed, width, own, above, port, aspm }
    }
}

/// Reads a function's end of its link. None for functions that have no link: conventional ones,
/// those integrated in the root complex, and virtual functions, whose link registers read as zero
/// because the link is the physical function's.
pub(super) fn read(dir: &Dir<'_>, files: &Files, config: &Config<'_>) -> Option<End> {
    let integrated = [PortKind::Integrated, PortKind::EventCollector].map(Ok);
    if files.has("physfn") || integrated.contains(&config.port_kind()) {
        return None;
    }
    let mut end = match config.link() {
        Ok(registers) => from_registers(&registers),
        Err(Why::NotSupported) => return None,
        Err(why) => from_files(dir, files, &why)?,
    };
    end.aspm.files = aspm_files(dir, files);
    Some(end)
}

fn from_registers(registers: &LinkRegisters) -> End {
    let best = LinkSide {
        speed: generation(registers.best_generation()),
        width: lanes(registers.best_width()),
    };
    let aspm = Aspm {
        supported: Ok(registers.aspm_supported()),
        enabled: Ok(registers.aspm_enabled()),
        l1_substates: registers.l1_substates.clone(),
        files: Vec::new(),
    };
    let (speed, width) = (generation(registers.generation()), lanes(registers.width()));
    End { speed, width, best, aspm }
}

fn from_files(dir: &Dir<'_>, files: &Files, why: &Why) -> Option<End> {
    if !files.has("max_link_width") && !files.has("current_link_width") {
        return None;
    }
    let speed = |name| files.text(dir, name).and_then(|text| parse_speed(&text));
    let width = |name| files.text(dir, name).and_then(|text| parse_width(&text));
    let best = LinkSide { speed: speed("max_link_speed"), width: width("max_link_width") };
    // Functions of the root complex have the files, and nothing in them.
    best.width.as_ref().ok()?;
    let aspm = Aspm::unknown(why);
    let (speed, width) = (speed("current_link_speed"), width("current_link_width"));
    Some(End { speed, width, best, aspm })
}

/// `8.0 GT/s PCIe` (kernels from 5.6), `8 GT/s`, `2.5 GT/s`, `Unknown speed`, `Unknown`.
pub(crate) fn parse_speed(text: &str) -> Fact<Transfers> {
    let unparsed = || Why::unparsed(text);
    let text = text.trim();
    if text.starts_with("Unknown") {
        return Err(Why::NotSupported);
    }
    let number = text.strip_suffix("PCIe").unwrap_or(text).trim();
    let number = number.strip_suffix("GT/s").unwrap_or(number).trim();
    let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if tenth.len() != 1 || whole.is_empty() || !digits(whole) || !digits(tenth) {
        return Err(unparsed());
    }
    let tenths = whole.parse::<u16>().ok().and_then(|whole| whole.checked_mul(10));
    let tenths = tenths.and_then(|tenths| tenths.checked_add(tenth.parse().ok()?));
    let speed = tenths.map(Transfers).ok_or_else(unparsed)?;
    // Nothing but a speed that some generation has is a speed.
    speed.generation().map(|_| speed).ok_or_else(unparsed)
}

/// `4`; `0` when there is no link and `255` when it is not known.
pub(crate) fn parse_width(text: &str) -> Fact<u8> {
    let width = text.trim().parse().map_err(|_| Why::unparsed(text))?;
    lanes(width)
}

fn generation(code: u8) -> Fact<Transfers> {
    Transfers::of_generation(code).ok_or(Why::NotSupported)
}

/// Widths that the specification knows; 0 and 255 mean that there is no link or none known.
fn lanes(width: u8) -> Fact<u8> {
    match width {
        1 | 2 | 4 | 8 | 12 | 16 | 32 => Ok(width),
        0 | 255 => Err(Why::NotSupported),
        other => Err(Why::Unparsed(other.to_string())),
    }
}

/// Files of `link/` (`l1_aspm`, `l1_1_aspm`, `clkpm`): only states that the link supports have one.
fn aspm_files(dir: &Dir<'_>, files: &Files) -> Vec<(String, bool)> {
    if !files.has("link") {
        return Vec::new();
    }
    let link = dir.sub("link");
    let names = link.list().unwrap_or_default();
    let on = |name: String| match link.text(&name).as_deref() {
        Ok("0") => Some((name, false)),
        Ok("1") => Some((name, true)),
        _ => None,
    };
    names.into_iter().filter_map(on).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_form_of_a_speed_is_read() {
        let cases = [
            ("8.0 GT/s PCIe", Ok(80)),
            ("8 GT/s", Ok(80)),
            ("2.5 GT/s", Ok(25)),
            ("32.0 GT/s PCIe", Ok(320)),
            ("64.0 GT/s PCIe", Ok(640)),
            ("2.5", Ok(25)),
            ("Unknown speed", Err(Why::NotSupported)),
            ("Unknown", Err(Why::NotSupported)),
            ("9 GT/s", Err(Why::Unparsed("9 GT/s".to_owned()))),
            ("8.00 GT/s", Err(Why::Unparsed("8.00 GT/s".to_owned()))),
            ("", Err(Why::Unparsed(String::new()))),
        ];
        for (text, wanted) in cases {
            assert_eq!(parse_speed(text), wanted.map(Transfers), "{text}");
        }
    }

    #[test]
    fn no_width_is_unknown_and_not_zero() {
        assert_eq!(parse_width("16"), Ok(16));
        assert_eq!(parse_width("0"), Err(Why::NotSupported));
        assert_eq!(parse_width("255"), Err(Why::NotSupported));
        assert_eq!(parse_width("3"), Err(Why::Unparsed("3".to_owned())));
        assert!(parse_width("x16").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_speed_or_refused(text in ".{0,40}") {
            prop_assert!(parse_speed(&text).is_ok_and(|speed| speed.generation().is_some())
                || parse_speed(&text).is_err());
            let _ = parse_width(&text);
        }
    }
}
