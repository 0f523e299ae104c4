// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words that a shell takes as they are, whatever a device is called.

/// A word in single quotes. Control characters have no place in a script that a person reads; no
/// file or device that is planned has any.
pub(crate) fn quote(word: &str) -> String {
    let clean: String = word.chars().filter(|c| !c.is_control()).collect();
    format!("'{}'", clean.replace('\'', "'\\''"))
}

/// Characters of a comment; the plan has the rest.
const LONGEST: usize = 300;

/// One line of comment.
pub(crate) fn comment(text: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let line: String = text.chars().take(LONGEST).map(clean).collect();
    format!("# {}", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_quotes() {
        assert_eq!(quote("eth0"), "'eth0'");
        assert_eq!(quote("a'; rm -rf /; '"), "'a'\\''; rm -rf /; '\\'''");
        assert_eq!(quote("$(reboot)\n"), "'$(reboot)'");
        assert_eq!(comment("a\nreboot"), "# a reboot");
    }
}
