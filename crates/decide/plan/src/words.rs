// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words and comparisons that several parts use.

use setting::{Form, canonical, same_value};
pub(crate) use units::{count, natural};

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

/// Whether a name may become part of a path or an argument of a command: one path component, no
/// control characters, not an option.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !matches!(name, "." | "..")
        && !name.starts_with('-')
        && !name.contains(['/', '*', '{', '}'])
        && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_leave_its_folder_is_no_name() {
        for bad in ["", "..", "a/b", "-rf", "a\nb", "eth*", "{device}"] {
            assert!(!is_name(bad), "{bad:?}");
        }
        assert!(is_name("eth0.7") && is_name("cciss!c0d0") && is_name("0000:3e:00.0"));
    }
}
