// SPDX-License-Identifier: MIT OR Apache-2.0
//! irqbalance: it goes on for all else, and leaves the placed queues alone; it is stopped only when
//! that is asked for.

use std::collections::BTreeSet;

use machine::{Fact, Service, Why};
use setting::{Form, Interrupts, Place, Planned};

use super::{BALANCE, NIC, Taken};
use crate::draft::{Draft, Drafted, Work};

/// Plans what irqbalance is to do.
pub(super) fn plan(work: &Work<'_>, taken: &Taken, draft: &mut Draft) {
    let services = &work.machine().host.services;
    let service = services.iter().find(|service| service.name == BALANCE);
    let mut named = work.request.named.iter().rev().filter(|one| one.setting == BALANCE);
    let is_placed = work.request.named.iter().any(|one| one.setting == NIC);
    let is_asked = is_placed || work.wants_setting(BALANCE) || work.wants_setting(NIC);
    if let Some(one) = named.next() {
        draft.change(switch(work, service, &one.value));
        return;
    }
    let Some(service) = service.filter(|service| service.running == Ok(true) && is_asked) else {
        return;
    };
    if !taken.queues.is_empty() || !taken.renumbered.is_empty() {
        draft.change(ban(work, service, taken));
    }
}

fn switch(work: &Work<'_>, service: Option<&Service>, value: &str) -> Drafted {
    let running = |is: bool| if is { "running" } else { "stopped" }.to_owned();
    let from = match service.map(|service| &service.running) {
        Some(is) => is.clone().map(running),
        None => Err(Why::Absent),
    };
    let unit = "irqbalance.service".to_owned();
    let place = Place::Service { unit };
    drafted(work, place, Form::Text, from, value.to_owned(), "asked for by name", true)
}

/// The interrupts are left alone by number, beside those that somebody listed before. Where channels
/// change first, the function stands for the numbers that its queues will have.
fn ban(work: &Work<'_>, service: &Service, taken: &Taken) -> Drafted {
    let text = service.configuration.as_ref().map(|(_, text)| text.as_str());
    let text = text.unwrap_or_default();
    let before = setting::banned(text.as_bytes(), &setting::BAN_VARIABLES);
    let all: Interrupts = theirs(text).union(&taken.queues).copied().collect();
    let later = taken.renumbered.iter().map(ToString::to_string);
    let numbers = Some(all.to_string()).filter(|list| !list.is_empty());
    let words: Vec<String> = numbers.into_iter().chain(later).collect();
    let because = "irqbalance looks at load every ten seconds and would move these queues again";
    // No file is no exception.
    let (from, to) = (Ok(before.to_string()), words.join(" "));
    let mut drafted =
        drafted(work, Place::BannedInterrupts, Form::Numbers, from, to, because, false);
    drafted.planned.cost =
        "irqbalance no longer evens out their load; it does for all others".to_owned();
    drafted
}

/// What the administrator listed; what an earlier placement added is ours to say anew.
fn theirs(text: &str) -> BTreeSet<u32> {
    setting::banned(&setting::without_bans(text.as_bytes()), &setting::BAN_VARIABLES).0
}

fn drafted(
    work: &Work<'_>,
    place: Place,
    form: Form,
    from: Fact<String>,
    to: String,
    because: &str,
    is_named: bool,
) -> Drafted {
    let cost = work.entry(BALANCE).map(|entry| entry.trade_off.clone()).unwrap_or_default();
    let planned = Planned {
        setting: BALANCE.to_owned(),
        device: None,
        place,
        form,
        from,
        to,
        because: because.to_owned(),
        cost,
        drops_link: None,
    };
    Drafted { planned, is_named, rank: usize::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_earlier_placement_added_is_not_the_administrators() {
        let ours = format!(
            "{}\nOPTIONS=\"-i7 --banirq=40\"\n{}\n",
            setting::BANS_BEGIN,
            setting::BANS_END
        );
        assert_eq!(theirs(&format!("OPTIONS=-i7\n{ours}")), [7].into());
        assert_eq!(theirs(""), [].into());
    }
}
