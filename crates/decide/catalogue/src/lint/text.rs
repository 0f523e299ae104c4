// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names and words: the id, the texts that may not be empty, sources and ratios.

use setting::{Basis, Effect, Owner, Reboot, Scope, Setting};

use crate::Complaint;
use crate::entry::Origin;

/// Checks names and words.
pub(super) fn check(setting: &Setting, origin: &Origin, out: &mut Vec<Complaint>) {
    check_id(setting, origin, out);
    check_not_empty(setting, origin, out);
    if setting.effect.is_empty() {
        let what = format!("`{}` says no effect", setting.id);
        out.push(origin.complain(
            "effect",
            what,
            "add [[effect]] with text, basis, impact, source",
        ));
    }
    for effect in &setting.effect {
        check_effect(effect, origin, out);
    }
    check_by_hand(setting, origin, out);
    check_owner(setting, origin, out);
}

fn check_id(setting: &Setting, origin: &Origin, out: &mut Vec<Complaint>) {
    let id = &setting.id;
    if !is_kebab(id) {
        let what = format!("id `{id}` is not in kebab case");
        out.push(origin.complain("id", what, "use lower-case letters, digits and single hyphens"));
    }
    if id != origin.stem() {
        let what = format!("id `{id}` is not the file's name `{}`", origin.stem());
        out.push(origin.complain("id", what, "rename the file or the id"));
    }
}

fn is_kebab(id: &str) -> bool {
    id.starts_with(|first: char| first.is_ascii_lowercase())
        && id.split('-').all(|part| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        })
}

fn check_not_empty(setting: &Setting, origin: &Origin, out: &mut Vec<Complaint>) {
    let texts = [
        ("title", setting.title.as_str()),
        ("what", setting.what.as_str()),
        ("trade-off", setting.trade_off.as_str()),
    ];
    for (key, text) in texts {
        if text.trim().is_empty() {
            let help = "say it in a sentence; an entry without it helps nobody";
            out.push(origin.complain(key, format!("`{key}` is empty"), help));
        }
    }
    if setting.title.contains('\n') {
        out.push(origin.complain("title", "`title` has several lines".to_owned(), "keep to one"));
    }
}

fn check_effect(effect: &Effect, origin: &Origin, out: &mut Vec<Complaint>) {
    if effect.source.trim().is_empty() {
        let help = "name the study, the kernel file or the manual";
        out.push(origin.complain("source", "`source` is empty".to_owned(), help));
    }
    if effect.text.trim().is_empty() {
        out.push(origin.complain("text", "`text` is empty".to_owned(), "say the effect in words"));
    }
    let Some(ratio) = effect.ratio else { return };
    if !ratio.is_finite() || ratio <= 0.0 {
        let what = format!("ratio {ratio} is no ratio");
        out.push(origin.complain("ratio", what, "give after over before: 1.6 for +60 %"));
    }
    if !matches!(effect.basis, Basis::Measured | Basis::Bundle) {
        let help = "only what was measured (`measured` or `bundle`) has a ratio";
        out.push(origin.complain("ratio", "a ratio that was not measured".to_owned(), help));
    }
}

fn check_by_hand(setting: &Setting, origin: &Origin, out: &mut Vec<Complaint>) {
    let Some(line) = &setting.by_hand else { return };
    for word in super::observe::placeholders(line) {
        let known = word == "value" || (word == "device" && setting.scope != Scope::Machine);
        if !known {
            let what = format!("`by-hand` has the unknown placeholder {{{word}}}");
            let help = "use {value}, and {device} where the scope is not the machine";
            out.push(origin.complain("by-hand", what, help));
        }
    }
}

fn check_owner(setting: &Setting, origin: &Origin, out: &mut Vec<Complaint>) {
    let counts_at_once = matches!(setting.reboot, Reboot::None | Reboot::Reload | Reboot::Kexec);
    if setting.owner == Owner::Bios && counts_at_once {
        let help = "use `reboot` or `power-cycle`";
        let what = "a firmware setting needs a reboot through the firmware".to_owned();
        out.push(origin.complain("reboot", what, help));
    }
}
