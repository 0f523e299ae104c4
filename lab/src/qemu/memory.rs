// SPDX-License-Identifier: MIT OR Apache-2.0
//! The heap of a QEMU process of ours, by `/proc/PID/mem`.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// A process whose memory is looked at while its guest is stopped.
#[derive(Debug)]
pub(super) struct Memory {
    file: File,
    regions: Vec<Range<u64>>,
}

/// QEMU's heap was seen above 64 MiB and never near this.
const LARGEST_HEAP: u64 = 400 << 20;
const CHUNK: usize = 8 << 20;

impl Memory {
    /// Opens it; regions that can hold the guest's memory of so many bytes a node are left out.
    pub(super) fn open(process: u32, node_bytes: u64) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(format!("/proc/{process}/mem"))?;
        let maps = std::fs::read_to_string(format!("/proc/{process}/maps"))?;
        let regions = maps.lines().filter_map(region).filter(|region| {
            let length = region.end - region.start;
            length <= LARGEST_HEAP && length % node_bytes.max(1) != 0
        });
        Ok(Self { file, regions: regions.collect() })
    }

    /// Calls for every place that begins with one of the words, aligned to four bytes, with the
    /// address and the `window` bytes from there on.
    pub(super) fn find(&self, words: &[u32], window: usize, mut call: impl FnMut(u64, &[u8])) {
        let mut buffer = vec![0; CHUNK];
        for region in &self.regions {
            let mut start = region.start;
            while start < region.end {
                let wanted = usize::try_from(region.end - start).unwrap_or(CHUNK).min(CHUNK);
                let Ok(read) = self.file.read_at(&mut buffer[..wanted], start) else { break };
                scan(&buffer[..read], words, window, |at, bytes| call(start + at, bytes));
                if read <= window {
                    break;
                }
                // What straddles two chunks is seen in the second, once: a whole window follows.
                start += (read - window + 1).next_multiple_of(4) as u64;
            }
        }
    }

    pub(super) fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, address)
    }
}

fn scan(bytes: &[u8], words: &[u32], window: usize, mut call: impl FnMut(u64, &[u8])) {
    for (number, four) in bytes.chunks_exact(4).enumerate() {
        let Ok(four) = four.try_into() else { return };
        if words.contains(&u32::from_le_bytes(four))
            && let Some(found) = bytes.get(number * 4..number * 4 + window)
        {
            call(number as u64 * 4, found);
        }
    }
}

/// Private, writable and nobody's file.
// Example: 55d0c8a3e000-55d0ca1f2000 rw-p 00000000 00:00 0                          [heap]
fn region(line: &str) -> Option<Range<u64>> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (rights, inode) = (words.next()?, words.nth(2)?);
    let hex = |text| u64::from_str_radix(text, 16).ok();
    (rights == "rw-p" && inode == "0").then_some(hex(start)?..hex(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_private_memory_is_looked_at() {
        let heap = "55d0c8a3e000-55d0ca1f2000 rw-p 00000000 00:00 0     [heap]";
        assert_eq!(region(heap), Some(0x55d0_c8a3_e000..0x55d0_ca1f_2000));
        assert_eq!(region("7f00-7f10 rw-p 00000000 08:01 4242 /usr/lib/libc.so.6"), None);
        assert_eq!(region("7f00-7f10 rwxp 00000000 00:00 0"), None);
    }

    #[test]
    fn a_place_is_found_with_what_follows_or_not_at_all() {
        let bytes = [0, 0, 0, 0, 0x36, 0x1b, 0x10, 0, 7, 7, 7, 7, 0x36, 0x1b, 0x10, 0];
        let mut found = Vec::new();
        scan(&bytes, &[0x0010_1b36], 8, |at, window| found.push((at, window.to_vec())));
        assert_eq!(found, [(4, vec![0x36, 0x1b, 0x10, 0, 7, 7, 7, 7])]);
    }
}
