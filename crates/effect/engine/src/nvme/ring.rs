// SPDX-License-Identifier: MIT OR Apache-2.0
//! A ring of large entries, each of which carries a command.

use std::io;
use std::time::Duration;

use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{CompletionQueue, IoUring, SubmissionQueue, Submitter, cqueue, opcode, squeue};
use record::{Flag, Kind};

use super::command::{IO, Namespace};
use crate::draw::Operation;
use crate::queue::{Done, Queue};
use crate::region::Region;
use crate::ring;

/// Commands in flight.
pub(crate) struct CommandRing<'a> {
    submitter: Submitter<'a>,
    entries: SubmissionQueue<'a, squeue::Entry128>,
    completions: CompletionQueue<'a, cqueue::Entry32>,
    namespaces: Vec<Namespace>,
    region: Region,
    is_fixed: bool,
    /// Bytes of the operation in each slot: a completed command tells none.
    bytes: Vec<u32>,
}

impl<'a> CommandRing<'a> {
    /// Registers files and region; one namespace a file.
    pub(crate) fn new(
        ring: &'a mut IoUring<squeue::Entry128, cqueue::Entry32>,
        files: &[std::fs::File],
        namespaces: Vec<Namespace>,
        region: Region,
        flags: &mut Vec<Flag>,
    ) -> io::Result<Self> {
        let (mut submitter, entries, completions) = ring.split();
        ring::register_files(&submitter, files)?;
        let is_fixed = ring::register_region(&submitter, &region, flags);
        ring::register_ring(&mut submitter, flags);
        let bytes = vec![0; region.slots()];
        Ok(Self { submitter, entries, completions, namespaces, region, is_fixed, bytes })
    }
}

impl Queue for CommandRing<'_> {
    fn push(&mut self, operation: &Operation, slot: usize) -> io::Result<()> {
        let bad = || io::Error::from_raw_os_error(libc::EINVAL);
        let namespace = self.namespaces.get(usize::from(operation.file)).ok_or_else(bad)?;
        let address = self.region.lend(slot).ok_or_else(bad)?;
        let Some(command) = namespace.command(operation, address as u64) else {
            self.region.take_back(slot);
            return Err(bad());
        };
        let entry = opcode::UringCmd80::new(Fixed(operation.file.into()), IO)
            .cmd(command)
            .buf_index(self.is_fixed.then_some(0))
            .build()
            .user_data(slot as u64);
        if let Some(bytes) = self.bytes.get_mut(slot) {
            *bytes = operation.bytes;
        }
        // SAFETY: the command's buffer is the slot just lent, which is as long as the largest operation
        // and stays mapped and untouched until it is taken back; a region with lent slots is never
        // unmapped. The file is registered and stays so as long as the ring. The command moves no more
        // than the operation's bytes: its number of blocks is made of them.
        let pushed = unsafe { crate::ring::push(&mut self.entries, &entry) };
        if pushed.is_err() {
            self.region.take_back(slot);
        }
        pushed
    }

    fn turn(&mut self, want: usize, at_most: Option<Duration>) -> io::Result<()> {
        self.entries.sync();
        let result = match at_most {
            None => self.submitter.submit_and_wait(want),
            Some(at_most) => {
                let time = Timespec::from(at_most);
                self.submitter.submit_with_args(want, &SubmitArgs::new().timespec(&time))
            }
        };
        // In this order: whatever has ended was taken before, and makes room. In the other, a kernel
        // thread that takes and ends one in between leaves a slot free and the ring full in our eyes.
        self.completions.sync();
        self.entries.sync();
        ring::passing(result)
    }

    fn next(&mut self) -> Option<Done> {
        let completion = self.completions.next()?;
        let slot = usize::try_from(completion.user_data()).unwrap_or(usize::MAX);
        self.region.take_back(slot);
        Some(done(slot, completion.result(), self.bytes.get(slot).copied().unwrap_or(0)))
    }

    fn region(&mut self) -> &mut Region {
        &mut self.region
    }

    fn is_immediate(&self, _: Kind) -> bool {
        false
    }

    fn depth(&self) -> usize {
        self.region.slots()
    }
}

/// A completion: 0 is all of the bytes, what is above a status of the controller (its lowest 11 bits:
/// status code and type; drivers/nvme/host/ioctl.c), what is below the kernel's error.
fn done(slot: usize, result: i32, bytes: u32) -> Done {
    match u16::try_from(result) {
        Ok(0) => Done { slot, result: i32::try_from(bytes).unwrap_or(i32::MAX), status: 0 },
        Ok(status) => Done { slot, result: 0, status: status & 0x7ff },
        Err(_) => Done { slot, result: result.min(-1), status: 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_told_from_errors_and_bytes() {
        assert_eq!(done(1, 0, 4096), Done { slot: 1, result: 4096, status: 0 });
        // LBA out of range (type 0, code 80h), with "do not retry" set.
        assert_eq!(done(1, 0x4080, 4096), Done { slot: 1, result: 0, status: 0x080 });
        assert_eq!(done(1, -5, 4096), Done { slot: 1, result: -5, status: 0 });
        assert_eq!(done(1, 70_000, 4096), Done { slot: 1, result: -1, status: 0 });
    }
}
