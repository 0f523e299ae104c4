// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which way to the devices this kernel, or this sandbox, allows.

use std::fs::File;
use std::io;

use record::{Access, Flag, Path, Polling, Submission};

use crate::aio::Aio;
use crate::error::word;
use crate::nvme::{CommandRing, Namespace};
use crate::positioned::Positioned;
use crate::region::Region;
use crate::ring::{self, Ring};
use crate::verify::Writings;
use crate::worker::{Tally, Task, work};
use crate::{Error, Fallback};

/// A way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Ring,
    Commands,
    Aio,
    Positioned,
}

impl Way {
    /// Its name in a result.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ring => "io_uring",
            Self::Commands => "io_uring_cmd",
            Self::Aio => "io_submit",
            Self::Positioned => "pread",
        }
    }
}

/// What stands in a thread's way.
pub(crate) type Stopped = (&'static str, io::Error);

/// The best way that there is, and what was said to a better one. What was asked by name is never
/// replaced by something else.
///
/// # Errors
/// Polling, a kernel thread or commands where io_uring is forbidden.
pub(crate) fn choose(access: Access, fallback: Fallback) -> Result<(Way, Option<String>), Error> {
    let said = match (fallback, access.path) {
        (Fallback::None, path) => match probe(access) {
            Ok(()) if path == Path::Passthrough => return Ok((Way::Commands, None)),
            Ok(()) => return Ok((Way::Ring, None)),
            Err(refused) => Some(format!("io_uring_setup says {}", word(&refused))),
        },
        _ => None,
    };
    if needs_ring(access) {
        let what = "polling, a submitting kernel thread or NVMe commands".to_owned();
        let why = said.unwrap_or_else(|| "another way was asked".to_owned());
        return Err(Error::Unsupported { what, why: format!("they need io_uring, and {why}") });
    }
    if fallback == Fallback::Positioned {
        return Ok((Way::Positioned, None));
    }
    let probed = Region::new(1, 512, None).map(|region| Aio::new(&[], region).map(drop));
    match probed {
        Ok(Ok(())) => Ok((Way::Aio, said)),
        Ok(Err((error, _))) => {
            let io_setup = format!("io_setup says {}", word(&error));
            let all: Vec<String> = said.into_iter().chain([io_setup]).collect();
            Ok((Way::Positioned, Some(all.join(", "))))
        }
        Err(_) => Ok((Way::Positioned, said)),
    }
}

fn needs_ring(access: Access) -> bool {
    access.path == Path::Passthrough
        || access.polling != Polling::Interrupt
        || access.submission == Submission::KernelThread
}

/// Makes the smallest ring of the kind that is wanted, and drops it.
fn probe(access: Access) -> io::Result<()> {
    match access.path {
        Path::Block => ring::make(1, access).map(drop),
        Path::Passthrough => ring::make_for_commands(1, access).map(drop),
    }
}

/// What a thread works with.
pub(crate) struct Tools<'a> {
    pub(crate) access: Access,
    pub(crate) files: &'a [File],
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) region: Region,
}

/// Sets a way up for this thread, waits for `begin` to give it its task, and works. Flags are told
/// before the waiting begins.
pub(crate) fn go<'t>(
    way: Way,
    tools: Tools<'_>,
    begin: impl FnOnce(Vec<Flag>) -> Option<Task<'t>>,
) -> Result<Option<(Tally, Option<Writings>)>, Stopped> {
    let Tools { access, files, namespaces, region } = tools;
    let entries = u32::try_from(region.slots()).unwrap_or(u32::MAX);
    match way {
        Way::Ring => {
            let made = ring::make(entries, access).map_err(|error| ("making a ring", error))?;
            let (mut ring, mut flags) = (made.ring, made.flags);
            let queue = Ring::new(&mut ring, files, region, access.io_wait, &mut flags)
                .map_err(|error| ("registering files", error))?;
            Ok(begin(flags).map(|task| work(task, queue)))
        }
        Way::Commands => {
            let made = ring::make_for_commands(entries, access)
                .map_err(|error| ("making a ring", error))?;
            let (mut ring, mut flags) = (made.ring, made.flags);
            let queue = CommandRing::new(&mut ring, files, namespaces, region, &mut flags)
                .map_err(|error| ("registering files", error))?;
            Ok(begin(flags).map(|task| work(task, queue)))
        }
        Way::Aio => {
            let queue = Aio::new(files, region).map_err(|(error, _)| ("io_setup", error))?;
            Ok(begin(Vec::new()).map(|task| work(task, queue)))
        }
        Way::Positioned => {
            let queue = Positioned::new(files, region);
            Ok(begin(Vec::new()).map(|task| work(task, queue)))
        }
    }
}
