// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules that are data: an observed value against the catalogue's wish for the goal.

use setting::{
    Basis, Confidence, Form, Meaning, Observation, Observe, Owner, Reboot, Scope, Setting,
    Severity, Wish, canonical, same_value,
};

use crate::context::Context;
use crate::devices::{Role, is_fast, role};
use crate::draft::{Draft, first_effect, grouped};
use crate::rules;
use crate::tags;
use crate::words;

/// Facts that are concluded from several signs, so that a finding is likely, not sure.
const CONCLUDED: [&str; 7] = [
    "node-interleaving",
    "smt",
    "active-cores",
    "iommu",
    "memory-population",
    "p-state-control",
    "sub-numa",
];

/// Drafts for every observation that is not what the goal wants.
pub(crate) fn drafts(context: &Context<'_>, observations: &[Observation]) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for observation in observations {
        let Some(entry) = context.catalogue.get(&observation.setting) else { continue };
        if !rules::owns(&entry.id) {
            drafts.extend(judge(context, entry, observation));
        }
    }
    grouped(drafts)
}

fn judge(context: &Context<'_>, entry: &Setting, observation: &Observation) -> Option<Draft> {
    let wish = entry.due(context.goal)?;
    // What is unknown is listed with its reason; a knob that is absent is no fault.
    let value = observation.value.as_deref().ok().filter(|value| !value.is_empty())?;
    let name = observation.device.as_deref().unwrap_or_default();
    let device = tags::of_device(context, entry.scope, name);
    let idle = match entry.scope {
        Scope::Function => !matters(context, name),
        // A host adapter's port without a drive has nobody to wait for it.
        Scope::ScsiHost => device.is_empty(),
        _ => false,
    };
    if idle {
        return None;
    }
    if !context.meets(&entry.applies, &device) || satisfies(wish, form(entry), value)? {
        return None;
    }
    Some(draft(context, entry, observation, value, wish))
}

/// Whether a function is one whose link and power cost I/O: a drive, a GPU, a RAID or SAS
/// controller, a port of 10 Gb/s or more. A management port may sleep.
fn matters(context: &Context<'_>, name: &str) -> bool {
    let function = name.parse().ok().and_then(|address| context.devices.function(address));
    let Some(function) = function else { return false };
    let mut ports =
        context.machine.nics.iter().filter(|nic| nic.function == Some(function.address));
    match role(function) {
        Role::Nvme | Role::Gpu => true,
        Role::Network => ports.any(is_fast),
        // Class 01.04 is RAID, 01.07 SAS; 01.06, SATA, is part of the chipset as a rule.
        Role::Storage => matches!(function.class.sub, 0x04 | 0x07),
        Role::Bridge | Role::Other => false,
    }
}

/// The form that values are compared in: a fact's words are text, its figures numbers.
fn form(entry: &Setting) -> Form {
    match entry.observe {
        Observe { file: Some(_), form, .. } => form,
        _ => Form::Text,
    }
}

/// Whether `value` is as wished; none where they cannot be compared.
pub(crate) fn satisfies(wish: &Wish, form: Form, value: &str) -> Option<bool> {
    let number = || value.trim().parse::<i64>().ok();
    match wish {
        Wish { at_least: Some(least), .. } => number().map(|number| number >= *least),
        Wish { at_most: Some(most), .. } => number().map(|number| number <= *most),
        Wish { one_of, .. } if one_of.is_empty() => None,
        Wish { one_of, .. } => Some(one_of.iter().any(|wanted| same(form, wanted, value))),
    }
}

/// Equal as the form reads it. The observed value is canonical already, so that a wished word of
/// the form `a [b] c` is compared as the word.
fn same(form: Form, wanted: &str, value: &str) -> bool {
    let wanted = canonical(form, wanted).unwrap_or_else(|| wanted.trim().to_owned());
    let value = canonical(form, value).unwrap_or_else(|| value.trim().to_owned());
    wanted == value || same_value(form, &wanted, &value)
}

/// What a change would write.
fn target(wish: &Wish) -> String {
    match (wish.at_least.or(wish.at_most), wish.one_of.first()) {
        (Some(number), _) => number.to_string(),
        (None, Some(first)) => first.clone(),
        (None, None) => String::new(),
    }
}

/// A meaning longer than this makes a title unreadable; `explain` has it.
const LONGEST_MEANING: usize = 34;

/// A value as a title shows it. A number, `on`, `off` and `auto` say little without their meaning; a
/// fact's `off (os)` says who made it so.
fn shown(entry: &Setting, value: &str) -> String {
    match value.rsplit_once(" (") {
        Some((word, "os)")) if word.ends_with(" CPUs") => {
            return word.trim_end_matches(" CPUs").to_owned();
        }
        Some((word, "os)")) => return format!("{word} in the kernel"),
        Some((word, "firmware)")) => return format!("{word} in the firmware"),
        _ => {}
    }
    let is_code = matches!(value, "on" | "off" | "auto") || value.parse::<i64>().is_ok();
    let meaning = entry.values.iter().find(|meaning| same(form(entry), &meaning.value, value));
    let means = meaning.filter(|_| is_code).map_or("", |meaning| meaning.means.trim());
    let means = means.split(" (").next().unwrap_or(means).trim_end_matches('.');
    match means.chars().count() {
        1..=LONGEST_MEANING => format!("{value} ({})", uncapital(means)),
        _ => value.to_owned(),
    }
}

