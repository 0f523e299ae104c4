// SPDX-License-Identifier: MIT OR Apache-2.0
//! The trait that every source of facts has.

use std::io::BufRead;

use machine::Fact;

use crate::Question;

/// The most that [`Root::read`] returns: larger files are read by [`Root::stream`].
pub const SMALL: usize = 1 << 20;

/// A machine's facts. Paths begin with `/` and are the kernel's own.
pub trait Root: Sync {
    /// The whole content of a file of at most [`SMALL`] bytes.
    ///
    /// A longer file is cut there. Sizes that sysfs states are not trusted; NUL padding stays.
    fn read(&self, path: &str) -> Fact<Vec<u8>>;

    /// The content of a file as [`Root::read`] gives it, and its mode as [`Root::mode`] does: one
    /// opening where there are thousands of files whose mode tells something.
    fn read_with_mode(&self, path: &str) -> (Fact<Vec<u8>>, Fact<u32>) {
        (self.read(path), self.mode(path))
    }

    /// The first `most` bytes of a file, at most [`SMALL`]: for those whose every byte costs, as
    /// configuration space does in a virtual machine, where each word read is an exit.
    fn head(&self, path: &str, most: usize) -> Fact<Vec<u8>> {
        let mut bytes = self.read(path)?;
        bytes.truncate(most);
        Ok(bytes)
    }

    /// A file of any size, a piece at a time (/proc/interrupts grows to 58 MB).
    fn stream(&self, path: &str) -> Fact<Box<dyn BufRead + '_>>;

    /// Names in a folder, sorted by byte; those that are no UTF-8 are left out.
    fn list(&self, path: &str) -> Fact<Vec<String>>;

    /// The text of a symbolic link, not followed.
    fn link(&self, path: &str) -> Fact<String>;

    /// The path with every link in it resolved: `/sys/bus/pci/devices/X` becomes
    /// `/sys/devices/pci0000:00/...`. A dangling link is [`machine::Why::Absent`].
    fn resolve(&self, path: &str) -> Fact<String>;

    /// Permission bits, links followed.
    fn mode(&self, path: &str) -> Fact<u32>;

    /// An answer that is no file, as JSON.
    fn ask(&self, question: &Question) -> Fact<String>;
}
