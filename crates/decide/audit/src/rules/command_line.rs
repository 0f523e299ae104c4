// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of the kernel's command line that override the firmware, or take hardware away.
//!
//! Which options these are and what they do is the catalogue's `command-line/*.toml`.

use std::collections::BTreeSet;

use setting::{KernelOption, Severity};

use crate::context::Context;
use crate::draft::Draft;
use crate::lines;
use crate::words;

/// The entry that this rule speaks of.
pub(crate) const ID: &str = "command-line-overrides";

/// An option found, and what it does.
#[derive(Debug, Clone)]
pub(crate) struct Override<'a> {
    /// As written: `idle=poll`.
    pub(crate) text: String,
    known: &'a KernelOption,
    severity: Severity,
}

/// The options on the line that override firmware or take hardware away, in order.
pub(crate) fn overrides<'a>(context: &Context<'a>) -> Vec<Override<'a>> {
    let mut found: Vec<Override<'_>> = Vec::new();
    for (key, value) in &context.machine.host.command_line.options {
        let value = value.as_deref().filter(|value| !value.is_empty());
        let text = value.map_or_else(|| key.clone(), |value| format!("{key}={value}"));
        if found.iter().any(|known| known.text == text) {
            continue;
        }
        if let Some(known) = known(context, key, value) {
            found.push(Override { text, known, severity: known.impact(context.goal) });
        }
    }
    found
}

/// What the catalogue knows of an option: an entry for its value says more than one for any.
fn known<'a>(context: &Context<'a>, key: &str, value: Option<&str>) -> Option<&'a KernelOption> {
    let applies = |option: &&KernelOption| {
        option.is(key, value) && context.meets(&option.applies, &BTreeSet::new())
    };
    let options = context.catalogue.kernel_options().iter();
    options.filter(applies).max_by_key(|option| option.value.is_some())
}

/// One finding for each option that matters, one for all that matter little, and one for those that
/// somebody who tunes for this goal sets on purpose: worth knowing, and to be left alone.
pub(crate) fn drafts(context: &Context<'_>) -> Vec<Draft> {
    let found = overrides(context).into_iter().filter(|option| is_worth(context, option));
    let (much, little): (Vec<_>, Vec<_>) =
        found.partition(|option| option.severity >= Severity::Medium);
    let (meant, little): (Vec<_>, Vec<_>) =
        little.into_iter().partition(|option| option.severity == Severity::Note);
    let mut drafts: Vec<Draft> = much.iter().map(draft).collect();
    for options in [little, meant] {
        match options.as_slice() {
            [] => {}
            [one] => drafts.push(draft(one)),
            several => drafts.extend(together(several)),
        }
    }
    drafts
}

fn together(options: &[Override<'_>]) -> Option<Draft> {
    let severity = options.iter().map(|option| option.severity).max()?;
    let texts: Vec<&str> = options.iter().map(|option| option.text.as_str()).collect();
    let said =
        options.iter().map(|option| format!("{} {}", option.text, short(&option.known.means)));
    let title = format!(
        "{} on the kernel's command line decide for the firmware or a driver: {}",
        words::count(options.len(), "option"),
        texts.join(", ")
    );
    let draft = Draft::new(ID, severity, title)
        .because(said.collect::<Vec<_>>().join("; "))
        .weighed(weight(severity));
    let draft = removal(draft, options, severity, "without them");
    Some(draft.evidence(lines::command_line(texts.first()?)))
}

fn by_hand(text: &str) -> String {
    format!("# take {text} off the kernel's command line, then reboot")
}

/// What a guest's memory and CPUs are is its host's choice; what is no loss is not worth a note.
fn is_worth(context: &Context<'_>, option: &Override<'_>) -> bool {
    option.severity > Severity::Note || !(context.is_guest() || context.is("desktop"))
}

fn draft(option: &Override<'_>) -> Draft {
    let text = &option.text;
    let title = format!("{text} on the kernel's command line {}", short(&option.known.means));
    let draft = Draft::new(ID, option.severity, title)
        .because(format!("{text} {}", option.known.means))
        .weighed(weight(option.severity))
        .evidence(lines::command_line(text));
    removal(draft, std::slice::from_ref(option), option.severity, &format!("without {text}"))
}

fn weight(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "it is set on purpose where people tune for this goal",
        Severity::Low => "it overrides firmware or takes hardware away, and costs this goal little",
        _ => "it works against this goal",
    }
}

/// How to take options off the line; of those that are noted only, nobody is told to.
fn removal(draft: Draft, options: &[Override<'_>], severity: Severity, without: &str) -> Draft {
    let texts: Vec<&str> = options.iter().map(|option| option.text.as_str()).collect();
    match severity {
        Severity::Note => draft.values(texts.join(" "), "as it is, where it is meant"),
        _ => draft
            .values(texts.join(" "), without)
            .change(options.iter().map(|option| by_hand(&option.text))),
    }
}

/// The meaning up to the first colon: enough for a list.
fn short(means: &str) -> &str {
    means.split(':').next().unwrap_or(means)
}
