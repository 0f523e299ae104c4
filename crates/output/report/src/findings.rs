// SPDX-License-Identifier: MIT OR Apache-2.0
//! The audit for a terminal: what costs, what it rests on, what to do, what doing it costs.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Trouble, Why};
use setting::{
    Basis, Change, Confidence, Evidence, Finding, FindingEffect, Goal, Observation, Owner, Reboot,
    Severity,
};

use crate::frame::{field_in, paragraph};
use crate::style::{Line, Role, Style, paint};
use crate::{text, words};

/// What an audit came to, the costliest finding first.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// What the machine was judged for.
    pub goal: Goal,
    /// What costs.
    pub findings: &'a [Finding],
    /// What was observed.
    pub observations: &'a [Observation],
    /// What could not be read.
    pub unknown: &'a [Trouble],
    /// What names the machine on a command line (`--from FILE`), where it is not the one that runs
    /// this; empty where it is.
    pub named: &'a str,
}

/// How much was looked at. A setting may have many places, one for each CPU or drive: it is read
/// where any of them was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen<'a> {
    /// Settings that were read.
    pub(crate) settings: BTreeSet<&'a str>,
    /// Places at which they were read.
    pub(crate) places: usize,
    /// Settings of which no place was read, and why not the first.
    pub(crate) unseen: BTreeMap<&'a str, &'a Why>,
}

impl<'a> Found<'a> {
    /// How much was looked at.
    pub(crate) fn seen(&self) -> Seen<'a> {
        let mut seen = Seen::default();
        for one in self.observations {
            match &one.value {
                Ok(_) => {
                    seen.settings.insert(&one.setting);
                    seen.places += 1;
                }
                Err(why) => {
                    seen.unseen.entry(&one.setting).or_insert(why);
                }
            }
        }
        let Seen { settings, unseen, .. } = &mut seen;
        unseen.retain(|setting, _| !settings.contains(setting));
        seen
    }
}

impl Seen<'_> {
    /// `98 settings read at 339 places, 29 not seen`; empty where nothing was looked at.
    fn text(&self) -> String {
        let (read, unseen) = (self.settings.len(), self.unseen.len());
        let at = match self.places {
            places if places > read => format!(" at {}", text::count(places, "place")),
            _ => String::new(),
        };
        match (read, unseen) {
            (0, 0) => String::new(),
            (read, 0) => format!("{} read{at}", text::count(read, "setting")),
            (read, unseen) => {
                format!("{} read{at}, {unseen} not seen", text::count(read, "setting"))
            }
        }
    }
}

/// How much of each finding is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// What it is, what it costs, what to do: a few lines each.
    #[default]
    Brief,
    /// Everything, with the evidence.
    Full,
}

/// Columns before a finding's text: its rank and severity.
const INDENT: usize = 11;
/// Columns of the labels below a finding.
const LABEL: usize = 10;

/// Of a file's text this much shows what it says; the rest is in the JSON document.
const LONGEST_CONTENT: usize = 100;

/// Devices that a command names.
const MOST_NAMED: usize = 4;

/// Things unseen for one reason that the brief form names.
const BRIEF_UNSEEN: usize = 6;

/// What the words and the order mean: a large gain of a study does not make a finding large here.
const ORDER: &str = "The worst first: by how much of the I/O here each can hold up, not by what a \
                     study gained elsewhere.";

/// Draws the findings.
pub fn draw(found: &Found<'_>, detail: Detail, style: &Style) -> String {
    let columns = style.columns();
    let mut lines = paragraph(Role::Strong, &summary(found), 0, columns);
    if found.findings.len() > 1 {
        lines.extend(paragraph(Role::Dim, ORDER, 0, columns));
    }
    for (rank, finding) in found.findings.iter().enumerate() {
        lines.push(Line::default());
        lines.extend(heading(rank + 1, finding, columns));
        lines.extend(match detail {
            Detail::Brief => brief(found, finding, columns),
            Detail::Full => full(found, finding, columns),
        });
    }
    let unseen = unseen(found, detail, columns);
    if !unseen.is_empty() {
        lines.push(Line::default());
        lines.extend(unseen);
    }
    paint(&lines, style)
}

