// SPDX-License-Identifier: MIT OR Apache-2.0
//! Type 17, memory device: one a module or empty slot.

use machine::{Dimm, Fact, Why};
use units::Bytes;

use super::structure::Structure;

/// A module whose size may be unknown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Module {
    pub(super) dimm: Dimm,
    /// Bytes; 0 for an empty slot.
    pub(super) size: Fact<u64>,
}

pub(super) fn module(structure: &Structure<'_>) -> Option<Module> {
    if structure.kind != 17 {
        return None;
    }
    let dimm = Dimm {
        locator: structure.string(0x10).unwrap_or_default(),
        bank: structure.string(0x11).unwrap_or_default(),
        size: Bytes(0),
        rated_mts: speed(structure, 0x15, 0x54),
        configured_mts: speed(structure, 0x20, 0x58),
        kind: structure.byte(0x12).map_or("Unknown", kind).to_owned(),
    };
    Some(Module { dimm, size: size(structure) })
}

/// MiB, or KiB where bit 15 is set; 0x7fff sends to the extended size, in MiB (table 76).
fn size(structure: &Structure<'_>) -> Fact<u64> {
    match structure.word(0x0c) {
        None => Err(Why::Absent),
        Some(0xffff) => Err(Why::NotSupported),
        Some(0x7fff) => {
            let mib = structure.double(0x1c).ok_or(Why::Absent)? & 0x7fff_ffff;
            Ok(u64::from(mib) << 20)
        }
        Some(size) if size & 0x8000 != 0 => Ok(u64::from(size & 0x7fff) << 10),
        Some(size) => Ok(u64::from(size) << 20),
    }
}

/// MT/s; 0 is unknown, 0xffff sends to the extended speed.
fn speed(structure: &Structure<'_>, offset: usize, extended: usize) -> Fact<u32> {
    let speed = match structure.word(offset).ok_or(Why::Absent)? {
        0xffff => structure.double(extended).ok_or(Why::Absent)? & 0x7fff_ffff,
        speed => u32::from(speed),
    };
    if speed == 0 { Err(Why::NotSupported) } else { Ok(speed) }
}

/// Memory types (table 78).
fn kind(code: u8) -> &'static str {
    match code {
        0x03 => "DRAM",
        0x07 => "RAM",
        0x0f => "SDRAM",
        0x12 => "DDR",
        0x13 => "DDR2",
        0x14 => "DDR2 FB-DIMM",
        0x18 => "DDR3",
        0x1a => "DDR4",
        0x1b => "LPDDR",
        0x1c => "LPDDR2",
        0x1d => "LPDDR3",
        0x1e => "LPDDR4",
        0x1f => "Logical non-volatile device",
        0x20 => "HBM",
        0x21 => "HBM2",
        0x22 => "DDR5",
        0x23 => "LPDDR5",
        0x24 => "HBM3",
        _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::super::structure::{Structures, tests::structure};
    use super::*;

    fn with(fields: &[(usize, &[u8])], length: usize) -> Module {
        let mut body = vec![0; length - 4];
        for (offset, bytes) in fields {
            body[offset - 4..offset - 4 + bytes.len()].copy_from_slice(bytes);
        }
        let bytes = structure(17, &body, &["DIMM_P0_A0", "P0 CHANNEL A"]);
        module(&Structures(&bytes).next().unwrap()).unwrap()
    }

    #[test]
    fn a_ddr5_module_slowed_down() {
        let module = with(
            &[
                (0x0c, &[0xff, 0x7f]),
                (0x10, &[1, 2, 0x22]),
                (0x15, &[0xc0, 0x12]),
                (0x1c, &[0, 0, 1, 0]),
                (0x20, &[0x30, 0x11]),
            ],
            0x5c,
        );
        assert_eq!(module.size, Ok(64 << 30));
        assert_eq!((module.dimm.rated_mts, module.dimm.configured_mts), (Ok(4800), Ok(4400)));
        assert_eq!(
            (module.dimm.kind.as_str(), module.dimm.bank.as_str()),
            ("DDR5", "P0 CHANNEL A")
        );
    }

    #[test]
    fn sizes_and_speeds_that_are_not_plain() {
        assert_eq!(with(&[(0x0c, &[0x00, 0x82])], 0x28).size, Ok(512 << 10));
        assert_eq!(with(&[], 0x28).size, Ok(0));
        assert_eq!(with(&[(0x0c, &[0xff, 0xff])], 0x28).size, Err(Why::NotSupported));
        assert_eq!(with(&[(0x0c, &[0xff, 0x7f])], 0x15).size, Err(Why::Absent));
        let fast = with(&[(0x15, &[0xff, 0xff]), (0x54, &[0, 0, 1, 0])], 0x5c);
        assert_eq!(fast.dimm.rated_mts, Ok(65536));
        assert_eq!(fast.dimm.configured_mts, Err(Why::NotSupported));
        assert_eq!(with(&[], 0x15).dimm.configured_mts, Err(Why::Absent));
    }
}
