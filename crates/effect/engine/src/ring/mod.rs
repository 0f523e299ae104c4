// SPDX-License-Identifier: MIT OR Apache-2.0
//! io_uring: one ring a thread, its files and its one region registered.
//!
//! Entries are written into the ring's own memory, handed over when there is anything to hand over,
//! and one call both submits and waits for the first completion; then all that are there are taken.

mod setup;

use std::io;
use std::time::Duration;

use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{CompletionQueue, EnterFlags, IoUring, SubmissionQueue, Submitter, opcode, squeue};
use record::{IoWait, Kind};

use crate::draw::Operation;
use crate::queue::{Done, Queue};
use crate::region::Region;
use crate::trim;

pub(crate) use setup::{make, make_for_commands, register_files, register_region, register_ring};

/// A ring in use.
pub(crate) struct Ring<'a> {
    submitter: Submitter<'a>,
    entries: SubmissionQueue<'a>,
    completions: CompletionQueue<'a>,
    files: &'a [std::fs::File],
    region: Region,
    /// Whether the region is registered.
    is_fixed: bool,
    wait: EnterFlags,
    /// Ended without the ring: trims.
    ended: Vec<Done>,
}

/// Puts an entry into a ring, after a second look at what the kernel took where it seems full.
///
/// # Errors
/// It is full (`EBUSY`).
///
/// # Safety
/// What the entry names, its buffer and its file, stays as it is until the kernel has answered
/// ([`SubmissionQueue::push`]).
pub(crate) unsafe fn push<E: squeue::EntryMarker>(
    entries: &mut SubmissionQueue<'_, E>,
    entry: &E,
) -> io::Result<()> {
    // SAFETY: the caller's promise.
    let mut pushed = unsafe { entries.push(entry) };
    if pushed.is_err() {
        entries.sync();
        // SAFETY: as above; nothing was pushed.
        pushed = unsafe { entries.push(entry) };
    }
    pushed.map_err(|_| io::Error::from_raw_os_error(libc::EBUSY))
}

impl<'a> Ring<'a> {
    /// Registers files, which it fails without, and the region: where the kernel refuses that, it is
    /// told, and done without.
    pub(crate) fn new(
        ring: &'a mut IoUring,
        files: &'a [std::fs::File],
        region: Region,
        io_wait: IoWait,
        flags: &mut Vec<record::Flag>,
    ) -> io::Result<Self> {
        let has_no_wait = ring.params().is_feature_no_iowait();
        let (mut submitter, entries, completions) = ring.split();
        setup::register_files(&submitter, files)?;
        let is_fixed = setup::register_region(&submitter, &region, flags);
        setup::register_ring(&mut submitter, flags);
        let wait = match io_wait {
            IoWait::NotCounted if has_no_wait => EnterFlags::NO_IOWAIT,
            _ => EnterFlags::empty(),
        };
        if io_wait == IoWait::NotCounted {
            flags.push(setup::flag("IORING_ENTER_NO_IOWAIT", has_no_wait));
        }
        let ended = Vec::new();
        Ok(Self { submitter, entries, completions, files, region, is_fixed, wait, ended })
    }

    fn entry(&self, operation: &Operation, address: *mut u8, slot: usize) -> squeue::Entry {
        let (file, bytes) = (Fixed(operation.file.into()), operation.bytes);
        let offset = operation.offset;
        let entry = match (operation.kind, self.is_fixed) {
            (Kind::Write, true) => {
                opcode::WriteFixed::new(file, address, bytes, 0).offset(offset).build()
            }
            (Kind::Write, false) => opcode::Write::new(file, address, bytes).offset(offset).build(),
            (_, true) => opcode::ReadFixed::new(file, address, bytes, 0).offset(offset).build(),
            (_, false) => opcode::Read::new(file, address, bytes).offset(offset).build(),
        };
        entry.user_data(slot as u64)
    }

    fn trim(&mut self, operation: &Operation, slot: usize) {
        use std::os::fd::AsFd as _;
        let file = self.files.get(usize::from(operation.file));
        let result = match file {
            None => Err(io::Error::from_raw_os_error(libc::EBADF)),
            Some(file) => trim::trim(file.as_fd(), operation.offset, operation.bytes.into()),
        };
        let result = match result {
            Ok(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX),
            Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
        };
        self.ended.push(Done { slot, result, status: 0 });
    }
}

impl Queue for Ring<'_> {
    #[inline]
    fn push(&mut self, operation: &Operation, slot: usize) -> io::Result<()> {
        if operation.kind == Kind::Trim {
            self.trim(operation, slot);
            return Ok(());
        }
        let bad = || io::Error::from_raw_os_error(libc::EINVAL);
        let address = self.region.lend(slot).ok_or_else(bad)?;
        let entry = self.entry(operation, address, slot);
        // SAFETY: the entry's buffer is the slot just lent, which is as long as the largest operation
        // (the region is made so) and stays mapped and untouched until it is taken back: a region with
        // lent slots is never unmapped. Its file is registered and stays so as long as the ring.
        let pushed = unsafe { push(&mut self.entries, &entry) };
        if pushed.is_err() {
            self.region.take_back(slot);
        }
        pushed
    }

    #[inline]
    fn turn(&mut self, want: usize, at_most: Option<Duration>) -> io::Result<()> {
        self.entries.sync();
        let want = if self.ended.is_empty() { want } else { 0 };
        let result = match at_most {
            None if self.wait.is_empty() => self.submitter.submit_and_wait(want),
            None => self.submitter.submit_with_args_and_flags(want, &SubmitArgs::new(), self.wait),
            Some(at_most) => {
                let time = Timespec::from(at_most);
                let args = SubmitArgs::new().timespec(&time);
                self.submitter.submit_with_args_and_flags(want, &args, self.wait)
            }
        };
        // In this order: whatever has ended was taken before, and makes room. In the other, a kernel
        // thread that takes and ends one in between leaves a slot free and the ring full in our eyes.
        self.completions.sync();
        self.entries.sync();
        passing(result)
    }

    #[inline]
    fn next(&mut self) -> Option<Done> {
        if let Some(done) = self.ended.pop() {
            return Some(done);
        }
        let completion = self.completions.next()?;
        let slot = usize::try_from(completion.user_data()).unwrap_or(usize::MAX);
        self.region.take_back(slot);
        Some(Done { slot, result: completion.result(), status: 0 })
    }

    fn region(&mut self) -> &mut Region {
        &mut self.region
    }

    fn is_immediate(&self, kind: Kind) -> bool {
        kind == Kind::Trim
    }

    fn depth(&self) -> usize {
        self.region.slots()
    }
}

/// What a call came back with: a signal, the end of the time, and completions that have to be taken
/// first are no errors.
#[inline]
pub(crate) fn passing(result: io::Result<usize>) -> io::Result<()> {
    const PASSING: [i32; 4] = [libc::EINTR, libc::ETIME, libc::EBUSY, libc::EAGAIN];
    match result {
        Err(error) if !error.raw_os_error().is_some_and(|errno| PASSING.contains(&errno)) => {
            Err(error)
        }
        _ => Ok(()),
    }
}
