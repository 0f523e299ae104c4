// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parsers of the tables: every offset is checked, no length is believed.

use machine::{Fact, Why};

/// Signature, length, revision, checksum, OEM fields (ACPI 6.5, table 5.4).
const HEADER: usize = 36;

/// SLIT rows are of this many domains at most: 1,024 nodes are the kernel's own limit.
const MAX_DOMAINS: usize = 1024;

/// The table as long as it says it is, and the sum of its bytes modulo 256, which should be 0.
pub(crate) fn check<'a>(bytes: &'a [u8], name: &str) -> Fact<(&'a [u8], u8)> {
    if bytes.get(..4) != name.as_bytes().get(..4) {
        return Err(refused("another signature"));
    }
    let length = u32_at(bytes, 4).and_then(|length| usize::try_from(length).ok());
    let table =
        length.and_then(|length| bytes.get(..length)).ok_or_else(|| refused("cut short"))?;
    if table.len() < HEADER {
        return Err(refused("shorter than its header"));
    }
    let sum = table.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    Ok((table, sum))
}

/// APIC ids of enabled processors in MADT order; on ARM the ACPI processor ids, which is what the
/// SRAT names too. A processor listed both as local APIC and as x2APIC counts once.
pub(crate) fn madt(table: &[u8]) -> Fact<Vec<u32>> {
    let mut ids = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    // The local interrupt controller's address and flags follow the header.
    for entry in entries(table, HEADER + 8) {
        let (id, flags) = match entry.first() {
            Some(0) => (entry.get(3).copied().map(u32::from), u32_at(entry, 4)),
            Some(9) => (u32_at(entry, 4), u32_at(entry, 8)),
            Some(11) => (u32_at(entry, 8), u32_at(entry, 12)),
            _ => continue,
        };
        if let (Some(id), Some(flags)) = (id, flags)
            && flags & 1 == 1
            && seen.insert(id)
        {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// (APIC id, proximity domain) of enabled processors.
pub(crate) fn srat_cpus(table: &[u8]) -> Fact<Vec<(u32, u32)>> {
    let narrow = is_narrow(table);
    let affinity = |entry: &[u8]| {
        let (id, domain, flags) = match entry.first()? {
            0 => {
                let low = u32::from(*entry.get(2)?);
                let high = u32_at(entry, 8)? & 0xffff_ff00;
                let domain = if narrow { low } else { high | low };
                (u32::from(*entry.get(3)?), domain, u32_at(entry, 4)?)
            }
            2 => (u32_at(entry, 8)?, u32_at(entry, 4)?, u32_at(entry, 12)?),
            3 => (u32_at(entry, 6)?, u32_at(entry, 2)?, u32_at(entry, 10)?),
            _ => return None,
        };
        (flags & 1 == 1).then_some((id, domain))
    };
    Ok(entries(table, HEADER + 12).filter_map(affinity).collect())
}

/// (proximity domain, bytes) of enabled memory ranges.
pub(crate) fn srat_memory(table: &[u8]) -> Fact<Vec<(u32, u64)>> {
    let narrow = is_narrow(table);
    let range = |entry: &[u8]| {
        let domain = u32_at(entry, 2).filter(|_| entry.first() == Some(&1))?;
        let length = u64::from(u32_at(entry, 16)?) | u64::from(u32_at(entry, 20)?) << 32;
        let enabled = u32_at(entry, 28)? & 1 == 1;
        enabled.then_some((if narrow { domain & 0xff } else { domain }, length))
    };
    Ok(entries(table, HEADER + 12).filter_map(range).collect())
}

/// Before revision 2 domains have 8 bits, and what follows them is reserved
/// (drivers/acpi/numa/srat.c, `acpi_srat_revision`).
fn is_narrow(table: &[u8]) -> bool {
    table.get(8).is_some_and(|revision| *revision < 2)
}

/// Distances, row by row.
pub(crate) fn slit(table: &[u8]) -> Fact<Vec<Vec<u8>>> {
    let count = table.get(HEADER..HEADER + 8).and_then(|bytes| bytes.try_into().ok());
    let count = count.map(u64::from_le_bytes).and_then(|count| usize::try_from(count).ok());
    let count = count.filter(|count| (1..=MAX_DOMAINS).contains(count));
    let count = count.ok_or_else(|| refused("no sensible number of domains"))?;
    let all = table.get(HEADER + 8..).and_then(|rest| rest.get(..count * count));
    let all = all.ok_or_else(|| refused("fewer distances than domains ask for"))?;
    Ok(all.chunks(count).map(<[u8]>::to_vec).collect())
}

/// Bit 4 of IAPC_BOOT_ARCH: "PCIe ASPM Controls": the kernel must not enable ASPM.
pub(crate) fn fadt_no_aspm(table: &[u8]) -> Fact<bool> {
    let flags = table.get(109..111).and_then(|bytes| bytes.try_into().ok());
    // The first revision of the table ends before the field.
    flags.map(|bytes| u16::from_le_bytes(bytes) & 1 << 4 != 0).ok_or(Why::NotSupported)
}

/// The entries of a table: type and length in the first two bytes of each. An entry that would
/// not move on, or that reaches over the end, ends them.
fn entries(table: &[u8], from: usize) -> impl Iterator<Item = &[u8]> {
    let mut rest = table.get(from..).unwrap_or_default();
    std::iter::from_fn(move || {
        let length = usize::from(*rest.get(1)?);
        let entry = rest.get(..length).filter(|entry| entry.len() >= 2)?;
        rest = rest.get(length..)?;
        Some(entry)
    })
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let end = offset.checked_add(4)?;
    bytes.get(offset..end)?.try_into().ok().map(u32::from_le_bytes)
}

fn refused(what: &str) -> Why {
    Why::Unparsed(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(signature: &str, revision: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = signature.as_bytes().to_vec();
        let length = u32::try_from(HEADER + body.len()).unwrap();
        bytes.extend(length.to_le_bytes());
        bytes.push(revision);
        bytes.resize(HEADER, 0);
        bytes.extend(body);
        let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        bytes[9] = 0_u8.wrapping_sub(sum);
        bytes
    }

    #[test]
    fn madt_keeps_the_order_and_leaves_out_the_disabled() {
        let mut body = vec![0; 8];
        body.extend([0, 8, 0, 4, 1, 0, 0, 0]);
        body.extend([1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        body.extend([0, 8, 1, 6, 0, 0, 0, 0]);
        body.extend([0, 8, 2, 0, 1, 0, 0, 0]);
        body.extend([9, 16, 0, 0, 0x2c, 1, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0]);
        body.extend([9, 16, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0]);
        let bytes = table("APIC", 3, &body);
        let (checked, sum) = check(&bytes, "APIC").unwrap();
        assert_eq!((madt(checked), sum), (Ok(vec![4, 0, 300]), 0));
    }

    #[test]
    fn srat_domains_are_narrow_before_revision_2() {
        let mut body = vec![0; 12];
        body.extend([0, 16, 3, 5, 1, 0, 0, 0, 9, 1, 0, 0, 0, 0, 0, 0]);
        body.extend([2, 24, 0, 0, 7, 0, 0, 0, 0x90, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let mut range = vec![1, 40, 2, 1, 0, 0];
        range.resize(40, 0);
        range[20] = 2;
        range[28] = 1;
        body.extend(range);
        let narrow = table("SRAT", 1, &body);
        let wide = table("SRAT", 3, &body);
        assert_eq!(srat_cpus(&narrow), Ok(vec![(5, 3), (400, 7)]));
        assert_eq!(srat_cpus(&wide), Ok(vec![(5, 0x103), (400, 7)]));
        assert_eq!(srat_memory(&narrow), Ok(vec![(2, 8 << 30)]));
        assert_eq!(srat_memory(&wide), Ok(vec![(0x102, 8 << 30)]));
    }

    #[test]
    fn slit_needs_all_its_rows() {
        let mut body = 2_u64.to_le_bytes().to_vec();
        body.extend([10, 21, 21, 10]);
        assert_eq!(slit(&table("SLIT", 1, &body)), Ok(vec![vec![10, 21], vec![21, 10]]));
        assert!(slit(&table("SLIT", 1, &body[..11])).is_err());
        assert!(slit(&table("SLIT", 1, &u64::MAX.to_le_bytes())).is_err());
    }

    #[test]
    fn fadt_flag_or_unknown() {
        let mut body = vec![0; 111 - HEADER];
        assert_eq!(fadt_no_aspm(&table("FACP", 4, &body)), Ok(false));
        body[109 - HEADER] = 0x10;
        assert_eq!(fadt_no_aspm(&table("FACP", 4, &body)), Ok(true));
        assert_eq!(fadt_no_aspm(&table("FACP", 1, &body[..60])), Err(Why::NotSupported));
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let good = table("APIC", 3, &[0; 8]);
        assert!(check(&good, "SRAT").is_err());
        assert!(check(&good[..40], "APIC").is_err());
        assert!(check(b"APIC\x04\0\0\0", "APIC").is_err());
        let mut bad = good;
        bad[20] ^= 1;
        assert_ne!(check(&bad, "APIC").unwrap().1, 0);
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_are_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            for name in ["APIC", "SRAT", "SLIT", "FACP"] {
                bytes.splice(..bytes.len().min(4), name.bytes());
                if let Ok((table, _)) = check(&bytes, name) {
                    let _ = (madt(table), srat_cpus(table), srat_memory(table));
                    let _ = (slit(table), fadt_no_aspm(table));
                }
                let _ = (madt(&bytes), srat_cpus(&bytes), srat_memory(&bytes));
                let _ = (slit(&bytes), fadt_no_aspm(&bytes));
            }
        }
    }
}
