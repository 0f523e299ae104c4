// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names from pci.ids. The list is compiled in: the machine's own copy may be missing or old.

use machine::{Function, Names, PciClass};

/// A line for each name, sorted: a key of hexadecimal ids, a tab, the name. The build script says
/// which keys there are, and why it is a text.
const NAMES: &str = include_str!(concat!(env!("OUT_DIR"), "/pci-names.txt"));

/// The names of a function; at most its class for one whose ids could not be read.
pub(super) fn of(function: &Function) -> Names {
    if !function.is_readable() {
        return match function.class == PciClass::default() {
            true => Names::default(),
            false => Names { class: class(function.class), ..Names::default() },
        };
    }
    let (vendor, device) = (function.vendor, function.device);
    let known = find(&format!("{vendor:04x}{device:04x}"));
    Names {
        vendor: find(&format!("{vendor:04x}"))
            .map_or_else(|| format!("Vendor {vendor:04x}"), str::to_owned),
        device: known.map_or_else(|| format!("Device {device:04x}"), str::to_owned),
        subsystem: known
            .and_then(|known| subsystem(function, known))
            .unwrap_or_default()
            .to_owned(),
        class: class(function.class),
    }
}

/// The subsystem's name. One that repeats the device's own ids is the device itself, as lspci has
/// it.
fn subsystem(function: &Function, device: &'static str) -> Option<&'static str> {
    let Function { vendor, device: id, subsystem_vendor, subsystem_device, .. } = function;
    let key = format!("{vendor:04x}{id:04x}{subsystem_vendor:04x}{subsystem_device:04x}");
    let same = (subsystem_vendor, subsystem_device) == (vendor, id);
    find(&key).or_else(|| same.then_some(device))
}

fn class(class: PciClass) -> String {
    let PciClass { base, sub, .. } = class;
    let found = find(&format!("c{base:02x}{sub:02x}")).or_else(|| find(&format!("c{base:02x}")));
    found.map_or_else(|| format!("Class {base:02x}{sub:02x}"), str::to_owned)
}

fn find(key: &str) -> Option<&'static str> {
    search(NAMES, key)
}

/// The name of a key in sorted lines, by halves.
fn search<'a>(lines: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = lines;
    while !rest.is_empty() {
        let middle = rest.floor_char_boundary(rest.len() / 2);
        let start = rest.get(..middle)?.rfind('\n').map_or(0, |end| end + 1);
        let (before, from) = rest.split_at_checked(start)?;
        let (line, after) = from.split_once('\n').unwrap_or((from, ""));
        let (found, name) = line.split_once('\t')?;
        match key.cmp(found) {
            std::cmp::Ordering::Less => rest = before,
            std::cmp::Ordering::Equal => return Some(name),
            std::cmp::Ordering::Greater => rest = after,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn names_are_found_and_unknown_ids_stay_numbers() {
        let mut function = Function::new("3e:00.0".parse().unwrap());
        assert_eq!(of(&function), Names::default());
        function.vendor = 0x8086;
        function.device = 0x2922;
        function.class = PciClass { base: 1, sub: 6, interface: 1 };
        let names = of(&function);
        assert_eq!((&*names.vendor, &*names.class), ("Intel Corporation", "SATA controller"));
        assert!(names.device.contains("ICH9R"), "{names:?}");
        function.device = 0xfffe;
        function.vendor = 0x0002;
        let names = of(&function);
        assert_eq!((&*names.vendor, &*names.device), ("Vendor 0002", "Device fffe"));
    }

    #[test]
    fn every_line_is_found_by_its_key() {
        let all: BTreeMap<&str, &str> =
            NAMES.lines().map(|line| line.split_once('\t').unwrap()).collect();
        assert!(all.len() > 30_000 && all.len() == NAMES.lines().count());
        for (key, name) in &all {
            assert_eq!(find(key), Some(*name), "{key}");
        }
        for key in ["", "0", "zzzz", "8086\t", "80862922ffffffff"] {
            assert_eq!(find(key), None, "{key}");
        }
    }
}
