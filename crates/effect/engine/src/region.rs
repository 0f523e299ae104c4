// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory that a thread's operations move: one region, cut into a slot for each in flight.
//!
//! One region, because registering it once spares the kernel to pin pages for every operation, and one
//! registration counts once against the limit of locked memory. A slot is *lent* while the kernel may
//! touch it, and the region keeps account of that: bytes of a lent slot are never handed out, and a
//! region with lent slots is never unmapped.

use std::io;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags};

use crate::kernel;

/// A huge page of x86_64 and of arm64 with 4 KiB pages.
const HUGE: usize = 2 << 20;

/// Memory for `slots` operations.
#[derive(Debug)]
pub(crate) struct Region {
    base: NonNull<u8>,
    bytes: usize,
    stride: usize,
    lent: Vec<bool>,
    pages: Pages,
}

/// What pages a region is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pages {
    /// From the pool of huge pages.
    Huge,
    /// Ordinary, and the kernel was asked to join them to huge ones.
    Advised,
    /// Ordinary.
    Small,
}

impl Region {
    /// Room for `slots` operations of `bytes` each, on a node where one is told.
    ///
    /// # Errors
    /// No memory; a node that there is none of, or that this process may not use.
    pub(crate) fn new(slots: usize, bytes: usize, node: Option<u16>) -> io::Result<Self> {
        let too_much = || io::Error::from_raw_os_error(libc::ENOMEM);
        let stride = stride(bytes).ok_or_else(too_much)?;
        let bytes = mapped(slots, bytes).ok_or_else(too_much)?;
        let (base, pages) = map(bytes, bytes >= HUGE)?;
        let region = Self { base, bytes, stride, lent: vec![false; slots], pages };
        if let Some(node) = node {
            kernel::bind_memory(region.base.as_ptr(), bytes, node)?;
        }
        Ok(region)
    }

    /// All slots, for registration: what is registered is pinned, and counted as locked.
    pub(crate) fn whole(&self) -> libc::iovec {
        let used = self.stride * self.lent.len();
        libc::iovec { iov_base: self.base.as_ptr().cast(), iov_len: used.min(self.bytes) }
    }

    pub(crate) fn pages(&self) -> Pages {
        self.pages
    }

    /// How many slots there are.
    pub(crate) fn slots(&self) -> usize {
        self.lent.len()
    }

    /// Touches every page, so that none is missing when time counts, and fills all with what no drive
    /// can compress or find twice. The node of the first page, where the kernel tells it.
    pub(crate) fn prepare(&mut self, random: &mut crate::draw::Random) -> Option<u16> {
        for slot in 0..self.lent.len() {
            if let Some(bytes) = self.bytes(slot) {
                random.fill(bytes);
            }
        }
        kernel::node_of(self.base.as_ptr()).ok()
    }

