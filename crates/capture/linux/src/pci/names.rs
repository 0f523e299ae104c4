// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names from pci.ids. The list is compiled in: the machine's own copy may be missing or old.

use std::collections::BTreeMap;

use machine::{Function, Names, PciClass};
use pci_ids::{Class, Device, FromId, Subclass, Vendor};

/// Names found so far: a server has many functions of few kinds, and a search is a walk over all
/// of a vendor's devices.
#[derive(Debug, Default)]
pub(super) struct Known(BTreeMap<(u16, u16), Option<&'static Device>>);

impl Known {
    /// The names of a function; at most its class for one whose ids could not be read.
    pub(super) fn names(&mut self, function: &Function) -> Names {
        if !function.is_readable() {
            return match function.class == PciClass::default() {
                true => Names::default(),
                false => Names { class: class(function.class), ..Names::default() },
            };
        }
        let ids = (function.vendor, function.device);
        let device = *self.0.entry(ids).or_insert_with(|| Device::from_vid_pid(ids.0, ids.1));
        Names {
            vendor: vendor(function.vendor),
            device: device
                .map_or_else(|| format!("Device {:04x}", ids.1), |device| device.name().to_owned()),
            subsystem: subsystem(function, device).unwrap_or_default().to_owned(),
            class: class(function.class),
        }
    }
}

fn vendor(id: u16) -> String {
    Vendor::from_id(id)
        .map_or_else(|| format!("Vendor {id:04x}"), |vendor| vendor.name().to_owned())
}

/// The subsystem's name. One that repeats the device's own ids is the device itself, as lspci has
/// it.
fn subsystem(function: &Function, device: Option<&'static Device>) -> Option<&'static str> {
    let device = device?;
    let wanted = (function.subsystem_vendor, function.subsystem_device);
    let found = device.subsystems().find(|each| (each.subvendor(), each.subdevice()) == wanted);
    let same = wanted == (function.vendor, function.device);
    found.map(pci_ids::SubSystem::name).or_else(|| same.then(|| device.name()))
}

fn class(class: PciClass) -> String {
    let PciClass { base, sub, .. } = class;
    if let Some(found) = Subclass::from_cid_sid(base, sub) {
        return found.name().to_owned();
    }
    Class::from_id(base)
        .map_or_else(|| format!("Class {base:02x}{sub:02x}"), |class| class.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_unknown_ids_stay_numbers() {
        let mut function = Function::new("3e:00.0".parse().unwrap());
        assert_eq!(Known::default().names(&function), Names::default());
        function.vendor = 0x8086;
        function.device = 0x2922;
        function.class = PciClass { base: 1, sub: 6, interface: 1 };
        let names = Known::default().names(&function);
        assert_eq!((&*names.vendor, &*names.class), ("Intel Corporation", "SATA controller"));
        assert!(names.device.contains("ICH9R"), "{names:?}");
        function.device = 0xfffe;
        function.vendor = 0x0002;
        let names = Known::default().names(&function);
        assert_eq!((&*names.vendor, &*names.device), ("Vendor 0002", "Device fffe"));
    }
}
