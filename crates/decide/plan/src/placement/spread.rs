// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of receive-side scaling, to match the queues that there will be.
//!
//! A table that nobody set follows the channels; one that somebody set stays, and the kernel refuses
//! fewer channels than it uses: then it is written before them, else after.

use machine::{Fact, Nic, ReceiveSpread, Why};
use setting::{Ethtool, Form, Place};

use super::ports::channels_after;
use super::{SPREAD, by_goal, change, found, missing_on, named};
use crate::device;
use crate::draft::{Draft, Drafted, Work};

/// A table to be written, and why.
struct Wish {
    queues: u32,
    because: String,
    is_named: bool,
}

/// Plans the tables of all ports.
pub(super) fn plan(work: &Work<'_>, draft: &mut Draft) {
    for nic in &work.machine().nics {
        let device = device::nic(nic);
        let asked = named(work, SPREAD, &device);
        let spread = match (&nic.receive_spread, asked) {
            (Ok(spread), _) if crate::words::is_name(&nic.name) => spread,
            (Err(why), Some(value)) if nic.function.is_some() => {
                draft.leave(missing_on(SPREAD, &nic.name, value, &no_table(why)));
                continue;
            }
            _ => continue,
        };
        let Some(wish) = wish(work, nic, spread, asked, draft) else { continue };
        let (from, to) = (now(spread), wish.queues.to_string());
        let place = Place::Ethtool { what: Ethtool::ReceiveSpread };
        let drafted = change(work, SPREAD, device, place, Form::Text, from, to, wish.because);
        let drafted = Drafted { is_named: wish.is_named, ..drafted };
        match spread.even_over() == Some(wish.queues) {
            true => draft.hold(drafted),
            false => draft.changes.push(drafted),
        }
    }
}

fn no_table(why: &Why) -> String {
    match why {
        Why::NotSupported => "its driver has no table that could be set".to_owned(),
        why => format!("its table cannot be read: {why}"),
    }
}

fn wish(
    work: &Work<'_>,
    nic: &Nic,
    spread: &ReceiveSpread,
    asked: Option<&str>,
    draft: &Draft,
) -> Option<Wish> {
    let channels = channels_after(draft, &nic.name).and_then(|count| u32::try_from(count).ok());
    let all = usable(nic, spread, channels);
    if let Some(value) = asked {
        let queues = value.parse().unwrap_or(all);
        return Some(Wish { queues, because: "asked for by name".to_owned(), is_named: true });
    }
    if channels.is_some_and(|channels| is_in_the_way(spread, channels)) {
        let because =
            "the table names queues that there will not be, and the channels would be refused";
        // Whoever named the channels wants them.
        return Some(Wish { queues: all, because: because.to_owned(), is_named: true });
    }
    let device = device::nic(nic);
    let is_found = found(work, SPREAD, &nic.name).is_some();
    let is_wanted = by_goal(work, SPREAD, &device) && (channels.is_some() || is_found);
    let because = match channels {
        Some(_) => "packets are spread evenly over the queues that there will be",
        None => "packets are spread evenly over all queues",
    };
    is_wanted.then(|| Wish { queues: all, because: because.to_owned(), is_named: false })
}

/// The queues that a table can name once channels have changed. Where the driver spreads over fewer
/// than it has (ixgbe: 16), it does so then as well.
fn usable(nic: &Nic, spread: &ReceiveSpread, channels: Option<u32>) -> u32 {
    let counted = u32::try_from(nic.rx_queues.len()).unwrap_or(u32::MAX).max(1);
    let now = spread.queues.unwrap_or(counted);
    let combined = nic.channels.as_ref().ok().and_then(|channels| channels.combined);
    let is_limited = combined.is_some_and(|(combined, _)| now < combined);
    let queues = match channels {
        Some(channels) if is_limited => channels.min(now),
        Some(channels) => channels,
        None => now,
    };
    queues.min(spread.most()).max(1)
}

/// Whether the kernel would refuse so few channels because of this table.
pub(crate) fn is_in_the_way(spread: &ReceiveSpread, channels: u32) -> bool {
    let highest = spread.table.iter().max();
    !spread.is_default() && highest.is_some_and(|highest| *highest >= channels)
}

/// The table of now in the words of `ethtool -X`.
pub(crate) fn now(spread: &ReceiveSpread) -> Fact<String> {
    match spread.even_over() {
        _ if spread.is_default() => Ok("default".to_owned()),
        Some(queues) => Ok(queues.to_string()),
        None => Err(Why::unparsed("its shares are not even")),
    }
}
