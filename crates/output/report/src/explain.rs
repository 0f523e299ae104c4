// SPDX-License-Identifier: MIT OR Apache-2.0
//! A catalogue entry as prose for a terminal, and the list of all entries.
//!
//! The words are the catalogue's; this file adds the order, the headings and the names of ideas
//! ("measured, this change alone"). It knows nothing of a machine.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use catalogue::Catalogue;
use setting::{
    Basis, Effect, Form, Goal, KernelOption, Owner, Reboot, Scope, Setting, Severity, TAGS,
    VendorName, Wish, Write, WritePlace,
};

use crate::text::harmless;
use crate::words;

/// The entry as prose, wrapped to `width` columns (held between 40 and 100).
pub fn explain(setting: &Setting, catalogue: &Catalogue, width: usize) -> String {
    let mut page = Page { text: String::new(), width: width.clamp(40, 100) };
    page.wrap(&format!("{}: {}", setting.id, setting.title), "", "    ");
    page.paragraph(&setting.what, 0);
    values(&mut page, setting);
    if setting.observe.fact.as_deref() == Some("command-line-overrides") {
        options(&mut page, catalogue);
    }
    wishes(&mut page, setting);
    page.heading("What it brings");
    setting.effect.iter().for_each(|effect| effect_lines(&mut page, effect));
    if setting.effect.iter().any(|effect| effect.ratio.is_some()) {
        page.paragraph(MATTERS, 2);
    }
    page.heading("What it costs");
    page.paragraph(&setting.trade_off, 2);
    how_to_see(&mut page, setting);
    how_to_change(&mut page, setting);
    names(&mut page, setting, catalogue);
    page.text
}

/// Every entry with its title, grouped as the catalogue's folders are, wrapped to `width` columns
/// (held between 40 and 200).
pub fn explain_list(catalogue: &Catalogue, width: usize) -> String {
    let mut groups: BTreeMap<(usize, &str), Vec<&Setting>> = BTreeMap::new();
    for setting in catalogue.settings() {
        let group = catalogue.group(&setting.id);
        let place = GROUPS.iter().position(|(name, _)| *name == group).unwrap_or(GROUPS.len());
        groups.entry((place, group)).or_default().push(setting);
    }
    let longest = catalogue.settings().iter().map(|setting| setting.id.len()).max().unwrap_or(0);
    let mut page = Page { text: String::new(), width: width.clamp(40, 200) };
    for ((place, group), settings) in groups {
        page.line(GROUPS.get(place).map_or(group, |(_, title)| title));
        for setting in settings {
            page.pair(&setting.id, longest, &setting.title);
        }
        page.line("");
    }
    page.wrap("`nearside explain SETTING` tells all about one of them.", "", "");
    page.text
}

/// The catalogue's folders in the order of the list.
const GROUPS: &[(&str, &str)] = &[
    ("bios", "Firmware"),
    ("cpu", "Processors: clock, idle states, time"),
    ("memory", "Memory"),
    ("pcie", "PCI Express"),
    ("nvme", "Drives"),
    ("nic", "Network"),
    ("irq", "Interrupts and queues"),
    ("kernel", "Kernel and placement of work"),
    ("own", "Your own"),
];

/// Text that is being written.
struct Page {
    text: String,
    width: usize,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(harmless(line).trim_end());
        self.text.push('\n');
    }

    fn heading(&mut self, heading: &str) {
        self.text.push('\n');
        self.line(heading);
    }

    /// Prose, indented; a paragraph at the margin has an empty line before it.
    fn paragraph(&mut self, prose: &str, indent: usize) {
        if indent == 0 {
            self.text.push('\n');
        }
        let indent = " ".repeat(indent);
        self.wrap(prose, &indent, &indent);
    }

    /// A word, and what it means beside it.
    fn pair(&mut self, word: &str, column: usize, meaning: &str) {
        let column = column.min(self.width / 2);
        let first = format!("  {word:column$}  ");
        self.wrap(meaning, &first, &" ".repeat(column + 4));
    }

    fn wrap(&mut self, prose: &str, first: &str, rest: &str) {
        let options = textwrap::Options::new(self.width)
            .initial_indent(first)
            .subsequent_indent(rest)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        // Texts of the catalogue have the line ends of their files.
        for line in textwrap::wrap(&words::squeezed(prose), options) {
            self.line(&line);
        }
    }
}

