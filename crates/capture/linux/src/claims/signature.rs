// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stands on a device, by the marks that file systems, volumes and tables leave.
//!
//! Places and marks are those of the formats themselves; each line names where they are defined. A mark
//! is a reason not to write, never proof that something can still be read.

/// Bytes of a device's beginning that are looked at: the furthest mark there is at 1 MiB.
pub const HEAD: usize = (1 << 20) + 4096;

/// Bytes of its end: two labels of ZFS, and all tables and RAID headers behind them.
pub const TAIL: usize = 1 << 20;

/// A mark at a fixed place of the beginning.
type Mark = (&'static str, usize, &'static [u8]);

/// Marks at the beginning, most telling first.
const MARKS: [Mark; 41] = [
    ("LUKS", 0, b"LUKS\xba\xbe"),
    ("LUKS (second header)", 0x4000, b"SKUL\xba\xbe"),
    ("LVM physical volume", 512, b"LABELONE"),
    ("LVM physical volume", 0, b"LABELONE"),
    ("LVM physical volume", 1024, b"LABELONE"),
    ("LVM physical volume", 1536, b"LABELONE"),
    // Linux md, include/uapi/linux/raid/md_p.h: MD_SB_MAGIC, versions 1.1 and 1.2.
    ("md RAID member", 0, &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("md RAID member", 4096, &[0xfc, 0x4e, 0x2b, 0xa9]),
    // drivers/md/bcache/super.c, after 24 bytes of the superblock in sector 8.
    ("bcache", 4096 + 24, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    ("bcachefs", 4096 + 24, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"),
    ("Ceph BlueStore", 0, b"bluestore block device"),
    ("XFS", 0, b"XFSB"),
    // ext2, ext3 and ext4: s_magic at 56 of the superblock at 1024.
    ("ext file system", 1024 + 56, &[0x53, 0xef]),
    ("btrfs", 0x1_0000 + 64, b"_BHRfS_M"),
    ("F2FS", 1024, &[0x10, 0x20, 0xf5, 0xf2]),
    ("swap space", 4096 - 10, b"SWAPSPACE2"),
    ("swap space", 4096 - 10, b"SWAP-SPACE"),
    ("swap space", 16_384 - 10, b"SWAPSPACE2"),
    ("swap space", 65_536 - 10, b"SWAPSPACE2"),
    ("suspended system", 4096 - 10, b"S1SUSPEND"),
    ("GFS2", 0x1_0000, &[0x01, 0x16, 0x19, 0x70]),
    ("OCFS2", 2048, b"OCFSV2"),
    ("OCFS2", 4096, b"OCFSV2"),
    ("JFS", 0x8000, b"JFS1"),
    ("ReiserFS", 0x1_0000 + 52, b"ReIsEr"),
    ("NILFS2", 1024 + 6, &[0x34, 0x34]),
    ("EROFS", 1024, &[0xe2, 0xe1, 0xf5, 0xe0]),
    ("SquashFS", 0, b"hsqs"),
    ("NTFS", 3, b"NTFS    "),
    ("exFAT", 3, b"EXFAT   "),
    ("BitLocker", 3, b"-FVE-FS-"),
    ("FAT", 54, b"FAT"),
    ("FAT", 82, b"FAT32   "),
    ("ISO 9660", 0x8000 + 1, b"CD001"),
    ("VMFS", 0x10_0000, &[0x0d, 0xd0, 0x01, 0xc0]),
    ("Stratis", 4096 + 4, b"!Stra0tis\x86\xff\x02^\x41rh"),
    ("VDO", 0, b"dmvdo001"),
    ("Oracle ASM", 32, b"ORCLDISK"),
    ("GPT", 512, b"EFI PART"),
    ("GPT", 4096, b"EFI PART"),
    ("partition table or boot sector", 510, &[0x55, 0xaa]),
];

/// The names of what the beginning and the end of a device of `bytes` bear; empty where nothing is
/// known. `tail` ends where the device ends.
pub fn signatures(head: &[u8], tail: &[u8], bytes: u64) -> Vec<&'static str> {
    let is_there = |mark: &&Mark| starts_at(head, mark.1, mark.2);
    let mut found: Vec<&'static str> = MARKS.iter().filter(is_there).map(|mark| mark.0).collect();
    found.extend(has_zfs(head).then_some("ZFS"));
    found.extend(at_end(tail, bytes));
    // A table's protective boot sector says nothing more.
    found.dedup();
    let mut seen = Vec::new();
    for name in found {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

fn starts_at(bytes: &[u8], at: usize, mark: &[u8]) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(mark))
}

/// Whether a label of ZFS is there: of 256 KiB, with an array of uberblocks in its second half, each at
/// a multiple of 1 KiB (sys/uberblock_impl.h), in the byte order of who wrote it. Labels are aligned to
/// 256 KiB.
fn has_zfs(bytes: &[u8]) -> bool {
    const UBERBLOCK: u64 = 0x00ba_b10c;
    let words = bytes.chunks(1024).filter_map(|block| block.first_chunk::<8>());
    words.into_iter().any(|word| {
        u64::from_le_bytes(*word) == UBERBLOCK || u64::from_be_bytes(*word) == UBERBLOCK
    })
}

/// Marks whose place is counted from the end.
fn at_end(tail: &[u8], bytes: u64) -> Vec<&'static str> {
    const MD: [u8; 4] = [0xfc, 0x4e, 0x2b, 0xa9];
    let first = bytes.saturating_sub(u64::try_from(tail.len()).unwrap_or(u64::MAX));
    let is_at = |place: Option<u64>, mark: &[u8]| {
        let at = place.and_then(|place| place.checked_sub(first));
        at.and_then(|at| usize::try_from(at).ok()).is_some_and(|at| starts_at(tail, at, mark))
    };
    // md version 1.0 (8 KiB from the end, down to a multiple of 4 KiB) and 0.90 (the last whole 64 KiB).
    let md_1 = bytes.checked_sub(8192).map(|place| place & !4095);
    let md_0 = (bytes & !65_535).checked_sub(65_536);
    // The table's second header is in the last block; Intel's header in the last two sectors; SNIA DDF
    // in the last one; DRBD's in the last 4 KiB, 60 bytes on (linux/drbd.h, DRBD_MD_MAGIC).
    let ends: [(&str, Option<u64>, &[u8]); 8] = [
        ("md RAID member", md_1, &MD),
        ("md RAID member", md_0, &MD),
        ("GPT", bytes.checked_sub(512), b"EFI PART"),
        ("GPT", bytes.checked_sub(4096), b"EFI PART"),
        ("Intel RAID member", bytes.checked_sub(1024), b"Intel Raid ISM Cfg Sig. "),
        ("DDF RAID member", bytes.checked_sub(512), &[0xde, 0x11, 0xde, 0x11]),
        ("DRBD", bytes.checked_sub(4096 - 60), &[0x83, 0x74, 0x02, 0x6b]),
        ("DRBD", bytes.checked_sub(4096 - 60), &[0x83, 0x74, 0x02, 0x6d]),
    ];
    let marks = ends.into_iter().filter(|(_, place, mark)| is_at(*place, mark));
    // Labels lie at multiples of 256 KiB of the device, and uberblocks at multiples of 1 KiB of those.
    let skip = usize::try_from(first.wrapping_neg() & 1023).unwrap_or(0);
    let zfs = tail.get(skip..).is_some_and(has_zfs).then_some("ZFS");
    marks.map(|(name, ..)| name).chain(zfs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DEVICE: u64 = (4 << 20) + 12_288;

    /// A device with bytes at a place.
    fn with(place: u64, mark: &[u8]) -> Vec<&'static str> {
        let mut device = vec![0_u8; usize::try_from(DEVICE).unwrap()];
        let place = usize::try_from(place).unwrap();
        device[place..place + mark.len()].copy_from_slice(mark);
        signatures(&device[..HEAD], &device[device.len() - TAIL..], DEVICE)
    }

    #[test]
    fn every_mark_is_found_where_it_stands() {
        for (name, place, mark) in MARKS {
            assert_eq!(with(place as u64, mark), [name], "{place}");
        }
        assert_eq!(with(0, &[]), [""; 0]);
    }

    #[test]
    fn marks_at_the_end_are_found() {
        let md = [0xfc, 0x4e, 0x2b, 0xa9];
        let uberblock = 0x00ba_b10c_u64.to_le_bytes();
        let cases: [(u64, &[u8], &str); 9] = [
            (DEVICE - 8192, &md, "md RAID member"),
            ((4 << 20) - 65_536, &md, "md RAID member"),
            (DEVICE - 512, b"EFI PART", "GPT"),
            (DEVICE - 4096, b"EFI PART", "GPT"),
            (DEVICE - 1024, b"Intel Raid ISM Cfg Sig. ", "Intel RAID member"),
            (DEVICE - 512, &[0xde, 0x11, 0xde, 0x11], "DDF RAID member"),
            (DEVICE - 4036, &[0x83, 0x74, 0x02, 0x6b], "DRBD"),
            (128 << 10, &uberblock, "ZFS"),
            ((4 << 20) - (128 << 10), &uberblock, "ZFS"),
        ];
        for (place, mark, name) in cases {
            assert_eq!(with(place, mark), [name], "{place}");
        }
    }

    #[test]
    fn a_table_is_told_with_its_boot_sector() {
        let mut head = vec![0; HEAD];
        head[510..512].copy_from_slice(&[0x55, 0xaa]);
        head[512..520].copy_from_slice(b"EFI PART");
        let names = signatures(&head, &[], DEVICE);
        assert_eq!(names, ["GPT", "partition table or boot sector"]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(
            head in proptest::collection::vec(any::<u8>(), 0..6000),
            tail in proptest::collection::vec(any::<u8>(), 0..6000),
            bytes: u64,
        ) {
            signatures(&head, &tail, bytes);
        }
    }
}
