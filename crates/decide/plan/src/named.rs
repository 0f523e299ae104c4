// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a person named: whether a plan leaves it, and why nothing came of it.

use machine::Machine;
use setting::{Goal, Left, LeftWhy, Observation, Owner, Reboot, Scope, Setting, Wish};

use crate::draft::{Draft, Work};
use crate::request::Request;
use crate::want::satisfies;

/// Whether what a plan leaves was asked for by name. What the kernel places by itself is done.
pub fn was_named(machine: &Machine, request: &Request, left: &Left) -> bool {
    let is_of = |asked: &String| {
        let mut devices = left.devices.iter();
        left.devices.is_empty() || devices.any(|name| is_same(machine, name, asked))
    };
    let is_set = request
        .named
        .iter()
        .any(|one| one.setting == left.setting && one.device.as_ref().is_none_or(is_of));
    (is_set || request.only.contains(&left.setting)) && left.why != LeftWhy::Managed
}

fn is_same(machine: &Machine, name: &str, asked: &str) -> bool {
    name == asked || audit::is_same(machine, name, asked)
}

/// Settings that a finding of another name writes: a port's queues are its channels.
const OTHERS: [(&str, &str); 1] = [("queue-count", "nic-channels")];

/// Of each setting that the plan was narrowed to and of which nothing came: that it is as wanted, or
/// why it is not planned. Silence would read as "all is well".
pub(crate) fn answer_only(work: &Work<'_>, draft: &mut Draft) {
    for id in &work.request.only {
        let other = OTHERS.iter().find(|(own, _)| own == id).map(|(_, other)| *other);
        if draft.speaks_of(id) || other.is_some_and(|other| draft.speaks_of(other)) {
            continue;
        }
        let Some(entry) = work.entry(id) else { continue };
        match reason(work, entry) {
            Ok(places) => draft.equal(id, places),
            Err((wanted, because)) => draft.leave(Left {
                setting: id.clone(),
                devices: work.request.devices.clone(),
                wanted,
                owner: entry.owner,
                reboot: Reboot::None,
                why: LeftWhy::Prerequisite,
                because,
                by_hand: Vec::new(),
            }),
        }
    }
}

/// At how many places a setting is as wanted; else what is wanted and why it is not planned.
fn reason(work: &Work<'_>, entry: &Setting) -> Result<u64, (String, String)> {
    let goal = work.subject.goal;
    let asked = |seen: &&Observation| {
        let devices = &work.request.devices;
        let name = seen.device.as_deref();
        devices.is_empty()
            || name.is_some_and(|name| devices.iter().any(|one| is_same(work.machine(), name, one)))
    };
    let of_entry = work.audit.settings.iter().filter(|seen| seen.setting == entry.id);
    let seen: Vec<&Observation> = of_entry.filter(asked).collect();
    let devices = &work.request.devices;
    if entry.scope == Scope::Machine && !devices.is_empty() {
        let because =
            format!("it is the machine's, and the plan is for {} only", devices.join(", "));
        return Err(("a value".to_owned(), because));
    }
    let Some(wish) = entry.due(goal) else {
        let id = &entry.id;
        let because = format!("the goal {} has no wish for it: --set {id}=VALUE", word(goal));
        return Err(("a value".to_owned(), because));
    };
    let no = |because: String| Err((wanted(wish), because));
    if let Some(unseen) = &entry.observe.unseen {
        return no(format!("it cannot be seen from here: {}", unseen.trim()));
    }
    let known: Vec<&&Observation> = seen.iter().filter(|seen| seen.value.is_ok()).collect();
    match (known.as_slice(), seen.first().map(|seen| &seen.value)) {
        ([], Some(Err(why))) => no(format!("its value here is not known: {why}")),
        ([], _) if devices.is_empty() => no("nothing here has this setting".to_owned()),
        ([], _) => no(format!("it was not seen of {}", devices.join(", "))),
        (known, _) if known.iter().all(|seen| satisfies(wish, entry, seen)) => {
            Ok(u64::try_from(known.len()).unwrap_or(u64::MAX))
        }
        _ if entry.owner == Owner::Person => no("a person decides it".to_owned()),
        _ if work.request.goal.is_none() => {
            no(format!("no goal is asked for: --goal {} wishes it", word(goal)))
        }
        _ if work.audit.findings.iter().any(|finding| finding.id == entry.id) => {
            no("the audit finds it, and proposes no change of it".to_owned())
        }
        _ => no(format!("the wish of the goal {} {}", word(goal), scope(entry))),
    }
}

/// Where a wish holds, for a machine where it does not.
fn scope(entry: &Setting) -> String {
    let list = |tags: &[String]| tags.join(", ");
    match (entry.applies.when.as_slice(), entry.applies.never.as_slice()) {
        ([], []) => "asks for no change here".to_owned(),
        (when, []) => format!("does not hold here: it is for {}", list(when)),
        ([], never) => format!("does not hold here: never for {}", list(never)),
        (when, never) => {
            format!("does not hold here: it is for {}, never for {}", list(when), list(never))
        }
    }
}

fn wanted(wish: &Wish) -> String {
    let first = wish.one_of.first().cloned();
    let least = wish.at_least.map(|least| format!("{least} or more"));
    let most = wish.at_most.map(|most| format!("{most} or less"));
    first.or(least).or(most).unwrap_or_else(|| "a value".to_owned())
}

pub(crate) fn word(goal: Goal) -> &'static str {
    match goal {
        Goal::Throughput => "throughput",
        Goal::Latency => "latency",
        Goal::Balanced => "balanced",
    }
}
