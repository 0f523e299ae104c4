// SPDX-License-Identifier: MIT OR Apache-2.0
//! PCI configuration space: the capability lists, and the registers that matter for throughput.
//!
//! Offsets and bits are those of the PCI Express Base Specification (and of the kernel's
//! `include/uapi/linux/pci_regs.h`, named beside each). The bytes come from a device, or from a
//! file that a stranger made: lists may loop, run backwards or point past the end.

use machine::{Ability, AcsRedirect, AspmStates, ConfigSpace, Fact, L1Substates, PortKind, Why};

/// What a user without `CAP_SYS_ADMIN` may read (`pci_read_config` in the kernel's
/// `drivers/pci/pci-sysfs.c`).
const HEADER: usize = 64;
/// Where extended capabilities begin (`PCI_CFG_SPACE_SIZE`).
const EXTENDED: usize = 256;
/// All there is (`PCI_CFG_SPACE_EXP_SIZE`).
const WHOLE: usize = 4096;

/// So many bytes tell whether there are extended capabilities.
pub(super) const HEAD: usize = EXTENDED + 4;

/// `PCI_CAP_ID_EXP`.
const EXPRESS: u8 = 0x10;
/// `PCI_CAP_ID_SSVID`.
const SUBSYSTEM: u8 = 0x0d;
/// `PCI_EXT_CAP_ID_ERR`.
const AER: u16 = 0x01;
/// `PCI_EXT_CAP_ID_ACS`.
const ACS: u16 = 0x0d;
/// `PCI_EXT_CAP_ID_L1SS`.
const L1_SUBSTATES: u16 = 0x1e;

/// Configuration space as read, and where its interesting capabilities are.
#[derive(Debug)]
pub(crate) struct Config<'a> {
    bytes: &'a [u8],
    express: Fact<usize>,
    aer: Fact<usize>,
    acs: Fact<usize>,
    l1_substates: Fact<usize>,
}

impl<'a> Config<'a> {
    /// Finds the capabilities in `bytes` of configuration space, however few or odd they are.
    pub(crate) fn parse(bytes: &'a [u8]) -> Self {
        let express = find_capability(bytes, EXPRESS);
        let [aer, acs, l1_substates] = find_extended(bytes, &express, [AER, ACS, L1_SUBSTATES]);
        Self { bytes, express, aer, acs, l1_substates }
    }

    /// Vendor id; 0xffff for a virtual function, which has none of its own.
    pub(crate) fn vendor(&self) -> Option<u16> {
        half(self.bytes, 0)
    }

    /// Device id.
    pub(crate) fn device(&self) -> Option<u16> {
        half(self.bytes, 2)
    }

    /// Revision.
    pub(crate) fn revision(&self) -> Option<u8> {
        self.bytes.get(8).copied()
    }

    /// Class, subclass, programming interface.
    pub(crate) fn class(&self) -> Option<(u8, u8, u8)> {
        let at = |offset| self.bytes.get(offset).copied();
        Some((at(0x0b)?, at(0x0a)?, at(0x09)?))
    }

    /// Subsystem vendor and device: in the header of an endpoint, in a capability of a bridge
    /// (`PCI_CAP_ID_SSVID`), in the longer header of a bridge to CardBus.
    pub(crate) fn subsystem(&self) -> Option<(u16, u16)> {
        let at = match self.bytes.get(0x0e)? & 0x7f {
            0 => 0x2c,
            1 => find_capability(self.bytes, SUBSYSTEM).ok()? + 4,
            2 => 0x40,
            _ => return None,
        };
        Some((half(self.bytes, at)?, half(self.bytes, at + 2)?))
    }

    /// A 16-bit register of the Express capability.
    fn express_half(&self, offset: usize) -> Fact<u16> {
        half(self.bytes, self.express.clone()? + offset).ok_or_else(|| beyond(self.bytes))
    }

