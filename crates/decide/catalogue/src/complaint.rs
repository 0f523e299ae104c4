// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a catalogue file, where, and what to do about it.

use std::fmt;

/// One thing that is wrong with one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// The file as its caller named it: `nvme/block-scheduler.toml`.
    pub file: String,
    /// (line, column), both from 1, where they are known; column 1 where only the line is.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub help: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}\nhelp: {}", self.what, self.help)
    }
}

impl std::error::Error for Complaint {}

/// All that is wrong with the files that were handed over; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaints(pub Vec<Complaint>);

impl fmt::Display for Complaints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, complaint) in self.0.iter().enumerate() {
            let newline = if at == 0 { "" } else { "\n" };
            write!(f, "{newline}{complaint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Complaints {}

/// Restates a TOML error of `file` in our words, with the nearest known key where one is unknown.
pub(crate) fn from_toml(file: &str, text: &str, error: &toml::de::Error) -> Complaint {
    let (what, help) = restate(error.message());
    let place = error.span().map(|span| place_of(text, span.start));
    Complaint { file: file.to_owned(), place, what, help }
}

/// (line, column) of a byte offset, both from 1.
fn place_of(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(line_start..).map_or(0, |line| line.chars().count());
    (before.matches('\n').count() + 1, column + 1)
}

/// serde's messages name the culprit and the known words in back-ticks:
/// ``unknown field `titel`, expected one of `id`, `title`, `owner` ``
fn restate(message: &str) -> (String, String) {
    let message = message.lines().next().unwrap_or_default();
    let mut words = message.split('`').skip(1).step_by(2);
    let culprit = words.next().unwrap_or_default();
    let known: Vec<&str> = words.collect();
    if message.starts_with("unknown field") {
        (format!("unknown key `{culprit}`"), suggest(culprit, &known, "keys here are"))
    } else if message.starts_with("unknown variant") {
        (format!("unknown value `{culprit}`"), suggest(culprit, &known, "values are"))
    } else if message.starts_with("missing field") {
        (format!("key `{culprit}` is missing"), format!("add `{culprit} = ...`; {SHAPE}"))
    } else {
        (message.to_owned(), SHAPE.to_owned())
    }
}

const SHAPE: &str = "docs/catalogue.md shows an entry with every key";

/// "did you mean" when one known word is close, else all of them.
pub(crate) fn suggest(culprit: &str, known: &[&str], list: &str) -> String {
    let near = known
        .iter()
        .map(|word| (strsim::damerau_levenshtein(culprit, word), word))
        .filter(|(distance, word)| distance * 2 <= culprit.len().max(word.len()))
        .filter(|(distance, word)| *distance <= 2.max(word.len() / 3))
        .min();
    match near {
        Some((_, word)) => format!("did you mean `{word}`?"),
        None => format!("{list} {}", known.join(", ")),
    }
}

/// A word of the vocabulary as a file spells it: `scsi-host`.
pub(crate) fn spelled<T: serde::Serialize>(word: &T) -> String {
    let value = toml::Value::try_from(word).ok();
    value.as_ref().and_then(toml::Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_become_lines_and_columns() {
        let text = "id = 1\nµ = 2\n";
        assert_eq!(place_of(text, 0), (1, 1));
        assert_eq!(place_of(text, 7), (2, 1));
        assert_eq!(place_of(text, 9), (2, 2));
        assert_eq!(place_of(text, 999), (3, 1));
    }

    #[test]
    fn the_nearest_key_is_named_and_a_far_one_is_not() {
        assert_eq!(suggest("titel", &["id", "title"], "keys are"), "did you mean `title`?");
        assert_eq!(suggest("colour", &["id", "title"], "keys are"), "keys are id, title");
        assert_eq!(suggest("5", &["0", "7"], "values are"), "values are 0, 7");
    }

    #[test]
    fn words_are_spelled_as_in_files() {
        assert_eq!(spelled(&setting::Scope::ScsiHost), "scsi-host");
        assert_eq!(spelled(&setting::Form::CpuList), "cpu-list");
    }
}
