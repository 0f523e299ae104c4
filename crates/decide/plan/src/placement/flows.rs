// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows followed to their readers by the NIC (aRFS), by name only: the filter, the machine's table,
//! then each queue's share of it (Documentation/networking/scaling.rst).

use machine::{Fact, Nic, Why};
use setting::{Ethtool, Form, Place, Planned};

use super::ports::channels_after;
use super::{SHARE, change, missing_on, named};
use crate::draft::{Draft, Drafted, Work};
use crate::want::missing;
use crate::{device, ethtool, words};

const ARFS: &str = "arfs";
const FILTER: &str = "nic-ntuple";
const TABLE: &str = "rps-sock-flow-entries";

/// What the kernel's document begins with for a busy server.
const ENTRIES: u32 = 32_768;

/// Plans what was asked for by name.
pub(super) fn plan(work: &Work<'_>, draft: &mut Draft) {
    let mut is_any = false;
    for nic in work.machine().nics.iter().filter(|nic| words::is_name(&nic.name)) {
        let Some(value) = named(work, ARFS, &device::nic(nic)) else { continue };
        let is_asked = work.request.named.iter().any(|one| {
            let is_it = |name: &String| work.is_same(&device::nic(nic), name);
            one.setting == ARFS && one.device.as_ref().is_some_and(is_it)
        });
        match (obstacle(nic, value), nic.function) {
            (None, _) => follow(work, nic, value, draft),
            // Without a device's name it is for those that can.
            (Some(_), _) if !is_asked => continue,
            (Some(because), _) => draft.leave(missing_on(ARFS, &nic.name, value, &because)),
        }
        is_any = true;
    }
    let asked = work.request.named.iter().find(|one| one.setting == ARFS);
    if let Some(one) = asked.filter(|_| !is_any) {
        draft.leave(missing(one, "no network device here can follow flows"));
    }
}

fn obstacle(nic: &Nic, value: &str) -> Option<String> {
    let wanted = format!("ntuple={value}");
    if ethtool::now(nic, &Ethtool::Features, &wanted).is_err() {
        return Some(format!("the driver of {} has no filter for flows", nic.name));
    }
    if nic.rx_queues.iter().all(|queue| queue.flow_count.is_err()) {
        return Some(format!("the kernel shows no tables of flows for {}", nic.name));
    }
    ethtool::obstacle(nic, &Ethtool::Features, &wanted)
}

fn follow(work: &Work<'_>, nic: &Nic, value: &str, draft: &mut Draft) {
    let is_on = value == "on";
    let entries = entries(work);
    let queues = channels_after(draft, &nic.name).unwrap_or(nic.rx_queues.len()).max(1);
    let queues = u32::try_from(queues).unwrap_or(u32::MAX);
    // The kernel rounds up to a power of two.
    let share = if is_on { (entries / queues).max(1).next_power_of_two() } else { 0 };
    put(filter(work, nic, value), draft);
    if is_on {
        put(table(work, entries), draft);
    }
    put(shares(work, nic, share), draft);
}

/// Adds a change, unless the same place was named with a value of its own.
fn put(drafted: Drafted, draft: &mut Draft) {
    let Planned { place, device, .. } = &drafted.planned;
    if !draft.wanted().any(|one| one.place == *place && one.device == *device) {
        draft.change(drafted);
    }
}

/// Entries of the machine's table: never fewer than somebody has set.
fn entries(work: &Work<'_>) -> u32 {
    let seen = work.value(TABLE, None).and_then(Fact::ok);
    let now = seen.and_then(|value| value.trim().parse::<u32>().ok()).unwrap_or(0);
    now.max(ENTRIES)
}

fn filter(work: &Work<'_>, nic: &Nic, value: &str) -> Drafted {
    let (what, to) = (Ethtool::Features, format!("ntuple={value}"));
    let from = ethtool::now(nic, &what, &to);
    let drops_link = ethtool::drops_link(&what, &to).then(|| nic.name.clone());
    let place = Place::Ethtool { what };
    let mut drafted =
        change(work, FILTER, device::nic(nic), place, Form::Text, from, to, because(nic));
    drafted.planned.drops_link = drops_link;
    drafted.named(true)
}

fn table(work: &Work<'_>, entries: u32) -> Drafted {
    let cost = work.entry(TABLE).map(|entry| entry.trade_off.clone()).unwrap_or_default();
    let planned = Planned {
        setting: TABLE.to_owned(),
        device: None,
        place: Place::File { path: "/proc/sys/net/core/rps_sock_flow_entries".to_owned() },
        form: Form::Number,
        from: work.value(TABLE, None).unwrap_or(Err(Why::Absent)),
        to: entries.to_string(),
        because: "the NICs' filters follow the readers that this table remembers".to_owned(),
        cost,
        drops_link: None,
    };
    Drafted { planned, is_named: true, rank: usize::MAX }
}

fn shares(work: &Work<'_>, nic: &Nic, share: u32) -> Drafted {
    let path = "/sys/class/net/{device}/queues/rx-*/rps_flow_cnt".to_owned();
    let (place, from) = (Place::File { path }, share_now(nic));
    let device = device::nic(nic);
    change(work, SHARE, device, place, Form::Number, from, share.to_string(), because(nic))
        .named(true)
}

/// The share that all queues have; unknown where they differ.
fn share_now(nic: &Nic) -> Fact<String> {
    let mut counts = nic.rx_queues.iter().map(|queue| queue.flow_count.clone());
    let first = counts.next().unwrap_or(Err(Why::Absent))?;
    match counts.all(|count| count == Ok(first)) {
        true => Ok(first.to_string()),
        false => Err(Why::unparsed("its queues differ")),
    }
}

fn because(nic: &Nic) -> String {
    format!("asked for by name: flows of {} are followed to their readers", nic.name)
}