    /// A 32-bit register of the Express capability.
    fn express_word(&self, offset: usize) -> Fact<u32> {
        word(self.bytes, self.express.clone()? + offset).ok_or_else(|| beyond(self.bytes))
    }

    /// Bits 7:4 of `PCI_EXP_FLAGS`.
    pub(crate) fn port_kind(&self) -> Fact<PortKind> {
        let kind = self.express_half(2)? >> 4 & 0xf;
        Ok(match kind {
            0 => PortKind::Endpoint,
            1 => PortKind::LegacyEndpoint,
            4 => PortKind::Root,
            5 => PortKind::Upstream,
            6 => PortKind::Downstream,
            7 | 8 => PortKind::Bridge,
            9 => PortKind::Integrated,
            10 => PortKind::EventCollector,
            _ => return Err(Why::Unparsed(format!("Express type {kind}"))),
        })
    }

    /// Link capabilities, control and status.
    pub(crate) fn link(&self) -> Fact<LinkRegisters> {
        let capabilities = self.express_word(0x0c)?;
        let control_status = self.express_word(0x10)?;
        // Version 1 of the capability ends before the second set of registers.
        let second = self.express_half(2)? & 0xf >= 2;
        let speeds = if second { self.express_word(0x2c).unwrap_or(0) } else { 0 };
        let substates = self.l1_substates.clone();
        let l1_substates = substates.and_then(|at| {
            word(self.bytes, at + 8).ok_or(Why::Absent).map(|control| {
                // PCI_L1SS_CTL1: bits 0 and 2 are L1.2 (PCI-PM, ASPM), bits 1 and 3 are L1.1.
                L1Substates { l1_1: control & 0b1010 != 0, l1_2: control & 0b0101 != 0 }
            })
        });
        Ok(LinkRegisters { capabilities, control_status, speeds, l1_substates })
    }

    /// Whether the port's slot can be hot-plugged: slot implemented (`PCI_EXP_FLAGS_SLOT`) and
    /// `PCI_EXP_SLTCAP_HPC`.
    pub(crate) fn hot_plug(&self) -> bool {
        let slot = self.express_half(2).is_ok_and(|flags| flags & 0x100 != 0);
        slot && self.express_word(0x14).is_ok_and(|capabilities| capabilities & 0x40 != 0)
    }

    /// The registers that matter for throughput.
    pub(crate) fn registers(&self) -> ConfigSpace {
        let control = self.express_half(8);
        let capabilities = self.express_word(4);
        let bit = |fact: &Fact<u16>, bit: u16| fact.clone().map(|value| value >> bit & 1 == 1);
        let supported = capabilities.clone().map(|value| value >> 5 & 1 == 1);
        ConfigSpace {
            mps: control.clone().and_then(|value| payload(value >> 5 & 7)),
            mps_supported: capabilities.and_then(|value| payload(low_half(value) & 7)),
            mrrs: control.clone().and_then(|value| payload(value >> 12 & 7)),
            extended_tags: supported.and_then(|supported| {
                bit(&control, 8).map(|enabled| Ability { supported, enabled })
            }),
            ten_bit_tags: self.ten_bit_tags(),
            relaxed_ordering: bit(&control, 4),
            acs_redirect: self.acs_redirect(),
            aer: present(&self.aer).map(|at| at.is_some()),
            aer_totals: Err(Why::Absent),
        }
    }

    /// `PCI_EXP_DEVCAP2` bit 17 and `PCI_EXP_DEVCTL2` bit 12: 10-bit tags as a requester.
    fn ten_bit_tags(&self) -> Fact<Ability> {
        if self.express_half(2)? & 0xf < 2 {
            return Ok(Ability { supported: false, enabled: false });
        }
        let (capabilities, control) = (self.express_word(0x24)?, self.express_half(0x28)?);
        let (supported, enabled) = (capabilities >> 17 & 1 == 1, control >> 12 & 1 == 1);
        Ok(Ability { supported, enabled })
    }

