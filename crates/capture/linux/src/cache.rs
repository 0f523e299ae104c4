// SPDX-License-Identifier: MIT OR Apache-2.0
//! Caches and who shares them.
//!
//! A CPU that an earlier CPU's `shared_cpu_map` names is not asked again about that cache, and
//! level and type are asked once for each index and kind of core, for the kernel lists the caches
//! of like CPUs in like order. Sizes are read for each cache: the L3 domains of one package may
//! differ (AMD's parts with stacked cache on one die).

use std::collections::BTreeMap;

use machine::{Cache, CacheKind, CoreKind, Cpus, Fact, Thread, Why};
use root::{Dir, Root};
use units::{Bytes, Cpu, CpuSet};

/// The most indexes looked at; the kernel's own count is below ten.
const MAX_INDEX: usize = 16;

/// Distinct caches by level, kind and first CPU.
pub(crate) fn read(root: &dyn Root, cpus: &Cpus) -> Vec<Cache> {
    let mut reader =
        Reader { root, online: &cpus.online, covered: Vec::new(), shape: BTreeMap::new() };
    let online = cpus.threads.iter().filter(|thread| thread.online);
    let mut caches: Vec<_> = online.flat_map(|thread| reader.caches(thread)).collect();
    caches.sort_by_key(|cache| (cache.level, cache.kind, cache.cpus.first()));
    caches
}

struct Reader<'a> {
    root: &'a dyn Root,
    online: &'a CpuSet,
    /// By index: the CPUs whose cache of that index is known.
    covered: Vec<CpuSet>,
    shape: BTreeMap<(CoreKind, usize), (u8, CacheKind)>,
}

impl Reader<'_> {
    /// The caches of one CPU that no CPU before it named.
    fn caches(&mut self, thread: &Thread) -> Vec<Cache> {
        let mut found = Vec::new();
        let mut asked = self.covered.is_empty();
        for index in 0..MAX_INDEX {
            match self.covered.get(index) {
                Some(covered) if covered.contains(thread.cpu) => continue,
                None if !asked => break,
                _ => asked = true,
            }
            let known_to_others = index < self.covered.len();
            match self.cache(thread, index) {
                Some(cache) => found.push(cache),
                // The last index of the others: a small core may lack what they have.
                None if !known_to_others => break,
                None => {}
            }
        }
        found
    }

    fn cache(&mut self, thread: &Thread, index: usize) -> Option<Cache> {
        let folder = format!("/sys/devices/system/cpu/cpu{}/cache/index{index}", thread.cpu);
        let dir = Dir::new(self.root, folder);
        let (level, kind) = self.shape(&dir, thread.kind, index)?;
        let size = match dir.text("size") {
            Err(Why::Absent) if dir.list().is_err() => return None,
            size => size.and_then(|text| parse_size(&text)),
        };
        let cpus = shared(&dir, thread.cpu, self.online)?;
        if self.covered.len() <= index {
            self.covered.resize_with(index + 1, CpuSet::new);
        }
        let covered = self.covered.get_mut(index)?;
        *covered = covered.or(&cpus);
        Some(Cache { level, kind, size, cpus })
    }

    fn shape(&mut self, dir: &Dir<'_>, kind: CoreKind, index: usize) -> Option<(u8, CacheKind)> {
        if let Some(shape) = self.shape.get(&(kind, index)) {
            return Some(*shape);
        }
        let level = dir.parse("level").ok().filter(|level| (1..=4).contains(level))?;
        let shape = (level, parse_kind(&dir.text("type").ok()?)?);
        self.shape.insert((kind, index), shape);
        Some(shape)
    }
}

/// The online CPUs of `shared_cpu_map`, or of the list beside it, or the CPU alone where these name
/// others only or are not written. Unknown where they are there and cannot be read: a cache of one
/// CPU would be a wrong one. The mask comes first because lstopo believes it where a tree was mended
/// by hand and the two differ.
fn shared(dir: &Dir<'_>, cpu: Cpu, online: &CpuSet) -> Option<CpuSet> {
    let alone = || [cpu].into_iter().collect();
    let mask = dir.text("shared_cpu_map");
    let is_written = mask != Err(Why::Absent);
    let by_mask = mask.ok().and_then(|text| CpuSet::from_mask(&text).ok());
    let set = match by_mask.map_or_else(|| dir.parse::<CpuSet>("shared_cpu_list"), Ok) {
        Ok(set) => set.and(online),
        Err(Why::Absent) if !is_written => return Some(alone()),
        Err(_) => return None,
    };
    Some(if set.contains(cpu) { set } else { alone() })
}

