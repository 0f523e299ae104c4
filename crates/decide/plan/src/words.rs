// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words and comparisons that several parts use.

use std::cmp::Ordering;

use setting::{Form, canonical, same_value};

/// Equal as the form reads it; a word of the form `a [b] c` is compared as the word, a mask that is
/// written as a list as the list.
pub(crate) fn same(form: Form, wanted: &str, value: &str) -> bool {
    match form {
        Form::Selected => plain(form, wanted) == plain(form, value),
        Form::CpuMask => same_value(Form::CpuList, wanted, value),
        _ => same_value(form, wanted, value),
    }
}

fn plain(form: Form, value: &str) -> String {
    canonical(form, value).unwrap_or_else(|| value.trim().to_owned())
}

/// A value as it is kept in a plan: the form's canonical spelling.
pub(crate) fn spelled(form: Form, value: &str) -> String {
    let form = if form == Form::CpuMask { Form::CpuList } else { form };
    canonical(form, value).unwrap_or_else(|| value.trim().to_owned())
}

/// A form in words, for people who typed something else.
pub(crate) fn form(form: Form) -> &'static str {
    match form {
        Form::Text | Form::Selected => "a word",
        Form::Number => "a number",
        Form::Numbers => "numbers with spaces between them",
        Form::Switch | Form::Opposite => "on or off",
        Form::CpuList | Form::CpuMask => "a list of CPUs such as 0-3,8",
    }
}

/// Names in the order that people count in: eth2 before eth10.
pub(crate) fn natural(a: &str, b: &str) -> Ordering {
    key(a).cmp(&key(b)).then_with(|| a.cmp(b))
}

/// Digits as numbers, all else as text. Numbers longer than 18 digits sort as text.
fn key(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, tail) = rest.split_at(digits);
        let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, next) = tail.split_at(end);
        parts.push((text.to_owned(), number.parse().unwrap_or(0)));
        rest = next;
    }
    parts
}

/// Whether a name may become part of a path or an argument of a command: one path component, no
/// control characters, not an option.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !matches!(name, "." | "..")
        && !name.starts_with('-')
        && !name.contains(['/', '*', '{', '}'])
        && !name.chars().any(char::is_control)
}

/// `1 queue`, `2 queues`.
pub(crate) fn count(number: usize, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {one}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_count_ten_after_two() {
        let mut names = ["eth10", "eth2", "eth1", "cpu 11", "cpu 9"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["cpu 9", "cpu 11", "eth1", "eth2", "eth10"]);
    }

    #[test]
    fn what_could_leave_its_folder_is_no_name() {
        for bad in ["", "..", "a/b", "-rf", "a\nb", "eth*", "{device}"] {
            assert!(!is_name(bad), "{bad:?}");
        }
        assert!(is_name("eth0.7") && is_name("cciss!c0d0") && is_name("0000:3e:00.0"));
    }
}