    /// `PCI_ACS_CTRL` bits 2 and 3.
    fn acs_redirect(&self) -> Fact<Option<AcsRedirect>> {
        let Some(at) = present(&self.acs)? else { return Ok(None) };
        let control = half(self.bytes, at + 6).ok_or_else(|| beyond(self.bytes))?;
        let (requests, completions) = (control & 4 != 0, control & 8 != 0);
        Ok(Some(AcsRedirect { requests, completions }))
    }
}

/// Registers of a link's end.
#[derive(Debug, Clone)]
pub(crate) struct LinkRegisters {
    capabilities: u32,
    control_status: u32,
    speeds: u32,
    /// L1 substates that are on.
    pub(crate) l1_substates: Fact<L1Substates>,
}

impl LinkRegisters {
    /// Generation now (`PCI_EXP_LNKSTA_CLS`); 0 when there is no link.
    pub(crate) fn generation(&self) -> u8 {
        field(self.control_status, 16, 0xf)
    }

    /// Lanes now (`PCI_EXP_LNKSTA_NLW`); 0 when there is no link.
    pub(crate) fn width(&self) -> u8 {
        field(self.control_status, 20, 0x3f)
    }

    /// Generation at best: the highest of the supported speeds (`PCI_EXP_LNKCAP2_SLS`), as the
    /// kernel's `pcie_get_speed_cap` has it, else `PCI_EXP_LNKCAP_SLS`.
    pub(crate) fn best_generation(&self) -> u8 {
        let vector = field(self.speeds, 1, 0x7f);
        match vector.checked_ilog2() {
            Some(highest) => u8::try_from(highest + 1).unwrap_or(0),
            None => field(self.capabilities, 0, 0xf),
        }
    }

    /// Lanes at best (`PCI_EXP_LNKCAP_MLW`).
    pub(crate) fn best_width(&self) -> u8 {
        field(self.capabilities, 4, 0x3f)
    }

    /// ASPM states supported (`PCI_EXP_LNKCAP_ASPMS`): (L0s, L1).
    pub(crate) fn aspm_supported(&self) -> AspmStates {
        AspmStates { l0s: self.capabilities >> 10 & 1 == 1, l1: self.capabilities >> 11 & 1 == 1 }
    }

    /// ASPM states enabled (`PCI_EXP_LNKCTL_ASPMC`).
    pub(crate) fn aspm_enabled(&self) -> AspmStates {
        AspmStates { l0s: self.control_status & 1 == 1, l1: self.control_status >> 1 & 1 == 1 }
    }
}

/// Whether there is more to read behind the first [`HEAD`] bytes.
pub(super) fn goes_on(head: &[u8]) -> bool {
    word(head, EXTENDED).is_some_and(|header| !matches!(header, 0 | u32::MAX))
}

/// The offset of a capability in the list of the first 256 bytes.
fn find_capability(bytes: &[u8], wanted: u8) -> Fact<usize> {
    let status = half(bytes, 6).ok_or_else(|| beyond(bytes))?;
    if status & 0x10 == 0 {
        return Err(Why::NotSupported);
    }
    // Bridges to CardBus keep the pointer elsewhere (PCI_CB_CAPABILITY_LIST).
    let pointer = match bytes.get(0x0e).map(|header| header & 0x7f) {
        Some(2) => 0x14,
        _ => 0x34,
    };
    let mut next = bytes.get(pointer).copied().ok_or_else(|| beyond(bytes))?;
    // 48 capabilities of 4 bytes fill the space: a longer list is a loop.
    for _ in 0..48 {
        let at = usize::from(next & !3);
        if at < HEADER {
            return Err(Why::NotSupported);
        }
        let entry = half(bytes, at).ok_or_else(|| beyond(bytes))?;
        let [id, following] = entry.to_le_bytes();
        match id {
            0xff => return Err(Why::NotSupported),
            id if id == wanted => return Ok(at),
            _ => next = following,
        }
    }
    Err(Why::Failed("the capability list loops".to_owned()))
}

