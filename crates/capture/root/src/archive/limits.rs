// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much an archive may ask for.

/// How much an archive may ask for. The largest known captures of real servers have 65,000 entries
/// and 60 MB; one of 1,024 CPUs has a /proc/interrupts of 58 MB alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes after unpacking, headers and padding included.
    pub bytes: u64,
    /// Bytes that the tree may occupy in memory, large files counted as compressed.
    pub kept_bytes: u64,
    /// Entries of any kind.
    pub entries: u64,
    /// Bytes of a path or of a link's target: Linux's `PATH_MAX`.
    pub path_bytes: usize,
    /// Folders in a path. Real ones have up to 20.
    pub depth: usize,
    /// Bytes of an extended header (pax) or of a GNU long name.
    pub extra_bytes: u64,
    /// Unpacked bytes for each packed one, asked once `ratio_after` bytes are unpacked. The most
    /// repetitive real capture has 211.
    pub ratio: u64,
    /// Unpacked bytes below which the ratio does not matter.
    pub ratio_after: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 1 << 30,
            kept_bytes: 256 << 20,
            entries: 1_000_000,
            path_bytes: 4096,
            depth: 64,
            extra_bytes: 64 << 10,
            ratio: 1000,
            ratio_after: 128 << 20,
        }
    }
}