/// A meaning as it stands within a sentence: names and abbreviations keep their capitals.
fn uncapital(means: &str) -> String {
    let mut letters = means.chars();
    let (first, second) = (letters.next(), letters.next());
    let is_word = second.is_none_or(|second| second.is_lowercase() || second == ' ');
    match first.filter(|_| is_word && !NAMES.iter().any(|name| means.starts_with(name))) {
        Some(first) => first.to_lowercase().chain(means.chars().skip(1)).collect(),
        None => means.to_owned(),
    }
}

/// Names that a meaning may begin with.
const NAMES: [&str; 4] = ["Intel", "Hyper-V", "Xen", "Dell"];

/// What the severity of a wish that is not met stands on.
fn weight(context: &Context<'_>, entry: &Setting, severity: Severity) -> &'static str {
    let Some(effect) = first_effect(entry, context.goal) else { return "nothing is known of it" };
    if severity < effect.impact {
        return "no flash drive and no port of 10 Gb/s or more is here to feel more of it";
    }
    match effect.basis {
        Basis::Measured => "by what was measured of this change alone",
        Basis::Bundle => "nearside's judgement: what was measured is of several changes at once",
        Basis::Rated => "nearside's judgement: a study rates it, and nobody measured it alone",
        Basis::Reasoned => "nearside's judgement, by how it works: nobody measured it alone",
    }
}

fn wanted(entry: &Setting, wish: &Wish, unit: &str) -> String {
    match wish {
        Wish { at_least: Some(least), .. } => format!("{least}{unit} or more"),
        Wish { at_most: Some(most), .. } => format!("{most}{unit} or less"),
        Wish { one_of, .. } => {
            // Nobody can choose these: they are fine, and no advice.
            let can = |word: &&str| !matches!(*word, "not supported" | "absent" | "undecided");
            let words = one_of.iter().map(String::as_str).filter(can);
            words.map(|word| shown(entry, word)).collect::<Vec<_>>().join(" or ")
        }
    }
}

/// What the entry's first effect says, for devices that can feel it: deep sleep costs little where
/// nothing is faster than a disk and a slow port.
fn severity(context: &Context<'_>, entry: &Setting) -> Severity {
    let stated = first_effect(entry, context.goal).map_or(Severity::Note, |effect| effect.impact);
    let flash = |drive: &machine::Drive| drive.rotational == Ok(false);
    let is_quick = context.is("has-nvme")
        || context.is("has-fast-nic")
        || context.machine.drives.iter().any(flash);
    if is_quick { stated } else { stated.min(Severity::Medium) }
}

fn draft(
    context: &Context<'_>,
    entry: &Setting,
    observation: &Observation,
    value: &str,
    wish: &Wish,
) -> Draft {
    let severity = severity(context, entry);
    let of = if observation.device.is_some() { "{devices}: " } else { "" };
    let unit = unit(entry);
    let title = format!(
        "{of}{} is {}{unit}, wanted {}",
        plain(&entry.title),
        shown(entry, value),
        wanted(entry, wish, unit)
    );
    let concluded = entry.observe.fact.as_deref().is_some_and(|fact| CONCLUDED.contains(&fact));
    let culprit = culprit(entry, value);
    // That the firmware did it is concluded: the kernel cannot, and the part could.
    let likely = concluded || culprit == Some(Owner::Bios);
    let confidence = if likely { Confidence::Likely } else { Confidence::Sure };
    let mut draft = Draft::new(&entry.id, severity, title)
        .confidence(confidence)
        .values(value, target(wish))
        .weighed(weight(context, entry, severity))
        .because(because(entry, observation, value))
        .evidences(observation.evidence.iter().cloned());
    if let Some(device) = &observation.device {
        draft = draft.about(device);
    }
    match culprit {
        Some(Owner::Bios) => draft.owner(Owner::Bios).reboot(Reboot::Reboot).change([]),
        Some(owner) => draft.owner(owner).reboot(Reboot::None).change(by_hand(
            entry,
            observation,
            &target(wish),
        )),
        None => draft.change(by_hand(entry, observation, &target(wish))),
    }
}

/// Who made a fact's value so, where it says that by its end: `off (os)`, `off (firmware)`.
fn culprit(entry: &Setting, value: &str) -> Option<Owner> {
    entry.observe.fact.as_ref()?;
    match value.rsplit_once(" (")?.1 {
        "os)" => Some(Owner::Os),
        "firmware)" => Some(Owner::Bios),
        _ => None,
    }
}

/// The unit of a fact's number.
fn unit(entry: &Setting) -> &'static str {
    match entry.observe.fact.as_deref() {
        Some("deepest-idle-us" | "rx-usecs") => " us",
        Some("mps" | "mrrs" | "mtu") => " bytes",
        _ => "",
    }
}

