// SPDX-License-Identifier: MIT OR Apache-2.0
//! irqbalance: it goes on for all else, and leaves the placed queues alone; it is stopped only when
//! that is asked for.

use std::collections::BTreeSet;

use machine::{Fact, Service, Why};
use setting::{Form, Place, Planned};

use super::{BALANCE, NIC, Taken};
use crate::draft::{Draft, Drafted, Work};

/// Plans what irqbalance is to do.
pub(super) fn plan(work: &Work<'_>, taken: &Taken, draft: &mut Draft) {
    let services = &work.machine().host.services;
    let service = services.iter().find(|service| service.name == BALANCE);
    let mut named = work.request.named.iter().rev().filter(|one| one.setting == BALANCE);
    let is_asked = work.wants_setting(BALANCE) || work.wants_setting(NIC);
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
    let before = banned(text.unwrap_or_default());
    let all: BTreeSet<u32> = before.union(&taken.queues).copied().collect();
    let later = taken.renumbered.iter().map(ToString::to_string);
    let words: Vec<String> =
        Some(list(&all)).filter(|list| !list.is_empty()).into_iter().chain(later).collect();
    let because = "irqbalance looks at load every ten seconds and would move these queues again";
    // No file is no exception.
    let from = Ok(list(&before));
    let mut drafted = drafted(
        work,
        Place::BannedInterrupts,
        Form::Numbers,
        from,
        words.join(" "),
        because,
        false,
    );
    drafted.planned.cost =
        "irqbalance no longer evens out their load; it does for all others".to_owned();
    drafted
}

fn list(irqs: &BTreeSet<u32>) -> String {
    irqs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Numbers after `--banirq=` and `-i ` in a file of the distribution:
/// `IRQBALANCE_ARGS="--banirq=31 --banirq=32"`.
fn banned(text: &str) -> BTreeSet<u32> {
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'');
    let mut words = text.split(is_end).filter(|word| !word.is_empty());
    let mut irqs = BTreeSet::new();
    while let Some(word) = words.next() {
        // `OPTIONS=--banirq=31` has no quotes around it.
        let at = word.find("=-").map_or(0, |at| at.saturating_add(1));
        let word = word.get(at..).unwrap_or(word);
        let option = word.trim_start_matches("--");
        let number = match option.strip_prefix("banirq=") {
            Some(number) => Some(number),
            None if matches!(word, "--banirq" | "banirq" | "-i") => words.next(),
            None => word.strip_prefix("-i"),
        };
        irqs.extend(number.and_then(|number| number.parse::<u32>().ok()));
    }
    irqs
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
    fn exceptions_are_read_in_each_distributions_spelling() {
        let read = |text: &str| list(&banned(text));
        assert_eq!(read("IRQBALANCE_ARGS=\"--banirq=31 --banirq=147\""), "31 147");
        assert_eq!(read("OPTIONS=--banirq=31"), "31");
        assert_eq!(read("OPTIONS='-i 7 --hintpolicy=exact -i8'"), "7 8");
        assert_eq!(read("IRQBALANCE_BANNED_CPULIST=0-3"), "");
        assert_eq!(read(""), "");
    }
}
