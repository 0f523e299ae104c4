// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a setting is seen: one way, with a fact that exists or a path that fits its scope.

use setting::{FACTS, Form, Setting};

use crate::Complaint;
use crate::complaint::{spelled, suggest};
use crate::entry::Origin;

/// Checks how a setting is seen.
pub(super) fn check(setting: &Setting, origin: &Origin, out: &mut Vec<Complaint>) {
    let observe = &setting.observe;
    let ways = [&observe.file, &observe.fact, &observe.unseen];
    let count = ways.into_iter().flatten().count();
    if count != 1 {
        let what = format!("{count} of `file`, `fact` and `unseen` are given");
        out.push(origin.complain("observe", what, "give exactly one"));
    }
    if let Some(file) = &observe.file {
        check_path(file, setting, origin, out);
    } else if observe.form != Form::Text {
        let what = "`form` without `file`".to_owned();
        out.push(origin.complain("form", what, "a form tells how a file's text is read: drop it"));
    }
    if let Some(fact) = &observe.fact {
        check_fact(fact, setting, origin, out);
    }
    if observe.unseen.as_ref().is_some_and(|why| why.trim().is_empty()) {
        let help = "say why it is unseen or where to look";
        out.push(origin.complain("unseen", "`unseen` is empty".to_owned(), help));
    }
}

fn check_fact(fact: &str, setting: &Setting, origin: &Origin, out: &mut Vec<Complaint>) {
    match FACTS.iter().find(|(name, _, _)| *name == fact) {
        None => {
            let known: Vec<&str> = FACTS.iter().map(|(name, _, _)| *name).collect();
            let what = format!("unknown fact `{fact}`");
            out.push(origin.complain("fact", what, &suggest(fact, &known, "facts are")));
        }
        Some((_, scope, _)) if *scope != setting.scope => {
            let what = format!("fact `{fact}` is no fact of this scope");
            let help = format!("its scope is \"{}\"", spelled(scope));
            out.push(origin.complain("scope", what, &help));
        }
        Some(_) => {}
    }
}

fn check_path(file: &str, setting: &Setting, origin: &Origin, out: &mut Vec<Complaint>) {
    let mut complain = |what: String, help: &str| out.push(origin.complain("file", what, help));
    let kernel = file.starts_with("/sys/") || file.starts_with("/proc/");
    if !kernel || file.split('/').any(|part| part == ".." || part == ".") {
        complain(format!("`{file}` is no file of the kernel"), "begin with /sys/ or /proc/");
    }
    if file.matches('*').count() > 1 {
        complain(format!("`{file}` has several `*`"), "one may stand for a file or folder name");
    }
    let given = placeholders(file);
    let wanted: Vec<&str> = setting.scope.placeholder().into_iter().collect();
    if given != wanted {
        let help = match setting.scope.placeholder() {
            Some(word) => format!("use {{{word}}} once for this scope"),
            None => "use none for the machine".to_owned(),
        };
        complain(format!("placeholders of `{file}` do not fit the scope"), &help);
    }
}

/// The words in braces, in order: `["drive"]` of `/sys/block/{drive}/queue/scheduler`.
pub(super) fn placeholders(text: &str) -> Vec<&str> {
    text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)).collect()
}