/// Offsets of extended capabilities, the first of each id.
fn find_extended<const N: usize>(
    bytes: &[u8],
    express: &Fact<usize>,
    wanted: [u16; N],
) -> [Fact<usize>; N] {
    let missing = express.as_ref().err().cloned().unwrap_or(Why::NotSupported);
    let mut found = wanted.map(|_| Err(missing.clone()));
    if express.is_err() {
        return found;
    }
    let mut at = EXTENDED;
    // Capabilities of 8 bytes at least fill the space: a longer list is a loop.
    for _ in 0..(WHOLE - EXTENDED) / 8 {
        let Some(header) = word(bytes, at) else {
            // Past the end of a cut file anything may follow.
            found
                .iter_mut()
                .filter(|slot| slot.is_err())
                .for_each(|slot| *slot = Err(beyond(bytes)));
            break;
        };
        if matches!(header, 0 | u32::MAX) {
            break;
        }
        for (id, slot) in wanted.iter().zip(&mut found) {
            if slot.is_err() && low_half(header) == *id {
                *slot = Ok(at);
            }
        }
        // The two lowest bits are reserved and ignored.
        at = usize::from(field_half(header, 20) & !3);
        if at < EXTENDED {
            break;
        }
    }
    found
}

/// Where the PCI Express capability is.
pub(crate) fn express(bytes: &[u8]) -> Fact<usize> {
    find_capability(bytes, EXPRESS)
}

/// Where an extended capability is.
pub(crate) fn extended(bytes: &[u8], id: u16) -> Fact<usize> {
    let [at] = find_extended(bytes, &express(bytes), [id]);
    at
}

/// A capability that the device does not have is a fact; one that could not be looked for is not.
fn present(place: &Fact<usize>) -> Fact<Option<usize>> {
    match place {
        Ok(at) => Ok(Some(*at)),
        Err(Why::NotSupported) => Ok(None),
        Err(why) => Err(why.clone()),
    }
}

/// Why there is nothing at an offset past the end of what was read.
fn beyond(bytes: &[u8]) -> Why {
    match bytes.len() {
        0 => Why::Absent,
        HEADER => Why::Denied,
        // The kernel offers only this much for a device whose extended space cannot be reached.
        EXTENDED => Why::NotSupported,
        other => Why::Failed(format!("configuration space is cut at {other} bytes")),
    }
}

