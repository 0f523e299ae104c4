// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a device is behind what is read at all.
//!
//! A hole of a file is answered by the file system, and so is an extent that was allocated and never
//! written; blocks that a drive holds to be unused are answered by its controller without its medium.
//! All of them make numbers that no drive can have.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;

use record::{Doubt, DoubtKind};
use rustix::fs::{SeekFrom, fstatfs, seek};

use crate::draw::{Random, Stretch};
use crate::kernel;
use crate::region::Region;

/// `TMPFS_MAGIC` and `RAMFS_MAGIC` (include/uapi/linux/magic.h).
const MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// Extents that are looked at, at most: enough for a terabyte in pieces of 16 MiB.
const MOST_EXTENTS: usize = 65_536;

/// Blocks of a device that are looked at.
const SAMPLES: usize = 64;
const SAMPLE: usize = 4096;

/// What lies behind a stretch of a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lie {
    written: u64,
    unwritten: u64,
    hole: u64,
}

/// Whether a file lies in a file system in memory.
pub(crate) fn is_memory(file: &File) -> bool {
    fstatfs(file)
        .is_ok_and(|system| u64::try_from(system.f_type).is_ok_and(|kind| MEMORY.contains(&kind)))
}

/// Doubts about reading a stretch of a file.
pub(crate) fn file(file: &File, path: &str, stretch: Stretch) -> Vec<Doubt> {
    let doubt = |kind, text: String| Doubt { kind, target: Some(path.to_owned()), text };
    let Ok(lie) = extents(file, stretch).or_else(|_| holes(file, stretch)) else {
        return Vec::new();
    };
    let all = u128::from(lie.written) + u128::from(lie.unwritten) + u128::from(lie.hole);
    // Sparse files can be longer than a hundredth of 2^64.
    let share = |bytes: u64| u128::from(bytes) * 100 / all.max(1);
    let mut doubts = Vec::new();
    if share(lie.hole) > 0 {
        let percent = share(lie.hole);
        let text = format!("{percent} % of what is read is holes: there, this measures no device");
        doubts.push(doubt(DoubtKind::Hole, text));
    }
    if share(lie.unwritten) > 0 {
        let percent = share(lie.unwritten);
        let text = format!(
            "{percent} % of what is read was allocated and never written: there, this measures no \
             device"
        );
        doubts.push(doubt(DoubtKind::Unwritten, text));
    }
    doubts
}

/// How a stretch lies, by its extents.
fn extents(file: &File, stretch: Stretch) -> io::Result<Lie> {
    let end = stretch.start.saturating_add(stretch.bytes);
    let (mut at, mut lie, mut seen) = (stretch.start, Lie::default(), 0);
    while at < end && seen < MOST_EXTENTS {
        let found = kernel::extents(file.as_fd(), at, end - at)?;
        if found.is_empty() {
            break;
        }
        seen += found.len();
        for extent in &found {
            let start = extent.start.clamp(at, end);
            let stop = extent.start.saturating_add(extent.bytes).clamp(start, end);
            lie.hole += start - at;
            let place = if extent.is_unwritten() { &mut lie.unwritten } else { &mut lie.written };
            *place += stop - start;
            at = stop;
        }
        if found.last().is_some_and(|extent| extent.is_last()) {
            break;
        }
    }
    // Beyond the last extent there is nothing; beyond the most that are looked at nobody knows.
    if seen < MOST_EXTENTS {
        lie.hole += end.saturating_sub(at);
    }
    Ok(lie)
}

/// How a stretch lies, by where the file system says that data begin and end.
fn holes(file: &File, stretch: Stretch) -> io::Result<Lie> {
    let end = stretch.start.saturating_add(stretch.bytes);
    let (mut at, mut lie) = (stretch.start, Lie::default());
    for _ in 0..MOST_EXTENTS {
        if at >= end {
            break;
        }
        let data = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => data.min(end),
            Err(rustix::io::Errno::NXIO) => end,
            Err(error) => return Err(error.into()),
        };
        lie.hole += data.saturating_sub(at);
        if data >= end {
            break;
        }
        let hole = seek(file, SeekFrom::Hole(data))?.clamp(data, end);
        lie.written += hole - data;
        at = hole.max(data + 1);
    }
    Ok(lie)
}

/// Doubts about reading a stretch of a block device: blocks here and there are read. Those that hold
/// nothing but zeros were never written, or trimmed.
pub(crate) fn device(file: &File, path: &str, stretch: Stretch, seed: u64) -> Vec<Doubt> {
    let Ok(mut region) = Region::new(1, SAMPLE, None) else { return Vec::new() };
    let mut random = Random::of(seed, u64::MAX);
    let (mut empty, mut read) = (0, 0);
    for _ in 0..SAMPLES {
        let place = random.below((stretch.bytes / SAMPLE as u64).max(1)) * SAMPLE as u64;
        let Some(bytes) = region.bytes(0) else { break };
        if file.read_exact_at(bytes, stretch.start / 4096 * 4096 + place).is_ok() {
            read += 1;
            empty += usize::from(bytes.iter().all(|byte| *byte == 0));
        }
    }
    if empty * 10 < read * 9 || read == 0 {
        return Vec::new();
    }
    let text = format!(
        "{empty} of {read} blocks here and there hold only zeros: never written or trimmed, and then \
         the drive answers without its medium: this measures no device"
    );
    vec![Doubt { kind: DoubtKind::Trimmed, target: Some(path.to_owned()), text }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FallocateFlags, fallocate};

    fn stretch(bytes: u64) -> Stretch {
        Stretch { start: 0, bytes, step: 4096 }
    }

    /// A file in the target folder: the one for temporary files may be in memory.
    fn made() -> File {
        tempfile::tempfile_in(crate::made::folder()).unwrap()
    }

    fn kinds(file: &File) -> Vec<DoubtKind> {
        super::file(file, "f", stretch(1 << 20)).iter().map(|doubt| doubt.kind).collect()
    }

    #[test]
    fn what_lies_on_a_device_is_told_from_what_does_not() {
        let written = made();
        written.write_all_at(&vec![1; 1 << 20], 0).unwrap();
        written.sync_all().unwrap();
        assert_eq!(kinds(&written), []);
        let hole = made();
        hole.set_len(1 << 20).unwrap();
        assert_eq!(kinds(&hole), [DoubtKind::Hole]);
        hole.write_all_at(&vec![1; 512 << 10], 256 << 10).unwrap();
        hole.sync_all().unwrap();
        assert!(file(&hole, "f", stretch(1 << 20))[0].text.starts_with("50 %"));
        assert_eq!(holes(&hole, stretch(1 << 20)).unwrap().hole, 512 << 10);
    }

    #[test]
    fn what_was_only_allocated_is_told() {
        let file = made();
        if fallocate(&file, FallocateFlags::empty(), 0, 1 << 20).is_err() {
            // A file system that cannot.
            return;
        }
        let Ok(lie) = extents(&file, stretch(1 << 20)) else { return };
        if lie.unwritten > 0 {
            assert_eq!(kinds(&file), [DoubtKind::Unwritten]);
        }
    }

    #[test]
    fn zeros_here_and_there_are_a_doubt() {
        let empty = made();
        empty.set_len(1 << 20).unwrap();
        let doubts = device(&empty, "d", stretch(1 << 20), 1);
        assert_eq!(doubts.iter().map(|doubt| doubt.kind).collect::<Vec<_>>(), [DoubtKind::Trimmed]);
        empty.write_all_at(&vec![1; 1 << 20], 0).unwrap();
        assert_eq!(device(&empty, "d", stretch(1 << 20), 1), []);
    }
}
