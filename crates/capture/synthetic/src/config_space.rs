// SPDX-License-Identifier: MIT OR Apache-2.0
//! PCI configuration space, 4 KiB of it: header, power management, MSI-X, PCI Express, and the
//! extended capabilities AER, ACS, SR-IOV and L1 PM Substates.
//!
//! Offsets and bits are those of PCI Express Base Specification 6.0 chapter 7, named as in the
//! kernel's include/uapi/linux/pci_regs.h.

use crate::Lanes;

/// Size of the extended configuration space.
pub(crate) const SIZE: usize = 4096;

/// Kind of a PCI Express function, as the capability's Device/Port Type field has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortType {
    Endpoint = 0,
    RootPort = 4,
    Upstream = 5,
    Downstream = 6,
    /// Root-complex integrated endpoint: it has the capability, and no link.
    Integrated = 9,
}

/// What a function's registers are made of.
#[derive(Debug, Clone)]
pub(crate) struct Registers {
    pub(crate) id: [u16; 2],
    pub(crate) subsystem: [u16; 2],
    /// Class, subclass and interface in 24 bits.
    pub(crate) class: u32,
    pub(crate) revision: u8,
    pub(crate) multifunction: bool,
    /// Primary, secondary and subordinate bus of a bridge.
    pub(crate) buses: Option<[u8; 3]>,
    /// None for a conventional function.
    pub(crate) express: Option<Express>,
    /// MSI-X vectors; 0: no capability.
    pub(crate) vectors: u16,
    /// Virtual functions now and at most; none without the capability.
    pub(crate) virtual_functions: Option<[u16; 2]>,
}

/// The PCI Express capability.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Express {
    pub(crate) kind: PortType,
    pub(crate) now: Lanes,
    pub(crate) best: Lanes,
    /// L0s and L1 enabled.
    pub(crate) aspm: [bool; 2],
    pub(crate) mps: u16,
    pub(crate) mrrs: u16,
    pub(crate) relaxed_ordering: bool,
    pub(crate) extended_tags: bool,
    pub(crate) acs_redirect: bool,
    pub(crate) hot_plug: bool,
}

/// Bytes under construction; writes outside them are dropped.
struct Space(Vec<u8>);

