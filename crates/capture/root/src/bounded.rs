// SPDX-License-Identifier: MIT OR Apache-2.0
//! A reader that fails where a file is longer than any of the kernel's.

use std::io::{self, BufRead, Read};

/// Bytes of one file: what an archive may unpack to as well (`Limits::bytes`). The longest known
/// file, the /proc/interrupts of 1,024 CPUs, has 58 MB.
pub(crate) const MOST: u64 = 1 << 30;

/// Passes on what another reader gives, up to a limit. It fails there: a file that ended in the
/// middle would be a wrong number.
pub(crate) struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R> Bounded<R> {
    pub(crate) fn new(inner: R, most: u64) -> Self {
        Self { inner, left: most }
    }
}

impl<R: BufRead> BufRead for Bounded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let buffer = self.inner.fill_buf()?;
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::other("longer than any file of the kernel's"));
        }
        Ok(&buffer[..buffer.len().min(left)])
    }

    fn consume(&mut self, count: usize) {
        self.left = self.left.saturating_sub(count as u64);
        self.inner.consume(count);
    }
}

impl<R: BufRead> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let buffer = self.fill_buf()?;
        let count = buffer.len().min(into.len());
        into[..count].copy_from_slice(&buffer[..count]);
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_fits_is_whole_and_a_longer_one_fails() {
        let read = |most| {
            let mut text = String::new();
            Bounded::new(&b"abcdef"[..], most).read_to_string(&mut text).map(|_| text)
        };
        assert_eq!(read(6).unwrap(), "abcdef");
        assert_eq!(read(7).unwrap(), "abcdef");
        assert_eq!(read(5).unwrap_err().to_string(), "longer than any file of the kernel's");
    }
}
