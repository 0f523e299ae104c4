// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes that forbid each other, and values that forbid a change.

use std::collections::BTreeSet;

use machine::Fact;
use setting::{LeftWhy, Planned};

use crate::draft::{Draft, Drafted, Work};
use crate::want::is_placed;

/// (lower, upper): writing the lower above the upper is refused, and so is the reverse.
const BOUNDS: [(&str, &str); 2] =
    [("uncore-min-frequency", "uncore-max-frequency"), ("min-performance", "max-performance")];

/// Two spellings of one limit: the kernel zeroes the other when one is written (mm/page-writeback.c).
const PAIRS: [(&str, &str); 2] =
    [("dirty-ratio", "dirty-bytes"), ("dirty-background-ratio", "dirty-background-bytes")];

/// A wish that has its way, and whether it is so already.
#[derive(Clone, Copy)]
struct Winner<'a> {
    planned: &'a Planned,
    is_so: bool,
}

impl Winner<'_> {
    fn because(self) -> String {
        let how = if self.is_so { "is wanted and so already" } else { "is changed by this plan" };
        format!("{} {how}, and the two fight", self.planned.setting)
    }
}

/// Leaves the weaker of two changes that fight: what was named first stays, then the costlier
/// finding. What is wanted and so already has its place in that order: a plan made again after it
/// was carried out comes to the same.
pub(crate) fn settle(work: &Work<'_>, draft: &mut Draft) {
    let changes = std::mem::take(&mut draft.changes);
    let so = draft.held().map(|held| (true, held.clone()));
    let mut ordered: Vec<(bool, Drafted)> =
        so.chain(changes.into_iter().map(|change| (false, change))).collect();
    ordered.sort_by_key(|(_, drafted)| (!drafted.is_named, drafted.rank));
    let obstacles = obstacles(work, &ordered);
    for ((is_so, drafted), because) in ordered.into_iter().zip(obstacles) {
        match because {
            _ if is_so => {}
            None => draft.changes.push(drafted),
            Some(because) => draft.leave_drafted(drafted, LeftWhy::Conflict, because),
        }
    }
    bounds(work, draft);
}

/// What is in the way of each wish, the stronger ones coming first.
fn obstacles(work: &Work<'_>, ordered: &[(bool, Drafted)]) -> Vec<Option<String>> {
    let contested = contested(work);
    let mut winners: Vec<Winner<'_>> = Vec::new();
    let mut all = Vec::with_capacity(ordered.len());
    for (is_so, drafted) in ordered {
        let planned = &drafted.planned;
        let is_contested = contested.contains(planned.setting.as_str());
        let mut known = winners.iter().filter(|_| is_contested);
        let rival = known.find(|known| fights(work, known.planned, planned));
        let because = rival.map(|rival| rival.because()).or_else(|| standing(work, drafted));
        if because.is_none() && is_contested {
            winners.push(Winner { planned, is_so: *is_so });
        }
        all.push(because);
    }
    all
}

/// The settings that fight with others: all the rest needs no second look.
fn contested<'a>(work: &Work<'a>) -> BTreeSet<&'a str> {
    let entries = work.subject.catalogue.settings().iter();
    let fighting = entries.filter(|entry| !entry.conflicts.is_empty());
    let both = fighting.flat_map(|entry| std::iter::once(&entry.id).chain(&entry.conflicts));
    both.map(String::as_str).collect()
}

/// Why a change that the plan would need beside its others cannot be one of them.
pub(crate) fn rival(work: &Work<'_>, draft: &Draft, drafted: &Drafted) -> Option<String> {
    let mut changes = draft.changes.iter().map(|change| &change.planned);
    let rival = changes.find(|planned| fights(work, planned, &drafted.planned))?;
    Some(Winner { planned: rival, is_so: false }.because())
}

/// Whether two wishes fight: those of two devices don't, those of a device and of the machine do.
fn fights(work: &Work<'_>, a: &Planned, b: &Planned) -> bool {
    let says = |own: &str, other: &str| {
        let entry = work.entry(own);
        entry.is_some_and(|entry| {
            !is_placed(entry) && entry.conflicts.iter().any(|known| known == other)
        })
    };
    let meet = a.device.is_none() || b.device.is_none() || a.device == b.device;
    let (one, other) = (a.setting.as_str(), b.setting.as_str());
    meet && one != other && (says(one, other) || says(other, one))
}

/// A limit that somebody set in the pair's other spelling stays, unless the change was named.
fn standing(work: &Work<'_>, drafted: &Drafted) -> Option<String> {
    let (_, bytes) = PAIRS.iter().find(|(ratio, _)| *ratio == drafted.planned.setting)?;
    let set = work.value(bytes, None)?.ok().filter(|value| value != "0")?;
    (!drafted.is_named)
        .then(|| format!("{bytes} is set to {set}, and writing one zeroes the other"))
}

/// A lower bound above the upper one is refused by the kernel: such a change is left.
fn bounds(work: &Work<'_>, draft: &mut Draft) {
    for (lower, upper) in BOUNDS {
        let value = |draft: &Draft, setting: &str| -> Option<i64> {
            let change = draft.changes.iter().find(|one| one.planned.setting == setting);
            let seen = || work.value(setting, None)?.ok();
            change.map(|one| one.planned.to.clone()).or_else(seen)?.parse().ok()
        };
        let (Some(low), Some(high)) = (value(draft, lower), value(draft, upper)) else { continue };
        if low <= high {
            continue;
        }
        let is_either = |one: &Drafted| [lower, upper].contains(&one.planned.setting.as_str());
        let (out, kept) = draft.changes.drain(..).partition(is_either);
        draft.changes = kept;
        for one in <Vec<Drafted>>::from_iter(out) {
            let because = format!("{lower} {low} would be above {upper} {high}");
            draft.leave_drafted(one, LeftWhy::Prerequisite, because);
        }
    }
}

/// Which of two bounds is written second: the lower one where the range moves up, else the upper.
pub(crate) fn is_second(changes: &[Drafted], planned: &Planned) -> bool {
    let Some((lower, upper)) =
        BOUNDS.iter().find(|(low, high)| [*low, *high].contains(&planned.setting.as_str()))
    else {
        return false;
    };
    let now = |setting: &str| -> Option<(i64, i64)> {
        let one = changes.iter().find(|one| one.planned.setting == setting)?;
        let number = |value: &Fact<String>| value.as_ref().ok()?.parse().ok();
        Some((number(&one.planned.from).unwrap_or(0), one.planned.to.parse().ok()?))
    };
    let moves_up = match (now(lower), now(upper)) {
        (Some((_, to)), Some((highest, _))) => to > highest,
        _ => false,
    };
    (planned.setting == *lower) == moves_up
}
