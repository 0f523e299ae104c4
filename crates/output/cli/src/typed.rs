// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands that a person is told to type: they are about the same machine, catalogue and journal as
//! the command that tells of them.

use std::path::Path;
use std::sync::OnceLock;

use crate::args::{self, Arguments, Changing, Common, Verb, Wishes};

/// An option of this command, its value, and the verbs that need it as well.
struct Carried {
    flag: &'static str,
    value: String,
    verbs: &'static [&'static str],
}

impl Carried {
    fn new(flag: &'static str, value: &str, verbs: &'static [&'static str]) -> Self {
        Self { flag, value: quoted(value), verbs }
    }

    fn path(flag: &'static str, path: &Path, verbs: &'static [&'static str]) -> Self {
        Self::new(flag, &path.to_string_lossy(), verbs)
    }
}

/// Verbs that look at a machine, which may be a captured one.
const LOOKING: &[&str] = &["topology", "audit", "plan"];
/// Verbs that know settings.
const KNOWING: &[&str] = &["audit", "plan", "apply", "persist", "explain"];
/// Verbs that read or write a journal.
const CHANGING: &[&str] = &["apply", "verify", "revert"];
/// Verbs that keep runs or look at them.
const MEASURING: &[&str] = &["runs", "bench", "sweep"];

/// A text in which each `nearside VERB` has the options of this command that the verb needs: typed as
/// it stands it does what the text says. All that is printed for a person to type passes here.
pub(crate) fn again(text: &str) -> String {
    static CARRIED: OnceLock<Vec<Carried>> = OnceLock::new();
    completed(text, CARRIED.get_or_init(|| args::parse().as_ref().map(carried).unwrap_or_default()))
}

/// The words of a wish, as a shell takes them; a space is in front of each.
pub(crate) fn wishes(asked: &Wishes) -> String {
    let goal = asked.goal.and_then(|goal| clap::ValueEnum::to_possible_value(&goal));
    let mut words = Vec::new();
    let mut add = |flag: &str, value: String| words.push(format!(" --{flag} {}", quoted(&value)));
    goal.iter().for_each(|goal| add("goal", goal.get_name().to_owned()));
    asked.set.iter().for_each(|set| add("set", set.clone()));
    asked.profile.iter().for_each(|profile| add("profile", profile.display().to_string()));
    let lists = [("only", &asked.only), ("device", &asked.device), ("carries", &asked.carries)];
    for (flag, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        add(flag, list.join(","));
    }
    asked.cpus.iter().for_each(|cpus| add("cpus", cpus.clone()));
    asked.node.iter().for_each(|node| add("node", node.to_string()));
    if asked.fit_channels {
        words.push(" --fit-channels".to_owned());
    }
    words.concat()
}

/// A word that a shell reads as it stands.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:=@,%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// What names the machine, as a shell takes it: `--from FILE`; empty for the one that runs this.
pub(crate) fn machine(common: &Common) -> String {
    let words: Vec<String> =
        of_machine(common).map(|one| format!("{} {}", one.flag, one.value)).collect();
    words.join(" ")
}

fn of_machine(common: &Common) -> impl Iterator<Item = Carried> {
    let from = common.from.as_deref().map(|from| Carried::path("--from", from, LOOKING));
    let machine = common.machine.as_deref().map(|name| Carried::new("--machine", name, LOOKING));
    from.into_iter().chain(machine)
}

fn carried(arguments: &Arguments) -> Vec<Carried> {
    let common = &arguments.common;
    let catalogue = common.catalogue.as_deref();
    let catalogue = catalogue.map(|own| Carried::path("--catalogue", own, KNOWING));
    let journal = changing(arguments).and_then(|changing| changing.journal.as_deref());
    let journal = journal.map(|journal| Carried::path("--journal", journal, CHANGING));
    let store = store(arguments).map(|store| Carried::path("--store", store, MEASURING));
    of_machine(common).chain(catalogue).chain(journal).chain(store).collect()
}

fn store(arguments: &Arguments) -> Option<&Path> {
    match arguments.verb.as_ref()? {
        Verb::Bench(bench) => bench.means.store.as_deref(),
        Verb::Sweep(sweep) => sweep.means.store.as_deref(),
        Verb::Runs(runs) => runs.store.as_deref(),
        _ => None,
    }
}

fn changing(arguments: &Arguments) -> Option<&Changing> {
    match arguments.verb.as_ref()? {
        Verb::Apply(apply) => Some(&apply.changing),
        Verb::Verify(verify) => Some(&verify.changing),
        Verb::Revert(revert) => Some(&revert.changing),
        _ => None,
    }
}

/// What stands before a verb.
const PROGRAM: &str = "nearside ";

fn completed(text: &str, carried: &[Carried]) -> String {
    let mut parts = text.split(PROGRAM);
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let ends = ENDS.iter().filter_map(|end| part.find(end));
        let (command, rest) = part.split_at(ends.min().unwrap_or(part.len()));
        let verb = command.split(' ').next().unwrap_or_default();
        let is_needed = |one: &&Carried| one.verbs.contains(&verb) && !command.contains(one.flag);
        let words = carried.iter().filter(is_needed);
        let words: String = words.map(|one| format!(" {} {}", one.flag, one.value)).collect();
        said.push_str(&format!("{PROGRAM}{command}{words}{rest}"));
    }
    said
}

/// What ends a command in a sentence; `…` stands for words that are not said.
const ENDS: [&str; 4] = ["`", "\n", "; ", " …"];

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn said(typed: &str, text: &str) -> String {
        completed(text, &carried(&Arguments::parse_from(typed.split(' '))))
    }

