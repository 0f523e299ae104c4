// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making a ring with what the kernel has, and keeping account of what it has not.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::{Builder, IoUring, Parameters, Submitter, cqueue, squeue};
use record::{Access, Flag, FlagState, Polling, Submission};

use crate::region::Region;

/// A ring and what it is made with.
pub(crate) struct Made<S: squeue::EntryMarker, C: cqueue::EntryMarker> {
    pub(crate) ring: IoUring<S, C>,
    pub(crate) flags: Vec<Flag>,
}

/// How long a kernel thread looks for work before it sleeps, in ms. Long: a run keeps it busy.
const KERNEL_THREAD_IDLE_MS: u32 = 1000;

/// Set-up flags that a ring is better with, the newest first: where a kernel refuses them together,
/// the newest is left out and the others are tried again.
const WANTED: [Wanted; 4] = [
    Wanted { name: "IORING_SETUP_NO_SQARRAY", since: "6.6" },
    Wanted { name: "IORING_SETUP_DEFER_TASKRUN", since: "6.1" },
    Wanted { name: "IORING_SETUP_SINGLE_ISSUER", since: "6.0" },
    Wanted { name: "IORING_SETUP_COOP_TASKRUN", since: "5.19" },
];

struct Wanted {
    name: &'static str,
    since: &'static str,
}

/// A ring of `entries` for files and block devices. It belongs to the thread that calls.
///
/// # Errors
/// What the kernel says to the plainest ring: EPERM and ENOSYS where io_uring is forbidden or absent.
pub(crate) fn make(entries: u32, access: Access) -> io::Result<Made<squeue::Entry, cqueue::Entry>> {
    attempt(access, |first| match access.polling {
        Polling::Hybrid => hybrid(&mut builder(access, first), entries),
        _ => builder(access, first).build(entries),
    })
}

/// A ring of `entries` for commands.
///
/// # Errors
/// As [`make`]; EOPNOTSUPP for polling after a sleep, which `io-uring` cannot make such rings for.
pub(crate) fn make_for_commands(
    entries: u32,
    access: Access,
) -> io::Result<Made<squeue::Entry128, cqueue::Entry32>> {
    attempt(access, |first| match access.polling {
        Polling::Hybrid => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        _ => builder(access, first).build(entries),
    })
}

/// The first ring that the kernel makes, with all wanted flags or without the newest ones.
fn attempt<S: squeue::EntryMarker, C: cqueue::EntryMarker>(
    access: Access,
    build: impl Fn(usize) -> io::Result<IoUring<S, C>>,
) -> io::Result<Made<S, C>> {
    for first in 0..=WANTED.len() {
        match build(first) {
            Ok(ring) => return Ok(Made { ring, flags: told(access, first) }),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && first < WANTED.len() => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from_raw_os_error(libc::EINVAL))
}

/// Whether a wanted flag goes together with what was asked.
fn is_fit(name: &str, access: Access) -> bool {
    // A kernel thread that submits has no task work to run at the submitter (io_uring/io_uring.c,
    // io_uring_create: "IPI related flags don't make sense with SQPOLL").
    let is_about_task_work = name.ends_with("TASKRUN");
    !(access.submission == Submission::KernelThread && is_about_task_work)
}

fn builder<S: squeue::EntryMarker, C: cqueue::EntryMarker>(
    access: Access,
    first: usize,
) -> Builder<S, C> {
    let mut builder = IoUring::<S, C>::builder();
    // Never inherited by a child, whose copy would keep the pages pinned.
    builder.dontfork().setup_clamp();
    for wanted in WANTED.iter().skip(first).filter(|wanted| is_fit(wanted.name, access)) {
        match wanted.name {
            "IORING_SETUP_NO_SQARRAY" => builder.setup_no_sqarray(),
            "IORING_SETUP_DEFER_TASKRUN" => builder.setup_defer_taskrun(),
            "IORING_SETUP_SINGLE_ISSUER" => builder.setup_single_issuer(),
            _ => builder.setup_coop_taskrun(),
        };
    }
    if access.submission == Submission::KernelThread {
        builder.setup_sqpoll(KERNEL_THREAD_IDLE_MS);
    }
    if access.polling != Polling::Interrupt {
        builder.setup_iopoll();
    }
    builder
}

/// A ring that polls after a sleep. `io-uring` does not know the flag yet, so that a plain polled ring
/// is asked first whether it can be had, and the same parameters with one bit more make the ring.
fn hybrid(
    builder: &mut Builder<squeue::Entry, cqueue::Entry>,
    entries: u32,
) -> io::Result<IoUring> {
    /// `IORING_SETUP_HYBRID_IOPOLL` (include/uapi/linux/io_uring.h), since 6.13.
    const HYBRID: u32 = 1 << 17;
    /// Words of `struct io_uring_params`, and the place of its flags.
    const WORDS: usize = 120 / 4;
    const FLAGS: usize = 2;
    let plain = builder.build(entries)?;
    const _: () = assert!(size_of::<Parameters>() == WORDS * 4);
    // SAFETY: `Parameters` is a transparent wrapper of the kernel's structure, which is plain numbers
    // without padding, of the size asserted above.
    let filled: [u32; WORDS] = unsafe { std::mem::transmute(plain.params().clone()) };
    drop(plain);
    let flags = filled.get(FLAGS).copied().unwrap_or(0) | HYBRID;
    let mut asked = [0; WORDS];
    asked.iter_mut().skip(FLAGS).take(1).for_each(|word| *word = flags);
    // SAFETY: the kernel reads and writes one `struct io_uring_params` at the pointer, which is of its
    // size (io_uring_setup(2)).
    let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, entries, asked.as_mut_ptr()) };
    let fd = i32::try_from(fd).unwrap_or(-1);
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above, the other way round; any numbers are valid.
    let filled: Parameters = unsafe { std::mem::transmute(asked) };
    // SAFETY: the descriptor is the ring just made, owned by nobody else, and the parameters are those
    // that the kernel filled in for it.
    unsafe { IoUring::from_fd(fd, filled) }
}

