// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of slots: what is printed on the board, as far as the kernel or the firmware tells.

use std::collections::BTreeMap;

use machine::Function;
use root::{Dir, Root};
use units::PciAddress;

use crate::dmi::Slot;

const SLOTS: &str = "/sys/bus/pci/slots";

/// A device without its function: slots hold whole devices.
pub(crate) type Device = (u32, u8, u8);

/// Gives functions in a slot of `/sys/bus/pci/slots` its name, unless they have a label already.
pub(super) fn read(root: &dyn Root, functions: &mut [Function]) {
    let slots = Dir::new(root, SLOTS);
    let address = |name: &String| {
        let text = slots.sub(name).text("address").ok()?;
        Some((parse_address(&text)?, name.clone()))
    };
    let named: BTreeMap<Device, String> =
        slots.list().unwrap_or_default().iter().filter_map(address).collect();
    for function in functions.iter_mut().filter(|function| function.slot.is_none()) {
        function.slot = named.get(&function.address.card()).cloned();
    }
}

/// Gives functions that have no slot yet the firmware's name for it (SMBIOS types 9 and 41).
/// Firmware names either the device in the slot or the port above it.
pub(super) fn name_from_firmware(functions: &mut [Function], slots: &[Slot]) {
    let named: BTreeMap<Device, &str> = slots
        .iter()
        .filter_map(|slot| Some((slot.address?.card(), slot.designation.as_str())))
        .collect();
    for function in functions.iter_mut().filter(|function| function.slot.is_none()) {
        let above = function.parent.and_then(|parent| named.get(&parent.card()));
        let name = named.get(&function.address.card()).or(above);
        function.slot = name.map(ToString::to_string);
    }
}

/// `0000:0f:00`, at times with a function.
pub(crate) fn parse_address(text: &str) -> Option<Device> {
    let whole = text.parse().or_else(|_| format!("{text}.0").parse::<PciAddress>());
    whole.ok().map(PciAddress::card)
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;

    fn function(address: &str, parent: Option<&str>) -> Function {
        let mut function = Function::new(address.parse().unwrap());
        function.parent = parent.map(|text| text.parse().unwrap());
        function
    }

    #[test]
    fn all_functions_of_a_slots_device_have_its_name() {
        let mut root = MemoryRoot::new();
        root.file("/sys/bus/pci/slots/3/address", "0000:3b:00\n")
            .file("/sys/bus/pci/slots/odd/address", "none\n");
        let mut functions =
            [function("3b:00.0", None), function("3b:00.1", None), function("3c:00.0", None)];
        read(&root, &mut functions);
        let slots = functions.map(|function| function.slot);
        assert_eq!(slots, [Some("3".to_owned()), Some("3".to_owned()), None]);
    }

    #[test]
    fn firmware_names_the_device_or_its_port() {
        let mut functions = [function("17:00.0", None), function("18:00.0", Some("17:00.0"))];
        let address = "17:00.0".parse().ok();
        let slot = Slot { designation: "PCIe Slot 1".to_owned(), address, lanes: Some(16) };
        name_from_firmware(&mut functions, &[slot]);
        assert!(functions.iter().all(|each| each.slot.as_deref() == Some("PCIe Slot 1")));
    }
}
