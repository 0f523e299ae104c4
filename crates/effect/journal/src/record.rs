// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a line of the journal says.

use serde::{Deserialize, Serialize};
use setting::{Device, Form, Outcome, Place, Undone};

use crate::Raw;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "record")]
pub enum Record {
    /// The first line: what this file is.
    Journal {
        /// `journal/1`.
        schema: String,
        /// Minor version: what was added since.
        minor: u32,
        /// Number of the last transaction when the file was written anew: none is used twice.
        last: u64,
    },
    /// A transaction begins.
    Begin(Begin),
    /// A change is going to be made.
    Intend {
        /// Transaction.
        transaction: u64,
        /// Change, from 0 in each transaction.
        index: usize,
        /// The change.
        intent: Box<Intent>,
    },
    /// All intentions of a transaction are on disk; from here on there may be writes.
    Ready {
        /// Transaction.
        transaction: u64,
    },
    /// A change was tried and has to wait for others: it comes after them.
    Wait {
        /// Transaction.
        transaction: u64,
        /// Change.
        index: usize,
    },
    /// What came of a change.
    Receipt {
        /// Transaction.
        transaction: u64,
        /// Change.
        index: usize,
        /// What came.
        receipt: Receipt,
    },
    /// The transaction wrote its last.
    End {
        /// Transaction.
        transaction: u64,
        /// How it ended.
        how: End,
    },
    /// What guards the transaction takes it back then, unless it is confirmed before.
    Due {
        /// Transaction.
        transaction: u64,
        /// When.
        due: Due,
    },
    /// A person confirmed it in time.
    Confirm {
        /// Transaction.
        transaction: u64,
    },
    /// Changes are going to be undone. What others set meanwhile, and the undoing may disturb, is
    /// kept with its value.
    Undoing {
        /// Transaction.
        transaction: u64,
        /// Changes.
        indexes: Vec<usize>,
        /// Values of others to be put back.
        kept: Vec<Kept>,
    },
    /// What came of undoing a change.
    Undo {
        /// Transaction.
        transaction: u64,
        /// Change.
        index: usize,
        /// What came.
        undone: Undone,
    },
    /// An older change of the same place was taken back: this one goes back to the older bytes now.
    Inherit {
        /// Transaction.
        transaction: u64,
        /// Change.
        index: usize,
        /// Its bytes from before, from now on.
        before: Raw,
    },
}

/// The head of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// Its number: they only grow.
    pub transaction: u64,
    /// `/proc/sys/kernel/random/boot_id` of its day.
    pub boot: String,
    /// When, as the caller writes times (RFC 3339).
    pub at: String,
    /// The nearside that made it.
    pub version: String,
    /// Why: the command as typed. Nothing that nearside is told on a command line is a secret.
    pub why: String,
    /// Who made it; none where that was not told, and before minor version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The network namespace that it was made in, as `/proc/self/ns/net` links to it:
    /// `net:[4026531840]`. None where that is not told, and before minor version 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// What takes it back by itself; none where nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Guard>,
}

/// Who made a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The user that it was made as.
    pub user: u32,
    /// The user that had logged in; none where no login began it, as at boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<u32>,
    /// What the one that logged in, else the other, was called on that machine then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// What takes a transaction back by itself unless a person confirms it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// What it knows the transaction by: no other one has it, in any journal.
    pub token: String,
    /// Seconds that a person has, from the end of the transaction.
    pub seconds: u64,
}

/// When what guards a transaction takes it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due {
    /// Seconds since this boot began, time asleep included (`CLOCK_BOOTTIME`): no clock that is set
    /// moves it.
    pub at_s: u64,
    /// The same for people (RFC 3339).
    pub by: String,
}

/// A change that is going to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Catalogue entry.
    pub setting: String,
    /// Whose value it is; none for the machine's.
    pub device: Option<Device>,
    /// Where it is written.
    pub place: Place,
    /// Which of the files that the place stands for, by the name that filled its `*`, or by the
    /// qualified name of an NVMe subsystem; empty where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    /// Where that was when the change was made.
    pub path: String,
    /// How values are compared.
    pub form: Form,
    /// What was there.
    pub before: Raw,
    /// What is wanted, in the form's canonical spelling.
    pub to: String,
    /// Values that the write is known to move.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub witnesses: Vec<Witness>,
}

/// A value beside a change that the change is known to move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// Whose value it is.
    pub device: Option<Device>,
    /// Where it is.
    pub place: Place,
    /// As in [`Intent::part`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    /// How values are compared.
    pub form: Form,
    /// What was there.
    pub before: Raw,
}

/// What came of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// By what was read back.
    pub outcome: Outcome,
    /// What was read back; none where nothing could be.
    pub after: Option<Raw>,
    /// What the witnesses read then, in their order, none where that could not be told; empty where
    /// nothing was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub witnesses: Vec<Option<Raw>>,
    /// Where it was written, if that differs from where it was to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// All of it was tried.
    Done,
    /// A change failed, and the rest was not tried.
    Failed,
}

/// Changes that are being undone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Undoing {
    /// Those of which it is not told yet what came.
    pub indexes: Vec<usize>,
    /// Values of others to be put back.
    pub kept: Vec<Kept>,
}

/// A value that belongs to somebody else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Whose value it is.
    pub device: Option<Device>,
    /// Where it is.
    pub place: Place,
    /// As in [`Intent::part`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    /// The value.
    pub value: Raw,
}
