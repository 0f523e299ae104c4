// SPDX-License-Identifier: MIT OR Apache-2.0
//! Archives made elsewhere: tar, plain or in gzip, xz or zstd, read into memory.
//!
//! An archive is hostile until proven otherwise. Nothing is written to disk, so that a path or a
//! link can lead nowhere; what has no place in a copy of /sys and /proc is refused by name all the
//! same, and so is whatever would cost more than the [`Limits`] allow. Half an archive is no
//! machine: one that is cut is refused, and the message says where.

mod codec;
mod error;
mod limits;
mod tar;

use std::io::{BufReader, Read};

pub use error::{ArchiveError, Fault, Place};
pub use limits::Limits;

use crate::MemoryRoot;

/// What an archive held.
#[derive(Debug)]
pub struct Unpacked {
    /// The tree, from the top of the archive.
    pub root: MemoryRoot,
    /// Entries in it.
    pub entries: u64,
    /// Bytes it unpacked to, headers included.
    pub bytes: u64,
    /// Entries left out because their names are no UTF-8.
    pub skipped: u64,
}

/// Reads an archive, whatever it is packed with: its first bytes tell, not its name.
///
/// # Errors
/// It is no archive, damaged, cut, or holds what is refused.
pub fn read(input: impl Read, limits: &Limits) -> Result<Unpacked, ArchiveError> {
    let unpacked = codec::open(BufReader::with_capacity(1 << 16, input), limits)?;
    tar::read(unpacked, limits)
}

#[cfg(test)]
mod tests;
