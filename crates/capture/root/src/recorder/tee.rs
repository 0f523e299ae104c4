// SPDX-License-Identifier: MIT OR Apache-2.0
//! A stream that keeps, compressed, what is read from it.

use std::io::{self, BufRead, Read, Write};
use std::sync::{Mutex, PoisonError};

use machine::Why;

use super::{Record, stream_failure};
use crate::content::Packer;

/// Bytes of one file that are kept. The reader sees no more than that either.
const MOST: u64 = 256 << 20;

/// A stream that is kept while it is read. What the reader leaves is read when it is dropped.
pub(super) struct Tee<'a> {
    inner: Box<dyn BufRead + 'a>,
    record: &'a Mutex<Record>,
    node: u32,
    packer: Packer,
    broken: Option<Why>,
}

impl<'a> Tee<'a> {
    pub(super) fn new(inner: Box<dyn BufRead + 'a>, record: &'a Mutex<Record>, node: u32) -> Self {
        Self { inner, record, node, packer: Packer::default(), broken: None }
    }

    fn refuse(&mut self, error: &io::Error) {
        self.broken.get_or_insert_with(|| stream_failure(error));
    }
}

impl BufRead for Tee<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.packer.bytes() > MOST {
            let error = io::Error::other(format!("longer than the {MOST} bytes that are kept"));
            self.refuse(&error);
            return Err(error);
        }
        // The borrow of a buffer that is returned reaches to the end of the function, so the
        // failure is looked at first; a second call gives the same buffer without reading.
        if let Err(error) = self.inner.fill_buf() {
            self.refuse(&error);
            return Err(error);
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        if let Ok(buffer) = self.inner.fill_buf() {
            let piece = &buffer[..buffer.len().min(count)];
            if let Err(error) = self.packer.write_all(piece) {
                self.refuse(&error);
            }
        }
        self.inner.consume(count);
    }
}

impl Read for Tee<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let buffer = self.fill_buf()?;
        let count = buffer.len().min(into.len());
        into[..count].copy_from_slice(&buffer[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl Drop for Tee<'_> {
    fn drop(&mut self) {
        while self.broken.is_none() {
            match self.fill_buf().map(<[u8]>::len) {
                Ok(0) | Err(_) => break,
                Ok(count) => self.consume(count),
            }
        }
        let packer = std::mem::take(&mut self.packer);
        let broken = self.broken.take();
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        record.keep_stream(self.node, packer, broken);
    }
}