fn values(page: &mut Page, setting: &Setting) {
    if setting.values.is_empty() {
        return;
    }
    page.heading("Values");
    if setting.values.iter().all(|meaning| meaning.means.is_empty()) {
        let values: Vec<&str> = setting.values.iter().map(|meaning| &*meaning.value).collect();
        return page.paragraph(&values.join(", "), 2);
    }
    let column = setting.values.iter().map(|meaning| meaning.value.len()).max().unwrap_or(0);
    for meaning in &setting.values {
        page.pair(&meaning.value, column, &meaning.means);
    }
}

/// The options of the kernel's command line that are known.
fn options(page: &mut Page, catalogue: &Catalogue) {
    page.heading("Options");
    let spelled = |option: &KernelOption| match &option.value {
        Some(value) => format!("{}={value}", option.name),
        None => option.name.clone(),
    };
    let column = catalogue.kernel_options().iter().map(|o| spelled(o).len()).max().unwrap_or(0);
    for option in catalogue.kernel_options() {
        page.pair(&spelled(option), column, &option.means);
    }
}

const GOALS: [(Goal, &str); 3] =
    [(Goal::Throughput, "throughput"), (Goal::Latency, "latency"), (Goal::Balanced, "balanced")];

fn wishes(page: &mut Page, setting: &Setting) {
    page.heading("What is wanted");
    if GOALS.iter().all(|(goal, _)| setting.due(*goal).is_none()) {
        page.paragraph(
            "Nothing for any goal: this entry explains, and nearside asks for no value.",
            2,
        );
        return;
    }
    for (goal, name) in GOALS {
        let kept =
            setting.kept.for_goal(goal).map(|kept| format!("{}, the default", wish_words(kept)));
        let wish = setting.wanted.for_goal(goal).map(wish_words).or(kept);
        page.pair(name, 10, wish.as_deref().unwrap_or("no wish"));
    }
    tags(page, "only on", &setting.applies.when);
    tags(page, "never on", &setting.applies.never);
}

fn wish_words(wish: &Wish) -> String {
    match (wish.at_least, wish.at_most) {
        (Some(least), _) => format!("{least} or more"),
        (_, Some(most)) => format!("{most} or less"),
        _ => listed(&wish.one_of, "or"),
    }
}

/// `a`, `a or b`, `a, b or c`.
fn listed(words: &[String], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., end] => format!("{} {last} {end}", rest.join(", ")),
    }
}

fn tags(page: &mut Page, label: &str, tags: &[String]) {
    if !tags.is_empty() {
        let words: Vec<String> = tags.iter().map(|tag| tag_words(tag)).collect();
        page.pair(label, 10, &words.join("; "));
    }
}

/// What a tag means, short: `!nvme` is "not: an NVMe drive or controller".
fn tag_words(tag: &str) -> String {
    let (not, name) = tag.strip_prefix('!').map_or(("", tag), |name| ("not: ", name));
    let known = TAGS.iter().find(|(known, _)| *known == name);
    let words = match (known, name.split_once(':')) {
        (Some((_, meaning)), _) => meaning.strip_prefix("device: ").unwrap_or(meaning).to_owned(),
        (None, Some(("driver", driver))) => format!("devices of the driver {driver}"),
        (None, Some(("vendor", vendor))) => format!("machines made by {vendor}"),
        (None, _) => name.to_owned(),
    };
    format!("{not}{words}")
}

fn effect_lines(page: &mut Page, effect: &Effect) {
    page.paragraph(&effect.text, 2);
    let mut basis = format!("{}; {}", impact_words(effect.impact), basis_words(effect.basis));
    if let Some(ratio) = effect.ratio {
        let _ = write!(basis, ", {:+.0} %", (ratio - 1.0) * 100.0);
    }
    if !effect.goals.is_empty() {
        let goals: Vec<String> = GOALS
            .iter()
            .filter(|(goal, _)| effect.goals.contains(goal))
            .map(|(_, name)| (*name).to_owned())
            .collect();
        let _ = write!(basis, "; for {}", listed(&goals, "and"));
    }
    page.paragraph(&format!("({basis}. Source: {}.)", effect.source.trim_end_matches('.')), 4);
}

/// Why a large gain and a low rank, or the other way round, are no contradiction.
const MATTERS: &str = "How much it matters, and with it the severity of a finding, is nearside's \
                       judgement of how much I/O a machine can lose by it. A percentage is what the \
                       machine of the study gained, by all that was changed at once.";

fn impact_words(impact: Severity) -> &'static str {
    match impact {
        Severity::High => "Matters much",
        Severity::Medium => "Matters somewhat",
        Severity::Low => "Matters little",
        Severity::Note => "Good to know",
    }
}

