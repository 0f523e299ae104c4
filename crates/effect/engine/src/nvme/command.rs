// SPDX-License-Identifier: MIT OR Apache-2.0
//! The encoding of reads and writes.
//!
//! `struct nvme_uring_cmd` (include/uapi/linux/nvme_ioctl.h) around a command of the NVM Command Set
//! Specification 1.0, figures 24 and following: the first block in dwords 10 and 11, the number of
//! blocks less one in the low half of dword 12.

use record::Kind;

use crate::draw::Operation;

/// `NVME_URING_CMD_IO`: `_IOWR('N', 0x80, struct nvme_uring_cmd)`.
pub(crate) const IO: u32 = 0xc048_4e80;

/// A command with nothing behind it; io_uring has room for 80 bytes.
pub(crate) type Command = [u8; 80];

/// What commands of a namespace need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Namespace {
    /// Its number, from 1.
    pub(crate) number: u32,
    /// Bytes of a block, as a power of two.
    pub(crate) block_shift: u32,
    /// The longest that the controller takes at once, in bytes.
    pub(crate) longest: u32,
}

impl Namespace {
    /// The command of an operation whose memory is at an address. None for what it cannot do: a part
    /// of a block, more than the controller takes, or a trim, which has its ranges in memory.
    pub(crate) fn command(self, operation: &Operation, address: u64) -> Option<Command> {
        let Operation { kind, offset, bytes, .. } = *operation;
        let block = 1_u64.checked_shl(self.block_shift)?;
        let opcode: u8 = match kind {
            Kind::Read => 2,
            Kind::Write => 1,
            Kind::Trim | Kind::Mixed => return None,
        };
        let is_whole = offset % block == 0 && u64::from(bytes) % block == 0 && bytes > 0;
        let blocks = u64::from(bytes) >> self.block_shift;
        if !is_whole || bytes > self.longest || blocks > 1 << 16 {
            return None;
        }
        let first = offset >> self.block_shift;
        let (low, high) = (first & 0xffff_ffff, first >> 32);
        let mut command = [0; 80];
        let mut put = |at: usize, bytes: &[u8]| {
            command.iter_mut().skip(at).zip(bytes).for_each(|(byte, new)| *byte = *new);
        };
        put(0, &[opcode]);
        put(4, &self.number.to_le_bytes());
        put(24, &address.to_le_bytes());
        put(36, &bytes.to_le_bytes());
        put(40, &low.to_le_bytes()[..4]);
        put(44, &high.to_le_bytes()[..4]);
        put(48, &(blocks - 1).to_le_bytes()[..4]);
        Some(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMESPACE: Namespace = Namespace { number: 3, block_shift: 9, longest: 128 << 10 };

    fn operation(kind: Kind, offset: u64, bytes: u32) -> Operation {
        Operation { kind, file: 0, offset, bytes }
    }

    #[test]
    fn a_read_is_encoded_as_the_kernel_has_it() {
        let operation = operation(Kind::Read, (1 << 42) + 512, 4096);
        let command = NAMESPACE.command(&operation, 0x1122_3344_5566_7788).unwrap();
        let mut wanted = [0; 80];
        wanted[0] = 2;
        wanted[4] = 3;
        wanted[24..32].copy_from_slice(&0x1122_3344_5566_7788_u64.to_le_bytes());
        wanted[36..40].copy_from_slice(&4096_u32.to_le_bytes());
        // (2^42 + 512) / 512 = 2^33 + 1.
        wanted[40..44].copy_from_slice(&1_u32.to_le_bytes());
        wanted[44..48].copy_from_slice(&2_u32.to_le_bytes());
        wanted[48..52].copy_from_slice(&7_u32.to_le_bytes());
        assert_eq!(command, wanted);
        assert_eq!(NAMESPACE.command(&self::operation(Kind::Write, 0, 512), 0).unwrap()[0], 1);
    }

    #[test]
    fn what_a_namespace_cannot_do_has_no_command() {
        let cases = [
            ("a trim", operation(Kind::Trim, 0, 4096)),
            ("between blocks", operation(Kind::Read, 256, 512)),
            ("half a block", operation(Kind::Read, 0, 256)),
            ("nothing", operation(Kind::Read, 0, 0)),
            ("too long", operation(Kind::Read, 0, 256 << 10)),
        ];
        for (name, operation) in cases {
            assert_eq!(NAMESPACE.command(&operation, 0), None, "{name}");
        }
        let huge = Namespace { block_shift: 64, ..NAMESPACE };
        assert_eq!(huge.command(&operation(Kind::Read, 0, 512), 0), None);
    }
}
