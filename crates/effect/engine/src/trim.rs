// SPDX-License-Identifier: MIT OR Apache-2.0
//! Discards.
//!
//! They are asked for by a system call that waits: io_uring has a command for them since 6.12 only,
//! and on most drives they are rare and long enough for the way not to matter. A run of trims has
//! therefore a depth of one a thread, whatever was asked, and its mean depth says so.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{FallocateFlags, FileType, fallocate, fstat};

use crate::kernel;

/// Discards a part of a block device, or makes a hole in a file. The bytes, as a write tells them.
pub(crate) fn trim(file: BorrowedFd<'_>, offset: u64, bytes: u64) -> io::Result<usize> {
    let kind = FileType::from_raw_mode(fstat(file)?.st_mode);
    if kind == FileType::BlockDevice {
        kernel::discard(file, offset, bytes)?;
    } else {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(file, hole, offset, bytes)?;
    }
    Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::FileExt as _;

    #[test]
    fn a_file_gets_a_hole() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 16_384]).unwrap();
        assert_eq!(trim(file.as_fd(), 4096, 8192).unwrap(), 8192);
        let mut bytes = [1; 16_384];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert!(bytes[4096..12_288].iter().all(|byte| *byte == 0));
        assert!(bytes[..4096].iter().chain(&bytes[12_288..]).all(|byte| *byte == 7));
    }
}
