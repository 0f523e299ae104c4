// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system calls that no safe crate offers: affinity over more than 1,024 CPUs, memory policy,
//! I/O priority. All `unsafe` of this crate is here.
//!
//! rustix has an affinity of fixed size and no memory policy; libnuma is a C library.

use std::io;

/// The words of a set that holds any node or CPU of any kernel: 65,536 bits, twice what the largest
/// `NR_CPUS` (8,192) and far more than the largest `MAX_NUMNODES` (1,024) need.
const WORDS: usize = 1024;

/// Bits, the lowest first, as the kernel's `unsigned long` arrays on every 64-bit machine.
pub(crate) type Words = Vec<u64>;

/// `sched_setaffinity(0, ...)`: the CPUs that this thread may run on.
pub(crate) fn set_affinity(cpus: &[u64]) -> io::Result<()> {
    let bytes = size_of_val(cpus);
    // SAFETY: the kernel reads `bytes` bytes from the pointer (sched_setaffinity(2)), which is as
    // many as the slice has, and keeps nothing of it after the call.
    let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, bytes, cpus.as_ptr()) };
    done(result)
}

/// `sched_getaffinity(0, ...)`.
pub(crate) fn affinity() -> io::Result<Words> {
    let mut words = vec![0_u64; WORDS];
    let bytes = size_of_val(words.as_slice());
    // SAFETY: the kernel writes at most `bytes` bytes to the pointer (sched_getaffinity(2)), which
    // is the length of the vector's buffer; any bits are valid for u64.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, bytes, words.as_mut_ptr()) };
    done(result).map(|()| words)
}

/// `set_mempolicy(mode, nodes, ...)`; without nodes the kernel is given no mask at all.
pub(crate) fn set_memory_policy(mode: u32, nodes: &[u64]) -> io::Result<()> {
    // One more than the number of bits: the kernel takes one off (mm/mempolicy.c, get_nodes).
    let (mask, bits) = match nodes.len() {
        0 => (std::ptr::null(), 0),
        words => (nodes.as_ptr(), words.saturating_mul(64).saturating_add(1)),
    };
    // SAFETY: the kernel reads `bits - 1` bits from the pointer (set_mempolicy(2)), which is as many
    // as the slice has; a null mask with 0 bits is an empty one.
    let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, mask, bits) };
    done(result)
}

/// `get_mempolicy`: the mode, its flags included, and the nodes of this thread's policy.
pub(crate) fn memory_policy() -> io::Result<(i32, Words)> {
    let mut mode: libc::c_int = 0;
    // Of the kernel's page at most: a longer mask is refused (copy_nodes_to_user).
    let mut words = vec![0_u64; WORDS / 64];
    let bits = words.len() * 64 + 1;
    // An `int` through a variadic call leaves the upper half of the register to chance, and the kernel
    // takes an `unsigned long` (mm/mempolicy.c).
    let (address, flags) = (std::ptr::null::<libc::c_void>(), 0 as libc::c_ulong);
    // SAFETY: the kernel writes an int to the first pointer and at most `bits - 1` bits to the
    // second (get_mempolicy(2)), for which both have room: `bits` is a usize, as wide as the kernel's
    // `unsigned long`. Flags of 0, as wide, ask for this thread's policy and take no address, so the
    // null pointer is not looked at.
    let result = unsafe {
        let (mode, nodes) = (&raw mut mode, words.as_mut_ptr());
        libc::syscall(libc::SYS_get_mempolicy, mode, nodes, bits, address, flags)
    };
    done(result).map(|()| (mode, words))
}

/// `ioprio_set(IOPRIO_WHO_PROCESS, 0, value)`: of this thread.
pub(crate) fn set_io_priority(value: u32) -> io::Result<()> {
    const PROCESS: libc::c_int = 1;
    // SAFETY: three numbers and no pointer (ioprio_set(2)).
    let result = unsafe { libc::syscall(libc::SYS_ioprio_set, PROCESS, 0, value) };
    done(result)
}

fn done(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