/// The account of a ring's flags.
fn told(access: Access, first: usize) -> Vec<Flag> {
    let wanted = WANTED.iter().enumerate().map(|(at, wanted)| {
        let state = if !is_fit(wanted.name, access) {
            FlagState::NotAsked
        } else if at < first {
            FlagState::Refused { errno: format!("EINVAL (since {})", wanted.since) }
        } else {
            FlagState::Used
        };
        Flag { name: wanted.name.to_owned(), state }
    });
    let asked = [
        ("IORING_SETUP_IOPOLL", access.polling != Polling::Interrupt),
        ("IORING_SETUP_HYBRID_IOPOLL", access.polling == Polling::Hybrid),
        ("IORING_SETUP_SQPOLL", access.submission == Submission::KernelThread),
    ];
    let asked = asked.into_iter().map(|(name, is_asked)| Flag {
        name: name.to_owned(),
        state: if is_asked { FlagState::Used } else { FlagState::NotAsked },
    });
    wanted.chain(asked).collect()
}

/// A flag that was asked for and the kernel has or has not.
pub(super) fn flag(name: &str, is_there: bool) -> Flag {
    let refused = || FlagState::Refused { errno: "EINVAL".to_owned() };
    let state = if is_there { FlagState::Used } else { refused() };
    Flag { name: name.to_owned(), state }
}

/// Registers the files; operations name them by their place.
pub(crate) fn register_files(submitter: &Submitter<'_>, files: &[File]) -> io::Result<()> {
    let descriptors: Vec<i32> = files.iter().map(AsRawFd::as_raw_fd).collect();
    submitter.register_files(&descriptors)
}

/// Registers the region; whether the kernel took it.
pub(crate) fn register_region(
    submitter: &Submitter<'_>,
    region: &Region,
    flags: &mut Vec<Flag>,
) -> bool {
    // SAFETY: the region's mapping lives until the region is dropped, which is with or after the ring:
    // both are of the thread's `Ring`, and a mapping with operations in flight is never taken away. The
    // kernel pins the pages themselves, so that they outlive the mapping if need be.
    let registered = unsafe { submitter.register_buffers(&[region.whole()]) };
    let state = registered.as_ref().map_or_else(refusal, |()| FlagState::Used);
    flags.push(Flag { name: "IORING_REGISTER_BUFFERS".to_owned(), state });
    registered.is_ok()
}

/// Registers the ring's own descriptor, which spares a look-up at each call.
pub(crate) fn register_ring(submitter: &mut Submitter<'_>, flags: &mut Vec<Flag>) {
    let registered = submitter.register_ring_fd();
    let state = registered.as_ref().map_or_else(refusal, |()| FlagState::Used);
    flags.push(Flag { name: "IORING_REGISTER_RING_FDS".to_owned(), state });
}

fn refusal(error: &io::Error) -> FlagState {
    FlagState::Refused { errno: crate::error::word(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_older_kernels_refuse_is_told_as_refused() {
        let flags = told(Access::default(), 2);
        let state =
            |name: &str| &flags.iter().find(|flag| flag.name.ends_with(name)).unwrap().state;
        let refused = |since| FlagState::Refused { errno: format!("EINVAL (since {since})") };
        assert_eq!(*state("NO_SQARRAY"), refused("6.6"));
        assert_eq!(*state("DEFER_TASKRUN"), refused("6.1"));
        assert_eq!(*state("SINGLE_ISSUER"), FlagState::Used);
        assert_eq!(*state("SQPOLL"), FlagState::NotAsked);
    }

    #[test]
    fn a_kernel_thread_has_no_task_work() {
        let access = Access { submission: Submission::KernelThread, ..Access::default() };
        let flags = told(access, 0);
        let used = flags.iter().filter(|flag| flag.state == FlagState::Used);
        let used: Vec<&str> = used.map(|flag| flag.name.as_str()).collect();
        let names =
            ["IORING_SETUP_NO_SQARRAY", "IORING_SETUP_SINGLE_ISSUER", "IORING_SETUP_SQPOLL"];
        assert_eq!(used, names);
    }
}