impl Space {
    fn put(&mut self, offset: usize, bytes: &[u8]) {
        if let Some(place) = self.0.get_mut(offset..offset + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    fn put16(&mut self, offset: usize, value: u16) {
        self.put(offset, &value.to_le_bytes());
    }

    fn put32(&mut self, offset: usize, value: u32) {
        self.put(offset, &value.to_le_bytes());
    }
}

const PM: u8 = 0x40;
const MSIX: u8 = 0x50;
const EXPRESS: u8 = 0x70;
const AER: u16 = 0x100;
const ACS: u16 = 0x150;
const SRIOV: u16 = 0x160;
const L1SS: u16 = 0x1a0;

/// The 4,096 bytes (256 for a conventional function) that `config` holds.
pub(crate) fn bytes(registers: &Registers) -> Vec<u8> {
    let size = if registers.express.is_some() { SIZE } else { 256 };
    let mut space = Space(vec![0; size]);
    header(&mut space, registers);
    capabilities(&mut space, registers);
    if let Some(express) = &registers.express {
        express_capability(&mut space, usize::from(EXPRESS), express);
        extended(&mut space, registers, express);
    }
    space.0
}

fn header(space: &mut Space, registers: &Registers) {
    space.put16(0x00, registers.id[0]);
    space.put16(0x02, registers.id[1]);
    // Command: memory, bus master, INTx off. Status: capability list.
    space.put16(0x04, 0x0406);
    space.put16(0x06, 0x0010);
    space.put32(0x08, registers.class << 8 | u32::from(registers.revision));
    let bridge = u8::from(registers.buses.is_some());
    space.put(0x0c, &[16, 0, bridge | u8::from(registers.multifunction) << 7, 0]);
    space.put(0x34, &[PM]);
    match registers.buses {
        Some(buses) => {
            space.put(0x18, &buses);
            // I/O and prefetchable windows closed: base above limit.
            space.put(0x1c, &[0xf0, 0x00]);
            space.put32(0x24, 0x0001_fff1);
        }
        None => {
            space.put16(0x2c, registers.subsystem[0]);
            space.put16(0x2e, registers.subsystem[1]);
            space.put(0x3d, &[1]);
        }
    }
}

fn capabilities(space: &mut Space, registers: &Registers) {
    let express = registers.express.map_or(0, |_| EXPRESS);
    let after_pm = if registers.vectors > 0 { MSIX } else { express };
    // Power management 1.2 version 3, state D0, no soft reset.
    space.put(usize::from(PM), &[0x01, after_pm, 0x03, 0x00, 0x08, 0x00, 0x00, 0x00]);
    if registers.vectors > 0 {
        let base = usize::from(MSIX);
        space.put(base, &[0x11, express]);
        // Enable, and the table size less one in bits 10:0.
        space.put16(base + 2, 0x8000 | (registers.vectors - 1) & 0x07ff);
        space.put32(base + 4, 0x0000_2000);
        space.put32(base + 8, 0x0000_3000);
    }
}

fn express_capability(space: &mut Space, base: usize, express: &Express) {
    let port = matches!(express.kind, PortType::RootPort | PortType::Downstream);
    let slot = u16::from(port) << 8;
    space.put(base, &[0x10, 0x00]);
    space.put16(base + 0x02, 0x0002 | (express.kind as u16) << 4 | slot);
    // DevCap: 512 bytes supported (code 2), extended tags, role-based errors; FLR for endpoints.
    let flr = u32::from(express.kind == PortType::Endpoint) << 28;
    space.put32(base + 0x04, 2 | 1 << 5 | 1 << 15 | flr);
    let tags = u16::from(express.extended_tags) << 8;
    let order = u16::from(express.relaxed_ordering) << 4;
    let control =
        0x000f | order | code(express.mps) << 5 | tags | 1 << 11 | code(express.mrrs) << 12;
    space.put16(base + 0x08, control);
    if express.kind != PortType::Integrated {
        link(space, base, express, port);
    }
    // DevCap2: completion timeout ranges ABCD, 10-bit tag completer. DevCtl2: none.
    space.put32(base + 0x24, 0x0001_001f);
}

fn link(space: &mut Space, base: usize, express: &Express, port: bool) {
    let generation = u32::from(express.best.generation);
    // L1 is offered by every end, L0s by none that is faster than 5 GT/s.
    let l0s = u32::from(express.best.generation < 3 || express.aspm[0]) << 10;
    let ability = generation | u32::from(express.best.width) << 4 | l0s | 1 << 11;
    space.put32(base + 0x0c, ability | 4 << 15 | 1 << 22 | u32::from(port) << 20);
    space.put16(base + 0x10, u16::from(express.aspm[0]) | u16::from(express.aspm[1]) << 1 | 0x40);
    let now = u16::from(express.now.generation) | u16::from(express.now.width) << 4;
    space.put16(base + 0x12, now | 0x1000 | u16::from(port) << 13);
    if port {
        let hot_plug = u32::from(express.hot_plug) << 6 | u32::from(express.hot_plug) << 5;
        space.put32(base + 0x14, hot_plug | 75 << 7);
        // Presence detect.
        space.put16(base + 0x1a, 0x0040);
    }
    // Supported Link Speeds Vector: a bit for every speed up to the best.
    space.put32(base + 0x2c, ((1 << generation) - 1) << 1);
    space.put16(base + 0x30, u16::from(express.best.generation));
}

/// 128 is code 0, 256 is 1, ..., 4096 is 5 (Device Control, MPS and MRRS).
fn code(bytes: u16) -> u16 {
    u16::try_from((bytes / 128).max(1).ilog2().min(5)).unwrap_or(0)
}

fn extended(space: &mut Space, registers: &Registers, express: &Express) {
    let port = !matches!(express.kind, PortType::Endpoint | PortType::Integrated);
    let mut chain: Vec<(u16, u16, u32)> = vec![(AER, 0x0001, 2)];
    if port {
        chain.push((ACS, 0x000d, 1));
    }
    if registers.virtual_functions.is_some() {
        chain.push((SRIOV, 0x0010, 1));
    }
    if express.kind != PortType::Integrated {
        chain.push((L1SS, 0x001e, 1));
    }
    for (index, (offset, id, version)) in chain.iter().enumerate() {
        let next = chain.get(index + 1).map_or(0, |(next, _, _)| *next);
        let word = u32::from(*id) | version << 16 | u32::from(next) << 20;
        space.put32(usize::from(*offset), word);
    }
    if port {
        // Source validation, translation blocking, request and completion redirect, upstream
        // forwarding; redirect (bits 2 and 3) makes traffic between peers go up to the root.
        space.put16(usize::from(ACS) + 4, 0x001f);
        space.put16(usize::from(ACS) + 6, if express.acs_redirect { 0x001d } else { 0x0000 });
    }
    if let Some([now, most]) = registers.virtual_functions {
        sriov(space, usize::from(SRIOV), now, most);
    }
    if express.kind != PortType::Integrated {
        // PCI-PM L1.1 and L1.2, ASPM L1.1 and L1.2, L1 PM substates supported; none enabled.
        space.put32(usize::from(L1SS) + 4, 0x0028_1e1f);
    }
}

fn sriov(space: &mut Space, base: usize, now: u16, most: u16) {
    space.put16(base + 0x08, if now > 0 { 0x0009 } else { 0 });
    space.put16(base + 0x0c, most);
    space.put16(base + 0x0e, most);
    space.put16(base + 0x10, now);
    // First VF offset and stride.
    space.put16(base + 0x14, 16);
    space.put16(base + 0x16, 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(generation: u8, width: u8) -> Lanes {
        Lanes { generation, width }
    }

    fn registers() -> Registers {
        let express = Express {
            kind: PortType::Endpoint,
            now: lanes(4, 2),
            best: lanes(5, 4),
            aspm: [false, true],
            mps: 256,
            mrrs: 512,
            relaxed_ordering: true,
            extended_tags: false,
            acs_redirect: false,
            hot_plug: false,
        };
        Registers {
            id: [0x1344, 0x51c5],
            subsystem: [0x1344, 0x2000],
            class: 0x01_0802,
            revision: 1,
            multifunction: false,
            buses: None,
            express: Some(express),
            vectors: 129,
            virtual_functions: None,
        }
    }

    fn word(bytes: &[u8], offset: usize) -> u16 {
        u16::from_le_bytes([bytes[offset], bytes[offset + 1]])
    }

    #[test]
    fn registers_say_what_was_asked() {
        let bytes = bytes(&registers());
        assert_eq!(bytes.len(), SIZE);
        assert_eq!((word(&bytes, 0), word(&bytes, 2)), (0x1344, 0x51c5));
        assert_eq!(bytes[0x09..0x0c], [0x02, 0x08, 0x01]);
        assert_eq!(word(&bytes, 0x52) & 0x7ff, 128, "MSI-X table size is one less");
        let link_status = word(&bytes, 0x70 + 0x12);
        assert_eq!((link_status & 0xf, link_status >> 4 & 0x3f), (4, 2));
        let link_control = word(&bytes, 0x70 + 0x10);
        assert_eq!(link_control & 3, 2, "L1 on, L0s off");
        let control = word(&bytes, 0x78);
        assert_eq!((control >> 5 & 7, control >> 12 & 7, control >> 4 & 1), (1, 2, 1));
        assert_eq!(control >> 8 & 1, 0, "extended tags off");
    }

    #[test]
    fn the_capability_chain_ends() {
        let bytes = bytes(&registers());
        let mut seen = Vec::new();
        let mut next = usize::from(bytes[0x34]);
        while next != 0 && seen.len() < 10 {
            seen.push(bytes[next]);
            next = usize::from(bytes[next + 1]);
        }
        assert_eq!(seen, [0x01, 0x11, 0x10]);
    }
}
