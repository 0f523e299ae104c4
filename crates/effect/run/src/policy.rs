// SPDX-License-Identifier: MIT OR Apache-2.0
//! Affinity and memory policy: set, and read back.

use std::io;

use place::{Memory, Policy};
use units::{Cpu, CpuSet};

use crate::{Error, kernel};

/// Modes of a memory policy (include/uapi/linux/mempolicy.h).
const PREFERRED: u32 = 1;
const BIND: u32 = 2;
const LOCAL: u32 = 4;
const PREFERRED_MANY: u32 = 5;

/// Binds this thread to CPUs, of as many as any kernel has.
///
/// # Errors
/// The kernel refused, or a cpuset made it take fewer without a word.
pub fn bind(cpus: &CpuSet) -> Result<(), Error> {
    let refused = |source| Error::Affinity { cpus: cpus.clone(), source };
    kernel::set_affinity(&words(cpus)).map_err(refused)?;
    let left = set(&kernel::affinity().map_err(refused)?);
    if left == *cpus { Ok(()) } else { Err(Error::Narrowed { cpus: cpus.clone(), left }) }
}

/// Sets where this thread's memory comes from.
pub(crate) fn set_memory(memory: &Memory) -> Result<(), Error> {
    let nodes = &memory.nodes;
    let refused = |source| Error::Memory { nodes: nodes.clone(), source };
    let mode = match memory.policy {
        Policy::Bind => BIND,
        Policy::Prefer if nodes.len() == 1 => PREFERRED,
        Policy::Prefer => PREFERRED_MANY,
        Policy::Local => return set_local().map_err(refused),
    };
    kernel::set_memory_policy(mode, &words(nodes)).map_err(refused)?;
    let left = set(&kernel::memory_policy().map_err(refused)?.1);
    if left == *nodes { Ok(()) } else { Err(Error::MemoryNarrowed { nodes: nodes.clone(), left }) }
}

/// A kernel without NUMA has one memory, which is the local one.
fn set_local() -> io::Result<()> {
    match kernel::set_memory_policy(LOCAL, &[]) {
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Ok(()),
        result => result,
    }
}

fn words(set: &CpuSet) -> kernel::Words {
    let mut words = kernel::Words::new();
    for Cpu(number) in set.iter() {
        let (word, bit) = (number as usize / 64, number % 64);
        if words.len() <= word {
            words.resize(word + 1, 0);
        }
        if let Some(word) = words.get_mut(word) {
            *word |= 1 << bit;
        }
    }
    words
}

fn set(words: &[u64]) -> CpuSet {
    let bits = |(word, first): (&u64, u32)| {
        let word = *word;
        (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| Cpu(first + bit))
    };
    words.iter().zip((0..).step_by(64)).flat_map(bits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> CpuSet {
        CpuSet::from_list(text).unwrap()
    }

    #[test]
    fn sets_are_words_and_back() {
        for text in ["", "0", "0-3,63-64,1023", "1024-1030,8191", "65535"] {
            assert_eq!(set(&words(&list(text))), list(text));
        }
        assert_eq!(words(&list("1,64")), [2, 1]);
    }

    /// In a thread of its own: affinity and policy are a thread's.
    #[test]
    fn the_kernel_takes_what_is_there_and_no_more() {
        let thread = std::thread::spawn(|| {
            let all = set(&kernel::affinity().unwrap());
            let one: CpuSet = all.first().into_iter().collect();
            bind(&one).unwrap();
            assert_eq!(set(&kernel::affinity().unwrap()), one);
            let absent = one.or(&list("65535"));
            assert!(matches!(bind(&absent), Err(Error::Narrowed { left, .. }) if left == one));
            assert!(matches!(bind(&list("65535")), Err(Error::Affinity { .. })));
            assert!(matches!(bind(&CpuSet::new()), Err(Error::Affinity { .. })));
        });
        thread.join().unwrap();
    }

    #[test]
    fn memory_policies_are_read_back() {
        let thread = std::thread::spawn(|| {
            if kernel::memory_policy().is_err() {
                // A kernel without NUMA, or a seccomp profile that forbids it.
                return;
            }
            let nodes = list("0");
            for (policy, mode) in [(Policy::Bind, BIND), (Policy::Prefer, PREFERRED)] {
                set_memory(&Memory { policy, nodes: nodes.clone() }).unwrap();
                let (left, words) = kernel::memory_policy().unwrap();
                assert_eq!((u32::try_from(left), set(&words)), (Ok(mode), nodes.clone()));
            }
            set_memory(&Memory { policy: Policy::Local, nodes: CpuSet::new() }).unwrap();
            let absent = Memory { policy: Policy::Bind, nodes: list("1023") };
            assert!(matches!(set_memory(&absent), Err(Error::Memory { .. })));
        });
        thread.join().unwrap();
    }
}
