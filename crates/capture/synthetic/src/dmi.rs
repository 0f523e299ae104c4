// SPDX-License-Identifier: MIT OR Apache-2.0
//! `/sys/firmware/dmi/tables`: firmware, system, processors, slots and memory modules.
//!
//! Layouts are those of the System Management BIOS Specification (DSP0134) 3.7: 5.2.2 (entry
//! point), 7.1, 7.2, 7.4, 7.5, 7.17, 7.18.

use crate::{Description, Dimms, Tree};

/// Structures one after another, each with its own handle.
#[derive(Default)]
struct Table {
    bytes: Vec<u8>,
    next_handle: u16,
}

impl Table {
    /// A structure: type, formatted area after the 4-byte header, and the strings it counts from 1.
    fn add(&mut self, kind: u8, formatted: &[u8], strings: &[&str]) -> u16 {
        let handle = self.next_handle;
        self.next_handle += 1;
        let length = u8::try_from(formatted.len() + 4).unwrap_or(u8::MAX);
        self.bytes.extend([kind, length]);
        self.bytes.extend(handle.to_le_bytes());
        self.bytes.extend(formatted);
        for text in strings {
            self.bytes.extend(text.as_bytes());
            self.bytes.push(0);
        }
        // Two NULs end a structure without strings, one more NUL one with strings.
        let end = if strings.is_empty() { 2 } else { 1 };
        self.bytes.extend(std::iter::repeat_n(0, end));
        handle
    }
}

/// What stands where no handle is: no error information.
const NO_HANDLE: u16 = 0xfffe;

pub(crate) fn write(tree: &mut Tree, description: &Description) {
    let table = table(description);
    let length = u32::try_from(table.len()).unwrap_or(u32::MAX);
    let folder = "/sys/firmware/dmi/tables";
    tree.text_with_mode(format!("{folder}/DMI"), table, 0o400);
    tree.text_with_mode(format!("{folder}/smbios_entry_point"), entry_point(length), 0o400);
}

/// The 64-bit entry point, 24 bytes that sum to 0.
fn entry_point(length: u32) -> Vec<u8> {
    let mut bytes = b"_SM3_".to_vec();
    // Checksum, length, version 3.7.0, revision 1, reserved.
    bytes.extend([0, 24, 3, 7, 0, 1, 0]);
    bytes.extend(length.to_le_bytes());
    bytes.extend(0x6f00_0000_u64.to_le_bytes());
    let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    if let Some(checksum) = bytes.get_mut(5) {
        *checksum = sum.wrapping_neg();
    }
    bytes
}

fn table(description: &Description) -> Vec<u8> {
    let mut table = Table::default();
    let host = &description.host;
    // Type 0: vendor, version, segment, date, size, characteristics, releases.
    let mut firmware = vec![1, 2, 0, 0, 3, 0xff];
    firmware.extend([0; 14]);
    table.add(0, &firmware, &[&host.vendor, &host.firmware, &host.firmware_date]);
    // Type 1: manufacturer, product, version, serial, UUID, wake-up, SKU, family.
    let mut system = vec![1, 2, 0, 3];
    system.extend([0; 16]);
    system.extend([6, 0, 0]);
    table.add(1, &system, &[&host.vendor, &host.product, "SYNTH01"]);
    for package in 0..description.cpu.packages {
        add_processor(&mut table, description, package);
    }
    let slots: u32 = description.dimms.iter().map(|group| group.slots).sum();
    let array = add_array(&mut table, slots);
    for group in &description.dimms {
        for slot in 0..group.slots {
            add_module(&mut table, array, group, slot);
        }
    }
    table.add(127, &[], &[]);
    table.bytes
}

/// Type 4, 48 bytes in all: core and thread counts as bytes and as words.
fn add_processor(table: &mut Table, description: &Description, package: u32) {
    let layout = &description.cpu;
    let cores = layout.nodes_per_package * layout.cores_per_node;
    let byte = |count: u32| u8::try_from(count).unwrap_or(0xff);
    let word = |count: u32| u16::try_from(count).unwrap_or(0xffff).to_le_bytes();
    let base = u16::try_from(description.power.base_mhz).unwrap_or(0).to_le_bytes();
    let most = u16::try_from(description.power.mhz[1]).unwrap_or(0).to_le_bytes();
    let mut area = vec![1, 3, 0xb3, 2];
    area.extend([0; 8]);
    area.extend([3, 0]);
    // External clock 100 MHz, highest and current speed, status populated and enabled.
    area.extend([100, 0]);
    area.extend(most);
    area.extend(base);
    area.extend([0x41, 1]);
    area.extend([0xff; 6]);
    area.extend([0, 0, 0]);
    area.extend([byte(cores), byte(cores), byte(cores * layout.threads)]);
    area.extend([0xfc, 0, 1, 0]);
    area.extend(word(cores));
    area.extend(word(cores));
    area.extend(word(cores * layout.threads));
    let socket = format!("CPU{}", package + 1);
    table.add(4, &area, &[&socket, &layout.vendor, &layout.name]);
}