/// A size as the kernel prints it: `32768K`.
pub(crate) fn parse_size(text: &str) -> Fact<Bytes> {
    let unparsed = || Why::unparsed(text);
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K') => (text.strip_suffix('K'), 10),
        Some(b'M') => (text.strip_suffix('M'), 20),
        _ => (None, 0),
    };
    let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let number: u64 = digits.and_then(|digits| digits.parse().ok()).ok_or_else(unparsed)?;
    match number.checked_mul(1 << shift).ok_or_else(unparsed)? {
        0 => Err(Why::NotSupported),
        bytes => Ok(Bytes(bytes)),
    }
}

pub(crate) fn parse_kind(text: &str) -> Option<CacheKind> {
    match text {
        "Data" => Some(CacheKind::Data),
        "Instruction" => Some(CacheKind::Instruction),
        "Unified" => Some(CacheKind::Unified),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Troubles;
    use proptest::prelude::*;
    use root::MemoryRoot;

    fn put(
        root: &mut MemoryRoot,
        cpu: u32,
        index: usize,
        (level, kind, size, list): (u8, &str, &str, &str),
    ) {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
        root.file(&format!("{folder}/level"), level.to_string())
            .file(&format!("{folder}/type"), kind)
            .file(&format!("{folder}/size"), size);
        if !list.is_empty() {
            root.file(&format!("{folder}/shared_cpu_list"), list);
        }
    }

    fn caches(root: &MemoryRoot) -> Vec<(u8, String, Option<u64>)> {
        let cpus = crate::cpu::read(root, &mut Troubles::default());
        let text =
            |cache: Cache| (cache.level, cache.cpus.to_string(), cache.size.ok().map(|b| b.0));
        read(root, &cpus).into_iter().map(text).collect()
    }

    #[test]
    fn a_shared_cache_is_one() {
        let mut root = MemoryRoot::new();
        root.file("/sys/devices/system/cpu/online", "0-3");
        for cpu in 0..4 {
            let l3 = if cpu < 2 { ("96M", "0-1") } else { ("32768K", "2-3") };
            put(&mut root, cpu, 0, (1, "Data", "32K", &cpu.to_string()));
            put(&mut root, cpu, 1, (3, "Unified", l3.0, l3.1));
        }
        let first: Vec<_> = (0..4).map(|cpu| (1, cpu.to_string(), Some(32 << 10))).collect();
        let last = [(3, "0-1".to_owned(), Some(96 << 20)), (3, "2-3".to_owned(), Some(32 << 20))];
        assert_eq!(caches(&root), [first, last.to_vec()].concat());
    }

    #[test]
    fn a_small_core_without_l3_and_a_list_that_is_missing() {
        let mut root = MemoryRoot::new();
        root.file("/sys/devices/system/cpu/online", "0-1");
        put(&mut root, 0, 0, (1, "Data", "0K", ""));
        put(&mut root, 0, 1, (3, "Unified", "8192K", "0"));
        put(&mut root, 1, 0, (1, "Data", "x", "0"));
        let expected = [
            (1, "0".to_owned(), None),
            (1, "1".to_owned(), None),
            (3, "0".to_owned(), Some(8 << 20)),
        ];
        assert_eq!(caches(&root), expected);
    }

    /// The sibling tells of the cache; a second one of CPU 0 alone would be wrong.
    #[test]
    fn sharing_that_cannot_be_read_is_not_guessed() {
        let mut root = MemoryRoot::new();
        root.file("/sys/devices/system/cpu/online", "0-1");
        put(&mut root, 0, 0, (3, "Unified", "8192K", "0-1"));
        put(&mut root, 1, 0, (3, "Unified", "8192K", "0-1"));
        for file in ["shared_cpu_map", "shared_cpu_list"] {
            let folder = "/sys/devices/system/cpu/cpu0/cache/index0";
            root.refuse(&format!("{folder}/{file}"), Why::Denied);
        }
        assert_eq!(caches(&root), [(3, "0-1".to_owned(), Some(8 << 20))]);
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_size("1280K"), Ok(Bytes(1280 << 10)));
        for text in ["", "K", "32", "-1K", "99999999999999999999K", "18446744073709551615K"] {
            assert!(matches!(parse_size(text), Err(Why::Unparsed(_))), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_size_parses_or_is_refused(text in "[0-9]{0,22}[KMG]?|\\PC{0,9}") {
            let _ = parse_size(&text);
        }
    }
}
