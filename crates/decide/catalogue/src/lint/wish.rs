// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wanted: a value that can be compared, where it may apply, and nothing that makes a
//! machine less safe.

use setting::{Form, Goal, NUMERIC_FACTS, Setting, TAGS, Wanted, Wish, canonical, keeps_safe};

use crate::Complaint;
use crate::complaint::{spelled, suggest};
use crate::entry::Origin;

/// Commands that open a machine: never part of a change.
const DENIED_COMMANDS: &[&str] =
    &["iptables", "nft ", "firewalld", "ufw ", "setenforce", "mitigations=off", "drop_caches"];

/// Checks wishes and where they apply.
pub(super) fn check(setting: &Setting, origin: &Origin, out: &mut Vec<Complaint>) {
    check_meanings(setting, origin, out);
    check_range(setting, origin, out);
    for goal in [Goal::Throughput, Goal::Latency, Goal::Balanced] {
        if let Some(wish) = setting.due(goal) {
            check_wish(wish, goal, setting, origin, out);
        }
        check_kept(goal, setting, origin, out);
    }
    check_denied(setting, origin, out);
    for (key, tags) in [("when", &setting.applies.when), ("never", &setting.applies.never)] {
        for tag in tags {
            check_tag(key, tag, origin, out);
        }
    }
}

fn check_meanings(setting: &Setting, origin: &Origin, out: &mut Vec<Complaint>) {
    for (at, meaning) in setting.values.iter().enumerate() {
        let value = &meaning.value;
        let says_itself = ["on", "off"].contains(&value.as_str());
        if meaning.means.trim().is_empty() && !says_itself {
            let what = format!("value `{value}` has no meaning");
            out.push(origin.complain("values", what, "say in plain words what it means"));
        }
        if setting.values.iter().take(at).any(|other| other.value == *value) {
            let what = format!("value `{value}` stands twice");
            out.push(origin.complain("values", what, "keep one of them"));
        }
        check_spelling("values", value, setting, origin, out);
    }
}

/// A range is one of numbers, and holds all that the entry speaks of.
fn check_range(setting: &Setting, origin: &Origin, out: &mut Vec<Complaint>) {
    let Some((least, most)) = setting.range else { return };
    if !is_numeric(setting) || least > most {
        let what = format!("the range {least} to {most} is none of numbers");
        out.push(origin.complain("range", what, "give least and most of a numeric setting"));
        return;
    }
    let wishes = [Goal::Throughput, Goal::Latency, Goal::Balanced].map(|goal| setting.due(goal));
    let bounds = wishes.into_iter().flatten().flat_map(|wish| {
        let one_of = wish.one_of.iter().filter_map(|value| value.parse().ok());
        one_of.chain(wish.at_least).chain(wish.at_most)
    });
    let values = setting.values.iter().filter_map(|meaning| meaning.value.parse::<i64>().ok());
    for number in bounds.chain(values).filter(|number| !(least..=most).contains(number)) {
        let what = format!("{number} is outside the range {least} to {most}");
        out.push(origin.complain("range", what, "make the range wider, or mend the value"));
    }
}

/// A value must be spelled as the observation prints it, or it can never be equal.
fn check_spelling(
    key: &str,
    value: &str,
    setting: &Setting,
    origin: &Origin,
    out: &mut Vec<Complaint>,
) {
    let form = setting.observe.form;
    if form == Form::Selected {
        return;
    }
    if canonical(form, value).as_deref() != Some(value) {
        let what = format!("value `{value}` is not as the form `{}` prints it", spelled(&form));
        out.push(origin.complain(key, what, "a switch is `on` or `off`, a number has no unit"));
    }
}

