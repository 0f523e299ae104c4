// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes targets until they are met or nothing helps any more.

use journal::Raw;
use rustix::io::Errno;
use setting::{Ethtool, Place, counterpart};

use super::target::Target;
use super::whose::Whose;
use crate::kernel::OWN_SPREAD;
use crate::lookup::Lookup;
use crate::spot::Spot;

/// A floor waits for its ceiling, a value for its mode: two rounds do; one more tells that nothing
/// moves.
const ROUNDS: usize = 4;

/// Brings everything to its target. For each target, the last error.
pub(super) fn restore(lookup: &Lookup<'_>, targets: &[Target]) -> Vec<Option<Errno>> {
    let mut failures = vec![None; targets.len()];
    let movers: Vec<usize> = (0..targets.len()).rev().filter(|at| targets[*at].is_mover).collect();
    for at in movers {
        if let Some(target) = targets.get(at) {
            failures[at] = bring(lookup, targets, target).err();
            // Channels renumber interrupts and make queues anew.
            lookup.forget();
        }
    }
    for _ in 0..ROUNDS {
        let mut has_written = false;
        for (at, target) in targets.iter().enumerate().rev() {
            match bring(lookup, targets, target) {
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
fn bring(lookup: &Lookup<'_>, targets: &[Target], target: &Target) -> Result<bool, Errno> {
    let spot = target.spot(lookup).map_err(|_| Errno::NOENT)?;
    let now = spot.read(lookup.kernel).map_err(|_| Errno::IO)?;
    if target.is_met(&spot, &now) {
        return Ok(false);
    }
    match &spot {
        Spot::File(path) if counterpart(path).is_some() => {
            by_counterpart(lookup, targets, path, target)?;
        }
        _ => match spot.write(lookup.kernel, &spot.back(target.form, &target.value)) {
            Err(Errno::INVAL) if is_spread_ours(targets, target) => {
                again_with_own_spread(lookup, &spot, target)?;
            }
            written => written?,
        },
    }
    Ok(true)
}

/// Whether a target is of channels whose receive spread is ours to move.
fn is_spread_ours(targets: &[Target], channels: &Target) -> bool {
    let place = |what| Place::Ethtool { what };
    let is_ours = |target: &Target| {
        target.place == place(Ethtool::ReceiveSpread)
            && target.device == channels.device
            && target.whose != Whose::Theirs
    };
    channels.place == place(Ethtool::Channels) && targets.iter().any(is_ours)
}

/// The kernel refuses fewer channels than a table that was set uses. Its own table follows the
/// channels; the one from before comes back after them.
fn again_with_own_spread(lookup: &Lookup<'_>, spot: &Spot, target: &Target) -> Result<(), Errno> {
    if let Spot::Ethtool(nic, _) = spot {
        lookup.kernel.set_ethtool(nic, &Ethtool::ReceiveSpread, OWN_SPREAD)?;
    }
    spot.write(lookup.kernel, &spot.back(target.form, &target.value))
}

/// `dirty_bytes` and `dirty_ratio` zero each other, and 0 cannot be written to `dirty_bytes`
/// (mm/page-writeback.c): of the two, the one that counts is written.
fn by_counterpart(
    lookup: &Lookup<'_>,
    targets: &[Target],
    path: &str,
    target: &Target,
) -> Result<(), Errno> {
    let kernel = lookup.kernel;
    let zero = |value: &Raw| value.trimmed() == "0";
    let bytes = |value: &Raw| value.bytes().map(<[u8]>::to_vec).ok_or(Errno::INVAL);
    if !zero(&target.value) {
        return kernel.write(path, &bytes(&target.value)?);
    }
    let other = counterpart(path).ok_or(Errno::INVAL)?;
    let is_other = |other_target: &&Target| matches!(other_target.spot(lookup), Ok(Spot::File(found)) if found == other);
    let value = targets.iter().find(is_other).map(|target| &target.value).ok_or(Errno::INVAL)?;
    if zero(value) {
        // Both are 0: a ratio of 1 takes the bytes away, then it may go itself.
        let ratio = if path.ends_with("ratio") { path } else { &other };
        kernel.write(ratio, b"1\n")?;
        return kernel.write(ratio, b"0\n");
    }
    kernel.write(&other, &bytes(value)?)
}
