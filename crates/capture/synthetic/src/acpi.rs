// SPDX-License-Identifier: MIT OR Apache-2.0
//! `/sys/firmware/acpi/tables`: MADT, SRAT, SLIT, FADT and the signs of an IOMMU, with right
//! lengths and checksums.
//!
//! Layouts are those of the ACPI Specification 6.5: 5.2.6 (header), 5.2.9 (FADT), 5.2.12 (MADT),
//! 5.2.16 (SRAT), 5.2.17 (SLIT).

use crate::node::{distance, fitted_mib};
use crate::topology::Topology;
use crate::{Description, Tree};

const TABLES: &str = "/sys/firmware/acpi/tables";
/// Bytes of the header that all tables share.
const HEADER: usize = 36;
/// IAPC_BOOT_ARCH of the FADT, and its bit for "do not enable ASPM".
const BOOT_ARCH: usize = 109;
const NO_ASPM: u16 = 1 << 4;
/// APIC ids above this need x2APIC structures.
const LAST_APIC: u32 = 254;

pub(crate) fn write(tree: &mut Tree, description: &Description, topology: &Topology) {
    let mut put = |name: &str, revision: u8, body: Vec<u8>| {
        let bytes = table(name, revision, &body);
        tree.text_with_mode(format!("{TABLES}/{name}"), bytes, 0o400);
    };
    put("APIC", 5, madt(topology));
    put("SRAT", 3, srat(description, topology));
    put("SLIT", 1, slit(description));
    put("FACP", 6, fadt(description));
    put("MCFG", 1, mcfg());
    match description.host.iommu.as_deref() {
        // Host address width of 52 bits less one; bit 0: interrupt remapping.
        Some("intel") => put("DMAR", 1, [&[51, 1][..], &[0; 10]].concat()),
        Some("amd") => put("IVRS", 2, vec![0; 12]),
        _ => {}
    }
    if !description.memory_only.is_empty() {
        put("HMAT", 2, vec![0; 4]);
    }
}

/// A whole table: the header, the body, and a checksum that makes all bytes sum to 0.
fn table(signature: &str, revision: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    let mut bytes = signature.as_bytes().to_vec();
    bytes.extend(length.to_le_bytes());
    bytes.extend([revision, 0]);
    bytes.extend(b"SYNTH NEARSIDE");
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(b"NEAR");
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(body);
    let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    if let Some(checksum) = bytes.get_mut(9) {
        *checksum = sum.wrapping_neg();
    }
    bytes
}

/// Local APIC and x2APIC structures in the order of CPU numbers, then an I/O APIC.
fn madt(topology: &Topology) -> Vec<u8> {
    let mut body = [0xfee0_0000_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat();
    for cpu in &topology.cpus {
        match u8::try_from(cpu.apic) {
            Ok(id) if cpu.apic <= LAST_APIC => {
                let processor = u8::try_from(cpu.cpu).unwrap_or(u8::MAX);
                body.extend([0, 8, processor, id]);
                body.extend(1_u32.to_le_bytes());
            }
            _ => {
                body.extend([9, 16, 0, 0]);
                body.extend(cpu.apic.to_le_bytes());
                body.extend(1_u32.to_le_bytes());
                body.extend(cpu.cpu.to_le_bytes());
            }
        }
    }
    body.extend([1, 12, 8, 0]);
    body.extend(0xfec0_0000_u32.to_le_bytes());
    body.extend(0_u32.to_le_bytes());
    body
}

fn srat(description: &Description, topology: &Topology) -> Vec<u8> {
    let mut body = [&1_u32.to_le_bytes()[..], &[0; 8]].concat();
    for cpu in &topology.cpus {
        match u8::try_from(cpu.apic) {
            Ok(id) if cpu.apic <= LAST_APIC => {
                let [low, rest @ ..] = cpu.node.to_le_bytes();
                body.extend([0, 16, low, id]);
                body.extend(1_u32.to_le_bytes());
                body.push(0);
                body.extend(rest);
                body.extend([0; 4]);
            }
            _ => {
                body.extend([2, 24, 0, 0]);
                body.extend(cpu.node.to_le_bytes());
                body.extend(cpu.apic.to_le_bytes());
                body.extend(1_u32.to_le_bytes());
                body.extend([0; 8]);
            }
        }
    }
    // Memory from 4 GiB up, node after node.
    let mut base = 1_u64 << 32;
    for node in 0..description.node_count() {
        let bytes = fitted_mib(description, node) << 20;
        body.extend([1, 40]);
        body.extend(node.to_le_bytes());
        body.extend([0; 2]);
        body.extend(base.to_le_bytes());
        body.extend(bytes.to_le_bytes());
        body.extend([0; 4]);
        body.extend(u32::from(bytes > 0).to_le_bytes());
        body.extend([0; 8]);
        base = base.saturating_add(bytes);
    }
    body
}

fn slit(description: &Description) -> Vec<u8> {
    let count = description.node_count();
    let rows = (0..count).flat_map(|a| (0..count).map(move |b| distance(description, a, b)));
    u64::from(count).to_le_bytes().into_iter().chain(rows).collect()
}

/// 276 bytes of revision 6; only what readers ask for is set.
fn fadt(description: &Description) -> Vec<u8> {
    let mut body = vec![0; 276 - HEADER];
    let flags = if description.host.forbids_aspm { NO_ASPM } else { 0 };
    let place = BOOT_ARCH - HEADER;
    if let Some(bytes) = body.get_mut(place..place + 2) {
        bytes.copy_from_slice(&flags.to_le_bytes());
    }
    body
}

/// One segment with all 256 buses.
fn mcfg() -> Vec<u8> {
    let mut body = vec![0; 8];
    body.extend(0xe000_0000_u64.to_le_bytes());
    body.extend([0, 0, 0, 255, 0, 0, 0, 0]);
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_sum_to_zero_and_know_their_length() {
        for body in [vec![], vec![1, 2, 3], vec![0xff; 300]] {
            let bytes = table("SRAT", 3, &body);
            assert_eq!(bytes.len(), HEADER + body.len());
            assert_eq!(bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)), 0);
            let length = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
            assert_eq!(length as usize, bytes.len());
        }
    }

    #[test]
    fn srat_entries_have_their_stated_length() {
        for name in crate::names() {
            let description = crate::parse(crate::named(name).unwrap()).unwrap();
            let topology = Topology::new(&description);
            let body = srat(&description, &topology);
            let mut at = 12;
            let mut entries = 0;
            while at < body.len() {
                at += usize::from(body[at + 1]);
                entries += 1;
            }
            assert_eq!(at, body.len(), "{name}");
            assert_eq!(entries, topology.cpus.len() + description.node_count() as usize);
        }
    }
}
