// SPDX-License-Identifier: MIT OR Apache-2.0
//! `receipts/1`, `reverts/1`, `verification/1` and `transactions/1`: what came of changes.

use apply::{Ending, Standing, Unconfirmed};
use journal::Transaction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use setting::{Left, Outcome, Undone};

use super::plan::{PlanLeft, left};
use crate::change::Standings;

/// The document `receipts/1`: what came of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipts {
    /// Name and version of this format: `receipts/1`.
    pub schema: String,
    /// The transaction that takes it all back; null where nothing was written.
    pub transaction: Option<u64>,
    /// `done`; `undone`: a change failed and the others were taken back; `stuck`: and that failed.
    pub ending: String,
    /// Whether it was taken back because somebody interrupted it.
    #[serde(default)]
    pub interrupted: bool,
    /// What came of each value.
    pub receipts: Vec<Receipt>,
    /// What was asked for by name and cannot be done here. Nothing is written then, unless told to
    /// keep going.
    #[serde(default)]
    pub impossible: Vec<PlanLeft>,
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
    /// What came of taking it back with its transaction, in the classes of `reverts/1`; null where
    /// it was not tried.
    #[serde(default)]
    pub undone: Option<String>,
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
    /// `nothing`, `restored`, `kept`, `inherited`, `reset`, `missing`, `elsewhere`, `failed`.
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
    /// Whether anything does not hold, or was cut short.
    pub drift: bool,
    /// Transactions whose process died on the way: `nearside revert` takes them back.
    #[serde(default)]
    pub cut_short: Vec<u64>,
    /// Transactions that are taken back unless somebody confirms them.
    #[serde(default)]
    pub awaiting: Vec<Awaiting>,
    /// How each value stands.
    pub values: Vec<Value>,
}

/// A transaction that nobody has confirmed yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Awaiting {
    /// Its number.
    pub transaction: u64,
    /// Seconds that are left to do so; null where that is not told.
    pub left_s: Option<u64>,
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
    /// `not-yet-effective`, `reset`, `outdated`, `missing`, `elsewhere`, `unknown`.
    pub standing: String,
    /// The value that is there, where it is another; null otherwise.
    pub found: Option<String>,
    /// The service that writes it, where one is known to; null otherwise.
    pub by: Option<String>,
    /// Why it is unknown; null where it is not.
    pub why: Option<String>,
}

/// The document `transactions/1`: what can be taken back, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Transactions {
    /// Name and version of this format: `transactions/1`.
    pub schema: String,
    /// The transactions.
    pub transactions: Vec<Listed>,
}

/// A transaction that can be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
    /// Its number.
    pub transaction: u64,
    /// When it was made (RFC 3339).
    pub at: String,
    /// The command as typed.
    pub why: String,
    /// Who made it; null where that was not told.
    pub owner: Option<Owner>,
    /// The nearside that made it.
    pub version: String,
    /// The boot in which it was made (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
    /// Values that are not taken back yet.
    pub values: u64,
    /// Whether its process died on the way.
    pub cut_short: bool,
    /// Whether it is taken back unless somebody confirms it.
    pub waits: bool,
    /// Seconds that are left to confirm it; null where that is not told, and where it stays.
    pub left_s: Option<u64>,
}

/// Who made a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Owner {
    /// Id of the user that it was made as.
    pub user: u32,
    /// Id of the user that had logged in; null where no login began it, as at boot.
    pub login: Option<u32>,
    /// What the one that logged in, else the other, was called; null where that is not told.
    pub name: Option<String>,
}

/// What can be taken back.
pub fn transactions(all: &[Transaction], waiting: &[Unconfirmed]) -> Transactions {
    let listed = |each: &Transaction| {
        let own = waiting.iter().find(|one| one.transaction == each.begin.transaction);
        let left = each.entries.iter().filter(|entry| !entry.is_settled()).count();
        Listed {
            transaction: each.begin.transaction,
            at: each.begin.at.clone(),
            why: each.begin.why.clone(),
            owner: each.begin.owner.clone().map(|owner| Owner {
                user: owner.user,
                login: owner.login,
                name: owner.name,
            }),
            version: each.begin.version.clone(),
            boot: each.begin.boot.clone(),
            values: u64::try_from(left).unwrap_or(u64::MAX),
            cut_short: each.is_cut_short(),
            waits: own.is_some(),
            left_s: own.and_then(|own| own.left_s),
        }
    };
    Transactions {
        schema: "transactions/1".to_owned(),
        transactions: all.iter().rev().map(listed).collect(),
    }
}

/// What came of a plan; `impossible` is what was named and cannot be.
pub fn receipts(came: &apply::Receipts, impossible: &[Left]) -> Receipts {
    let ending = match came.ending {
        Ending::Done => "done",
        Ending::Undone => "undone",
        Ending::Stuck => "stuck",
    };
    Receipts {
        schema: "receipts/1".to_owned(),
        transaction: came.transaction,
        ending: ending.to_owned(),
        interrupted: came.is_interrupted,
        receipts: came.receipts.iter().map(receipt).collect(),
        impossible: impossible.iter().map(left).collect(),
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
        undone: each.undone.as_ref().map(|undone| undone_class(undone).to_owned()),
    }
}

/// What was taken back.
pub fn reverts(all: &[apply::Reverted]) -> Reverts {
    Reverts { schema: "reverts/1".to_owned(), reverts: all.iter().map(revert).collect() }
}

fn revert(each: &apply::Reverted) -> Revert {
    let class = undone_class(&each.undone);
    let (found, why) = match &each.undone {
        Undone::Kept { found } => (Some(found), None),
        Undone::Failed { why } => (None, Some(why)),
        _ => (None, None),
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

fn undone_class(undone: &Undone) -> &'static str {
    match undone {
        Undone::Nothing => "nothing",
        Undone::Restored => "restored",
        Undone::Kept { .. } => "kept",
        Undone::Inherited => "inherited",
        Undone::Reset => "reset",
        Undone::Missing => "missing",
        Undone::Elsewhere => "elsewhere",
        Undone::Failed { .. } => "failed",
    }
}

/// How changes stand.
pub fn verification(found: &Standings<'_>) -> Verification {
    let awaiting =
        |each: &Unconfirmed| Awaiting { transaction: each.transaction, left_s: each.left_s };
    let is_drift = found.values.iter().any(apply::Verified::is_drift);
    Verification {
        schema: "verification/1".to_owned(),
        drift: is_drift || !found.cut_short.is_empty(),
        cut_short: found.cut_short.to_vec(),
        awaiting: found.waiting.iter().map(awaiting).collect(),
        values: found.values.iter().map(value).collect(),
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
        Standing::Outdated => ("outdated", None, None),
        Standing::Reset => ("reset", None, None),
        Standing::Elsewhere => ("elsewhere", None, None),
        Standing::Missing => ("missing", None, None),
        Standing::Unknown { .. } => ("unknown", None, None),
    };
    let why = match &each.standing {
        Standing::Unknown { why } => Some(why.to_string()),
        _ => None,
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
        why,
    }
}
