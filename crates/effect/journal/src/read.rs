// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads a whole journal from bytes, however they were left.

use crate::line::{self, Bad};
use crate::state::Fold;
use crate::{JournalError, Record, Transaction};

/// Format of this version.
pub(crate) const SCHEMA: &str = "journal/1";
/// Minor version of the format: 1 tells network namespaces and guards.
pub(crate) const MINOR: u32 = 1;
/// A journal of a hundred thousand changes has some ten megabytes.
pub(crate) const MOST: u64 = 1 << 30;

/// What a journal says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// Transactions that are not fully undone, oldest first.
    pub transactions: Vec<Transaction>,
    /// Bytes up to the end of the last whole record; what follows is a torn line.
    pub sound_bytes: usize,
    /// Number of the next record.
    pub next: u64,
    /// Number of the last transaction that there ever was.
    pub last: u64,
}

/// Reads a journal.
///
/// A torn end is left out: a last line without its end, or with the NUL bytes that a file system
/// leaves where data did not reach the disk in time.
///
/// # Errors
/// Anything wrong before that, by line.
pub fn parse(bytes: &[u8]) -> Result<Contents, JournalError> {
    let mut fold = Fold::default();
    let (mut at, mut number, mut next) = (0, 0, 0);
    while let Some(length) = end_of_line(bytes, at) {
        number += 1;
        let text = bytes.get(at..at + length).unwrap_or_default();
        let (n, record) = match line::decode(text) {
            Ok(found) => found,
            Err(_) if is_torn(bytes, at) => break,
            Err(Bad::Checksum) => return Err(JournalError::Checksum { line: number }),
            Err(Bad::Shape(_)) if number == 1 => return Err(JournalError::NotJournal),
            Err(Bad::Shape(why)) => return Err(JournalError::Malformed { line: number, why }),
        };
        if number == 1 {
            check_head(&record)?;
            next = n;
        }
        if n != next {
            return Err(JournalError::Sequence { line: number, expected: next, found: n });
        }
        fold.take(record).map_err(|missing| missing.on(number))?;
        next = n.saturating_add(1);
        at += length + 1;
    }
    let Fold { transactions, last } = fold;
    Ok(Contents { transactions, sound_bytes: at, next, last })
}

/// Length of the line at a place, without its end; none where no end follows.
fn end_of_line(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.iter().position(|byte| *byte == b'\n')
}

/// Whether what begins here is the torn end of a file: NUL bytes, and no sound record behind them.
fn is_torn(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.contains(&0) && !rest.split(|byte| *byte == b'\n').any(line::is_sound)
}

/// An older minor version is read, a newer major one is refused by name.
fn check_head(record: &Record) -> Result<(), JournalError> {
    let Record::Journal { schema, minor, .. } = record else {
        return Err(JournalError::NotJournal);
    };
    if schema == SCHEMA && MINOR.checked_sub(*minor).is_some() {
        return Ok(());
    }
    let named = |schema: &str, minor: u32| format!("{schema}.{minor}");
    Err(JournalError::Newer { found: named(schema, *minor), known: named(SCHEMA, MINOR) })
}
