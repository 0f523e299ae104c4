// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which writing of each unit was the last, and whether that is what is read.
//!
//! A thread has stretches of its own, and of two operations in flight none touches what the other
//! does: only so can anybody say what has to be there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use record::{FailureKind, Kind, Verify};

use crate::content;
use crate::draw::{Operation, Stretch};
use crate::region::Region;
use crate::worker::Stop;

/// Units that a thread keeps account of at most: 1 GiB of numbers.
pub(crate) const MOST_UNITS: u64 = 1 << 28;

/// Memory for one of them.
pub(crate) const UNIT_BYTES: u64 = size_of::<u32>() as u64;

/// How many units stretches have, cut off at 2^64.
pub(crate) fn units(stretches: &[Stretch], unit: u64) -> u64 {
    stretches.iter().map(|stretch| stretch.bytes / unit.max(1)).fold(0, u64::saturating_add)
}

/// The writings of one thread.
#[derive(Debug)]
pub(crate) struct Writings {
    seed: u64,
    mode: Verify,
    unit: usize,
    generation: u32,
    files: Vec<Written>,
    in_flight: Vec<(u16, u64, u64)>,
}

/// One target: the last writing of each unit, 0 for none.
#[derive(Debug)]
struct Written {
    start: u64,
    units: Vec<u32>,
}

/// How far reading back came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadBack {
    /// To the end.
    All,
    /// Somebody ended it: the rest is unverified.
    Stopped,
}

/// Something wrong: what, and where on the target.
pub(crate) type Wrong = (FailureKind, u64);

impl Writings {
    /// An empty account. Only what is read back needs a number a unit.
    ///
    /// # Errors
    /// There are more units than can be kept account of, or no memory for them.
    pub(crate) fn new(
        seed: u64,
        mode: Verify,
        stretches: &[Stretch],
        unit: u64,
    ) -> io::Result<Self> {
        let too_much = || io::Error::from_raw_os_error(libc::ENOMEM);
        let is_kept = mode == Verify::AfterWrites;
        if is_kept && units(stretches, unit) > MOST_UNITS {
            return Err(too_much());
        }
        let written = |stretch: &Stretch| {
            let count = if is_kept { stretch.bytes / unit.max(1) } else { 0 };
            let count = usize::try_from(count).map_err(|_| too_much())?;
            let mut units = Vec::new();
            units.try_reserve_exact(count).map_err(|_| too_much())?;
            units.resize(count, 0);
            Ok(Written { start: stretch.start, units })
        };
        Ok(Self {
            seed,
            mode,
            unit: usize::try_from(unit).map_err(|_| too_much())?,
            generation: 0,
            files: stretches.iter().map(written).collect::<io::Result<_>>()?,
            in_flight: Vec::new(),
        })
    }

    /// Takes an operation's place, unless something in flight touches it.
    pub(crate) fn claim(&mut self, operation: &Operation) -> bool {
        let Operation { file, offset, bytes, .. } = *operation;
        let end = offset + u64::from(bytes);
        let touches =
            |other: &(u16, u64, u64)| other.0 == file && other.1 < end && offset < other.2;
        let is_used_up = operation.kind == Kind::Write && self.generation == u32::MAX;
        if is_used_up || self.in_flight.iter().any(touches) {
            return false;
        }
        self.in_flight.push((file, offset, end));
        true
    }

    /// Makes the content of a write, and notes it as the last of its units.
    pub(crate) fn fill(&mut self, bytes: &mut [u8], operation: &Operation) {
        self.generation = self.generation.saturating_add(1);
        let generation = self.generation;
        let mut place = operation.offset;
        for unit in bytes.chunks_mut(self.unit) {
            content::fill(unit, self.seed, place, generation.into());
            if let Some(last) = self.last(operation.file, place) {
                *last = generation;
            }
            place += self.unit as u64;
        }
    }

    fn last(&mut self, file: u16, place: u64) -> Option<&mut u32> {
        let unit = self.unit as u64;
        let written = self.files.get_mut(usize::from(file))?;
        let at = place.checked_sub(written.start)? / unit;
        written.units.get_mut(usize::try_from(at).ok()?)
    }

    /// An operation has ended: what is wrong with what it read.
    pub(crate) fn settle(&mut self, operation: &Operation, bytes: &[u8]) -> Vec<Wrong> {
        self.forget(operation);
        if operation.kind != Kind::Read {
            return Vec::new();
        }
        self.check(operation.file, operation.offset, bytes)
    }

    /// An operation is not in flight any more.
    pub(crate) fn forget(&mut self, operation: &Operation) {
        let is_it =
            |other: &(u16, u64, u64)| (other.0, other.1) == (operation.file, operation.offset);
        if let Some(at) = self.in_flight.iter().position(is_it) {
            self.in_flight.swap_remove(at);
        }
    }

    fn check(&mut self, file: u16, offset: u64, bytes: &[u8]) -> Vec<Wrong> {
        let (seed, unit) = (self.seed, self.unit);
        let mut wrong = Vec::new();
        for (place, content) in (offset..).step_by(unit).zip(bytes.chunks(unit)) {
            let generation = match self.mode {
                Verify::Reads => None,
                Verify::AfterWrites => match self.last(file, place).map(|last| *last) {
                    None | Some(0) => continue,
                    Some(last) => Some(last.into()),
                },
            };
            let found = content::check(content, seed, place, generation);
            wrong.extend(found.map(|kind| (kind, place)));
        }
        wrong
    }

