// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the records of a journal add up to.

use setting::Undone;

use crate::{Begin, Due, End, Intent, JournalError, Receipt, Record, Undoing};

/// A transaction: changes that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// Its head.
    pub begin: Begin,
    /// Its changes, in the order in which they are made.
    pub entries: Vec<Entry>,
    /// Whether all intentions are on disk. Without that nothing was written.
    pub is_ready: bool,
    /// How it ended; none where the process died.
    pub end: Option<End>,
    /// When it is taken back unless it is confirmed; none where that is not told.
    pub due: Option<Due>,
    /// Whether a person confirmed it.
    pub is_confirmed: bool,
    /// What was being undone when the process died.
    pub undoing: Option<Undoing>,
}

/// A change, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The change.
    pub intent: Intent,
    /// What came of it; none where the process died before it could tell.
    pub receipt: Option<Receipt>,
    /// Whether it was tried once, and is to be tried again after the others.
    pub has_waited: bool,
    /// What came of undoing it, where that was tried.
    pub undone: Option<Undone>,
}

impl Entry {
    /// Whether nothing of this change is left to undo.
    pub fn is_settled(&self) -> bool {
        use Undone::{Inherited, Nothing, Reset, Restored};
        matches!(self.undone, Some(Nothing | Restored | Inherited | Reset))
    }
}

impl Transaction {
    /// Whether nothing of it is left to undo.
    pub fn is_settled(&self) -> bool {
        self.entries.iter().all(Entry::is_settled)
    }

    /// Whether the process that made it died on the way, or is still at it: some of its values may be
    /// written, and nobody has taken them back.
    pub fn is_cut_short(&self) -> bool {
        self.end.is_none() && !self.is_settled()
    }

    /// One more of those that were being undone is told.
    fn told(&mut self, index: usize) {
        if let Some(undoing) = &mut self.undoing {
            undoing.indexes.retain(|other| *other != index);
            if undoing.indexes.is_empty() {
                self.undoing = None;
            }
        }
    }

    /// Whether a change may have been written: it has a receipt, was tried and waits, or was the next
    /// one when the process died.
    pub fn may_be_written(&self, index: usize) -> bool {
        let is_tried = |entry: &Entry| entry.receipt.is_some() || entry.has_waited;
        let next = self.entries.iter().position(|entry| !is_tried(entry));
        let was_tried = self.entries.get(index).is_some_and(is_tried);
        self.is_ready && (was_tried || next == Some(index))
    }
}

/// A record speaks of something that no record before it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Missing {
    transaction: u64,
    index: usize,
}

impl Missing {
    pub(crate) fn on(self, line: usize) -> JournalError {
        JournalError::Dangling { line, transaction: self.transaction, index: self.index }
    }
}

/// Takes records one after another.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fold {
    pub(crate) transactions: Vec<Transaction>,
    /// Number of the last transaction that there ever was.
    pub(crate) last: u64,
}

impl Fold {
    /// Whether a record speaks of what was begun.
    pub(crate) fn admits(&self, record: &Record) -> Result<(), Missing> {
        match record {
            Record::Journal { .. } => Ok(()),
            Record::Begin(begin) => self.may_begin(begin),
            Record::Intend { transaction, index, .. } => {
                let entries = self.known(*transaction)?.entries.len();
                let missing = Missing { transaction: *transaction, index: *index };
                if entries == *index { Ok(()) } else { Err(missing) }
            }
            Record::Ready { transaction }
            | Record::End { transaction, .. }
            | Record::Due { transaction, .. }
            | Record::Confirm { transaction } => self.known(*transaction).map(|_| ()),
            Record::Undoing { transaction, indexes, .. } => {
                let last = indexes.iter().max();
                last.map_or(Ok(()), |last| self.has_entry(*transaction, *last))?;
                self.known(*transaction).map(|_| ())
            }
            Record::Wait { transaction, index }
            | Record::Receipt { transaction, index, .. }
            | Record::Undo { transaction, index, .. }
            | Record::Inherit { transaction, index, .. } => self.has_entry(*transaction, *index),
        }
    }

    /// Takes a record, or nothing of it.
    pub(crate) fn take(&mut self, record: Record) -> Result<(), Missing> {
        self.admits(&record)?;
        match record {
            Record::Journal { last, .. } => self.last = last,
            Record::Begin(begin) => self.begin(begin),
            Record::Intend { transaction, intent, .. } => {
                let entries = &mut self.transaction(transaction)?.entries;
                entries.push(Entry {
                    intent: *intent,
                    receipt: None,
                    has_waited: false,
                    undone: None,
                });
            }
            Record::Ready { transaction } => self.transaction(transaction)?.is_ready = true,
            Record::Wait { transaction, index } => {
                self.entry(transaction, index)?.has_waited = true;
            }
            Record::Receipt { transaction, index, receipt } => {
                self.entry(transaction, index)?.receipt = Some(receipt);
            }
            Record::End { transaction, how } => self.transaction(transaction)?.end = Some(how),
            Record::Due { transaction, due } => self.transaction(transaction)?.due = Some(due),
            Record::Confirm { transaction } => {
                self.transaction(transaction)?.is_confirmed = true;
            }
            Record::Undoing { transaction, indexes, kept } => {
                self.transaction(transaction)?.undoing = Some(Undoing { indexes, kept });
            }
            Record::Undo { transaction, index, undone } => {
                self.entry(transaction, index)?.undone = Some(undone);
                self.transaction(transaction)?.told(index);
            }
            Record::Inherit { transaction, index, before } => {
                self.entry(transaction, index)?.intent.before = before;
            }
        }
        Ok(())
    }

    /// Numbers only grow.
    fn may_begin(&self, begin: &Begin) -> Result<(), Missing> {
        let newest = self.transactions.last().map_or(0, |newest| newest.begin.transaction);
        let is_new = begin.transaction > newest;
        if is_new { Ok(()) } else { Err(Missing { transaction: begin.transaction, index: 0 }) }
    }

    fn begin(&mut self, begin: Begin) {
        self.last = self.last.max(begin.transaction);
        self.transactions.push(Transaction {
            begin,
            entries: Vec::new(),
            is_ready: false,
            end: None,
            due: None,
            is_confirmed: false,
            undoing: None,
        });
    }

    fn known(&self, id: u64) -> Result<&Transaction, Missing> {
        let at = self.transactions.binary_search_by_key(&id, |t| t.begin.transaction);
        let missing = Missing { transaction: id, index: 0 };
        at.ok().and_then(|at| self.transactions.get(at)).ok_or(missing)
    }

    fn has_entry(&self, id: u64, index: usize) -> Result<(), Missing> {
        let missing = Missing { transaction: id, index };
        self.known(id)?.entries.get(index).map(|_| ()).ok_or(missing)
    }

    fn transaction(&mut self, id: u64) -> Result<&mut Transaction, Missing> {
        let at = self.transactions.binary_search_by_key(&id, |t| t.begin.transaction);
        let missing = Missing { transaction: id, index: 0 };
        at.ok().and_then(|at| self.transactions.get_mut(at)).ok_or(missing)
    }

    fn entry(&mut self, id: u64, index: usize) -> Result<&mut Entry, Missing> {
        let missing = Missing { transaction: id, index };
        self.transaction(id)?.entries.get_mut(index).ok_or(missing)
    }
}