    /// The bytes of a slot; none while it is lent.
    #[inline]
    pub(crate) fn bytes(&mut self, slot: usize) -> Option<&mut [u8]> {
        if *self.lent.get(slot)? {
            return None;
        }
        let start = slot * self.stride;
        // SAFETY: `slot` is below the number of slots, so that the range lies within the mapping,
        // which is readable, writable, zeroed by the kernel at first, and lives as long as `self`. It
        // is not lent, so the kernel does not touch it; `&mut self` keeps any other slice away.
        Some(unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(start), self.stride) })
    }

    /// Lends a slot to the kernel: its address, until [`Self::take_back`]. None for one that is lent.
    #[inline]
    pub(crate) fn lend(&mut self, slot: usize) -> Option<*mut u8> {
        let lent = self.lent.get_mut(slot)?;
        if std::mem::replace(lent, true) {
            return None;
        }
        // SAFETY: `slot` is below the number of slots, so that the address lies within the mapping.
        Some(unsafe { self.base.as_ptr().add(slot * self.stride) })
    }

    /// The kernel has done with a slot.
    #[inline]
    pub(crate) fn take_back(&mut self, slot: usize) {
        if let Some(lent) = self.lent.get_mut(slot) {
            *lent = false;
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if self.lent.iter().any(|lent| *lent) {
            // The kernel may still write to it: the addresses must not become somebody else's.
            return;
        }
        // SAFETY: the mapping is this region's own, `bytes` is its length, and no slice of it can
        // outlive the region; the kernel has done with every slot.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// Drives ask for buffers at multiples of 512 bytes at most (queue/dma_alignment).
fn stride(bytes: usize) -> Option<usize> {
    bytes.max(1).checked_next_multiple_of(512)
}

/// How much memory a region takes, and pins where it is registered; none beyond what there can be.
/// Small ones are no larger than they must be: what a person may lock is little (8 MiB by default),
/// and each thread has a region of its own.
pub(crate) fn mapped(slots: usize, bytes: usize) -> Option<usize> {
    /// The largest page of any machine that Linux runs on here: arm64 with 64 KiB.
    const PAGE: usize = 64 << 10;
    let wanted = stride(bytes)?.checked_mul(slots)?.max(1);
    wanted.checked_next_multiple_of(if wanted < HUGE { PAGE } else { HUGE })
}

/// Maps memory: of huge pages where it is large enough and there are any.
fn map(bytes: usize, is_large: bool) -> io::Result<(NonNull<u8>, Pages)> {
    let plain = MapFlags::PRIVATE;
    if is_large && let Ok(base) = anonymous(bytes, plain | MapFlags::HUGETLB) {
        return Ok((base, Pages::Huge));
    }
    let base = anonymous(bytes, plain)?;
    if !is_large {
        return Ok((base, Pages::Small));
    }
    // SAFETY: the range is the mapping just made, which nothing else knows of; the advice changes how
    // it is backed, and not what it holds.
    let advised =
        unsafe { rustix::mm::madvise(base.as_ptr().cast(), bytes, Advice::LinuxHugepage) };
    Ok((base, if advised.is_ok() { Pages::Advised } else { Pages::Small }))
}

fn anonymous(bytes: usize, flags: MapFlags) -> io::Result<NonNull<u8>> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a null address lets the kernel choose one that is free, so that nothing that is mapped
    // is replaced.
    let base =
        unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags) }?;
    NonNull::new(base.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lent_slot_is_not_handed_out() {
        let mut region = Region::new(4, 4096, None).unwrap();
        assert_eq!((region.slots(), region.whole().iov_len), (4, 4 * 4096));
        let address = region.lend(1).unwrap();
        assert!(region.lend(1).is_none() && region.bytes(1).is_none());
        region.take_back(1);
        let bytes = region.bytes(1).unwrap();
        assert_eq!((bytes.as_mut_ptr(), bytes.len()), (address, 4096));
        assert!(region.bytes(4).is_none() && region.lend(4).is_none());
    }

    #[test]
    fn a_region_is_no_larger_than_it_must_be() {
        for (slots, bytes, wanted) in [
            (1, 4096, Some(64 << 10)),
            (17, 4096, Some(128 << 10)),
            (511, 4096, Some(2 << 20)),
            (512, 4096, Some(HUGE)),
            (513, 4096, Some(2 * HUGE)),
            (0, 0, Some(64 << 10)),
            (2, usize::MAX / 2, None),
        ] {
            assert_eq!(mapped(slots, bytes), wanted, "{slots} of {bytes}");
        }
    }

    #[test]
    fn slots_lie_apart_at_multiples_of_512() {
        let mut region = Region::new(3, 1000, None).unwrap();
        let addresses = [0, 1, 2].map(|slot| region.lend(slot).unwrap() as usize);
        assert_eq!([addresses[1] - addresses[0], addresses[2] - addresses[1]], [1024, 1024]);
        assert_eq!(addresses[0] % 4096, 0);
        (0..3).for_each(|slot| region.take_back(slot));
    }

    #[test]
    fn what_cannot_be_had_is_an_error() {
        assert!(Region::new(usize::MAX, 4096, None).is_err());
        assert!(Region::new(1, 4096, Some(1023)).is_err());
        assert!(Region::new(1, 4096, Some(1024)).is_err());
    }

    #[test]
    fn contents_do_not_repeat() {
        let mut region = Region::new(2, 4096, None).unwrap();
        region.prepare(&mut crate::draw::Random::new(1));
        let first = region.bytes(0).unwrap().to_vec();
        assert!(first != region.bytes(1).unwrap());
        let zeros = first.iter().filter(|byte| **byte == 0).count();
        assert!(zeros < 40, "{zeros} of 4,096");
    }
}