fn check_wish(
    wish: &Wish,
    goal: Goal,
    setting: &Setting,
    origin: &Origin,
    out: &mut Vec<Complaint>,
) {
    let key = goal_key(goal);
    let given = usize::from(!wish.one_of.is_empty())
        + usize::from(wish.at_least.is_some())
        + usize::from(wish.at_most.is_some());
    if given != 1 {
        let what = format!("the wish for {key} has {given} conditions");
        out.push(origin.complain(key, what, "give one of `one-of`, `at-least`, `at-most`"));
    }
    if (wish.at_least.is_some() || wish.at_most.is_some()) && !is_numeric(setting) {
        let what = format!("the wish for {key} compares what is no number");
        out.push(origin.complain(key, what, "observe with form `number` or a numeric fact"));
    }
    for value in &wish.one_of {
        check_spelling(key, value, setting, origin, out);
        let known = setting.values.iter().any(|meaning| meaning.value == *value);
        if !setting.values.is_empty() && !known {
            let words: Vec<&str> = setting.values.iter().map(|m| m.value.as_str()).collect();
            let what = format!("the wish for {key} wants `{value}`, which `values` lacks");
            out.push(origin.complain(key, what, &suggest(value, &words, "values are")));
        }
    }
}

/// A default that should stay is worth a word only where it can be seen to have moved, and a goal
/// cannot want both a change and no change.
fn check_kept(goal: Goal, setting: &Setting, origin: &Origin, out: &mut Vec<Complaint>) {
    if setting.kept.for_goal(goal).is_none() {
        return;
    }
    if setting.observe.unseen.is_some() {
        let what = format!("`kept` for {} where nothing can be observed", goal_key(goal));
        out.push(origin.complain("kept", what, "drop it: the entry explains"));
    }
    if setting.wanted.for_goal(goal).is_some() {
        let what = format!("both `wanted` and `kept` for {}", goal_key(goal));
        out.push(origin.complain("kept", what, "keep `wanted` where the default is to change"));
    }
}

/// The key of a goal in an entry's tables.
pub(super) fn goal_key(goal: Goal) -> &'static str {
    match goal {
        Goal::Throughput => "throughput",
        Goal::Latency => "latency",
        Goal::Balanced => "balanced",
    }
}

fn is_numeric(setting: &Setting) -> bool {
    match (&setting.observe.file, &setting.observe.fact) {
        (Some(_), _) => setting.observe.form == Form::Number,
        (_, Some(fact)) => NUMERIC_FACTS.contains(&fact.as_str()),
        _ => false,
    }
}

fn check_denied(setting: &Setting, origin: &Origin, out: &mut Vec<Complaint>) {
    let has_wish = [&setting.wanted, &setting.kept].iter().any(|w| **w != Wanted::default());
    let file = setting.observe.file.as_deref().filter(|file| has_wish && keeps_safe(file));
    if let Some(name) = file.and_then(|file| file.rsplit('/').next()) {
        let what = format!("a wish for `{name}`, which keeps machines safe");
        out.push(origin.complain("wanted", what, "explain it, and wish for nothing"));
    }
    let line = setting.by_hand.as_deref().unwrap_or_default();
    if let Some(command) = DENIED_COMMANDS.iter().find(|command| line.contains(*command)) {
        let what = format!("`by-hand` has `{}`, which makes a machine less safe", command.trim());
        out.push(origin.complain("by-hand", what, "leave it to a person's own judgement"));
    }
}

pub(super) fn check_tag(key: &str, tag: &str, origin: &Origin, out: &mut Vec<Complaint>) {
    let name = tag.strip_prefix('!').unwrap_or(tag);
    if name.len() != tag.len() && key == "never" {
        let what = format!("`never` has `{tag}`, a double negative");
        out.push(origin.complain(key, what, "move it to `when` without the `!`"));
    }
    let prefixed = ["driver:", "vendor:"]
        .iter()
        .any(|prefix| name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()));
    if !prefixed && !TAGS.iter().any(|(known, _)| *known == name) {
        let known: Vec<&str> = TAGS.iter().map(|(name, _)| *name).collect();
        let what = format!("unknown tag `{name}`");
        out.push(origin.complain(key, what, &suggest(name, &known, "tags are")));
    }
}

#[cfg(test)]
mod tests {
    use setting::FACTS;

    use super::*;

    #[test]
    fn numeric_facts_are_facts() {
        for fact in NUMERIC_FACTS {
            assert!(FACTS.iter().any(|(name, _, _)| name == fact), "{fact} is no fact");
        }
    }
}
