// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order of changes. Some writes move other values, so that these come after them: what moves
//! what is in [`setting::Movers`], and the catalogue's `after` says where a write would be refused.
//!
//! - channels reset affinity and XPS, and rings reopen the device: channels, rings, RSS, interrupts,
//!   XPS, RPS; a table of RSS that names queues which are to go comes before its channels;
//! - bounds move in the direction of their range: the one that makes room first.

use std::collections::BTreeMap;

use setting::{Ethtool, Movers, Place, Planned, Setting};

use crate::draft::{Drafted, Work};
use crate::words::natural;
use crate::{conflict, device, placement};

/// Sorts the changes of a plan.
pub(crate) fn sort(work: &Work<'_>, changes: &mut Vec<Drafted>) {
    let settings = work.subject.catalogue.settings();
    let index: BTreeMap<&str, usize> =
        settings.iter().enumerate().map(|(at, entry)| (entry.id.as_str(), at)).collect();
    let seconds: Vec<bool> =
        changes.iter().map(|one| conflict::is_second(changes, &one.planned)).collect();
    let depths = depths(work, changes);
    let mut keyed: Vec<_> = std::mem::take(changes)
        .into_iter()
        .zip(seconds.into_iter().zip(depths))
        .map(|(drafted, (second, depth))| {
            let Planned { setting, place, .. } = &drafted.planned;
            let at = index.get(setting.as_str()).copied().unwrap_or(usize::MAX);
            let phase = match () {
                () if spreads_first(work, &drafted.planned) => SPREAD_FIRST,
                () if is_banned_later(&drafted.planned) => SPREAD,
                () => phase(setting, place),
            };
            ((phase, depth, second, at), drafted)
        })
        .collect();
    keyed.sort_by(|(a, one), (b, other)| {
        a.cmp(b).then_with(|| by_place(&one.planned, &other.planned))
    });
    changes.extend(keyed.into_iter().map(|(_, drafted)| drafted));
}

/// Just before the channels.
const SPREAD_FIRST: u8 = 2;

/// After all that makes queues anew.
const SPREAD: u8 = 9;

/// Whether interrupts are left alone that channels number anew: a function stands for them.
fn is_banned_later(planned: &Planned) -> bool {
    planned.place == Place::BannedInterrupts && planned.to.contains(':')
}

/// Whether channels would be refused before this table is written.
fn spreads_first(work: &Work<'_>, planned: &Planned) -> bool {
    let is_spread = planned.place == Place::Ethtool { what: Ethtool::ReceiveSpread };
    let nic = planned.device.as_ref().filter(|_| is_spread);
    let nic = nic.and_then(|device| device::nic_called(work.machine(), &device.name));
    let spread = nic.and_then(|nic| nic.receive_spread.as_ref().ok());
    match (spread, planned.to.parse()) {
        (Some(spread), Ok(queues)) => placement::is_in_the_way(spread, queues),
        _ => false,
    }
}

/// Groups of places, in the order in which they are written.
fn phase(setting: &str, place: &Place) -> u8 {
    match (place, setting) {
        (Place::Service { .. }, _) => 0,
        _ if ::setting::reshapes(place) => 0,
        (Place::BannedInterrupts, _) => 1,
        (Place::Ethtool { what: Ethtool::Channels }, _) => 3,
        (Place::Ethtool { what: Ethtool::Rings }, _) => 4,
        (Place::Ethtool { what: Ethtool::Features }, _) => 5,
        (Place::Ethtool { what: Ethtool::Coalescing }, _) => 6,
        (Place::Ethtool { what: Ethtool::Pause }, _) => 7,
        (Place::File { .. }, "mtu") => 8,
        (Place::Ethtool { what: Ethtool::ReceiveSpread }, _) => SPREAD,
        (Place::Interrupt { .. }, _) => 10,
        (Place::File { .. }, "xps-placement") => 11,
        (Place::File { .. }, "rps-placement") => 12,
        _ => 13,
    }
}

/// How many changes must come before each one: what the catalogue says, and what moves it.
fn depths(work: &Work<'_>, changes: &[Drafted]) -> Vec<usize> {
    let movers = Movers::of(changes.iter().map(|drafted| &drafted.planned));
    let own =
        |planned: &Planned| work.entry(&planned.setting).map_or(0, |entry| depth(work, entry, 0));
    let all = changes.iter().map(|drafted| &drafted.planned);
    all.map(|planned| movers.depth(planned, &own)).collect()
}

/// How many settings must come before this one. The lint allows no circle; own entries are linted
/// as well, and 64 ends one all the same.
fn depth(work: &Work<'_>, entry: &Setting, steps: usize) -> usize {
    if steps > 64 {
        return steps;
    }
    let before = entry.after.iter().filter_map(|id| work.entry(id));
    before.map(|entry| depth(work, entry, steps + 1).saturating_add(1)).max().unwrap_or(0)
}

fn by_place(one: &Planned, other: &Planned) -> std::cmp::Ordering {
    let name = |planned: &Planned| {
        planned.device.as_ref().map(|device| device.name.clone()).unwrap_or_default()
    };
    let place = |planned: &Planned| match &planned.place {
        Place::File { path } => path.clone(),
        Place::Interrupt { queue, ordinal } => {
            // Vectors without a queue come last: they carry no packets.
            format!("{}-{ordinal}", queue.map_or_else(|| "~".to_owned(), |queue| queue.to_string()))
        }
        _ => one.setting.clone(),
    };
    natural(&name(one), &name(other)).then_with(|| natural(&place(one), &place(other)))
}
