// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's older asynchronous interface, `io_submit`: for where io_uring is forbidden.
//!
//! It is asynchronous for direct access only; a buffered operation is carried out within `io_submit`.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::time::Duration;

use record::Kind;

use crate::draw::Operation;
use crate::queue::{Done, Queue};
use crate::region::Region;
use crate::trim;

/// `struct iocb` of little-endian machines (include/uapi/linux/aio_abi.h).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: u64,
    reserved: u64,
    flags: u32,
    notify: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Event {
    data: u64,
    block: u64,
    result: i64,
    result_too: i64,
}

const _: () = assert!(size_of::<Block>() == 64 && size_of::<Event>() == 32);

/// `IOCB_CMD_PREAD` and `IOCB_CMD_PWRITE`.
const READ: u16 = 0;
const WRITE: u16 = 1;

/// A context of the kernel and what is in it.
#[derive(Debug)]
pub(crate) struct Aio<'a> {
    context: libc::c_ulong,
    files: &'a [File],
    region: Region,
    /// Taken and not yet submitted.
    waiting: Vec<Block>,
    in_flight: usize,
    ended: Vec<Done>,
}

impl<'a> Aio<'a> {
    /// A context for as many operations as the region has slots.
    ///
    /// # Errors
    /// EAGAIN where `fs.aio-max-nr` is used up, ENOSYS where the kernel has none, EPERM where it is
    /// forbidden. The region comes back.
    pub(crate) fn new(files: &'a [File], region: Region) -> Result<Self, (io::Error, Region)> {
        let mut context: libc::c_ulong = 0;
        let slots = libc::c_ulong::try_from(region.slots()).unwrap_or(libc::c_ulong::MAX);
        // SAFETY: the kernel writes one context number to the pointer (io_setup(2)).
        let result = unsafe { libc::syscall(libc::SYS_io_setup, slots, &raw mut context) };
        if result < 0 {
            return Err((io::Error::last_os_error(), region));
        }
        let (waiting, ended) = (Vec::new(), Vec::new());
        Ok(Self { context, files, region, waiting, in_flight: 0, ended })
    }

    /// Submits what waits. The kernel may take a part; the rest waits on.
    fn submit(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            let pointers: Vec<*const Block> = self.waiting.iter().map(std::ptr::from_ref).collect();
            let count = libc::c_long::try_from(pointers.len()).unwrap_or(libc::c_long::MAX);
            // SAFETY: the kernel reads `count` pointers and the 64 bytes that each points to, both of
            // which live through the call. Every buffer is a lent slot, as long as the largest
            // operation, mapped and untouched until it is taken back.
            let taken = unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, count, pointers.as_ptr())
            };
            match usize::try_from(taken) {
                Ok(taken) => {
                    self.waiting.drain(..taken.min(self.waiting.len()));
                    self.in_flight += taken;
                }
                Err(_) => self.refused(io::Error::last_os_error())?,
            }
        }
        Ok(())
    }

    /// The kernel refused the first that waits: that one has ended, with its error.
    fn refused(&mut self, error: io::Error) -> io::Result<()> {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        if errno == libc::EAGAIN || errno == libc::EINTR || self.waiting.is_empty() {
            // The queue of the device is full: wait for one to end, if there is any to wait for.
            return if self.in_flight > 0 { self.collect(1, None) } else { Err(error) };
        }
        let block = self.waiting.remove(0);
        let slot = usize::try_from(block.data).unwrap_or(usize::MAX);
        self.region.take_back(slot);
        self.ended.push(Done { slot, result: -errno, status: 0 });
        Ok(())
    }

    /// Waits for `want` to end, and takes all that have.
    fn collect(&mut self, want: usize, at_most: Option<Duration>) -> io::Result<()> {
        let mut events = [Event::default(); 64];
        let time = at_most.map(|time| libc::timespec {
            tv_sec: time.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: time.subsec_nanos().into(),
        });
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let least = libc::c_long::try_from(want.min(self.in_flight).min(64)).unwrap_or(0);
        // SAFETY: the kernel writes at most 64 events to the pointer, which has room for them, and
        // reads a time that is null or lives through the call.
        let got = unsafe {
            let events = events.as_mut_ptr();
            libc::syscall(libc::SYS_io_getevents, self.context, least, 64_i64, events, time)
        };
        let Ok(got) = usize::try_from(got) else {
            let error = io::Error::last_os_error();
            let is_signal = error.raw_os_error() == Some(libc::EINTR);
            return if is_signal { Ok(()) } else { Err(error) };
        };
        self.in_flight = self.in_flight.saturating_sub(got);
        for event in events.iter().take(got) {
            let slot = usize::try_from(event.data).unwrap_or(usize::MAX);
            self.region.take_back(slot);
            let result = i32::try_from(event.result).unwrap_or(-libc::EIO);
            self.ended.push(Done { slot, result, status: 0 });
        }
        Ok(())
    }
}

impl Queue for Aio<'_> {
    fn push(&mut self, operation: &Operation, slot: usize) -> io::Result<()> {
        let bad = || io::Error::from_raw_os_error(libc::EBADF);
        let file = self.files.get(usize::from(operation.file)).ok_or_else(bad)?;
        if operation.kind == Kind::Trim {
            let result = trim::trim(file.as_fd(), operation.offset, operation.bytes.into());
            let result = match result {
                Ok(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX),
                Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
            };
            self.ended.push(Done { slot, result, status: 0 });
            return Ok(());
        }
        let descriptor = u32::try_from(file.as_raw_fd()).map_err(|_| bad())?;
        let address = self.region.lend(slot).ok_or_else(bad)?;
        self.waiting.push(Block {
            data: slot as u64,
            opcode: if operation.kind == Kind::Write { WRITE } else { READ },
            file: descriptor,
            buffer: address as u64,
            bytes: operation.bytes.into(),
            offset: operation.offset,
            ..Block::default()
        });
        Ok(())
    }

    fn turn(&mut self, want: usize, at_most: Option<Duration>) -> io::Result<()> {
        self.submit()?;
        let want = if self.ended.is_empty() { want } else { 0 };
        if self.in_flight == 0 {
            if self.ended.is_empty()
                && let Some(at_most) = at_most
            {
                std::thread::sleep(at_most);
            }
            return Ok(());
        }
        self.collect(want, at_most)
    }

    fn next(&mut self) -> Option<Done> {
        self.ended.pop()
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

impl Drop for Aio<'_> {
    fn drop(&mut self) {
        // SAFETY: one number and no pointer. It waits for what is in flight (fs/aio.c, kill_ioctx and
        // the wait behind it), after which no buffer is touched any more.
        let destroyed = unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
        if destroyed == 0 {
            (0..self.region.slots()).for_each(|slot| self.region.take_back(slot));
        }
    }
}