/// `5 findings for the goal throughput: 1 high, 4 medium. 57 settings read at 212 places, 12 not
/// seen.`
fn summary(found: &Found<'_>) -> String {
    let read = found.seen().text();
    let read = if read.is_empty() { read } else { format!(" {read}.") };
    if found.findings.is_empty() {
        return format!("Nothing found that {}.{read}", words::costs(found.goal));
    }
    let by_severity: Vec<String> =
        [Severity::High, Severity::Medium, Severity::Low, Severity::Note]
            .into_iter()
            .filter_map(|severity| {
                let with = |finding: &&Finding| finding.severity == severity;
                let number = found.findings.iter().filter(with).count();
                let word = words::severity(severity);
                (number > 0).then(|| match (severity, number) {
                    (Severity::Note, 2..) => format!("{number} notes"),
                    _ => format!("{number} {word}"),
                })
            })
            .collect();
    let number = text::count(found.findings.len(), "finding");
    let goal = words::goal(found.goal);
    format!("{number} for the goal {goal}: {}.{read}", by_severity.join(", "))
}

/// The role of a severity.
pub(crate) fn role(severity: Severity) -> Role {
    match severity {
        Severity::High => Role::Bad,
        Severity::Medium => Role::Warn,
        Severity::Low => Role::Plain,
        Severity::Note => Role::Dim,
    }
}

fn heading(rank: usize, finding: &Finding, columns: usize) -> Vec<Line> {
    let room = columns.saturating_sub(INDENT);
    let title = text::wrap(&text::harmless(&finding.title), room);
    title
        .into_iter()
        .enumerate()
        .map(|(number, part)| {
            let line = match number {
                0 => Line::of(Role::Dim, format!("{rank:>2} ")).and(
                    role(finding.severity),
                    text::pad(words::severity(finding.severity), INDENT - 3),
                ),
                _ => Line::plain(" ".repeat(INDENT)),
            };
            line.and(Role::Strong, part)
        })
        .collect()
}

fn brief(found: &Found<'_>, finding: &Finding, columns: usize) -> Vec<Line> {
    let mut lines = labelled("effect", &effect(&finding.effect), columns);
    if finding.severity == Severity::Note {
        return lines;
    }
    let Some(change) = &finding.change else {
        lines.extend(labelled("change", owner(finding.owner), columns));
        return lines;
    };
    lines.extend(labelled("change", &step(finding, change), columns));
    match command(found, finding, change) {
        Some(command) => lines.extend(commands("command", &[command], 1, columns)),
        None => lines.extend(commands("by hand", &change.by_hand, 2, columns)),
    }
    lines
}

/// What carries the change out; of a machine that does not run here, what shows it.
fn command(found: &Found<'_>, finding: &Finding, change: &Change) -> Option<String> {
    if !change.at_once {
        return None;
    }
    let verb = if found.named.is_empty() { "apply" } else { "plan" };
    let goal = match found.goal {
        Goal::Throughput => String::new(),
        goal => format!(" --goal {}", words::goal(goal)),
    };
    // `cpu 3` and `node 1` are no names of devices, and a long list is all that there are.
    let is_named = |name: &String| !name.contains(' ') && text::harmless(name) == *name;
    let few = (1..=MOST_NAMED).contains(&finding.devices.len());
    let device = match few && finding.devices.iter().all(is_named) {
        true => format!(" --device {}", finding.devices.join(",")),
        false => String::new(),
    };
    let named = if found.named.is_empty() { String::new() } else { format!(" {}", found.named) };
    Some(format!("nearside {verb} --only {}{device}{goal}{named}", finding.id))
}