    #[test]
    fn what_is_to_be_typed_is_about_the_same_journal_and_machine() {
        let typed = "nearside apply --journal /srv/j --catalogue own";
        for (text, expected) in [
            ("verify it:     nearside verify", "verify it:     nearside verify --journal /srv/j"),
            (
                "`nearside revert` takes it back, `nearside revert --list` lists",
                "`nearside revert --journal /srv/j` takes it back, `nearside revert --list \
                 --journal /srv/j` lists",
            ),
            (
                "nearside apply --confirm",
                "nearside apply --confirm --catalogue own --journal /srv/j",
            ),
            ("nearside revert …; or not", "nearside revert --journal /srv/j …; or not"),
            ("nearside verify --journal /srv/j", "nearside verify --journal /srv/j"),
            ("nearside: no; see nearside plan", "nearside: no; see nearside plan --catalogue own"),
            ("another nearside (process 5)", "another nearside (process 5)"),
        ] {
            assert_eq!(said(typed, text), expected);
        }
        let plan = "nearside --from synthetic:faulty plan";
        let line = "nearside plan --set 'mtu=9000@eth0'";
        let expected = "nearside plan --set 'mtu=9000@eth0' --from synthetic:faulty";
        assert_eq!(said(plan, line), expected);
        assert_eq!(said(plan, "nearside apply"), "nearside apply");
        assert_eq!(said("nearside verify", "nearside revert"), "nearside revert");
        let odd = "nearside verify --journal it's";
        assert_eq!(said(odd, "nearside revert"), "nearside revert --journal 'it'\\''s'");
    }

    #[test]
    fn a_wish_is_typed_again_as_it_was() {
        let typed = "nearside plan --goal latency --set nic-gro=off@eth0 --only a,b --device eth0 \
                     --node 1 --fit-channels --profile p.toml";
        let arguments = Arguments::parse_from(typed.split_whitespace());
        let Some(Verb::Plan(plan)) = &arguments.verb else { panic!("{arguments:?}") };
        let again = format!("nearside plan{}", wishes(&plan.wishes));
        let back = Arguments::parse_from(again.split(' '));
        let Some(Verb::Plan(back)) = &back.verb else { panic!("{back:?}") };
        assert_eq!(format!("{:?}", back.wishes), format!("{:?}", plan.wishes));
    }
}
