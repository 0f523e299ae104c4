// SPDX-License-Identifier: MIT OR Apache-2.0
//! The MADT: Linux numbers processors in the order in which it lists them.
//!
//! It is QEMU's own (`hw/i386/acpi-common.c`) but for the order. The boot processor is number 0
//! wherever it stands; here it always stands first.

use super::{Identity, table};
use crate::machine::Cpus;

/// Takes the place of QEMU's, whose revision is 1.
const IDENTITY: Identity = Identity {
    signature: *b"APIC",
    revision: 3,
    oem: *b"BOCHS ",
    table: *b"BXPC    ",
    oem_revision: 2,
};

const LOCAL_APIC: u32 = 0xfee0_0000;
const IO_APIC: u32 = 0xfec0_0000;
/// There is an 8259 too (PCAT_COMPAT).
const FLAGS: u32 = 1;
/// ISA interrupts that q35 wires as PCI ones: level-triggered, active high.
const PCI_INTERRUPTS: [u8; 4] = [5, 9, 10, 11];

pub(super) fn table_of(cpus: &Cpus) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(LOCAL_APIC.to_le_bytes());
    body.extend(FLAGS.to_le_bytes());
    for cpu in cpus.listed() {
        // The processor's UID in QEMU's DSDT is its place among the rising APIC ids.
        let place = cpus.in_place().iter().position(|other| *other == cpu).unwrap_or_default();
        let uid = u8::try_from(place).unwrap_or(u8::MAX);
        let apic = u8::try_from(cpus.apic_id(&cpu)).unwrap_or(u8::MAX);
        body.extend([0, 8, uid, apic, 1, 0, 0, 0]);
    }
    body.extend([1, 12, 0, 0]);
    body.extend(IO_APIC.to_le_bytes());
    body.extend(0_u32.to_le_bytes());
    body.extend(interrupt_override(0, 2, 0));
    for interrupt in PCI_INTERRUPTS {
        body.extend(interrupt_override(interrupt, interrupt.into(), 0xd));
    }
    // Every processor's LINT1 is the NMI.
    body.extend([4, 6, 0xff, 0, 0, 1]);
    table(&IDENTITY, &body)
}

/// An ISA interrupt that reaches the I/O APIC elsewhere or otherwise (ACPI 6.5, 5.2.12).
fn interrupt_override(source: u8, global: u32, flags: u16) -> Vec<u8> {
    let mut entry = vec![2, 10, 0, source];
    entry.extend(global.to_le_bytes());
    entry.extend(flags.to_le_bytes());
    entry
}
