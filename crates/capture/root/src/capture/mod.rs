// SPDX-License-Identifier: MIT OR Apache-2.0
//! The capture file: a record of answers, written down and opened again.
//!
//! A capture is a `.tar.zst`. Its first entry, `nearside-capture.json`, says what a tree cannot:
//! which folders were listed, what was refused and why, answers that are no files. The rest is the
//! tree itself, so that tar and other tools can use it. The same record gives the same bytes.

mod entries;
mod names;
mod pack;
mod restore;
mod write;

use std::collections::BTreeMap;

use machine::{Fact, Why};
use serde::{Deserialize, Serialize};

pub use restore::FormatError;
pub(crate) use restore::restore;
pub use write::{Overwrite, Written};

/// The entry that makes an archive a capture.
pub(crate) const HEADER: &str = "nearside-capture.json";

/// The format that is written; one with the same number before the dot is read.
const FORMAT: &str = "capture/1";

/// What a capture says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct About {
    /// Version of nearside that made it.
    #[serde(default)]
    pub nearside: String,
    /// Kernel release of the machine.
    #[serde(default)]
    pub kernel: String,
    /// When, as RFC 3339; the caller's clock.
    #[serde(default)]
    pub time: String,
    /// Whether serials, addresses and names were replaced.
    #[serde(default)]
    pub redacted: bool,
}

/// The first entry. What a newer minor version adds is skipped.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Header {
    format: String,
    #[serde(flatten)]
    about: About,
    /// Folders that were listed: their names where the tree below holds others, else nothing.
    #[serde(default)]
    lists: BTreeMap<String, Option<Vec<String>>>,
    /// What answers otherwise than the tree does.
    #[serde(default)]
    odd: BTreeMap<String, OddText>,
    /// Questions and answers. Kept as values, because a newer minor version may ask others.
    #[serde(default)]
    answers: Vec<serde_json::Value>,
}

/// What a path answers instead of what the tree says.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct OddText {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read: Option<Why>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    broken: Option<Why>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    list: Option<Why>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    link: Option<Why>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resolve: Option<Why>,
    /// Why `..` leads nowhere from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    climb: Option<Why>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<Fact<u32>>,
}

#[cfg(test)]
mod tests;
