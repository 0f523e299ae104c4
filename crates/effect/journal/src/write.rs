// SPDX-License-Identifier: MIT OR Apache-2.0
//! A journal that is held open for writing.

use std::io;
use std::path::{Path, PathBuf};

use crate::medium::{boot_now, demand_journal, is_held, read_file};
use crate::read::{MOST, head, parse_in};
use crate::state::Fold;
use crate::{
    Begin, Contents, Entry, FileMedium, Intent, JournalError, Medium, Record, Transaction, Undoing,
    Wait, line,
};

/// A journal, held by this process alone.
pub struct Journal {
    medium: Box<dyn Medium>,
    path: PathBuf,
    fold: Fold,
    /// Number of the next record.
    next: u64,
    /// Sound bytes on the medium.
    length: usize,
    /// Whether half a line may stand behind them.
    is_torn: bool,
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
    /// It cannot be opened, another process holds it, or it is damaged. A file that is something
    /// else is left as it is.
    pub fn open(path: &Path, wait: Wait<'_>) -> Result<Self, JournalError> {
        demand_journal(path)?;
        Self::on(Box::new(FileMedium::open(path, wait)?), path)
    }

    /// A journal on some medium; `path` is for messages.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn on(mut medium: Box<dyn Medium>, path: &Path) -> Result<Self, JournalError> {
        let failed = |what| move |source| JournalError::Io { what, path: path.to_owned(), source };
        let bytes = medium.read().map_err(failed("read"))?;
        let contents = parse_bounded(&bytes, medium.boot().as_deref())?;
        if contents.sound_bytes < bytes.len() {
            medium.cut(contents.sound_bytes).map_err(failed("cut the torn end of"))?;
        }
        let mut journal = Self {
            medium,
            path: path.to_owned(),
            fold: Fold { transactions: contents.transactions, last: contents.last },
            next: contents.next,
            length: contents.sound_bytes,
            is_torn: false,
        };
        if journal.length == 0 {
            journal.append(head(0))?;
            journal.sync()?;
        }
        Ok(journal)
    }

    /// The transactions of a journal's file that are not fully undone, without holding it; none
    /// where there is no file.
    ///
    /// # Errors
    /// It cannot be read or is damaged.
    pub fn look(path: &Path) -> Result<Vec<Transaction>, JournalError> {
        match read_file(path) {
            Ok(bytes) => {
                let mut all = parse_bounded(&bytes, boot_now().as_deref())?.transactions;
                // A disk that is full keeps what was taken back from being dropped.
                all.retain(|transaction| !transaction.is_settled());
                Ok(all)
            }
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

    /// Begins a transaction with all that it intends, waits until that is safe from a loss of power,
    /// and gives its number; `begin`'s own number does not count.
    ///
    /// # Errors
    /// It cannot be written, or not be made safe. Then nothing may be written for it: a part that is
    /// on the medium all the same is a transaction that wrote nothing.
    pub fn intend(&mut self, begin: Begin, intents: &[Intent]) -> Result<u64, JournalError> {
        let transaction = self.next_transaction();
        let mut records = vec![Record::Begin(Begin { transaction, ..begin })];
        records.extend(intents.iter().enumerate().map(|(index, intent)| {
            let intent = Box::new(intent.clone());
            Record::Intend { transaction, index, intent }
        }));
        records.push(Record::Ready { transaction });
        self.append_all(records)?;
        self.sync()?;
        Ok(transaction)
    }

    /// Adds a record.
    ///
    /// # Errors
    /// It cannot be written, or speaks of what was never begun. Then it does not count, here or for
    /// the next reader.
    pub fn append(&mut self, record: Record) -> Result<(), JournalError> {
        self.fold.admits(&record).map_err(|missing| missing.on(0))?;
        let text = line::encode(self.next, &record).map_err(|error| self.failed(error.into()))?;
        self.write(&text)?;
        self.next += 1;
        self.fold.take(record).map_err(|missing| missing.on(0))
    }

    /// Adds records of which each rests on those before it, by one write.
    fn append_all(&mut self, records: Vec<Record>) -> Result<(), JournalError> {
        let mut text = Vec::new();
        let mut next = self.next;
        for record in &records {
            text.extend(line::encode(next, record).map_err(|error| self.failed(error.into()))?);
            next += 1;
        }
        self.write(&text)?;
        self.next = next;
        records.into_iter().try_for_each(|record| self.fold.take(record)).map_err(|m| m.on(0))
    }

    /// Adds bytes, or none of them.
    fn write(&mut self, text: &[u8]) -> Result<(), JournalError> {
        if self.is_torn {
            // Half a line in front of the next one would spoil both.
            self.medium.cut(self.length).map_err(|error| self.failed(error))?;
            self.is_torn = false;
        }
        if let Err(error) = self.medium.append(text) {
            self.is_torn = self.medium.cut(self.length).is_err();
            return Err(self.failed(error));
        }
        self.length += text.len();
        Ok(())
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
        self.is_torn = false;
        self.next = next;
        self.fold = Fold { transactions: live, last };
        Ok(())
    }

    fn failed(&self, source: io::Error) -> JournalError {
        JournalError::Io { what: "write to", path: self.path.clone(), source }
    }
}

fn parse_bounded(bytes: &[u8], boot: Option<&str>) -> Result<Contents, JournalError> {
    if bytes.len() as u64 > MOST {
        return Err(JournalError::TooLong { most: MOST });
    }
    parse_in(bytes, boot)
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
        if entry.has_waited {
            records.push(Record::Wait { transaction: id, index });
        }
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
