// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of the command line: a source, a name as the kernel compares it, a meaning, tags that
//! speak of the machine.

use setting::KernelOption;

use super::wish::check_tag;
use crate::Complaint;
use crate::entry::{OptionList, Origin};

/// Checks a list of options.
pub(crate) fn options(list: &OptionList, origin: &Origin, out: &mut Vec<Complaint>) {
    if list.source.trim().is_empty() {
        let help = "name the manual or the kernel file that tells what the options do";
        out.push(origin.complain("source", "`source` is empty".to_owned(), help));
    }
    for (at, option) in list.option.iter().enumerate() {
        let is_same =
            |other: &KernelOption| (&other.name, &other.value) == (&option.name, &option.value);
        if list.option.iter().take(at).any(is_same) {
            let what = format!("option `{}` stands twice with the same value", option.name);
            out.push(origin.complain_nth("name", at, what, "keep one of them"));
        }
        out.extend(wrong(option).map(|(what, help)| origin.complain_nth("name", at, what, help)));
        for (key, tags) in [("when", &option.applies.when), ("never", &option.applies.never)] {
            tags.iter().for_each(|tag| check_tag(key, tag, origin, out));
        }
    }
}

/// What is wrong with an option by itself, and what to do.
fn wrong(option: &KernelOption) -> impl Iterator<Item = (String, &'static str)> {
    let name = &option.name;
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let is_name = !name.is_empty() && name.chars().all(is_letter);
    let value = option.value.as_deref();
    let is_part = value.is_none_or(|value| !value.is_empty() && !value.contains([',', ':', '=']));
    [
        (
            is_name,
            format!("option `{name}` is not as the kernel compares it"),
            "write `_` for `-`, and the value as `value`",
        ),
        (
            !option.means.trim().is_empty(),
            format!("option `{name}` has no meaning"),
            "say what it does, to be read after its name",
        ),
        (
            is_part,
            format!("option `{name}` wants a value of several parts"),
            "give one part, without comma, colon and `=`",
        ),
    ]
    .into_iter()
    .filter_map(|(is_right, what, help)| (!is_right).then_some((what, help)))
}
