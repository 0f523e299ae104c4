// SPDX-License-Identifier: MIT OR Apache-2.0
//! The largest read request of a PCI function, in its configuration space.
//!
//! `PCI_EXP_DEVCTL` (include/uapi/linux/pci_regs.h) is a register of 16 bits, 8 bytes behind the
//! begin of the Express capability; its bits 14:12 are the largest read request, 128 << n bytes.

use rustix::io::Errno;

/// `PCI_CAPABILITY_LIST`, `PCI_CAP_ID_EXP`, `PCI_EXP_DEVCTL`.
const FIRST: usize = 0x34;
const EXPRESS: u8 = 0x10;
const CONTROL: usize = 8;
/// Capabilities lie between the header and the end of the space that PCI had.
const SPACE: usize = 256;
const HEADER: usize = 64;

/// Device control as read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Control {
    /// Where it lies.
    pub(crate) offset: u64,
    /// Its bits.
    pub(crate) bits: u16,
}

impl Control {
    /// Finds it in the first bytes of configuration space.
    ///
    /// # Errors
    /// ENODEV for a device that is gone, EPERM where only the header may be read, EOPNOTSUPP for a
    /// function without the capability.
    pub(crate) fn find(space: &[u8]) -> Result<Self, Errno> {
        if space.get(..2).is_none_or(|vendor| vendor == [0xff, 0xff]) {
            return Err(Errno::NODEV);
        }
        if space.len() <= HEADER {
            return Err(Errno::PERM);
        }
        let at = capability(space).ok_or(Errno::OPNOTSUPP)? + CONTROL;
        let half = space.get(at..at + 2).and_then(|bytes| <[u8; 2]>::try_from(bytes).ok());
        let bits = half.map(u16::from_le_bytes).ok_or(Errno::OPNOTSUPP)?;
        Ok(Self { offset: at as u64, bits })
    }

    /// The largest read request in bytes.
    pub(crate) fn read_request(self) -> u32 {
        128 << (self.bits >> 12 & 7)
    }

    /// The largest payload in bytes.
    pub(crate) fn payload(self) -> u32 {
        128 << (self.bits >> 5 & 7)
    }

    /// The same with another largest read request; none for a size that there is not.
    pub(crate) fn with_read_request(self, bytes: u32) -> Option<Self> {
        let code = (0..=5_u16).find(|code| 128 << code == bytes)?;
        Some(Self { bits: self.bits & !(7 << 12) | code << 12, ..self })
    }
}

/// Walks the list of capabilities, which may loop or run astray.
fn capability(space: &[u8]) -> Option<usize> {
    let mut at = usize::from(*space.get(FIRST)?) & !3;
    for _ in 0..SPACE / 4 {
        if at < HEADER {
            return None;
        }
        if *space.get(at)? == EXPRESS {
            return Some(at);
        }
        at = usize::from(*space.get(at + 1)?) & !3;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn space() -> Vec<u8> {
        let mut space = vec![0; SPACE];
        space[0] = 0x86;
        space[FIRST] = 0x40;
        space[0x40..0x42].copy_from_slice(&[0x01, 0x70]);
        space[0x70..0x72].copy_from_slice(&[EXPRESS, 0]);
        space[0x78..0x7a].copy_from_slice(&0x2936_u16.to_le_bytes());
        space
    }

    #[test]
    fn only_three_bits_change() {
        let control = Control::find(&space()).unwrap();
        assert_eq!((control.offset, control.read_request(), control.payload()), (0x78, 512, 256));
        let other = control.with_read_request(4096).unwrap();
        assert_eq!(other.bits, 0x5936);
        assert_eq!(other.with_read_request(512).unwrap(), control);
        for odd in [0, 64, 1000, 8192] {
            assert_eq!(control.with_read_request(odd), None);
        }
    }

    #[test]
    fn what_has_no_such_register_says_so() {
        assert_eq!(Control::find(&[0xff; 256]), Err(Errno::NODEV));
        assert_eq!(Control::find(&[]), Err(Errno::NODEV));
        assert_eq!(Control::find(&space()[..64]), Err(Errno::PERM));
        let mut looped = space();
        looped[0x41] = 0x40;
        assert_eq!(Control::find(&looped), Err(Errno::OPNOTSUPP));
    }

    proptest! {
        #[test]
        fn any_space_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Control::find(&bytes);
        }
    }
}
