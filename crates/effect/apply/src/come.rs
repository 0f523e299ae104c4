// SPDX-License-Identifier: MIT OR Apache-2.0
//! What came of wishes that stand in the journal: a kernel that rounded once rounds again.

use std::collections::BTreeMap;

use journal::{Intent, Raw, Transaction};
use setting::{Device, Form, Outcome, Place};

use crate::lookup::Lookup;
use crate::spot::Spot;

/// Places where another value came than the one wanted, by key: that wish, and what came.
#[derive(Debug, Default)]
pub(crate) struct Come(BTreeMap<String, (String, Raw)>);

impl Come {
    /// Of each place the newest change counts, as far as it is not undone.
    pub(crate) fn of(lookup: &Lookup<'_>, transactions: &[Transaction]) -> Self {
        let mut come = BTreeMap::new();
        let entries = transactions.iter().flat_map(|transaction| &transaction.entries);
        for entry in entries.filter(|entry| !entry.is_settled()) {
            let Some(receipt) = &entry.receipt else { continue };
            let Intent { device, place, part, to, .. } = &entry.intent;
            let key = lookup.key(device.as_ref(), place, part);
            match (&receipt.outcome, &receipt.after) {
                (Outcome::Rounded { .. }, Some(after)) => {
                    come.insert(key, (to.clone(), after.clone()));
                }
                _ => {
                    come.remove(&key);
                }
            }
        }
        Self(come)
    }

    /// Whether what is there now is what came of the same wish before.
    pub(crate) fn is_all(
        &self,
        lookup: &Lookup<'_>,
        (device, place, part): (Option<&Device>, &Place, &str),
        spot: &Spot,
        form: Form,
        to: &str,
        now: &Raw,
    ) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let known = self.0.get(&lookup.key(device, place, part));
        known.is_some_and(|(wanted, came)| wanted == to && spot.same(form, came, now))
    }
}
