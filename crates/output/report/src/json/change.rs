// SPDX-License-Identifier: MIT OR Apache-2.0
//! `receipts/1`, `reverts/1` and `verification/1`: what came of changes.

use apply::{Ending, Standing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use setting::{Outcome, Undone};

/// The document `receipts/1`: what came of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipts {
    /// Name and version of this format: `receipts/1`.
    pub schema: String,
    /// The transaction that takes it all back; null where nothing was written.
    pub transaction: Option<u64>,
    /// `done`; `undone`: a change failed and the others were taken back; `stuck`: and that failed.
    pub ending: String,
    /// What came of each value.
    pub receipts: Vec<Receipt>,
}

/// What came of one value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// Its catalogue entry.
    pub setting: String,
    /// Its device; null for the machine.
    pub device: Option<String>,
    /// Where it was written.
    pub path: String,
    /// The value from before, as read.
    pub before: String,
    /// The value wanted.
    pub wanted: String,
    /// `equal`, `applied`, `rounded`, `dropped`, `managed`, `unsupported`, `busy`, `denied`,
    /// `refused`, `lost`.
    pub class: String,
    /// What came instead, of a rounded value; null otherwise.
    pub came: Option<String>,
    /// The kernel's error, where it refused; null otherwise.
    pub errno: Option<String>,
    /// What else to know; null where nothing.
    pub note: Option<String>,
}

/// The document `reverts/1`: what was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reverts {
    /// Name and version of this format: `reverts/1`.
    pub schema: String,
    /// What came of each change.
    pub reverts: Vec<Revert>,
}

/// What came of taking one change back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Revert {
    /// The transaction that made it.
    pub transaction: u64,
    /// Its catalogue entry.
    pub setting: String,
    /// Its device; null for the machine.
    pub device: Option<String>,
    /// Where it was written.
    pub path: String,
    /// The value from before.
    pub before: String,
    /// `nothing`, `restored`, `kept`, `inherited`, `reset`, `missing`, `failed`.
    pub class: String,
    /// The value that somebody else set, of a kept one; null otherwise.
    pub found: Option<String>,
    /// Why it failed; null where it did not.
    pub why: Option<String>,
}

/// The document `verification/1`: whether what was applied still holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// Name and version of this format: `verification/1`.
    pub schema: String,
    /// Whether anything does not hold.
    pub drift: bool,
    /// How each value stands.
    pub values: Vec<Value>,
}

/// How one value stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Value {
    /// The transaction that set it.
    pub transaction: u64,
    /// Its catalogue entry.
    pub setting: String,
    /// Its device; null for the machine.
    pub device: Option<String>,
    /// Where it is.
    pub path: String,
    /// The value wanted.
    pub wanted: String,
    /// `as-set`, `drifted`, `overridden`, `lost-on-reopen`, `cpus-offline`,
    /// `not-yet-effective`, `reset`, `missing`, `unknown`.
    pub standing: String,
    /// The value that is there, where it is another; null otherwise.
    pub found: Option<String>,
    /// The service that writes it, where one is known to; null otherwise.
    pub by: Option<String>,
}

/// What came of a plan.
pub fn receipts(came: &apply::Receipts) -> Receipts {
    let ending = match came.ending {
        Ending::Done => "done",
        Ending::Undone => "undone",
        Ending::Stuck => "stuck",
    };
    Receipts {
        schema: "receipts/1".to_owned(),
        transaction: came.transaction,
        ending: ending.to_owned(),
        receipts: came.receipts.iter().map(receipt).collect(),
    }
}

fn receipt(each: &apply::Receipt) -> Receipt {
    let (class, came, errno) = match &each.outcome {
        Outcome::Equal => ("equal", None, None),
        Outcome::Applied => ("applied", None, None),
        Outcome::Rounded { came } => ("rounded", Some(came), None),
        Outcome::Dropped => ("dropped", None, None),
        Outcome::Managed => ("managed", None, None),
        Outcome::Unsupported { errno } => ("unsupported", None, Some(errno)),
        Outcome::Busy { errno } => ("busy", None, Some(errno)),
        Outcome::Denied { errno } => ("denied", None, Some(errno)),
        Outcome::Refused { errno } => ("refused", None, Some(errno)),
        Outcome::Lost => ("lost", None, None),
    };
    Receipt {
        setting: each.setting.clone(),
        device: each.device.clone(),
        path: each.path.clone(),
        before: each.before.trim().to_owned(),
        wanted: each.wanted.clone(),
        class: class.to_owned(),
        came: came.cloned(),
        errno: errno.cloned(),
        note: each.note.clone(),
    }
}

/// What was taken back.
pub fn reverts(all: &[apply::Reverted]) -> Reverts {
    Reverts { schema: "reverts/1".to_owned(), reverts: all.iter().map(revert).collect() }
}

fn revert(each: &apply::Reverted) -> Revert {
    let (class, found, why) = match &each.undone {
        Undone::Nothing => ("nothing", None, None),
        Undone::Restored => ("restored", None, None),
        Undone::Kept { found } => ("kept", Some(found), None),
        Undone::Inherited => ("inherited", None, None),
        Undone::Reset => ("reset", None, None),
        Undone::Missing => ("missing", None, None),
        Undone::Failed { why } => ("failed", None, Some(why)),
    };
    Revert {
        transaction: each.transaction,
        setting: each.setting.clone(),
        device: each.device.clone(),
        path: each.path.clone(),
        before: each.before.trim().to_owned(),
        class: class.to_owned(),
        found: found.map(|found| found.trim().to_owned()),
        why: why.cloned(),
    }
}

/// How changes stand.
pub fn verification(all: &[apply::Verified]) -> Verification {
    Verification {
        schema: "verification/1".to_owned(),
        drift: all.iter().any(apply::Verified::is_drift),
        values: all.iter().map(value).collect(),
    }
}

fn value(each: &apply::Verified) -> Value {
    let (standing, found, by) = match &each.standing {
        Standing::AsSet => ("as-set", None, None),
        Standing::Drifted { found } => ("drifted", Some(found), None),
        Standing::Overridden { found, by } => ("overridden", Some(found), Some(by)),
        Standing::LostOnReopen { found } => ("lost-on-reopen", Some(found), None),
        Standing::CpusOffline { found } => ("cpus-offline", Some(found), None),
        Standing::NotYetEffective { effective } => ("not-yet-effective", Some(effective), None),
        Standing::Reset => ("reset", None, None),
        Standing::Missing => ("missing", None, None),
        Standing::Unknown { .. } => ("unknown", None, None),
    };
    Value {
        transaction: each.transaction,
        setting: each.setting.clone(),
        device: each.device.clone(),
        path: each.path.clone(),
        wanted: each.wanted.clone(),
        standing: standing.to_owned(),
        found: found.map(|found| found.trim().to_owned()),
        by: by.cloned(),
    }
}
