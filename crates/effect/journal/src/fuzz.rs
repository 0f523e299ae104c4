// SPDX-License-Identifier: MIT OR Apache-2.0
//! Journals for fuzzing, with checksums that fit; not part of the interface.

use crate::line;

/// Lines of any bytes as the bodies of sound lines, numbered from 0.
pub fn sealed(bodies: &[u8]) -> Vec<u8> {
    let mut journal = Vec::new();
    for (number, body) in bodies.split(|byte| *byte == b'\n').enumerate() {
        let mut inner = format!("\"n\":{number},\"body\":").into_bytes();
        inner.extend_from_slice(body);
        journal.extend(line::seal(&inner));
    }
    journal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JournalError, parse};

    #[test]
    fn sealed_lines_are_read() {
        let head = br#"{"record":"journal","schema":"journal/1","minor":0,"last":0}"#;
        let begin =
            br#"{"record":"begin","transaction":1,"boot":"","at":"","version":"","why":""}"#;
        let undo = br#"{"record":"undo","transaction":1,"index":0,"undone":{"class":"restored"}}"#;
        let journal = sealed(&[&head[..], begin].join(&b'\n'));
        assert_eq!(parse(&journal).unwrap().transactions.len(), 1);
        let journal = sealed(&[&head[..], begin, undo].join(&b'\n'));
        let dangling = parse(&journal).unwrap_err();
        assert!(matches!(dangling, JournalError::Dangling { line: 3, .. }), "{dangling}");
    }
}
