// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads a whole journal from bytes, however they were left.

use crate::line::{self, Bad};
use crate::state::Fold;
use crate::{JournalError, Record, Transaction};

/// Format of this version.
pub(crate) const SCHEMA: &str = "journal/1";
/// Minor version of the format: 1 tells network namespaces and guards, 2 who made a transaction.
pub(crate) const MINOR: u32 = 2;
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
/// Anything wrong before that, by line; bytes that are no journal, and no begin of one.
pub fn parse(bytes: &[u8]) -> Result<Contents, JournalError> {
    parse_in(bytes, None)
}

/// Reads a journal in a boot. Where power was lost, pages that were written last may be on disk and
/// one before them not: everything from such a hole on was written after the last wait for the disk,
/// and is a torn end as well, unless this very boot wrote it.
pub(crate) fn parse_in(bytes: &[u8], boot: Option<&str>) -> Result<Contents, JournalError> {
    let mut fold = Fold::default();
    let (mut at, mut number, mut next) = (0, 0, 0);
    while let Some(length) = end_of_line(bytes, at) {
        number += 1;
        let text = bytes.get(at..at + length).unwrap_or_default();
        let (n, record) = match line::decode(text) {
            Ok(found) => found,
            Err(_) if number > 1 && is_torn(bytes, at) => break,
            Err(_) if number > 1 && is_hole(bytes, at, length, &fold, boot) => break,
            Err(Bad::Checksum) => return Err(JournalError::Checksum { line: number }),
            Err(Bad::Shape(_)) if number == 1 => break,
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
    if at == 0 && !begins_ours(bytes) {
        return Err(JournalError::NotJournal);
    }
    let Fold { transactions, last } = fold;
    Ok(Contents { transactions, sound_bytes: at, next, last })
}

/// Length of the line at a place, without its end; none where no end follows.
fn end_of_line(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.iter().position(|byte| *byte == b'\n')
}

/// Whether bytes without a whole first line are what a process left that died while it made its
/// journal. Only these may be cut away: a new journal's first line is always the same for a minor
/// version, and NUL bytes may stand in for its end.
pub(crate) fn begins_ours(bytes: &[u8]) -> bool {
    bytes.is_empty() || (0..=MINOR).any(|minor| begins(bytes, minor))
}

fn begins(bytes: &[u8], minor: u32) -> bool {
    let head = Record::Journal { schema: SCHEMA.to_owned(), minor, last: 0 };
    let Ok(first) = line::encode(0, &head) else { return false };
    let same = bytes.iter().zip(&first).take_while(|(byte, own)| byte == own).count();
    let rest = bytes.get(same..).unwrap_or_default();
    same > 0 && bytes.len() < first.len() && rest.iter().all(|byte| *byte == 0)
}

/// The first line of a journal.
pub(crate) fn head(last: u64) -> Record {
    Record::Journal { schema: SCHEMA.to_owned(), minor: MINOR, last }
}

/// Whether what begins here is the torn end of a file: NUL bytes, and no sound record behind them.
fn is_torn(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.contains(&0) && !rest.split(|byte| *byte == b'\n').any(line::is_sound)
}

/// Whether a line is a hole of NUL bytes that a loss of power left: nothing before or behind it is
/// of this boot.
fn is_hole(bytes: &[u8], at: usize, length: usize, fold: &Fold, boot: Option<&str>) -> bool {
    let (Some(boot), Some(rest)) = (boot, bytes.get(at..)) else { return false };
    if !rest.get(..length).is_some_and(|line| line.contains(&0)) {
        return false;
    }
    let before = fold.transactions.iter().any(|transaction| transaction.begin.boot == boot);
    let is_of_now = |line: &[u8]| matches!(line::decode(line), Ok((_, Record::Begin(begin))) if begin.boot == boot);
    !before && !rest.split(|byte| *byte == b'\n').any(is_of_now)
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
