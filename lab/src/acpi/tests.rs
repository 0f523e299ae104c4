// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables as firmware writes them; that a kernel takes them is shown by booting with them.

use super::*;
use crate::machine::Machine;

fn sums_to_zero(table: &[u8]) -> bool {
    table.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)) == 0
}

#[test]
fn the_madt_lists_processors_round_robin() {
    let machine = Machine::named("snc2-round-robin").unwrap();
    let table = madt::table_of(&machine.cpus);
    assert!(table.starts_with(b"APIC") && sums_to_zero(&table));
    assert_eq!(u32::from_le_bytes(table[4..8].try_into().unwrap()) as usize, table.len());
    let entries = table[44..].chunks_exact(8).take(16);
    let apic: Vec<u8> = entries.map(|entry| entry[3]).collect();
    // Packages are 8 apart, cores 2, threads 1.
    assert_eq!(apic, [0, 8, 2, 10, 4, 12, 6, 14, 1, 9, 3, 11, 5, 13, 7, 15]);
}

#[test]
fn every_processor_has_its_states() {
    let machine = Machine::named("snc2-round-robin").unwrap();
    let table = power::table_of(&machine).unwrap();
    assert!(table.starts_with(b"SSDT") && sums_to_zero(&table));
    for word in ["_SB_CPUSC000", "_SB_CPUSC00F", "_CST", "_PSS"] {
        let found = table.windows(word.len()).any(|window| window == word.as_bytes());
        assert!(found, "{word}");
    }
    assert!(power::table_of(&Machine::named("snc2-linear").unwrap()).is_none());
}

#[test]
fn lengths_are_written_as_the_specification_says() {
    // A name of one byte's value: opcode, four letters, byte prefix, value.
    assert_eq!(aml::name("_PPC", &aml::integer(7)), [8, b'_', b'P', b'P', b'C', 0x0a, 7]);
    assert_eq!(aml::package(&[aml::integer(1)]), [0x12, 3, 1, 1]);
    let long = aml::package(&[vec![0; 62]]);
    assert_eq!(long[..3], [0x12, 0x41, 4], "65 bytes: low four bits first, then the rest");
    assert_eq!(long.len(), 1 + 65);
    let longer = aml::package(&[vec![0; 5000]]);
    assert_eq!(longer[1] >> 6, 2, "two bytes more");
    let total =
        usize::from(longer[1] & 0xf) | usize::from(longer[2]) << 4 | usize::from(longer[3]) << 12;
    assert_eq!(total + 1, longer.len());
}

#[test]
fn no_archive_without_a_table() {
    assert!(archive(&Machine::named("snc2-linear").unwrap()).is_none());
    let archive = archive(&Machine::named("snc2-round-robin").unwrap()).unwrap();
    let text = String::from_utf8_lossy(&archive);
    assert!(text.contains("kernel/firmware/acpi/madt.aml"));
    assert!(text.contains("kernel/firmware/acpi/power.aml"));
}
