// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small texts in the kernel's notation, and numbers that look random and never change.

use units::{Cpu, CpuSet};

/// A CPU mask as `%*pb` prints it: exactly as many digits as `bits` need, words of 32 bits.
pub(crate) fn mask(set: &CpuSet, bits: u32) -> String {
    let words = bits.div_ceil(32).max(1);
    let full = set.to_mask(usize::try_from(bits).unwrap_or(0));
    let skip = match bits % 32 {
        0 => 0,
        rest => 8 - usize::try_from(rest.div_ceil(4)).unwrap_or(8),
    };
    debug_assert_eq!(full.split(',').count(), usize::try_from(words).unwrap_or(0));
    full.get(skip..).unwrap_or(&full).to_owned()
}

/// All CPUs from `first` on, `count` of them.
pub(crate) fn range(first: u32, count: u32) -> CpuSet {
    (first..first.saturating_add(count)).map(Cpu).collect()
}

/// A number that looks random and is the same for the same seed (SplitMix64's finisher).
pub(crate) fn noise(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number for a text: FNV-1a.
pub(crate) fn seed(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A choice as sysfs shows it: `always [madvise] never`.
pub(crate) fn choice(options: &[&str], chosen: &str) -> String {
    let shown: Vec<String> = options
        .iter()
        .map(|option| if *option == chosen { format!("[{option}]") } else { (*option).to_owned() })
        .collect();
    shown.join(" ")
}

/// The kernel's name for the n-th SCSI disk: `sda`, ..., `sdz`, `sdaa`.
pub(crate) fn disk_name(mut index: u32) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(b'a' + u8::try_from(index % 26).unwrap_or(0)));
        match (index / 26).checked_sub(1) {
            Some(next) => index = next,
            None => break,
        }
    }
    letters.push('d');
    letters.push('s');
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_the_kernels_width() {
        // `smp_affinity` of a 16-CPU machine: `0f00`; of an 80-CPU one: `ffff,ffffffff,ffffffff`.
        let cases = [(8, 4, 16, "0f00"), (0, 80, 80, "ffff,ffffffff,ffffffff")];
        for (first, count, bits, text) in cases {
            assert_eq!(mask(&range(first, count), bits), text);
        }
        assert_eq!(mask(&range(0, 1), 1024).len(), 32 * 9 - 1);
        assert_eq!(mask(&CpuSet::new(), 2), "0");
    }

    #[test]
    fn disks_are_named_as_the_kernel_does() {
        let names: Vec<String> = [0, 25, 26, 701, 702].map(disk_name).to_vec();
        assert_eq!(names, ["sda", "sdz", "sdaa", "sdzz", "sdaaa"]);
    }
}