fn basis_words(basis: Basis) -> &'static str {
    match basis {
        Basis::Measured => "measured, this change alone",
        Basis::Bundle => "measured, only together with other changes",
        Basis::Rated => "rated by the study's authors, not measured alone",
        Basis::Reasoned => "follows from how it works, without a figure of its own",
    }
}

fn how_to_see(page: &mut Page, setting: &Setting) {
    page.heading("How to see it");
    let observe = &setting.observe;
    if let Some(file) = &observe.file {
        let file = with_device(file, setting.scope);
        page.paragraph(&format!("{file}{}", form_words(observe.form)), 2);
    } else if let Some(fact) = &observe.fact {
        let prose = format!("nearside works it out from several files: the fact `{fact}`.");
        page.paragraph(&prose, 2);
    } else if let Some(unseen) = &observe.unseen {
        page.paragraph(unseen, 2);
    }
    page.paragraph(scope_words(setting.scope), 2);
}

/// The path with DEVICE, or N for a number, in the place of the scope's placeholder.
fn with_device(file: &str, scope: Scope) -> String {
    let Some(word) = scope.placeholder() else { return file.to_owned() };
    let device = if matches!(scope, Scope::Cpu | Scope::Node) { "N" } else { "DEVICE" };
    file.replace(&format!("{{{word}}}"), device)
}

fn form_words(form: Form) -> &'static str {
    match form {
        Form::Selected => " (the word in brackets counts)",
        Form::CpuMask => " (a mask in hexadecimal; nearside prints the list of CPUs)",
        Form::Switch => " (1 or Y is on, 0 or N is off)",
        Form::Opposite => " (1 or Y is off, 0 or N is on)",
        Form::Text | Form::Number | Form::Numbers | Form::CpuList => "",
    }
}

fn scope_words(scope: Scope) -> &'static str {
    match scope {
        Scope::Machine => "One for the whole machine.",
        Scope::Cpu => "One for each CPU.",
        Scope::Node => "One for each NUMA node.",
        Scope::Function => "One for each PCI function.",
        Scope::Drive => "One for each drive.",
        Scope::Nic => "One for each network device.",
        Scope::ScsiHost => "One for each SATA or SAS host.",
    }
}

fn how_to_change(page: &mut Page, setting: &Setting) {
    page.heading("How to change it");
    let prose = format!("{}; {}.", owner_words(setting.owner), reboot_words(setting.reboot));
    page.paragraph(&prose, 2);
    if let Some(write) = setting.write.as_ref().filter(|write| write.is_at_once()) {
        page.line(&format!("    nearside apply --set {}={}", setting.id, taken(setting, write)));
    }
    if let Some(line) = &setting.by_hand {
        page.line(&format!(
            "    {}",
            line.replace("{device}", "DEVICE").replace("{value}", "VALUE")
        ));
    }
    if !setting.after.is_empty() {
        page.paragraph(&format!("Set before it: {}.", listed(&setting.after, "and")), 2);
    }
    if !setting.conflicts.is_empty() {
        page.paragraph(&format!("Fights with: {}.", listed(&setting.conflicts, "and")), 2);
    }
}

/// What `--set` takes: `on|off@DEVICE` where there is one for each device.
fn taken(setting: &Setting, write: &Write) -> String {
    let words: Vec<&str> = match write.place {
        Some(WritePlace::Interrupt) => vec!["near", "whole-node", "node:N", "cpus:LIST"],
        Some(WritePlace::IdleLatency) => vec!["MICROSECONDS"],
        Some(WritePlace::TransmitSteering) => vec!["matched"],
        Some(WritePlace::ReceiveSteering) => vec!["off", "near"],
        Some(WritePlace::FlowSteering) => vec!["on", "off"],
        Some(WritePlace::ReceiveSpread) => vec!["even", "N"],
        Some(WritePlace::Service) => vec!["running", "stopped"],
        _ if !write.values.is_empty() => write.values.keys().map(String::as_str).collect(),
        _ => match setting.observe.form {
            Form::Number => vec!["N"],
            Form::Numbers => vec!["'N N ...'"],
            Form::CpuList | Form::CpuMask => vec!["LIST"],
            Form::Switch | Form::Opposite => vec!["on", "off"],
            Form::Text | Form::Selected => {
                setting.values.iter().map(|value| value.value.as_str()).collect()
            }
        },
    };
    let value = if words.is_empty() { "VALUE".to_owned() } else { words.join("|") };
    let device = if setting.scope == Scope::Machine { "" } else { "[@DEVICE]" };
    format!("{value}{device}")
}

fn owner_words(owner: Owner) -> &'static str {
    match owner {
        Owner::Os => "In the operating system",
        Owner::Bios => "In the firmware",
        Owner::Device => "At the device or its driver",
        Owner::Person => "By a person",
    }
}

