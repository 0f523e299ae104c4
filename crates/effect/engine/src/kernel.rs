// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system calls of the engine that no safe crate offers.

use std::ffi::c_ulong;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// Binds memory to one node: `mbind(MPOL_BIND)`. It has to be before the pages are touched.
pub(crate) fn bind_memory(address: *mut u8, bytes: usize, node: u16) -> io::Result<()> {
    const BIND: c_ulong = 2;
    const LARGEST_NODE: u16 = 1023;
    if node > LARGEST_NODE {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut mask = [0_u64; 16];
    if let Some(word) = mask.get_mut(usize::from(node / 64)) {
        *word = 1 << (node % 64);
    }
    // One more than the number of bits: the kernel takes one off (mm/mempolicy.c, get_nodes).
    let bits: c_ulong = 16 * 64 + 1;
    let flags: c_ulong = 0;
    // SAFETY: the kernel reads 1,024 bits from the mask, which has them, and changes the policy of a
    // range of addresses (mbind(2)); it reads and writes nothing there, and refuses what is not mapped.
    let result =
        unsafe { libc::syscall(libc::SYS_mbind, address, bytes, BIND, mask.as_ptr(), bits, flags) };
    done(result).map(drop)
}

/// The node that the page at an address is on: `get_mempolicy(MPOL_F_NODE | MPOL_F_ADDR)`.
pub(crate) fn node_of(address: *const u8) -> io::Result<u16> {
    const NODE_OF_ADDRESS: c_ulong = 1 | 2;
    let mut node: libc::c_int = -1;
    let (mask, bits): (*mut u64, c_ulong) = (std::ptr::null_mut(), 0);
    // SAFETY: the kernel writes one int to the first pointer and, with a null mask, nothing else
    // (get_mempolicy(2)). It reads the address's page as the process itself could.
    let result = unsafe {
        let node = &raw mut node;
        libc::syscall(libc::SYS_get_mempolicy, node, mask, bits, address, NODE_OF_ADDRESS)
    };
    done(result)?;
    u16::try_from(node).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// Lets this thread's timers end when they are due: by default the kernel may delay them by 50 us so
/// that it wakes up less often (prctl(2), `PR_SET_TIMERSLACK`).
pub(crate) fn sharpen_timers() -> io::Result<()> {
    // SAFETY: two numbers and no pointer.
    let result = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as c_ulong) };
    done(result.into()).map(drop)
}

/// Discards bytes of a block device: `BLKDISCARD`.
pub(crate) fn discard(device: BorrowedFd<'_>, offset: u64, bytes: u64) -> io::Result<()> {
    /// `_IO(0x12, 119)` (include/uapi/linux/fs.h).
    const BLKDISCARD: c_ulong = 0x1277;
    let range = [offset, bytes];
    // SAFETY: the kernel reads two 64-bit numbers from the pointer, which has them.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), BLKDISCARD, range.as_ptr()) };
    done(result.into()).map(drop)
}

/// A part of a file and how it lies on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Where it begins in the file, in bytes.
    pub(crate) start: u64,
    /// Its length in bytes.
    pub(crate) bytes: u64,
    /// `FIEMAP_EXTENT_*` flags.
    pub(crate) flags: u32,
}

impl Extent {
    /// Nothing was ever written to it (`FIEMAP_EXTENT_UNWRITTEN`).
    pub(crate) fn is_unwritten(self) -> bool {
        self.flags & 0x800 != 0
    }

    /// No extent follows it (`FIEMAP_EXTENT_LAST`).
    pub(crate) fn is_last(self) -> bool {
        self.flags & 1 != 0
    }
}

/// Extents that are asked for at once.
const EXTENTS: usize = 64;

/// `struct fiemap` with room for its extents (include/uapi/linux/fiemap.h).
#[repr(C)]
#[derive(Default)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: Extents,
}

#[repr(C)]
struct Extents([PlainExtent; EXTENTS]);

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct PlainExtent {
    start: u64,
    physical: u64,
    bytes: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_too: [u32; 3],
}

const _: () = assert!(size_of::<PlainExtent>() == 56 && size_of::<Fiemap>() == 32 + 56 * EXTENTS);

impl Default for Extents {
    fn default() -> Self {
        Self([PlainExtent::default(); EXTENTS])
    }
}

/// The first extents of a part of a file: `FS_IOC_FIEMAP`.
pub(crate) fn extents(file: BorrowedFd<'_>, start: u64, bytes: u64) -> io::Result<Vec<Extent>> {
    /// `_IOWR('f', 11, struct fiemap)`, whose size is without extents (include/uapi/linux/fs.h).
    const FS_IOC_FIEMAP: c_ulong = 0xc020_660b;
    let count = u32::try_from(EXTENTS).unwrap_or(0);
    /// `FIEMAP_FLAG_SYNC`: what is to be written soon has no place yet, and counts as none else.
    const SYNC: u32 = 1;
    let mut map = Fiemap { start, length: bytes, count, flags: SYNC, ..Fiemap::default() };
    // SAFETY: the kernel reads the head from the pointer and writes the head and at most `count`
    // extents of 56 bytes behind it, for which there is room by the assertion above.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut map) };
    done(result.into())?;
    let mapped = usize::try_from(map.mapped).unwrap_or(0);
    let plain = map.extents.0.iter().take(mapped);
    let extent =
        |one: &PlainExtent| Extent { start: one.start, bytes: one.bytes, flags: one.flags };
    Ok(plain.map(extent).collect())
}

fn done(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::fd::AsFd as _;

    #[test]
    fn extents_of_a_written_file_are_told() {
        let mut file = tempfile::tempfile_in(crate::made::folder()).unwrap();
        file.write_all(&[1; 65_536]).unwrap();
        file.sync_all().unwrap();
        let Ok(extents) = extents(file.as_fd(), 0, 65_536) else {
            // A file system without extents, as tmpfs.
            return;
        };
        let bytes: u64 = extents.iter().map(|extent| extent.bytes).sum();
        assert!(bytes >= 65_536 && !extents.iter().any(|extent| extent.is_unwritten()));
        assert!(extents.last().is_some_and(|extent| extent.is_last()));
    }

    #[test]
    fn what_is_no_block_device_is_not_discarded() {
        let file = tempfile::tempfile().unwrap();
        let error = discard(file.as_fd(), 0, 4096).unwrap_err();
        assert!(matches!(
            error.raw_os_error(),
            Some(libc::ENOTTY | libc::EINVAL | libc::EOPNOTSUPP)
        ));
    }

    #[test]
    fn timers_are_sharpened() {
        std::thread::spawn(|| sharpen_timers().unwrap()).join().unwrap();
    }
}