/// `powersave → performance; takes effect at once`: the two values only where the title does not
/// have them already.
fn step(finding: &Finding, change: &Change) -> String {
    let when = match (change.at_once, change.reboot) {
        (true, when) => reboot(when).to_owned(),
        (false, Reboot::Manual) => owner(finding.owner).to_owned(),
        (false, when) => format!("{}; {}", owner(finding.owner), reboot(when)),
    };
    let has = |value: &String| !value.is_empty() && finding.title.contains(value.as_str());
    if has(&change.from) && has(&change.to) {
        return when;
    }
    format!("{} → {}; {when}", change.from, change.to)
}

fn full(found: &Found<'_>, finding: &Finding, columns: usize) -> Vec<Line> {
    let mut lines = labelled("severity", &severity(finding), columns);
    lines.extend(labelled("why", &finding.because, columns));
    lines.extend(labelled("is", &finding.observed, columns));
    lines.extend(labelled("wanted", &finding.wanted, columns));
    lines.extend(labelled("effect", &effect(&finding.effect), columns));
    lines.extend(labelled("source", &finding.effect.source, columns));
    if let Some(change) = &finding.change {
        // Both values stand two lines above.
        let who = format!("{}; {}", owner(finding.owner), reboot(change.reboot));
        lines.extend(labelled("change", &who, columns));
        let command = command(found, finding, change);
        lines.extend(commands("command", command.as_slice(), 1, columns));
        lines.extend(commands("by hand", &change.by_hand, usize::MAX, columns));
    } else {
        lines.extend(labelled("change", owner(finding.owner), columns));
    }
    lines.extend(labelled("costs", &finding.cost, columns));
    if finding.confidence != Confidence::Sure {
        lines.extend(labelled("doubt", confidence(finding.confidence), columns));
    }
    for (number, evidence) in finding.evidence.iter().enumerate() {
        let label = if number == 0 { "evidence" } else { "" };
        let text = format!("{}: {}", evidence.path, said(evidence));
        lines.extend(labelled_in(Role::Dim, label, &text, columns));
    }
    lines.extend(labelled_in(
        Role::Dim,
        "more",
        &format!("nearside explain {}", finding.id),
        columns,
    ));
    lines
}

/// `high: less than 70 % of the bandwidth is left`.
fn severity(finding: &Finding) -> String {
    format!("{}: {}", words::severity(finding.severity), finding.severity_from)
}

/// What a line of evidence said, and what that means where nobody can tell by looking.
fn said(line: &Evidence) -> String {
    let content = line.content.as_ref();
    let content = content.map(|text| text::cut(&words::squeezed(text), LONGEST_CONTENT));
    match (content, &line.means) {
        (Some(content), Some(means)) => format!("{content} ({means})"),
        (Some(content), None) => content,
        (None, Some(means)) => means.clone(),
        (None, None) => String::new(),
    }
}

fn labelled(label: &str, text: &str, columns: usize) -> Vec<Line> {
    labelled_in(Role::Plain, label, text, columns)
}

/// A label and its text below a finding; nothing where there is no text.
fn labelled_in(role: Role, label: &str, text: &str, columns: usize) -> Vec<Line> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let label = format!("{}{label}", " ".repeat(INDENT));
    field_in(role, &label, text, INDENT + LABEL, columns)
}

/// Lines to type, never wrapped: a broken command is no command.
fn commands(label: &str, commands: &[String], most: usize, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for (number, command) in commands.iter().take(most).enumerate() {
        let label = if number == 0 { label } else { "" };
        let label = text::pad(&format!("{}{label}", " ".repeat(INDENT)), INDENT + LABEL);
        lines.push(Line::of(Role::Dim, label).and(Role::Good, command).whole());
    }
    let more = commands.len().saturating_sub(most);
    if more > 0 {
        let text = format!("and {}", text::count(more, "more line"));
        lines.extend(labelled_in(Role::Dim, "", &text, columns));
    }
    lines
}