    /// Reads all that was written and checks it, unless it is stopped. Every unit that is wrong is
    /// given to `wrong` with the number of its target.
    ///
    /// # Errors
    /// A read that failed, or a target that ends before what was written to it.
    pub(crate) fn read_back(
        &mut self,
        files: &[File],
        stop: Stop<'_>,
        mut wrong: impl FnMut(u16, Wrong),
        mut has_read: impl FnMut(u16, u64),
    ) -> io::Result<ReadBack> {
        let per_read = (1 << 20_usize) / self.unit.max(1) + 1;
        let mut region = Region::new(1, per_read * self.unit, None)?;
        for (number, file) in (0_u16..).zip(files) {
            let Some(written) = self.files.get(usize::from(number)) else { continue };
            let (start, count) = (written.start, written.units.len());
            // Where it was buffered: not from memory, as far as the kernel lets go of it.
            file.sync_data()?;
            let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
            for first in (0..count).step_by(per_read) {
                if stop.is_set() {
                    return Ok(ReadBack::Stopped);
                }
                if !self.is_any_written(number, first, per_read) {
                    continue;
                }
                let length = per_read.min(count - first) * self.unit;
                let offset = start + first as u64 * self.unit as u64;
                let bytes = region.bytes(0).and_then(|bytes| bytes.get_mut(..length));
                let bytes = bytes.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
                file.read_exact_at(bytes, offset)?;
                has_read(number, length as u64);
                self.check(number, offset, bytes).into_iter().for_each(|one| wrong(number, one));
            }
        }
        Ok(ReadBack::All)
    }

    fn is_any_written(&self, file: u16, first: usize, count: usize) -> bool {
        let units = self.files.get(usize::from(file)).map(|written| written.units.as_slice());
        let some = units.and_then(|units| units.get(first..(first + count).min(units.len())));
        some.is_some_and(|units| units.iter().any(|last| *last > 0))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn write(offset: u64, bytes: u32) -> Operation {
        Operation { kind: Kind::Write, file: 0, offset, bytes }
    }

    fn writings() -> Writings {
        let stretch = Stretch { start: 4096, bytes: 1 << 20, step: 512 };
        Writings::new(9, Verify::AfterWrites, &[stretch], 512).unwrap()
    }

    #[test]
    fn two_operations_never_touch_the_same() {
        let mut writings = writings();
        assert!(writings.claim(&write(4096, 4096)));
        assert!(!writings.claim(&write(7680, 512)) && writings.claim(&write(8192, 512)));
        writings.forget(&write(4096, 4096));
        assert!(writings.claim(&write(7680, 512)));
    }

    #[test]
    fn what_a_drive_does_wrong_is_found() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(2 << 20).unwrap();
        let files = [file];
        let mut writings = writings();
        let mut bytes = vec![0; 4096];
        for (offset, is_kept) in [(4096, true), (65_536, true), (4096, false), (131_072, true)] {
            let before = bytes.clone();
            writings.fill(&mut bytes, &write(offset, 4096));
            if is_kept {
                files[0].write_all_at(&bytes, offset).unwrap();
            }
            // A write that went elsewhere: over half of another.
            if offset == 131_072 {
                files[0].write_all_at(&bytes[..512], 65_536 + 1024).unwrap();
                files[0].write_all_at(&before[..100], 131_072 + 3584).unwrap();
            }
        }
        let mut found = Vec::new();
        let (not, yes) = (AtomicBool::new(false), AtomicBool::new(true));
        let never = Stop { asked: &not, failed: &not };
        let wrong = |file, wrong| found.push((file, wrong));
        assert_eq!(writings.read_back(&files, never, wrong, |_, _| {}).unwrap(), ReadBack::All);
        for stop in [Stop { asked: &yes, failed: &not }, Stop { asked: &not, failed: &yes }] {
            let nothing = |_, _| panic!("it was stopped before");
            let read = writings.read_back(&files, stop, nothing, |_, _| {});
            assert_eq!(read.unwrap(), ReadBack::Stopped);
        }
        let mut wanted: Vec<(u16, Wrong)> =
            (0..8).map(|at| (0, (FailureKind::Lost, 4096 + at * 512))).collect();
        wanted.push((0, (FailureKind::Misdirected, 65_536 + 1024)));
        wanted.push((0, (FailureKind::Torn, 131_072 + 3584)));
        assert_eq!(found.len(), wanted.len(), "{found:?}");
        assert_eq!(found[..9], wanted[..9]);
        assert_eq!(found[9].1.1, wanted[9].1.1);
    }

    #[test]
    fn too_much_to_keep_account_of_is_refused() {
        let stretch = Stretch { start: 0, bytes: 1 << 50, step: 4096 };
        assert!(Writings::new(1, Verify::AfterWrites, &[stretch], 4096).is_err());
        // What others wrote needs no account.
        assert!(Writings::new(1, Verify::Reads, &[stretch], 4096).is_ok());
    }
}