/// 128 bytes shifted by the register's three bits; 6 and 7 are reserved.
fn payload(code: u16) -> Fact<u16> {
    if code < 6 { Ok(128 << code) } else { Err(Why::Unparsed(format!("payload code {code}"))) }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn low_half(word: u32) -> u16 {
    field_half(word, 0)
}

fn field_half(word: u32, shift: u32) -> u16 {
    u16::try_from(word >> shift & 0xffff).unwrap_or(0)
}

fn field(word: u32, shift: u32, mask: u32) -> u8 {
    u8::try_from(word >> shift & mask).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An endpoint with an Express capability at 0x40 and an ACS capability at 0x100.
    fn space() -> Vec<u8> {
        let mut bytes = vec![0; WHOLE];
        let mut put = |at: usize, text: &[u8]| bytes[at..at + text.len()].copy_from_slice(text);
        put(0, &[0x86, 0x80, 0x30, 0x20, 0, 0, 0x10, 0, 4, 0, 4, 6]);
        put(0x34, &[0x40]);
        put(0x40, &[EXPRESS, 0, 0x42, 0x01]);
        put(0x44, &0x0000_8022_u32.to_le_bytes());
        put(0x48, &0x2950_u16.to_le_bytes());
        put(0x4c, &0x0040_f845_u32.to_le_bytes());
        put(0x50, &0x1044_0002_u32.to_le_bytes());
        put(0x54, &0x0000_0040_u32.to_le_bytes());
        put(0x64, &0x0003_0000_u32.to_le_bytes());
        put(0x68, &0x1000_u16.to_le_bytes());
        put(0x6c, &0x0000_003e_u32.to_le_bytes());
        put(0x100, &0x1101_000d_u32.to_le_bytes());
        put(0x106, &0x000c_u16.to_le_bytes());
        put(0x110, &0x0001_001e_u32.to_le_bytes());
        put(0x118, &0x0000_0008_u32.to_le_bytes());
        bytes
    }

    #[test]
    fn registers_are_decoded() {
        let bytes = space();
        let config = Config::parse(&bytes);
        assert_eq!(config.port_kind(), Ok(PortKind::Root));
        let registers = config.registers();
        assert_eq!((registers.mps, registers.mps_supported), (Ok(512), Ok(512)));
        assert_eq!((registers.mrrs, registers.relaxed_ordering), (Ok(512), Ok(true)));
        let on = Ability { supported: true, enabled: true };
        assert_eq!((registers.extended_tags, registers.ten_bit_tags), (Ok(on), Ok(on)));
        let both = AcsRedirect { requests: true, completions: true };
        assert_eq!(registers.acs_redirect, Ok(Some(both)));
        assert_eq!(registers.aer, Ok(false));
        let link = config.link().unwrap();
        assert_eq!((link.generation(), link.width()), (4, 4));
        assert_eq!((link.best_generation(), link.best_width()), (5, 4));
        assert_eq!(link.aspm_enabled(), AspmStates { l0s: false, l1: true });
        assert_eq!(link.l1_substates, Ok(L1Substates { l1_1: true, l1_2: false }));
        assert!(config.hot_plug());
    }

    #[test]
    fn a_user_who_is_not_root_is_denied() {
        let bytes = space();
        let config = Config::parse(&bytes[..HEADER]);
        assert_eq!(config.registers().mps, Err(Why::Denied));
        assert_eq!(config.registers().aer, Err(Why::Denied));
        assert_eq!(config.link().err(), Some(Why::Denied));
        assert_eq!(config.class(), Some((6, 4, 0)));
    }

    #[test]
    fn a_conventional_function_has_no_express_registers() {
        let mut bytes = space();
        bytes[6] = 0;
        let config = Config::parse(&bytes[..EXTENDED]);
        let registers = config.registers();
        assert_eq!(registers.mrrs, Err(Why::NotSupported));
        assert_eq!((registers.aer, registers.acs_redirect), (Ok(false), Ok(None)));
    }

    #[test]
    fn lists_that_loop_end() {
        let mut bytes = space();
        bytes[0x40] = 0x05;
        bytes[0x41] = 0x40;
        let looped = Err(Why::Failed("the capability list loops".to_owned()));
        assert_eq!(Config::parse(&bytes).port_kind(), looped);
        let mut bytes = space();
        bytes[0x112..0x114].copy_from_slice(&0x1001_u16.to_le_bytes());
        let config = Config::parse(&bytes);
        assert_eq!((config.registers().aer, config.acs.clone()), (Ok(false), Ok(0x100)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..5000)) {
            let config = Config::parse(&bytes);
            let registers = config.registers();
            prop_assert!(registers.mps.map_or(true, |size| (128..=4096).contains(&size)));
            prop_assert!(config.link().map_or(true, |link| link.width() < 64));
            let _ = (config.port_kind(), config.hot_plug());
        }

        #[test]
        fn any_list_in_a_space_ends(noise in proptest::collection::vec((64_usize..WHOLE, any::<u8>()), 0..400)) {
            let mut bytes = space();
            for (at, byte) in noise {
                bytes[at] = byte;
            }
            let _ = Config::parse(&bytes).registers();
        }
    }
}
