// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a revert would take back, as a plan: whoever writes plans as scripts writes its undoing.
//!
//! Whose value it is now no script can tell; [`super::revert`] looks at that.

use journal::{Entry, Raw, Transaction, Witness};
use machine::{Fact, Why};
use setting::{Form, Place, Plan, Planned, canonical};

use super::target::may_be_written;
use super::{Selection, nothing_of, pick};
use crate::carry::boot;
use crate::lookup::Lookup;
use crate::{ApplyError, Kernel};

/// The changes that a revert of the selection would take back, in the order in which they were made;
/// `from` is the value from before.
///
/// # Errors
/// There is no such transaction, or nothing of such a setting or device, or the kernel does not tell
/// this boot from another.
pub fn applied_plan(
    kernel: &dyn Kernel,
    transactions: &[Transaction],
    selection: &Selection,
) -> Result<Plan, ApplyError> {
    if let Selection::Transaction(id) = selection
        && !transactions.iter().any(|each| each.begin.transaction == *id)
    {
        return Err(ApplyError::NoTransaction(*id));
    }
    let (lookup, boot) = (Lookup::new(kernel), boot(kernel)?);
    let mut plan = Plan::default();
    let mut is_any = false;
    for transaction in transactions {
        let picked = pick(&lookup, transaction, selection);
        is_any |= !picked.is_empty();
        let written = picked.into_iter().filter(|at| may_be_written(transaction, *at, &boot));
        let entries = written.filter_map(|index| transaction.entries.get(index));
        plan.changes.extend(entries.flat_map(planned));
    }
    if !is_any {
        nothing_of(transactions, selection)?;
    }
    Ok(plan)
}

/// A change, after the values that it moved: undone the other way round, these come last.
fn planned(entry: &Entry) -> Vec<Planned> {
    let intent = &entry.intent;
    let then = entry.receipt.as_ref().and_then(|receipt| receipt.path.as_ref());
    let place = match &intent.place {
        // One of the files that the place stands for, and where it was.
        Place::File { .. } => Place::File { path: then.unwrap_or(&intent.path).clone() },
        place => place.clone(),
    };
    let change = Planned {
        setting: intent.setting.clone(),
        device: intent.device.clone(),
        place,
        form: intent.form,
        from: before(intent.form, &intent.before),
        to: intent.to.clone(),
        because: format!("it was set to {}", intent.to),
        cost: String::new(),
        drops_link: None,
    };
    let moved = intent.witnesses.iter().map(|witness| moved(&change, witness));
    moved.collect::<Vec<_>>().into_iter().chain([change]).collect()
}

fn moved(by: &Planned, witness: &Witness) -> Planned {
    let place = match &witness.place {
        Place::File { path } => Place::File { path: path.replacen('*', &witness.part, 1) },
        place => place.clone(),
    };
    Planned {
        device: witness.device.clone(),
        place,
        form: witness.form,
        from: before(witness.form, &witness.before),
        because: format!("{} moved it", by.setting),
        ..by.clone()
    }
}

fn before(form: Form, raw: &Raw) -> Fact<String> {
    match raw {
        Raw::Absent => Err(Why::Absent),
        raw => canonical(form, raw.trimmed()).ok_or_else(|| Why::unparsed(raw.trimmed())),
    }
}
