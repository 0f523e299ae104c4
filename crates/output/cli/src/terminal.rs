// SPDX-License-Identifier: MIT OR Apache-2.0
//! The terminal: how wide, whether in colour, and what goes where.

use std::io::{IsTerminal, Write};

use report::Style;

use crate::args::Color;
use crate::expected::Expected;
use crate::typed;

/// The width of what goes to a file or a pipe.
const PIPE_WIDTH: usize = 100;

/// How to draw, by the terminal and the environment (COLUMNS, NO_COLOR, CLICOLOR_FORCE, LANG).
pub(crate) fn style(color: Color) -> Style {
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    let width =
        terminal.map(|(width, _)| usize::from(width.0)).or_else(asked).unwrap_or(PIPE_WIDTH);
    let width = width.clamp(40, 200);
    Style { width, color: is_coloured(color), unicode: is_unicode() }
}

/// The width that a person asks for what goes to a file or a pipe.
fn asked() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.trim().parse().ok().filter(|columns| *columns > 0)
}

fn is_coloured(color: Color) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        // Any value but an empty one (no-color.org).
        Color::Auto if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) => false,
        Color::Auto if is_set("CLICOLOR_FORCE") => true,
        Color::Auto if std::env::var_os("CLICOLOR").is_some_and(|value| value == "0") => false,
        Color::Auto => {
            std::io::stdout().is_terminal()
                && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0")
}

/// By the first of the locale variables that is set. Where none is set and the output is no
/// terminal, the text is read by something that knows UTF-8.
fn is_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    match locale {
        Some(locale) => {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        }
        None => !std::io::stdout().is_terminal(),
    }
}

/// Prints the answer.
pub(crate) fn answer(text: &str) -> Result<(), Expected> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// Prints a JSON document as the answer.
pub(crate) fn document(value: &impl serde::Serialize) -> Result<(), Expected> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Expected::precondition(format!("cannot print JSON: {error}"), ""))?;
    answer(&escaped(&text))
}

/// Prints a JSON document as one line, where more follow.
pub(crate) fn line(value: &impl serde::Serialize) -> Result<(), Expected> {
    let text = serde_json::to_string(value)
        .map_err(|error| Expected::precondition(format!("cannot print JSON: {error}"), ""))?;
    answer(&escaped(&text))
}

/// JSON in which nothing steers the terminal that it may be printed on. It writes out the control
/// characters of ASCII by itself; what is left stands in strings, where an escape says the same.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if steers(c) && c != '\n' {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
    }
    text
}

/// Control characters, separators of lines, and what is invisible or turns the direction of text.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}

/// Whether somebody sees what is printed beside the answer as it comes.
pub(crate) fn is_watched() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Writes over the line beside the answer that tells how far something is; an empty one goes.
pub(crate) fn status(text: &str) {
    let columns = terminal_size::terminal_size_of(std::io::stderr())
        .map_or(80, |(width, _)| usize::from(width.0))
        .saturating_sub(1);
    let text: String = text.chars().filter(|c| !steers(*c)).take(columns).collect();
    // ECMA-48: EL, erase to the end of the line.
    let _ = write!(std::io::stderr(), "\r{text}\x1b[K");
    let _ = std::io::stderr().flush();
}

/// Prints a line beside the answer; that nobody reads it is no error. Names of files and of what
/// is in them are strange sometimes: what would steer the terminal is shown as `U+FFFD`. Commands in
/// it are about the same machine and journal as this one.
pub(crate) fn hint(text: &str) {
    let shown = |c: char| if steers(c) && c != '\n' { '\u{fffd}' } else { c };
    let text: String = typed::again(text).chars().map(shown).collect();
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_says_the_same_and_steers_no_terminal() {
        let names = vec!["e\u{9b}31m", "\u{202e}x\u{2028}", "\u{1b}[2J", "plain é"];
        let text = escaped(&serde_json::to_string_pretty(&names).unwrap());
        assert!(!text.chars().any(|c| steers(c) && c != '\n'), "{text:?}");
        assert!(text.contains("plain é"));
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), names);
    }
}
