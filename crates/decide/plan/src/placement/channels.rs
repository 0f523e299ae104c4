// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fewer channels where there are more queues than near cores, if that is asked for.

use machine::Why;
use setting::{Ethtool, Form, Left, Place};

use super::pool::Pools;
use super::vector::Vectors;
use super::{NIC, by_goal, change, missing_on, named, ports};
use crate::draft::{Draft, Drafted, Work};
use crate::ethtool;
use crate::request::Queues;

const CHANNELS: &str = "nic-channels";

/// Reduces the channels of ports to the cores of their nodes.
pub(crate) fn fit_channels(work: &Work<'_>, draft: &mut Draft) {
    if work.request.queues == Queues::Keep {
        return;
    }
    let vectors = Vectors::of(work.machine());
    let mut pools = Pools::of(work.machine());
    let mut unused = Draft::default();
    for port in ports::ports(work, &vectors, &mut unused) {
        let is_named = work.request.devices.iter().any(|name| work.is_same(&port.device, name));
        let is_asked = by_goal(work, NIC, &port.device) || named(work, NIC, &port.device).is_some();
        let has_own = draft
            .wanted()
            .any(|one| one.setting == CHANNELS && one.device.as_ref() == Some(&port.device));
        let Some(pool) = pools.near(port.node).filter(|_| is_asked && !has_own) else { continue };
        let cores = pool.cores;
        if port.queues.len() <= cores {
            continue;
        }
        let what = Ethtool::Channels;
        let to = format!("combined={cores}");
        let from = match ethtool::now(port.nic, &what, &to) {
            Err(why) => {
                draft.leave(unfit(&port.nic.name, cores, &why));
                continue;
            }
            from => from,
        };
        let because = format!(
            "{} queues for {cores} cores of node {}: those that share one wait for each other",
            port.queues.len(),
            port.node
        );
        let place = Place::Ethtool { what };
        let mut drafted = change(work, CHANNELS, port.device, place, Form::Text, from, to, because);
        drafted.planned.drops_link = Some(port.nic.name.clone());
        draft.change(Drafted { is_named, ..drafted });
    }
}

/// A port that has too many queues and does not let them be fitted.
fn unfit(nic: &str, cores: usize, why: &Why) -> Left {
    let because = match why {
        Why::NotSupported => format!("the driver of {nic} has no combined channels"),
        why => format!("the channels of {nic} are not known: {why}"),
    };
    missing_on(CHANNELS, nic, &format!("combined={cores}"), &because)
}
