// SPDX-License-Identifier: MIT OR Apache-2.0
//! Type 9, system slots, and type 41, devices on the board: what is printed beside a connector.

use root::Root;
use units::PciAddress;

use super::structure::Structure;

/// A slot, or a device on the board, by the firmware's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    /// `PCIe Slot 3`, `Integrated NIC 1`.
    pub(crate) designation: String,
    /// The function in it, or the bridge above it: firmware gives either. `None` for an empty slot.
    pub(crate) address: Option<PciAddress>,
    /// Lanes of the slot; `None` where it is not told, and for devices on the board.
    pub(crate) lanes: Option<u8>,
}

/// Slots, then devices on the board; nothing where the table cannot be read.
pub(crate) fn slots(root: &dyn Root) -> Vec<Slot> {
    let table = super::table(root).unwrap_or_default();
    super::structures(&table).filter_map(|structure| slot(&structure)).collect()
}

pub(super) fn slot(structure: &Structure<'_>) -> Option<Slot> {
    let designation = structure.string(4)?;
    match structure.kind {
        9 => {
            let (address, lanes) = (address(structure, 0x0d), structure.byte(6).and_then(lanes));
            Some(Slot { designation, address, lanes })
        }
        // Bit 7 of the type: the device is enabled.
        41 if structure.byte(5)? & 0x80 != 0 => {
            Some(Slot { designation, address: address(structure, 7), lanes: None })
        }
        _ => None,
    }
}

/// Segment group, bus, device and function in four bytes; all ones where they do not apply.
fn address(structure: &Structure<'_>, offset: usize) -> Option<PciAddress> {
    let (domain, bus) = (structure.word(offset)?, structure.byte(offset + 2)?);
    let place = structure.byte(offset + 3)?;
    if (domain, bus, place) == (0xffff, 0xff, 0xff) || (bus, place) == (0xff, 0xff) {
        return None;
    }
    let (device, function) = (place >> 3, place & 7);
    Some(PciAddress { domain: u32::from(domain), bus, device, function })
}

/// Slot data bus width (table 46).
fn lanes(code: u8) -> Option<u8> {
    match code {
        0x08 => Some(1),
        0x09 => Some(2),
        0x0a => Some(4),
        0x0b => Some(8),
        0x0c => Some(12),
        0x0d => Some(16),
        0x0e => Some(32),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::structure::tests::structure;
    use super::*;
    use root::MemoryRoot;

    #[test]
    fn slots_and_devices_on_the_board() {
        let used = [1, 0xa5, 0x0d, 4, 4, 1, 0, 0, 0, 0, 0, 0x3e, 0x08];
        let empty = [1, 0xa5, 0x0b, 3, 4, 2, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
        let board = [1, 0x85, 1, 0, 0, 0x19, 0x01];
        let disabled = [1, 0x05, 1, 0, 0, 0x19, 0x01];
        let mut root = MemoryRoot::new();
        let table = [
            structure(9, &used, &["PCIe Slot 1"]),
            structure(9, &empty, &["PCIe Slot 2"]),
            structure(9, &used[..5], &["old"]),
            structure(41, &board, &["Integrated NIC 1"]),
            structure(41, &disabled, &["off"]),
        ];
        root.file("/sys/firmware/dmi/tables/DMI", table.concat());
        let seen: Vec<_> = slots(&root)
            .into_iter()
            .map(|slot| {
                let address = slot.address.map(|address| address.to_string());
                (slot.designation, address.unwrap_or_default(), slot.lanes)
            })
            .collect();
        let row = |name: &str, address: &str, lanes| (name.to_owned(), address.to_owned(), lanes);
        assert_eq!(
            seen,
            [
                row("PCIe Slot 1", "0000:3e:01.0", Some(16)),
                row("PCIe Slot 2", "", Some(8)),
                row("old", "", Some(16)),
                row("Integrated NIC 1", "0000:19:00.1", None),
            ]
        );
    }
}
