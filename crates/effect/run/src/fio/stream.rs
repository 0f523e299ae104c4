// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON documents in what fio printed, and the lines beside them.
//!
//! fio writes notes and errors before its document (`note: both iodepth >= 1 and synchronous I/O
//! engine are selected...`), several documents one after another with `--status-interval`, and
//! ordinary text around it with `--output-format=normal,json`.

use serde_json::Value;

use super::error::Refused;
use super::json::Document;

/// Documents of one output: with a report each second, more than a day.
const DOCUMENTS: usize = 100_000;
/// Lines beside the documents that are kept; the first ones say what went wrong.
const NOTES: usize = 200;
/// Bytes of a line that are kept.
const NOTE_BYTES: usize = 500;

/// What is in an output.
#[derive(Debug)]
pub(super) struct Stream {
    /// Each document with the line that it begins in, from 1.
    pub(super) documents: Vec<(usize, Value)>,
    /// Lines beside them that say something, in order.
    pub(super) notes: Vec<String>,
}

/// Takes an output apart.
pub(super) fn split(text: &str) -> Result<Stream, Refused> {
    let mut stream = Stream { documents: Vec::new(), notes: Vec::new() };
    let (mut rest, mut line) = (text, 1_usize);
    while let Some(start) = start(rest) {
        let (beside, document) = rest.split_at_checked(start).unwrap_or((rest, ""));
        note(&mut stream.notes, beside);
        line = line.saturating_add(beside.matches('\n').count());
        if stream.documents.len() == DOCUMENTS {
            return Err(Refused::Broken { line, what: format!("more than {DOCUMENTS} documents") });
        }
        let (value, length) = read(document, line)?;
        stream.documents.push((line, value));
        let (read, after) = document.split_at_checked(length).unwrap_or((document, ""));
        line = line.saturating_add(read.matches('\n').count());
        rest = after;
    }
    note(&mut stream.notes, rest);
    if stream.documents.is_empty() {
        return Err(Refused::none(text));
    }
    Ok(stream)
}

/// The document at the start of `text`, and its length in bytes.
fn read(text: &str, line: usize) -> Result<(Value, usize), Refused> {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Document>();
    let what = match documents.next() {
        Some(Ok(Document(value))) => return Ok((value, documents.byte_offset())),
        Some(Err(error)) if error.is_eof() => "the document breaks off".to_owned(),
        Some(Err(error)) => {
            let line = line.saturating_add(error.line().saturating_sub(1));
            let text = error.to_string();
            let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
            return Err(Refused::Broken { line, what: what.to_owned() });
        }
        None => "no document".to_owned(),
    };
    Err(Refused::Broken { line, what })
}

/// Where the next document begins: a brace at the start of a line, or one before fio's first key
/// where the line before it lost its end.
fn start(text: &str) -> Option<usize> {
    let braces = text.match_indices('{').map(|(at, _)| at);
    braces.into_iter().find(|&at| {
        let (before, from) = text.split_at_checked(at).unwrap_or_default();
        let begins = before.is_empty() || before.ends_with('\n');
        let after = from.strip_prefix('{').unwrap_or_default().trim_start();
        (begins && (after.starts_with('"') || after.starts_with('}')))
            || after.starts_with("\"fio version\"")
    })
}

fn note(notes: &mut Vec<String>, text: &str) {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let shown = |line: &str| line.chars().take(NOTE_BYTES).collect::<String>();
    notes.extend(lines.take(NOTES.saturating_sub(notes.len())).map(shown));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(text: &str) -> Vec<usize> {
        split(text).unwrap().documents.into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn documents_are_found_among_lines() {
        for (text, lines, notes) in [
            ("{}", vec![1], vec![]),
            ("note: x\n{\n}\n", vec![2], vec!["note: x"]),
            ("{\"a\": 1}\n{\"a\": 2}\n", vec![1, 2], vec![]),
            ("{\"a\": 1}{\"a\": 2}", vec![1, 1], vec![]),
            ("a {b}\n{\"a\": \"\\n{\"}\n\nafter\n", vec![2], vec!["a {b}", "after"]),
            ("fio: pid=1{ \"fio version\" : \"fio-3.1\"}", vec![1], vec!["fio: pid=1"]),
        ] {
            assert_eq!(documents(text), lines, "{text:?}");
            assert_eq!(split(text).unwrap().notes, notes, "{text:?}");
        }
    }

    #[test]
    fn what_breaks_off_is_named_by_its_line() {
        for (text, wanted) in [
            ("x\n{\n\"a\": ", "line 2: the document breaks off"),
            ("{\n\"a\": nan\n}", "line 2: expected ident"),
            ("x\n\n{\n\"a\": 1,\n\"a\": 2}", "line 5: \"a\" is there twice with different values"),
        ] {
            assert_eq!(split(text).unwrap_err().to_string(), wanted);
        }
    }
}
