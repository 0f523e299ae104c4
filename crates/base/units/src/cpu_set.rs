// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sets of CPUs (or nodes), in the kernel's two notations.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Cpu, ParseError};

/// The highest number a set may hold. The kernel's largest `NR_CPUS` is 8192; a hostile list such
/// as `0-4294967295` must not become half a gigabyte of bits.
const MAX: u32 = 65_535;

/// A set of CPU or node numbers: kernel lists (`0-3,8`) and masks (`00000000,0000010f`) read and
/// print to the same text.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CpuSet {
    /// Bit n of word n / 64; the last word is never zero, so that equal sets are equal words.
    words: Vec<u64>,
}

impl CpuSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// Reads a kernel list: `0-3,8`, `0-6:2/3` (from bitmap_parselist), or nothing at all.
    ///
    /// # Errors
    /// Text that is no list, a range that runs backwards, a number above 65,535.
    pub fn from_list(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError::new("CPU list", text);
        let mut set = Self::new();
        for part in text.trim().split(',').map(str::trim).filter(|part| !part.is_empty()) {
            set.insert_range(part).ok_or_else(error)?;
        }
        Ok(set)
    }

    /// Reads a kernel mask: 32-bit words in hexadecimal, the highest first, split by commas. An
    /// empty word counts as zero, as the kernel's own parser has it.
    ///
    /// # Errors
    /// Text that is no mask, or one that is wider than 65,536 bits.
    pub fn from_mask(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError::new("CPU mask", text);
        let mut set = Self::new();
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(error());
        }
        for (index, word) in trimmed.rsplit(',').enumerate() {
            let base = u32::try_from(index).ok().and_then(|index| index.checked_mul(32));
            let base = base.filter(|base| *base < MAX).ok_or_else(error)?;
            set.insert_word(base, mask_word(word).ok_or_else(error)?);
        }
        Ok(set)
    }

    fn insert_range(&mut self, part: &str) -> Option<()> {
        let (range, stride) = match part.split_once(':') {
            Some((range, stride)) => (range, Some(stride)),
            None => (part, None),
        };
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(range)?, number(range)?),
        };
        let (used, group) = match stride {
            Some(stride) => {
                let (used, group) = stride.split_once('/')?;
                (number(used)?, number(group)?)
            }
            None => (1, 1),
        };
        if first > last || last > MAX || group == 0 || used == 0 || used > group {
            return None;
        }
        (first..=last).filter(|n| (n - first) % group < used).for_each(|n| self.insert(Cpu(n)));
        Some(())
    }

    fn insert_word(&mut self, base: u32, word: u32) {
        (0..32).filter(|bit| word >> bit & 1 == 1).for_each(|bit| self.insert(Cpu(base + bit)));
    }

    /// Adds one CPU. Numbers above 65,535 are dropped: no kernel has them.
    pub fn insert(&mut self, cpu: Cpu) {
        if cpu.0 > MAX {
            return;
        }
        let (word, bit) = place(cpu);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= bit;
    }

    /// Takes one CPU out.
    pub fn remove(&mut self, cpu: Cpu) {
        let (word, bit) = place(cpu);
        if let Some(bits) = self.words.get_mut(word) {
            *bits &= !bit;
        }
        self.trim();
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }

    /// Whether the set holds `cpu`.
    pub fn contains(&self, cpu: Cpu) -> bool {
        let (word, bit) = place(cpu);
        self.words.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Whether the set holds nothing.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How many CPUs the set holds.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The lowest CPU.
    pub fn first(&self) -> Option<Cpu> {
        self.iter().next()
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Cpu> + '_ {
        (0_u32..).step_by(64).zip(&self.words).flat_map(|(base, word)| Bits { base, word: *word })
    }

    /// What is in both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let words = self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect();
        let mut set = Self { words };
        set.trim();
        set
    }

    /// What is in either.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let length = self.words.len().max(other.words.len());
        let word = |set: &Self, index: usize| set.words.get(index).copied().unwrap_or(0);
        Self { words: (0..length).map(|index| word(self, index) | word(other, index)).collect() }
    }

    /// What is in this set and not in `other`.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let word = |index: usize| other.words.get(index).copied().unwrap_or(0);
        let words =
            self.words.iter().enumerate().map(|(index, bits)| bits & !word(index)).collect();
        let mut set = Self { words };
        set.trim();
        set
    }

    /// Whether every CPU of this set is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.minus(other).is_empty()
    }

    /// Whether the two share a CPU.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// The set as a kernel mask of at least `width` bits: `00000000,0000010f`.
    pub fn to_mask(&self, width: usize) -> String {
        let halves = width.div_ceil(32).max(self.words.len() * 2).max(1);
        let half = |index: usize| {
            let word = self.words.get(index / 2).copied().unwrap_or(0);
            word >> (32 * (index % 2)) & 0xffff_ffff
        };
        let top = (0..halves).rev().find(|index| half(*index) != 0).unwrap_or(0);
        let top = top.max(width.div_ceil(32).saturating_sub(1));
        let words: Vec<_> = (0..=top).rev().map(|index| format!("{:08x}", half(index))).collect();
        words.join(",")
    }
}

