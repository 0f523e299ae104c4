// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes that forbid each other, and values that forbid a change.

use machine::Fact;
use setting::{LeftWhy, Planned};

use crate::draft::{Draft, Drafted, Work};
use crate::want::is_placed;

/// (lower, upper): writing the lower above the upper is refused, and so is the reverse.
const BOUNDS: [(&str, &str); 1] = [("uncore-min-frequency", "uncore-max-frequency")];

/// Two spellings of one limit: the kernel zeroes the other when one is written (mm/page-writeback.c).
const PAIRS: [(&str, &str); 2] =
    [("dirty-ratio", "dirty-bytes"), ("dirty-background-ratio", "dirty-background-bytes")];

/// Leaves the weaker of two changes that fight: what was named stays, then the costlier finding.
pub(crate) fn settle(work: &Work<'_>, draft: &mut Draft) {
    let changes = std::mem::take(&mut draft.changes);
    let mut kept: Vec<Drafted> = Vec::with_capacity(changes.len());
    let mut ordered = changes;
    ordered.sort_by_key(|drafted| (!drafted.is_named, drafted.rank));
    let mut settings: Vec<String> = Vec::new();
    for drafted in ordered {
        let setting = &drafted.planned.setting;
        let rival = settings.iter().find(|known| fights(work, known, setting));
        if let Some(rival) = rival {
            let because = because(rival);
            draft.leave_drafted(drafted, LeftWhy::Conflict, because);
        } else if let Some(because) = standing(work, &drafted) {
            draft.leave_drafted(drafted, LeftWhy::Conflict, because);
        } else {
            if !settings.contains(setting) {
                settings.push(setting.clone());
            }
            kept.push(drafted);
        }
    }
    draft.changes = kept;
    bounds(work, draft);
}

/// Why a change that the plan would need beside its others cannot be one of them.
pub(crate) fn rival(work: &Work<'_>, draft: &Draft, drafted: &Drafted) -> Option<String> {
    let settings = draft.changes.iter().map(|one| one.planned.setting.as_str());
    let mut rivals = settings.filter(|known| fights(work, known, &drafted.planned.setting));
    rivals.next().map(because)
}

fn because(rival: &str) -> String {
    format!("{rival} is changed by this plan, and the two fight")
}

fn fights(work: &Work<'_>, a: &str, b: &str) -> bool {
    let says = |own: &str, other: &str| {
        let entry = work.entry(own);
        entry.is_some_and(|entry| {
            !is_placed(entry) && entry.conflicts.iter().any(|known| known == other)
        })
    };
    a != b && (says(a, b) || says(b, a))
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
