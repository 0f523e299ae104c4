// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a setting is written: a file of the kernel or a place that fits the scope, never one that
//! keeps the machine safe.

use setting::{Reboot, Scope, Setting, Write, WritePlace, keeps_safe};

use super::observe::placeholders;
use crate::Complaint;
use crate::entry::Origin;

/// Checks how a setting is written.
pub(super) fn check(setting: &Setting, origin: &Origin, out: &mut Vec<Complaint>) {
    let Some(write) = &setting.write else { return };
    check_ways(setting, write, origin, out);
    check_file(setting, write, origin, out);
    check_words(setting, write, origin, out);
    if write.place.is_some_and(|place| !fits(place, setting.scope)) {
        let what = "`place` is none of this scope".to_owned();
        out.push(origin.complain("place", what, "interrupts are of devices, ethtool's of NICs"));
    }
}

fn check_ways(setting: &Setting, write: &Write, origin: &Origin, out: &mut Vec<Complaint>) {
    let ways = usize::from(write.file.is_some())
        + usize::from(write.place.is_some())
        + usize::from(write.boot.is_some())
        + usize::from(write.module.is_some());
    if ways > 1 {
        let what = format!("`write` has {ways} of `file`, `place`, `boot` and `module`");
        out.push(origin.complain("write", what, "give at most one"));
    }
    if ways == 0 && setting.observe.file.is_none() {
        let what = "`write` says no place, and no file is observed".to_owned();
        out.push(origin.complain("write", what, "give `file` or `place`"));
    }
    if !write.is_at_once() && setting.reboot == Reboot::None {
        let what = "an option of the next boot counts at once".to_owned();
        out.push(origin.complain("reboot", what, "say what has to happen: reload, kexec, reboot"));
    }
}

/// The file that is written, be it the observed one.
fn target<'a>(setting: &'a Setting, write: &'a Write) -> Option<&'a str> {
    if write.place.is_some() || !write.is_at_once() {
        return None;
    }
    write.file.as_deref().or(setting.observe.file.as_deref())
}

fn check_file(setting: &Setting, write: &Write, origin: &Origin, out: &mut Vec<Complaint>) {
    let Some(file) = target(setting, write) else { return };
    let mut complain = |what: String, help: &str| out.push(origin.complain("write", what, help));
    if keeps_safe(file) {
        complain(format!("`{file}` keeps machines safe"), "explain it, and do not write it");
    }
    let is_kernel = file.starts_with("/sys/") || file.starts_with("/proc/");
    if !is_kernel || file.split('/').any(|part| part == ".." || part == ".") {
        complain(format!("`{file}` is no file of the kernel"), "begin with /sys/ or /proc/");
    }
    if file.matches('*').count() > 1 {
        complain(format!("`{file}` has several `*`"), "one may stand for a file or folder name");
    }
    let given = placeholders(file);
    let own: Vec<&str> = setting.scope.placeholder().into_iter().collect();
    let by_function = matches!(setting.scope, Scope::Drive | Scope::Nic) && given == ["function"];
    if given != own && !by_function {
        let help = "use that of the scope once; drives and NICs may use {function}";
        complain(format!("placeholders of `{file}` do not fit the scope"), help);
    }
}

fn check_words(setting: &Setting, write: &Write, origin: &Origin, out: &mut Vec<Complaint>) {
    for value in write.values.keys() {
        let known = setting.values.iter().any(|meaning| meaning.value == *value);
        if !known && !setting.values.is_empty() {
            let what = format!("`write` has the value `{value}`, which `values` lacks");
            out.push(origin.complain("write", what, "use a value of the setting's `values`"));
        }
    }
    if write.spelled.as_ref().is_some_and(|text| placeholders(text) != ["value"]) {
        let what = "`spelled` does not hold {value} once".to_owned();
        out.push(origin.complain("spelled", what, "write it as `combined={value}`"));
    }
}

fn fits(place: WritePlace, scope: Scope) -> bool {
    match place {
        WritePlace::Channels
        | WritePlace::Rings
        | WritePlace::Coalescing
        | WritePlace::Features
        | WritePlace::Pause
        | WritePlace::ReceiveSpread
        | WritePlace::FlowSteering
        | WritePlace::TransmitSteering
        | WritePlace::ReceiveSteering => scope == Scope::Nic,
        WritePlace::Interrupt => matches!(scope, Scope::Machine | Scope::Nic | Scope::Drive),
        WritePlace::MaxReadRequest => scope == Scope::Function,
        WritePlace::IdleLatency | WritePlace::Service | WritePlace::Turbo => {
            scope == Scope::Machine
        }
    }
}
