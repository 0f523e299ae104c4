// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads what `lspci -vvv -nn` and `lspci -xxxx` print, for comparison only.

use std::collections::BTreeMap;

/// One function as lspci describes it.
#[derive(Debug, Default, Clone)]
pub(crate) struct Told {
    /// `0108`.
    pub(crate) class: String,
    /// Class in words.
    pub(crate) class_name: String,
    /// `[8086:2922]`, lower case.
    pub(crate) ids: String,
    /// Vendor and device in words.
    pub(crate) name: String,
    /// `[1af4:1100]` of the subsystem.
    pub(crate) subsystem: Option<String>,
    pub(crate) node: Option<String>,
    pub(crate) driver: Option<String>,
    pub(crate) iommu_group: Option<String>,
    /// Everything indented below, on one line, blanks reduced.
    pub(crate) text: String,
}

impl Told {
    /// The part of the text after `section` (`LnkSta:`) up to the next register's name.
    pub(crate) fn section(&self, section: &str) -> Option<&str> {
        let start = self.text.find(&format!(" {section} "))? + section.len() + 2;
        let rest = &self.text[start..];
        let ends = [
            " Capabilities:",
            " DevCtl:",
            " DevSta:",
            " LnkCap:",
            " LnkCtl:",
            " LnkSta:",
            " SltCap:",
            " SltCtl:",
            " DevCap2:",
            " DevCtl2:",
            " LnkCap2:",
            " LnkCtl2:",
            " RootCap:",
            " RootCtl:",
            " ACSCtl:",
            " L1SubCtl1:",
            " L1SubCtl2:",
            " Kernel ",
        ];
        let end = ends.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
        Some(&rest[..end])
    }

    /// Whether a flag of a section is on: `ExtTag+`.
    pub(crate) fn flag(&self, section: &str, flag: &str) -> Option<bool> {
        let section = format!(" {} ", self.section(section)?);
        let on = section.contains(&format!(" {flag}+"));
        (on || section.contains(&format!(" {flag}-"))).then_some(on)
    }

    /// The word after `key` in a section: `MaxPayload 128` gives `128`.
    pub(crate) fn word(&self, section: &str, key: &str) -> Option<&str> {
        let section = self.section(section)?;
        let rest = &section[section.find(key)? + key.len()..];
        rest.trim_start().split([' ', ',', ';']).next()
    }

    /// The kind of an Express function: `Endpoint`, `Root Port`.
    pub(crate) fn express_kind(&self) -> Option<&str> {
        let start = self.text.find("] Express ")? + "] Express ".len();
        let rest = &self.text[start..];
        let rest =
            rest.strip_prefix("(v").and_then(|rest| rest.split_once(") ")).map_or(rest, |r| r.1);
        rest.split([',', '(']).next().map(str::trim)
    }
}

/// `81:00.0 Non-Volatile memory controller [0108]: Maker Device [1b36:0010] (rev 02)` and below.
pub(crate) fn parse(text: &str) -> BTreeMap<String, Told> {
    let mut all: BTreeMap<String, Told> = BTreeMap::new();
    let mut last = None;
    for line in text.lines() {
        if line.starts_with(|c: char| c.is_ascii_hexdigit()) {
            let (address, rest) = line.split_once(' ').unwrap_or((line, ""));
            let address = match address.matches(':').count() {
                1 => format!("0000:{address}"),
                _ => address.to_owned(),
            };
            all.insert(address.clone(), header(rest));
            last = Some(address);
        } else if let Some(told) = last.as_ref().and_then(|address| all.get_mut(address)) {
            detail(told, line.trim());
        }
    }
    all
}

fn header(rest: &str) -> Told {
    let (class, device) = rest.split_once("]: ").unwrap_or((rest, ""));
    let (class_name, class) = class.rsplit_once(" [").unwrap_or((class, ""));
    // The ids are the last brackets that hold a colon: names and prog-if have brackets too.
    let mut ids = device.match_indices('[').filter_map(|(at, _)| device.get(at..at + 11));
    let ids = ids.rfind(|ids| ids.ends_with(']') && ids.as_bytes()[5] == b':').unwrap_or("");
    let name = device.split(&format!(" {ids}")).next().unwrap_or("");
    Told {
        class: class.to_owned(),
        class_name: class_name.to_owned(),
        ids: ids.to_owned(),
        name: name.to_owned(),
        ..Told::default()
    }
}

fn detail(told: &mut Told, line: &str) {
    if let Some(rest) = line.strip_prefix("Subsystem: ") {
        told.subsystem = rest.rfind('[').and_then(|at| rest.get(at..at + 11)).map(str::to_owned);
    } else if let Some(node) = line.strip_prefix("NUMA node: ") {
        told.node = Some(node.to_owned());
    } else if let Some(group) = line.strip_prefix("IOMMU group: ") {
        told.iommu_group = Some(group.to_owned());
    } else if let Some(driver) = line.strip_prefix("Kernel driver in use: ") {
        told.driver = Some(driver.to_owned());
    }
    told.text.push(' ');
    let words: Vec<&str> = line.split_whitespace().collect();
    told.text.push_str(&words.join(" "));
}

/// Configuration spaces in a hexadecimal dump, by address.
pub(crate) fn parse_dump(text: &str) -> BTreeMap<String, Vec<u8>> {
    let mut all: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut last = None;
    for line in text.lines() {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        if first.contains('.') && first.starts_with(|c: char| c.is_ascii_hexdigit()) {
            let domain = if first.matches(':').count() == 1 { "0000:" } else { "" };
            last = Some(format!("{domain}{first}"));
        } else if let Some(offset) = first.strip_suffix(':')
            && let Ok(offset) = usize::from_str_radix(offset, 16)
            && let Some(address) = &last
        {
            let bytes = rest.split(' ').map_while(|byte| u8::from_str_radix(byte, 16).ok());
            let space = all.entry(address.clone()).or_default();
            assert_eq!(space.len(), offset, "a dump with a hole: {line}");
            space.extend(bytes);
        }
    }
    all
}
