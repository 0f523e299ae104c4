// SPDX-License-Identifier: MIT OR Apache-2.0
//! What came of each change once its target was written.

use journal::Raw;
use machine::Why;
use root::text;
use rustix::io::Errno;
use setting::Undone;
use units::CpuSet;

use super::target::Target;
use super::whose::Whose;
use crate::lookup::{Absent, Lookup};
use crate::spot::Spot;
use crate::{errno, steering};

/// What came of each change that had a target.
pub(super) fn judge(
    lookup: &Lookup<'_>,
    targets: &[Target],
    failures: &[Option<Errno>],
) -> Vec<(usize, Undone)> {
    let verdict = |(target, failure): (&Target, &Option<Errno>)| verdict(lookup, target, *failure);
    let judged: Vec<Result<Undone, Undone>> = targets.iter().zip(failures).map(verdict).collect();
    let stuck = |of: usize| {
        // What lies beside a change and cannot be given back is a failure of the change.
        targets.iter().zip(&judged).find_map(|(target, judged)| match judged {
            Err(failed @ Undone::Failed { .. }) if target.of == of && target.entry.is_none() => {
                Some(failed.clone())
            }
            _ => None,
        })
    };
    let own =
        targets.iter().zip(&judged).filter_map(|(target, judged)| Some((target.entry?, judged)));
    own.map(|(index, judged)| {
        let undone = judged.clone().unwrap_or_else(|undone| undone);
        (index, stuck(index).unwrap_or(undone))
    })
    .collect()
}

/// An error where the value is not back.
fn verdict(lookup: &Lookup<'_>, target: &Target, failure: Option<Errno>) -> Result<Undone, Undone> {
    let spot = target.spot(lookup).map_err(nowhere)?;
    let now = spot.read(lookup.kernel).map_err(|why| unread(&spot, &why))?;
    if target.is_met(&spot, &now) {
        return Ok(match target.whose {
            Whose::Ours => Undone::Restored,
            Whose::Nobodys => Undone::Nothing,
            Whose::Theirs => Undone::Kept { found: spot.show(target.form, &now) },
        });
    }
    if is_offline(lookup, &spot, &target.value) {
        return Err(Undone::Missing);
    }
    let loss = steering::loss(lookup.kernel, &spot, &spot.back(target.form, &target.value));
    let cause = loss.unwrap_or_else(|| match failure {
        None => format!("it reads {:?}", now.trimmed()),
        Some(error) => format!("the kernel answers {}", errno::name(error)),
    });
    let value = target.value.trimmed();
    Err(Undone::Failed { why: format!("{}: {value:?} is not back, {cause}", spot.path()) })
}

/// A place that is nowhere. Only what is gone comes back by itself.
pub(super) fn nowhere(absent: Absent) -> Undone {
    match absent {
        Absent::Device | Absent::Place => Undone::Missing,
        Absent::Forbidden => Undone::Failed { why: "it is no knob of the kernel".to_owned() },
        Absent::Unread(why) => Undone::Failed { why: format!("it cannot be looked up: {why}") },
    }
}

/// A value that cannot be read: what is there, nobody knows.
pub(super) fn unread(spot: &Spot, why: &Why) -> Undone {
    match why {
        Why::Absent => Undone::Missing,
        why => Undone::Failed { why: format!("{} cannot be read: {why}", spot.path()) },
    }
}

/// An interrupt that may go to offline CPUs only can be given back when one of them returns.
fn is_offline(lookup: &Lookup<'_>, spot: &Spot, value: &Raw) -> bool {
    let online = text(lookup.kernel, "/sys/devices/system/cpu/online").unwrap_or_default();
    let online = CpuSet::from_list(&online).unwrap_or_default();
    let cpus = CpuSet::from_list(value.trimmed()).unwrap_or_default();
    matches!(spot, Spot::Interrupt(_)) && !online.is_empty() && !cpus.overlaps(&online)
}
