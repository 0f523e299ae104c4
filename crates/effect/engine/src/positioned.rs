// SPDX-License-Identifier: MIT OR Apache-2.0
//! Positioned reads and writes, one at a time: the way that every kernel and every sandbox allows.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use record::Kind;

use crate::draw::Operation;
use crate::queue::{Done, Queue};
use crate::region::Region;
use crate::trim;

/// `pread` and `pwrite`.
#[derive(Debug)]
pub(crate) struct Positioned<'a> {
    files: &'a [File],
    region: Region,
    done: Option<Done>,
}

impl<'a> Positioned<'a> {
    pub(crate) fn new(files: &'a [File], region: Region) -> Self {
        Self { files, region, done: None }
    }

    fn carry_out(&mut self, operation: &Operation, slot: usize) -> io::Result<usize> {
        let bad = || io::Error::from_raw_os_error(libc::EBADF);
        let file = self.files.get(usize::from(operation.file)).ok_or_else(bad)?;
        if operation.kind == Kind::Trim {
            return trim::trim(file.as_fd(), operation.offset, operation.bytes.into());
        }
        let length = usize::try_from(operation.bytes).unwrap_or(usize::MAX);
        let bytes = self.region.bytes(slot).and_then(|bytes| bytes.get_mut(..length));
        let bytes = bytes.ok_or_else(bad)?;
        match operation.kind {
            Kind::Write => file.write_at(bytes, operation.offset),
            _ => file.read_at(bytes, operation.offset),
        }
    }
}

impl Queue for Positioned<'_> {
    fn push(&mut self, operation: &Operation, slot: usize) -> io::Result<()> {
        let result = match self.carry_out(operation, slot) {
            Ok(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX),
            Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
        };
        self.done = Some(Done { slot, result, status: 0 });
        Ok(())
    }

    fn turn(&mut self, _: usize, at_most: Option<Duration>) -> io::Result<()> {
        if self.done.is_none()
            && let Some(at_most) = at_most
        {
            std::thread::sleep(at_most);
        }
        Ok(())
    }

    fn next(&mut self) -> Option<Done> {
        self.done.take()
    }

    fn region(&mut self) -> &mut Region {
        &mut self.region
    }

    fn is_immediate(&self, _: Kind) -> bool {
        true
    }

    fn depth(&self) -> usize {
        1
    }
}
