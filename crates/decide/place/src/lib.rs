// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a command is to run: the CPUs and the memory near the devices that it works with.
//!
//! ```text
//! Site (devices, nodes, CPU sets) ─┐
//! Ask (cores, memory, interrupts) ─┴─> place ─> Placement ─> words of numactl, systemd, docker, ...
//! ```
//!
//! A [`Placement`] says which CPUs and nodes, why these, and what was left out and why. What cannot
//! be had is a [`Refusal`] with the reason: a node that is unknown is never taken for node 0, and a
//! set that is empty is never widened in silence. No I/O happens here.

#![forbid(unsafe_code)]

mod choose;
mod memory;
mod placement;
mod refusal;
mod seats;
mod sides;
#[cfg(test)]
mod tests;
pub mod words;

use machine::Site;

pub use placement::{Ask, Interrupts, LeftOut, Memory, Placement, Policy};
pub use refusal::Refusal;
pub use seats::{NoSeat, Seat, Where, seats};

/// Places a command near the site's targets.
///
/// # Errors
/// The first thing asked that this machine cannot give, with the reason.
pub fn place(site: &Site, ask: &Ask) -> Result<Placement, Refusal> {
    let sides = sides::of(site)?;
    let mut placement = Placement {
        nodes: sides.nodes(),
        because: sides.because(site),
        doubts: sides.doubts(site),
        ..Placement::default()
    };
    choose::cpus(site, ask, &sides, &mut placement)?;
    memory::choose(site, ask, &sides, &mut placement)?;
    Ok(placement)
}