/// Type 16: system board, system memory, ECC, capacity in the extended field.
fn add_array(table: &mut Table, slots: u32) -> u16 {
    let mut area = vec![3, 3, 6];
    area.extend(0x8000_0000_u32.to_le_bytes());
    area.extend(NO_HANDLE.to_le_bytes());
    area.extend(u16::try_from(slots).unwrap_or(u16::MAX).to_le_bytes());
    area.extend((8_u64 << 40).to_le_bytes());
    table.add(16, &area, &[])
}

/// Type 17, 40 bytes in all.
fn add_module(table: &mut Table, array: u16, group: &Dimms, slot: u32) {
    let filled = slot < group.filled;
    let mib = group.gib.saturating_mul(1024);
    // Above 32 GiB less 1 MiB the size stands in the extended field (7.18.4, 7.18.5).
    let (size, extended) = match (filled, u16::try_from(mib)) {
        (false, _) => (0, 0),
        (true, Ok(size)) if size < 0x7fff => (size, 0),
        (true, _) => (0x7fff, mib),
    };
    let width: [u8; 4] = if filled { [80, 0, 64, 0] } else { [0; 4] };
    let (rated, configured) = match filled {
        true => (group.rated, group.configured.unwrap_or(group.rated)),
        false => (0, 0),
    };
    let kind = if filled { memory_type(&group.kind) } else { 2 };
    let mut area = array.to_le_bytes().to_vec();
    area.extend(NO_HANDLE.to_le_bytes());
    area.extend(width);
    area.extend(size.to_le_bytes());
    // Form factor DIMM, no set, locator, bank, type, detail synchronous and registered.
    area.extend([9, 0, 1, 2, kind, 0x80, 0x20]);
    area.extend(rated.to_le_bytes());
    area.extend([3, 4, 0, 5, u8::from(filled) * 2]);
    area.extend(extended.to_le_bytes());
    area.extend(configured.to_le_bytes());
    // 1.1 V at least, at most and now.
    area.extend([1100_u16; 3].iter().flat_map(|volts| volts.to_le_bytes()));
    let locator = format!("{}{}", group.prefix, slot + 1);
    let (maker, serial, part) = match filled {
        true => ("Synthetic", format!("{:08X}", 0x5150_0000 + slot), "SYN-RDIMM"),
        false => ("", String::new(), ""),
    };
    let blank =
        |text: &str| if text.is_empty() { "Not Specified".to_owned() } else { text.to_owned() };
    let strings = [locator, "Bank 0".to_owned(), blank(maker), blank(&serial), blank(part)];
    table.add(17, &area, &strings.each_ref().map(String::as_str));
}

/// 7.18.2: DDR3 is 18h, DDR4 1Ah, DDR5 22h; anything else is unknown.
fn memory_type(name: &str) -> u8 {
    match name {
        "DDR3" => 0x18,
        "DDR4" => 0x1a,
        "DDR5" => 0x22,
        "HBM" => 0x20,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks a table as every reader does; (type, length) of each structure.
    fn walk(bytes: &[u8]) -> Vec<(u8, u8)> {
        let mut found = Vec::new();
        let mut at = 0;
        while at + 4 <= bytes.len() {
            found.push((bytes[at], bytes[at + 1]));
            let strings = at + usize::from(bytes[at + 1]);
            let end = bytes[strings..].windows(2).position(|pair| pair == [0, 0]).unwrap();
            at = strings + end + 2;
        }
        found
    }

    #[test]
    fn structures_have_the_specified_lengths() {
        let text = crate::named("r7725xd").unwrap();
        let found = walk(&table(&crate::parse(text).unwrap()));
        let modules = found.iter().filter(|(kind, _)| *kind == 17).count();
        assert_eq!(modules, 24);
        for (kind, length) in &found {
            let specified = match kind {
                0 => 24,
                1 => 27,
                4 => 48,
                16 => 23,
                17 => 40,
                127 => 4,
                other => panic!("type {other}"),
            };
            assert_eq!(*length, specified, "type {kind}");
        }
        assert_eq!(found.last(), Some(&(127, 4)));
    }

    #[test]
    fn the_entry_point_sums_to_zero() {
        let bytes = entry_point(1234);
        assert_eq!(bytes.len(), 24);
        assert_eq!(bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)), 0);
    }
}
