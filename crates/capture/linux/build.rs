// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes pci.ids as one sorted text, which `pci/names.rs` searches.
//!
//! The crate that carries the list makes a table of it with a pointer for each of its 40,000 names.
//! In a binary that can be loaded anywhere each pointer is written at every start, which took longer
//! (1 ms) than all that `nearside exec` reads. A text has none.

use std::collections::BTreeMap;
use std::path::Path;

use pci_ids::{Classes, Vendors};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = std::env::var_os("OUT_DIR").expect("cargo sets it for every build script");
    let mut lines = BTreeMap::new();
    vendors(&mut lines);
    classes(&mut lines);
    let line = |(key, name): (&String, &&str)| format!("{key}\t{name}\n");
    let text: String = lines.iter().map(line).collect();
    std::fs::write(Path::new(&folder).join("pci-names.txt"), text).expect("cargo made the folder");
}

/// `8086`, `80862922`, `8086292210280123`: vendor, device, subsystem.
fn vendors(lines: &mut BTreeMap<String, &'static str>) {
    for vendor in Vendors::iter() {
        lines.insert(format!("{:04x}", vendor.id()), vendor.name());
        for device in vendor.devices() {
            let key = format!("{:04x}{:04x}", vendor.id(), device.id());
            for each in device.subsystems() {
                let key = format!("{key}{:04x}{:04x}", each.subvendor(), each.subdevice());
                lines.entry(key).or_insert(each.name());
            }
            lines.entry(key).or_insert(device.name());
        }
    }
}

/// `c01`, `c0106`: class, subclass.
fn classes(lines: &mut BTreeMap<String, &'static str>) {
    for class in Classes::iter() {
        lines.insert(format!("c{:02x}", class.id()), class.name());
        for sub in class.subclasses() {
            lines.insert(format!("c{:02x}{:02x}", class.id(), sub.id()), sub.name());
        }
    }
}