/// The set bits of one word, lowest first.
struct Bits {
    base: u32,
    word: u64,
}

impl Iterator for Bits {
    type Item = Cpu;

    fn next(&mut self) -> Option<Cpu> {
        if self.word == 0 {
            return None;
        }
        let bit = self.word.trailing_zeros();
        self.word &= self.word - 1;
        Some(Cpu(self.base + bit))
    }
}

fn place(cpu: Cpu) -> (usize, u64) {
    ((cpu.0 / 64) as usize, 1 << (cpu.0 % 64))
}

fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn mask_word(word: &str) -> Option<u32> {
    let hex = word.len() <= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    match word {
        "" => Some(0),
        _ => hex.then(|| u32::from_str_radix(word, 16).ok()).flatten(),
    }
}

impl FromStr for CpuSet {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::from_list(text)
    }
}

impl TryFrom<String> for CpuSet {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        Self::from_list(&text)
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> Self {
        set.to_string()
    }
}

impl FromIterator<Cpu> for CpuSet {
    fn from_iter<I: IntoIterator<Item = Cpu>>(cpus: I) -> Self {
        let mut set = Self::new();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

/// The kernel's list notation: ascending, ranges joined.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().map(|cpu| cpu.0).peekable();
        let mut comma = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if_eq(&(last + 1)) {
                last = next;
            }
            match last {
                _ if last == first => write!(f, "{comma}{first}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(text: &str) -> CpuSet {
        CpuSet::from_list(text).unwrap()
    }

    #[test]
    fn lists_as_the_kernel_writes_them() {
        for text in ["", "0", "0-3,8", "1,3,5,7", "0-63", "64-127,1023"] {
            assert_eq!(list(text).to_string(), text);
        }
        assert_eq!(list("0-6:2/3"), list("0,1,3,4,6"));
        assert_eq!(list(" 2,1,0\n").to_string(), "0-2");
    }

    #[test]
    fn masks_as_the_kernel_writes_them() {
        assert_eq!(CpuSet::from_mask("00000000,0000010f\n").unwrap(), list("0-3,8"));
        assert_eq!(CpuSet::from_mask(",,10").unwrap(), list("4"));
        assert_eq!(list("3,1").to_mask(8), "0000000a");
        assert_eq!(list("8,9,0,1").to_mask(80), "00000000,00000000,00000303");
        assert_eq!(list("64").to_mask(1), "00000001,00000000,00000000");
        assert_eq!(CpuSet::new().to_mask(0), "00000000");
    }

    #[test]
    fn hostile_lists_are_refused() {
        for text in ["0-4294967295", "3-1", "1-", "-1", "a", "0-9:0/3", "0-9:4/3", "0x4", "1-2-3"] {
            assert!(CpuSet::from_list(text).is_err(), "{text}");
        }
        for text in ["", "0x4", "100000000", "g"] {
            assert!(CpuSet::from_mask(text).is_err(), "{text}");
        }
        assert!(CpuSet::from_mask(&",".repeat(10_000)).is_err());
    }

    proptest! {
        #[test]
        fn both_notations_round_trip(numbers in proptest::collection::btree_set(0_u32..2048, 0..64)) {
            let set: CpuSet = numbers.iter().copied().map(Cpu).collect();
            prop_assert_eq!(&CpuSet::from_list(&set.to_string()).unwrap(), &set);
            prop_assert_eq!(&CpuSet::from_mask(&set.to_mask(2048)).unwrap(), &set);
            prop_assert_eq!(set.len(), numbers.len());
            prop_assert_eq!(set.iter().map(|cpu| cpu.0).collect::<Vec<_>>(), numbers.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn set_algebra_is_that_of_sets(a in proptest::collection::btree_set(0_u32..300, 0..40), b in proptest::collection::btree_set(0_u32..300, 0..40)) {
            let set = |numbers: &std::collections::BTreeSet<u32>| numbers.iter().copied().map(Cpu).collect::<CpuSet>();
            let (x, y) = (set(&a), set(&b));
            prop_assert_eq!(x.and(&y), set(&(&a & &b)));
            prop_assert_eq!(x.or(&y), set(&(&a | &b)));
            prop_assert_eq!(x.minus(&y), set(&(&a - &b)));
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
            prop_assert_eq!(x.overlaps(&y), !a.is_disjoint(&b));
        }

        #[test]
        fn any_text_parses_or_is_refused(text in "\\PC*") {
            let _ = CpuSet::from_list(&text);
            let _ = CpuSet::from_mask(&text);
        }
    }
}
