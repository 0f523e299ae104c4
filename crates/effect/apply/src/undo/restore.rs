// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes goals until they are met or nothing helps any more.

use journal::Raw;
use rustix::io::Errno;
use setting::{Ethtool, Place, counterpart};

use super::goal::{Goal, Owner};
use crate::kernel::OWN_SPREAD;
use crate::lookup::Lookup;
use crate::spot::Spot;

/// A floor waits for its ceiling, a value for its mode: two rounds do; one more tells that nothing
/// moves.
const ROUNDS: usize = 4;

/// Brings everything to its goal. For each goal, the last error.
pub(super) fn restore(lookup: &Lookup<'_>, goals: &[Goal]) -> Vec<Option<Errno>> {
    let mut failures = vec![None; goals.len()];
    let movers: Vec<usize> = (0..goals.len()).rev().filter(|at| goals[*at].is_mover).collect();
    for at in movers {
        if let Some(goal) = goals.get(at) {
            failures[at] = bring(lookup, goals, goal).err();
            // Channels renumber interrupts and make queues anew.
            lookup.forget();
        }
    }
    for _ in 0..ROUNDS {
        let mut has_written = false;
        for (at, goal) in goals.iter().enumerate().rev() {
            match bring(lookup, goals, goal) {
                Ok(wrote) => {
                    has_written |= wrote;
                    failures[at] = None;
                }
                Err(error) => failures[at] = Some(error),
            }
        }
        if !has_written {
            break;
        }
    }
    failures
}

/// Writes one value unless it is there; whether it wrote.
fn bring(lookup: &Lookup<'_>, goals: &[Goal], goal: &Goal) -> Result<bool, Errno> {
    let spot = goal.spot(lookup).map_err(|_| Errno::NOENT)?;
    let now = spot.read(lookup.kernel).map_err(|_| Errno::IO)?;
    if goal.is_met(&spot, &now) {
        return Ok(false);
    }
    match &spot {
        Spot::File(path) if counterpart(path).is_some() => {
            by_counterpart(lookup, goals, path, goal)?;
        }
        _ => match spot.write(lookup.kernel, &spot.back(goal.form, &goal.value)) {
            Err(Errno::INVAL) if is_spread_ours(goals, goal) => {
                again_with_own_spread(lookup, &spot, goal)?;
            }
            written => written?,
        },
    }
    Ok(true)
}

/// Whether a goal is of channels whose receive spread is ours to move.
fn is_spread_ours(goals: &[Goal], channels: &Goal) -> bool {
    let place = |what| Place::Ethtool { what };
    let is_ours = |goal: &Goal| {
        goal.place == place(Ethtool::ReceiveSpread)
            && goal.device == channels.device
            && goal.owner != Owner::Them
    };
    channels.place == place(Ethtool::Channels) && goals.iter().any(is_ours)
}

/// The kernel refuses fewer channels than a table that was set uses. Its own table follows the
/// channels; the one from before comes back after them.
fn again_with_own_spread(lookup: &Lookup<'_>, spot: &Spot, goal: &Goal) -> Result<(), Errno> {
    if let Spot::Ethtool(nic, _) = spot {
        lookup.kernel.set_ethtool(nic, &Ethtool::ReceiveSpread, OWN_SPREAD)?;
    }
    spot.write(lookup.kernel, &spot.back(goal.form, &goal.value))
}

/// `dirty_bytes` and `dirty_ratio` zero each other, and 0 cannot be written to `dirty_bytes`
/// (mm/page-writeback.c): of the two, the one that counts is written.
fn by_counterpart(
    lookup: &Lookup<'_>,
    goals: &[Goal],
    path: &str,
    goal: &Goal,
) -> Result<(), Errno> {
    let kernel = lookup.kernel;
    let zero = |value: &Raw| value.trimmed() == "0";
    let bytes = |value: &Raw| value.bytes().map(<[u8]>::to_vec).ok_or(Errno::INVAL);
    if !zero(&goal.value) {
        return kernel.write(path, &bytes(&goal.value)?);
    }
    let other = counterpart(path).ok_or(Errno::INVAL)?;
    let is_other = |other_goal: &&Goal| matches!(other_goal.spot(lookup), Ok(Spot::File(found)) if found == other);
    let value = goals.iter().find(is_other).map(|goal| &goal.value).ok_or(Errno::INVAL)?;
    if zero(value) {
        // Both are 0: a ratio of 1 takes the bytes away, then it may go itself.
        let ratio = if path.ends_with("ratio") { path } else { &other };
        kernel.write(ratio, b"1\n")?;
        return kernel.write(ratio, b"0\n");
    }
    kernel.write(&other, &bytes(value)?)
}