fn reboot_words(reboot: Reboot) -> &'static str {
    match reboot {
        Reboot::None => "it takes effect at once",
        Reboot::Reload => "it takes effect when the driver is loaded again",
        Reboot::Kexec => "it takes effect at the next boot",
        Reboot::Reboot => "it takes effect after a reboot",
        Reboot::PowerCycle => "it takes effect after power was off",
        Reboot::Manual => "it is work by hand",
    }
}

fn names(page: &mut Page, setting: &Setting, catalogue: &Catalogue) {
    if setting.vendors.is_empty() {
        return;
    }
    page.heading("What management controllers call it");
    for name in &setting.vendors {
        page.wrap(&name_words(name, catalogue), "  ", "    ");
    }
}

fn name_words(name: &VendorName, catalogue: &Catalogue) -> String {
    let mut words = format!("{}: {}", catalogue.vendor_title(&name.vendor), name.attribute);
    if !name.values.is_empty() {
        let pairs: Vec<String> =
            name.values.iter().map(|(ours, theirs)| format!("{ours} = {theirs}")).collect();
        let _ = write!(words, " ({})", pairs.join(", "));
    }
    if let Some(note) = &name.note {
        let _ = write!(words, "; {note}");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(id: &str) -> String {
        let catalogue = Catalogue::built_in();
        explain(catalogue.get(id).expect(id), &catalogue, 80)
    }

    #[test]
    fn a_firmware_setting() {
        insta::assert_snapshot!(page("sub-numa-cluster"));
    }

    #[test]
    fn a_kernel_file_of_each_drive() {
        insta::assert_snapshot!(page("block-scheduler"));
    }

    #[test]
    fn a_setting_without_a_wish() {
        insta::assert_snapshot!(page("upi-prefetch"));
    }

    #[test]
    fn no_page_is_wider_than_asked_but_for_commands_and_paths() {
        let catalogue = Catalogue::built_in();
        for setting in catalogue.settings() {
            let command = setting.by_hand.as_ref().map(|line| line.replace("{device}", "DEVICE"));
            let command = command.map(|line| line.replace("{value}", "VALUE")).unwrap_or_default();
            let is_whole = |line: &str| {
                let is_one_word = !line.trim().contains(' ');
                is_one_word || line.starts_with("nearside apply --set ") || line == command
            };
            for width in [40, 80, 100] {
                let page = explain(setting, &catalogue, width);
                let mut wide = page.lines().filter(|line| line.chars().count() > width);
                let odd = wide.find(|line| !is_whole(line.trim()));
                assert_eq!(odd, None, "{} at {width}", setting.id);
            }
        }
    }

    #[test]
    fn a_users_entry_cannot_steer_the_terminal() {
        let catalogue = Catalogue::built_in();
        let mut setting = catalogue.get("upi-prefetch").expect("a setting").clone();
        setting.title = "a\u{1b}[2Jb".to_owned();
        setting.what = "c\u{7}d".to_owned();
        let page = explain(&setting, &catalogue, 80);
        assert!(page.chars().all(|c| c == '\n' || !c.is_control()), "{page:?}");
    }

    /// A text of several lines in its file is one paragraph: no line is broken before it is full.
    #[test]
    fn lines_are_as_full_as_the_next_word_lets_them_be() {
        let catalogue = Catalogue::built_in();
        for setting in catalogue.settings() {
            let page = explain(setting, &catalogue, 80);
            let heading = "What management controllers call it";
            let names = page.split_once(heading).map_or("", |(_, names)| names);
            let lines: Vec<&str> = names.lines().filter(|line| !line.is_empty()).collect();
            for pair in lines.windows(2) {
                let (&[first, second], Some(word)) = (pair, pair[1].split_whitespace().next())
                else {
                    continue;
                };
                let goes_on = second.starts_with("    ");
                let full = first.chars().count() + 1 + word.chars().count() > 80;
                assert!(!goes_on || full, "{}: {first:?} {second:?}", setting.id);
            }
        }
    }

    #[test]
    fn the_list_has_every_setting_once() {
        let catalogue = Catalogue::built_in();
        for width in [80, 132] {
            let list = explain_list(&catalogue, width);
            assert_eq!(list.lines().find(|line| line.chars().count() > width), None);
        }
        let list = explain_list(&catalogue, 100);
        for setting in catalogue.settings() {
            let line = format!("  {} ", setting.id);
            assert_eq!(list.matches(&line).count(), 1, "{}", setting.id);
        }
    }
}