/// What a change brings, and how sure that is.
pub(crate) fn effect(effect: &FindingEffect) -> String {
    let basis = match effect.basis {
        Basis::Measured => "measured on another machine, this change alone",
        Basis::Bundle => "measured on another machine, together with other changes",
        Basis::Rated => "rated by the study's authors, not measured alone",
        Basis::Reasoned => "follows from how it works, not measured",
    };
    // What is rated says so itself, as a rule.
    if effect.basis == Basis::Rated && effect.text.trim_start().starts_with("Rated") {
        return effect.text.clone();
    }
    format!("{} ({basis})", effect.text.trim_end_matches('.'))
}

fn owner(owner: Owner) -> &'static str {
    match owner {
        Owner::Os => "in the operating system",
        Owner::Bios => "in the firmware",
        Owner::Device => "at the device or its driver",
        Owner::Person => "by a person: slots, cables, modules",
    }
}

fn reboot(reboot: Reboot) -> &'static str {
    match reboot {
        Reboot::None => "takes effect at once",
        Reboot::Reload => "takes effect when the driver is loaded again",
        Reboot::Kexec => "takes effect at the next boot",
        Reboot::Reboot => "takes effect after a reboot",
        Reboot::PowerCycle => "takes effect after power off and on",
        Reboot::Manual => "needs hands at the machine",
    }
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Sure => "none",
        Confidence::Likely => "likely: follows from several signs",
        Confidence::Unsure => "the signs could mean something else",
    }
}

/// What could not be seen, by reason. The brief form tells of what a person can do something about;
/// a setting that this machine or kernel does not have is counted there, and named in the full form.
fn unseen(found: &Found<'_>, detail: Detail, columns: usize) -> Vec<Line> {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut missing: BTreeSet<&str> = BTreeSet::new();
    let seen = found.seen();
    let settings = seen.unseen.iter().map(|(setting, why)| (*why, *setting));
    for (why, what) in found.unknown.iter().map(|t| (&t.why, t.what.as_str())).chain(settings) {
        if detail == Detail::Brief && is_missing(why) {
            missing.insert(what);
            continue;
        }
        let whats = reasons.entry(words::why(why)).or_default();
        if !whats.contains(&what) {
            whats.push(what);
        }
    }
    let mut lines = Vec::new();
    for (why, whats) in reasons {
        let most = if detail == Detail::Full { whats.len() } else { BRIEF_UNSEEN };
        let (shown, more) = whats.split_at_checked(most).unwrap_or((&whats, &[]));
        let more =
            if more.is_empty() { String::new() } else { format!("; and {} more", more.len()) };
        lines.extend(paragraph(Role::Plain, &format!("Not seen, {why}:"), 0, columns));
        lines.extend(paragraph(Role::Dim, &format!("{}{more}", shown.join("; ")), 2, columns));
    }
    if !missing.is_empty() {
        let text = format!(
            "Not seen: {} that this machine, its kernel or the capture of it does not have; \
             --verbose names them.",
            settings_and_facts(&missing, &seen)
        );
        lines.extend(paragraph(Role::Dim, &text, 0, columns));
    }
    lines
}

/// Whether there is nothing to read: no person can do anything about it.
pub(crate) fn is_missing(why: &Why) -> bool {
    matches!(why, Why::Absent | Why::NotSupported)
}

/// `29 settings`, `29 settings and 2 other things`: of what is missing, what a person can turn and
/// what only describes the machine.
fn settings_and_facts(missing: &BTreeSet<&str>, seen: &Seen<'_>) -> String {
    let settings = missing.iter().filter(|what| seen.unseen.contains_key(**what)).count();
    match (settings, missing.len().saturating_sub(settings)) {
        (settings, 0) => text::count(settings, "setting"),
        (0, others) => text::count(others, "thing"),
        (settings, others) => format!(
            "{} and {}",
            text::count(settings, "setting"),
            text::count(others, "other thing")
        ),
    }
}
