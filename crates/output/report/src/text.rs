// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text as a terminal shows it: made harmless, measured, cut and wrapped.

use unicode_width::UnicodeWidthChar;
pub(crate) use units::count;

/// Takes out whatever could steer a terminal or shift a column: names come from trees that anybody
/// may have written.
///
/// Control characters become `U+FFFD`. Characters without a width of their own (joiners, direction
/// overrides, variation selectors) are dropped, so that the width of a text is the sum of its
/// characters' widths on every terminal.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().filter_map(harmless_char).collect()
}

fn harmless_char(c: char) -> Option<char> {
    if c == '\t' {
        return Some(' ');
    }
    match c.width() {
        None => Some('\u{fffd}'),
        Some(0) => None,
        Some(_) => Some(c),
    }
}

/// Columns that `text` takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The start of `text` that fits in `columns`; what is cut shows as `…`.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let mut kept = prefix(text, room).trim_end().to_owned();
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// The longest start of `text` that takes at most `columns`.
pub(crate) fn prefix(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > columns {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

/// `text` and as many spaces as fill `columns`.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(missing))
}

/// Lines of at most `columns`, broken after a space or a comma, or anywhere where neither helps.
/// Never empty: an empty text is one empty line.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = vec![String::new()];
    for piece in text.split_inclusive([' ', ',']) {
        place(&mut lines, piece, columns);
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

fn place(lines: &mut Vec<String>, piece: &str, columns: usize) {
    let mut rest = piece;
    if let Some(last) = lines.last_mut()
        && width(last) + width(rest.trim_end()) <= columns
    {
        last.push_str(rest);
        return;
    }
    if lines.last().is_some_and(|last| !last.is_empty()) {
        lines.push(String::new());
    }
    while width(rest.trim_end()) > columns {
        let head = prefix(rest, columns);
        // A character wider than the whole line would never fit: leave it out.
        let taken = if head.is_empty() {
            rest.chars().next().map_or(0, char::len_utf8)
        } else {
            head.len()
        };
        if let Some(last) = lines.last_mut() {
            last.push_str(head);
        }
        lines.push(String::new());
        rest = rest.get(taken..).unwrap_or_default();
    }
    if let Some(last) = lines.last_mut() {
        last.push_str(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_steers_a_terminal_is_taken_out() {
        assert_eq!(harmless("a\x1b[31mb\r\nc"), "a\u{fffd}[31mb\u{fffd}\u{fffd}c");
        assert_eq!(harmless("x\u{202e}y\u{200b}z\tt"), "xyz t");
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(width("記憶"), 4);
        assert_eq!(cut("記憶装置", 5), "記憶…");
        assert_eq!(pad("記", 4), "記  ");
    }

    #[test]
    fn lists_wrap_after_commas_and_long_words_anywhere() {
        assert_eq!(wrap("0,4,8,12,16", 6), ["0,4,8,", "12,16"]);
        assert_eq!(wrap("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("", 4), [""]);
    }

    proptest! {
        #[test]
        fn no_wrapped_line_is_too_wide(text in ".{0,80}", columns in 2_usize..40) {
            let text = harmless(&text);
            for line in wrap(&text, columns) {
                prop_assert!(width(&line) <= columns, "{line:?}");
            }
            prop_assert!(width(&cut(&text, columns)) <= columns);
        }
    }
}