/// A title without the full stop that some people end it with.
fn plain(title: &str) -> &str {
    title.trim_end().trim_end_matches('.')
}

/// What the value means, and for a fact what it was concluded from.
fn because(entry: &Setting, observation: &Observation, value: &str) -> String {
    let is_told =
        |meaning: &&Meaning| !meaning.means.is_empty() && same(form(entry), &meaning.value, value);
    let meaning = entry.values.iter().find(is_told);
    let what = match meaning {
        Some(meaning) => meaning.means.trim().to_owned(),
        None => entry.what.trim().to_owned(),
    };
    // What was read is evidence; only where a fact was concluded in words do they belong here too.
    let reason = observation.reason.trim_end_matches('.');
    match &entry.observe.fact {
        None if meaning.is_some() => format!("{what} {}", entry.what.trim()),
        None => what,
        Some(_) if !reason.contains(' ') => what,
        Some(_) if meaning.is_none() => format!("{}. {what}", words::capital(reason)),
        Some(_) => format!("{} ({reason}).", what.trim_end_matches('.')),
    }
}

/// The entry's line with the device and the value in it.
fn by_hand(entry: &Setting, observation: &Observation, value: &str) -> Option<String> {
    let device = observation.device.as_deref().unwrap_or_default();
    let number = match entry.scope {
        Scope::Cpu => device.strip_prefix("cpu ").unwrap_or(device),
        Scope::Node => device.strip_prefix("node ").unwrap_or(device),
        _ => device,
    };
    let line = entry.by_hand.as_deref()?;
    Some(line.replace("{device}", number).replace("{value}", value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_of(values: &[&str]) -> Wish {
        Wish { one_of: values.iter().map(ToString::to_string).collect(), ..Wish::default() }
    }

    #[test]
    fn values_compare_after_parsing() {
        let wish = one_of(&["4096 131072 6291456"]);
        assert_eq!(satisfies(&wish, Form::Numbers, "4096\t131072\t6291456"), Some(true));
        assert_eq!(satisfies(&one_of(&["1"]), Form::Switch, "on"), Some(true));
        assert_eq!(satisfies(&one_of(&["f"]), Form::CpuMask, "00000000,0000000f"), Some(true));
        assert_eq!(satisfies(&one_of(&["7"]), Form::Number, "007"), Some(true));
        assert_eq!(satisfies(&one_of(&["none"]), Form::Selected, "none"), Some(true));
        assert_eq!(satisfies(&one_of(&["none"]), Form::Selected, "mq-deadline"), Some(false));
    }

    #[test]
    fn bounds_need_numbers() {
        let least = Wish { at_least: Some(2048), ..Wish::default() };
        assert_eq!(satisfies(&least, Form::Number, "4096"), Some(true));
        assert_eq!(satisfies(&least, Form::Number, "128"), Some(false));
        assert_eq!(satisfies(&least, Form::Number, "many"), None);
        let most = Wish { at_most: Some(10), ..Wish::default() };
        assert_eq!(satisfies(&most, Form::Number, "170"), Some(false));
        assert_eq!(satisfies(&Wish::default(), Form::Text, "x"), None);
    }

    /// Every value that an entry explains and that a goal does not want: what is shown of it and what
    /// is wanted are not the same words, and neither says that nothing is wanted.
    #[test]
    fn what_is_and_what_is_wanted_are_told_apart_for_every_value() {
        let catalogue = catalogue::Catalogue::built_in();
        let mut seen = 0;
        for entry in catalogue.settings() {
            for goal in [setting::Goal::Throughput, setting::Goal::Latency, setting::Goal::Balanced]
            {
                let Some(wish) = entry.due(goal) else { continue };
                let wanted = wanted(entry, wish, unit(entry));
                assert!(!wanted.is_empty(), "{} for {goal:?}", entry.id);
                for meaning in &entry.values {
                    if satisfies(wish, form(entry), &meaning.value) != Some(false) {
                        continue;
                    }
                    let is = shown(entry, &meaning.value);
                    let is_within = wanted.split(" or ").any(|one| one == is);
                    assert!(!is_within, "{}: {is}, wanted {wanted}", entry.id);
                    seen += 1;
                }
            }
        }
        assert!(seen > 100, "{seen} values");
    }

    #[test]
    fn codes_are_shown_with_their_meaning_and_words_as_they_are() {
        let catalogue = catalogue::Catalogue::built_in();
        let told = |id: &str, value: &str| shown(catalogue.get(id).unwrap(), value);
        assert_eq!(told("block-nomerges", "0"), "0 (look for merges)");
        assert_eq!(told("energy-performance-bias", "6"), "6 (normal)");
        assert_eq!(told("runtime-pm", "auto"), "auto (it may sleep)");
        assert_eq!(told("iommu-mode", "translated"), "translated");
        assert_eq!(told("turbo-boost", "off (os)"), "off in the kernel");
        assert_eq!(told("logical-processor", "off (firmware)"), "off in the firmware");
        assert_eq!(told("cores-per-processor", "14 of 16 CPUs (os)"), "14 of 16");
    }
}
