// SPDX-License-Identifier: MIT OR Apache-2.0
//! Carries a placement out on this process and becomes the command; drives fio and gdsio and reads
//! what they print.
//!
//! Nothing stands between the shell and the command: the process takes its cpuset, affinity, memory
//! policy and priorities, and exec(2) replaces it, so that signals, job control and exit codes are
//! the command's own. What the kernel took is read back before that: it drops CPUs and nodes that a
//! cpuset forbids without a word, and half a placement is none.
//!
//! [`carry_out`] wants the live root: the placement of a captured machine has no process to go to.

mod cgroup;
pub mod child;
mod command;
mod error;
pub mod fio;
#[doc(hidden)]
pub mod fuzz;
pub mod gdsio;
#[expect(unsafe_code, reason = "system calls that no safe crate offers")]
mod kernel;
mod policy;
mod priority;
mod program;
pub mod stamp;

use std::path::Path;

use place::Placement;
use root::LiveRoot;

pub use command::{NotStarted, become_command};
pub use error::Error;
pub use policy::bind;
pub use priority::IoPriority;
pub use program::DriveError;

/// What a process takes besides its placement.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extras<'a> {
    /// Added to the niceness, -20 to 19.
    pub nice: Option<i32>,
    /// Class and level for the I/O scheduler.
    pub io: Option<IoPriority>,
    /// A cgroup v2 folder to move into; made where its parent is one and it is missing.
    pub cgroup: Option<&'a Path>,
}

/// Gives this thread, and what it becomes, the placement.
///
/// The cpuset comes first: moving into one resets affinity and memory policy.
///
/// What is returned is held until the command runs: dropped before, a group that was made for it
/// goes again.
///
/// # Errors
/// What the kernel refused, or took only in part.
pub fn carry_out(
    _: &LiveRoot,
    placement: &Placement,
    extras: &Extras<'_>,
) -> Result<Carried, Error> {
    let entered = extras.cgroup.map(|folder| cgroup::enter(folder, placement)).transpose()?;
    policy::bind(&placement.cpus)?;
    policy::set_memory(&placement.memory)?;
    priority::set(extras.nice, extras.io)?;
    Ok(Carried { _entered: entered })
}

/// A placement that was carried out.
#[derive(Debug)]
#[must_use = "dropped, it takes a group that was made for the command away"]
pub struct Carried {
    _entered: Option<cgroup::Entered>,
}
