// SPDX-License-Identifier: MIT OR Apache-2.0
//! ACPI tables that the guest's kernel takes instead of, or beside, QEMU's.
//!
//! Linux looks into an uncompressed cpio in front of the initramfs, in `kernel/firmware/acpi`, and
//! takes a table in place of the firmware's where signature, OEM id and OEM table id are equal and
//! the OEM revision is higher; others it adds (Documentation/admin-guide/acpi/
//! initrd_table_override.rst).

mod aml;
mod madt;
mod power;

use crate::cpio::Archive;
use crate::machine::{Machine, Numbering};

/// The archive for a machine; none where QEMU's own tables will do.
pub fn archive(machine: &Machine) -> Option<Vec<u8>> {
    let mut tables = Vec::new();
    if machine.cpus.numbering == Numbering::RoundRobin {
        tables.push(("madt.aml", madt::table_of(&machine.cpus)));
    }
    if let Some(table) = power::table_of(machine) {
        tables.push(("power.aml", table));
    }
    if tables.is_empty() {
        return None;
    }
    let mut archive = Archive::new();
    for folder in ["kernel", "kernel/firmware", "kernel/firmware/acpi"] {
        archive.folder(folder);
    }
    for (name, table) in tables {
        archive.file(&format!("kernel/firmware/acpi/{name}"), 0o644, &table);
    }
    Some(archive.finish())
}

/// Who a table says it is from.
struct Identity {
    signature: [u8; 4],
    revision: u8,
    oem: [u8; 6],
    table: [u8; 8],
    oem_revision: u32,
}

/// A table with its header and checksum (ACPI 6.5, 5.2.6).
fn table(identity: &Identity, body: &[u8]) -> Vec<u8> {
    const HEADER: usize = 36;
    const CHECKSUM: usize = 9;
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    let mut table = Vec::with_capacity(HEADER + body.len());
    table.extend(identity.signature);
    table.extend(length.to_le_bytes());
    table.extend([identity.revision, 0]);
    table.extend(identity.oem);
    table.extend(identity.table);
    table.extend(identity.oem_revision.to_le_bytes());
    table.extend(*b"LAB ");
    table.extend(1_u32.to_le_bytes());
    table.extend(body);
    let sum = table.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    table[CHECKSUM] = sum.wrapping_neg();
    table
}

#[cfg(test)]
mod tests;
