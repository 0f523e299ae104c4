// SPDX-License-Identifier: MIT OR Apache-2.0
//! A journal that is held open for writing.

use std::io;
use std::path::{Path, PathBuf};

use crate::medium::{is_held, read_file};
use crate::read::{MINOR, MOST, SCHEMA};
use crate::state::Fold;
use crate::{
    Begin, Contents, Entry, FileMedium, JournalError, Medium, Record, Transaction, Undoing, Wait,
    line, parse,
};

/// A journal, held by this process alone.
pub struct Journal {
    medium: Box<dyn Medium>,
    path: PathBuf,
    fold: Fold,
    /// Number of the next record.
    next: u64,
    /// Bytes on the medium.
    length: usize,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, next, .. } = self;
        f.debug_struct("Journal").field("path", path).field("next", next).finish_non_exhaustive()
    }
}

impl Journal {
    /// Opens and locks a journal's file, making it where it is missing, and cuts its torn end.
    ///
    /// # Errors
    /// It cannot be opened, another process holds it, or it is damaged.
    pub fn open(path: &Path, wait: Wait<'_>) -> Result<Self, JournalError> {
        Self::on(Box::new(FileMedium::open(path, wait)?), path)
    }

    /// A journal on some medium; `path` is for messages.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn on(mut medium: Box<dyn Medium>, path: &Path) -> Result<Self, JournalError> {
        let failed = |what| move |source| JournalError::Io { what, path: path.to_owned(), source };
        let bytes = medium.read().map_err(failed("read"))?;
        let contents = parse_bounded(&bytes)?;
        if contents.sound_bytes < bytes.len() {
            medium.cut(contents.sound_bytes).map_err(failed("cut the torn end of"))?;
        }
        let mut journal = Self {
            medium,
            path: path.to_owned(),
            fold: Fold { transactions: contents.transactions, last: contents.last },
            next: contents.next,
            length: contents.sound_bytes,
        };
        if journal.length == 0 {
            journal.append(head(0))?;
        }
        Ok(journal)
    }

    /// What a journal's file says, without holding it; nothing where there is none.
    ///
    /// # Errors
    /// It cannot be read or is damaged.
    pub fn look(path: &Path) -> Result<Vec<Transaction>, JournalError> {
        match read_file(path) {
            Ok(bytes) => Ok(parse_bounded(&bytes)?.transactions),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(JournalError::Io { what: "read", path: path.to_owned(), source }),
        }
    }

    /// Whether some process holds the journal at a path now, and may be changing things.
    pub fn is_held(path: &Path) -> bool {
        is_held(path)
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Transactions, oldest first.
    pub fn transactions(&self) -> &[Transaction] {
        &self.fold.transactions
    }

    /// A transaction by its number.
    pub fn transaction(&self, id: u64) -> Option<&Transaction> {
        self.transactions().iter().find(|transaction| transaction.begin.transaction == id)
    }

    /// A change of a transaction.
    pub fn entry(&self, id: u64, index: usize) -> Option<&Entry> {
        self.transaction(id)?.entries.get(index)
    }

    /// The number that the next transaction gets.
    pub fn next_transaction(&self) -> u64 {
        self.fold.last.saturating_add(1)
    }

    /// Begins a transaction and gives its number; `begin`'s own number does not count.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(&mut self, begin: Begin) -> Result<u64, JournalError> {
        let transaction = self.next_transaction();
        self.append(Record::Begin(Begin { transaction, ..begin }))?;
        Ok(transaction)
    }

    /// Adds a record.
    ///
    /// # Errors
    /// It cannot be written. Then it does not count, here or for the next reader.
    pub fn append(&mut self, record: Record) -> Result<(), JournalError> {
        let text = line::encode(self.next, &record).map_err(|error| self.failed(error.into()))?;
        if let Err(error) = self.medium.append(&text) {
            // Half a line in front of the next one would spoil both.
            let _ = self.medium.cut(self.length);
            return Err(self.failed(error));
        }
        self.length += text.len();
        self.next += 1;
        self.fold.take(record).map_err(|missing| missing.on(0))
    }

    /// Waits until everything is safe from a loss of power.
    ///
    /// # Errors
    /// The disk failed.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        self.medium.sync().map_err(|error| self.failed(error))
    }

    /// Drops transactions that are fully undone by writing the rest anew.
    ///
    /// # Errors
    /// The new file cannot be written; the old one is still there then.
    pub fn compact(&mut self) -> Result<(), JournalError> {
        if !self.transactions().iter().any(Transaction::is_settled) {
            return Ok(());
        }
        let live: Vec<Transaction> =
            self.transactions().iter().filter(|t| !t.is_settled()).cloned().collect();
        let mut text = Vec::new();
        let mut next = 0;
        let last = self.fold.last;
        for record in std::iter::once(head(last)).chain(live.iter().flat_map(records)) {
            text.extend(line::encode(next, &record).map_err(|error| self.failed(error.into()))?);
            next += 1;
        }
        self.medium.replace(&text).map_err(|error| self.failed(error))?;
        self.length = text.len();
        self.next = next;
        self.fold = Fold { transactions: live, last };
        Ok(())
    }

    fn failed(&self, source: io::Error) -> JournalError {
        JournalError::Io { what: "write to", path: self.path.clone(), source }
    }
}

fn parse_bounded(bytes: &[u8]) -> Result<Contents, JournalError> {
    if bytes.len() as u64 > MOST {
        return Err(JournalError::TooLong { most: MOST });
    }
    parse(bytes)
}

fn head(last: u64) -> Record {
    Record::Journal { schema: SCHEMA.to_owned(), minor: MINOR, last }
}

/// The records that a transaction adds up from.
fn records(transaction: &Transaction) -> Vec<Record> {
    let id = transaction.begin.transaction;
    let mut records = vec![Record::Begin(transaction.begin.clone())];
    for (index, entry) in transaction.entries.iter().enumerate() {
        let intent = Box::new(entry.intent.clone());
        records.push(Record::Intend { transaction: id, index, intent });
    }
    if transaction.is_ready {
        records.push(Record::Ready { transaction: id });
    }
    for (index, entry) in transaction.entries.iter().enumerate() {
        if let Some(receipt) = entry.receipt.clone() {
            records.push(Record::Receipt { transaction: id, index, receipt });
        }
    }
    records.extend(transaction.end.map(|how| Record::End { transaction: id, how }));
    records.extend(transaction.due.clone().map(|due| Record::Due { transaction: id, due }));
    if transaction.is_confirmed {
        records.push(Record::Confirm { transaction: id });
    }
    for (index, entry) in transaction.entries.iter().enumerate() {
        if let Some(undone) = entry.undone.clone() {
            records.push(Record::Undo { transaction: id, index, undone });
        }
    }
    if let Some(Undoing { indexes, kept }) = transaction.undoing.clone() {
        records.push(Record::Undoing { transaction: id, indexes, kept });
    }
    records
}
