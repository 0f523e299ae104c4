// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transactions that wait for a person's word, and that word.
//!
//! Only what guards a transaction makes it wait. It waits from its end on; one that was cut short is
//! taken back at once, for nobody knows what would stay.

use journal::{End, Journal, Record, Transaction};

use crate::carry::boot;
use crate::{ApplyError, Kernel};

/// A transaction that is taken back unless it is confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unconfirmed {
    /// Its number.
    pub transaction: u64,
    /// Seconds that are left; none where the journal does not tell when it is due.
    pub left_s: Option<u64>,
}

/// The transactions that wait for a confirmation, oldest first. `now_s` is in seconds since this
/// boot began. What guarded those of another boot is gone with it.
///
/// # Errors
/// The kernel does not tell this boot from another.
pub fn waiting(
    kernel: &dyn Kernel,
    transactions: &[Transaction],
    now_s: u64,
) -> Result<Vec<Unconfirmed>, ApplyError> {
    let boot = boot(kernel)?;
    let of_now = transactions.iter().filter(|each| each.begin.boot == boot && waits(each));
    let unconfirmed = |each: &Transaction| Unconfirmed {
        transaction: each.begin.transaction,
        left_s: each.due.as_ref().map(|due| due.at_s.saturating_sub(now_s)),
    };
    Ok(of_now.map(unconfirmed).collect())
}

/// Refuses while a transaction of this boot waits: a later change of one of its places would have that
/// place, and what guards the transaction could not give it back.
///
/// # Errors
/// One waits, or the kernel does not tell this boot from another.
pub fn nothing_waits(kernel: &dyn Kernel, transactions: &[Transaction]) -> Result<(), ApplyError> {
    // How long it has is of no matter here.
    match waiting(kernel, transactions, 0)?.first() {
        Some(first) => Err(ApplyError::Waits(first.transaction)),
        None => Ok(()),
    }
}

fn waits(transaction: &Transaction) -> bool {
    let is_whole = transaction.end == Some(End::Done) && transaction.undoing.is_none();
    let is_guarded = transaction.begin.guard.is_some() && !transaction.is_confirmed;
    is_guarded && is_whole && !transaction.is_settled()
}

/// The transaction that has a token in its head.
pub fn guarded_by<'a>(transactions: &'a [Transaction], token: &str) -> Option<&'a Transaction> {
    let has =
        |each: &&Transaction| each.begin.guard.as_ref().is_some_and(|guard| guard.token == token);
    transactions.iter().find(has)
}

/// When a guarded transaction is taken back unless it is confirmed, in seconds since this boot
/// began: what the journal tells, else its time from now on; at once where it did not end well.
pub fn due_s(transaction: &Transaction, now_s: u64) -> u64 {
    let seconds = transaction.begin.guard.as_ref().map_or(0, |guard| guard.seconds);
    match transaction.end {
        Some(End::Done) => {
            let told = transaction.due.as_ref().map(|due| due.at_s);
            told.unwrap_or_else(|| now_s.saturating_add(seconds))
        }
        _ => now_s,
    }
}

/// Confirms a transaction: what guards it leaves it as it is. Without a number it is the one that
/// waits.
///
/// # Errors
/// It does not wait, several do and none is named, or the journal failed. Nothing is confirmed then.
pub fn confirm(
    kernel: &dyn Kernel,
    journal: &mut Journal,
    transaction: Option<u64>,
    now_s: u64,
) -> Result<Unconfirmed, ApplyError> {
    let waiting = waiting(kernel, journal.transactions(), now_s)?;
    let found = match (transaction, waiting.as_slice()) {
        (Some(id), all) => all.iter().find(|each| each.transaction == id).copied(),
        (None, []) => None,
        (None, [one]) => Some(*one),
        (None, several) => {
            let ids = several.iter().map(|each| each.transaction).collect();
            return Err(ApplyError::SeveralWait(ids));
        }
    };
    let found = found.ok_or_else(|| not_waiting(journal, transaction))?;
    journal.append(Record::Confirm { transaction: found.transaction })?;
    journal.sync()?;
    Ok(found)
}

/// Why there is nothing to confirm. Numbers are given once: one that is not there any more was
/// taken back.
fn not_waiting(journal: &Journal, transaction: Option<u64>) -> ApplyError {
    let Some(id) = transaction else {
        let all = journal.transactions().iter().rev();
        let guarded = all.filter(|each| each.begin.guard.is_some() && !each.is_confirmed);
        let cut = guarded.filter(|each| each.end.is_none()).map(|each| each.begin.transaction);
        return cut.map(ApplyError::CutShort).next().unwrap_or(ApplyError::NothingWaits);
    };
    match journal.transaction(id) {
        None if id > 0 && id < journal.next_transaction() => ApplyError::AlreadyBack(id),
        None => ApplyError::NoTransaction(id),
        Some(known) if known.is_confirmed => ApplyError::AlreadyConfirmed(id),
        Some(known) if known.end.is_none() => ApplyError::CutShort(id),
        Some(known) if known.is_settled() => ApplyError::AlreadyBack(id),
        Some(_) => ApplyError::DoesNotWait(id),
    }
}
