// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of text, each a fact, and how two sets of them differ.

use std::collections::BTreeSet;

use support::{Failed, failed};

pub(crate) type Facts = BTreeSet<String>;

/// Fails with every fact that only one side knows.
pub(crate) fn same(who: &str, wanted: &Facts, said: &Facts) -> Result<(), Failed> {
    let missing = wanted.difference(said).map(|fact| format!("  not said: {fact}"));
    let extra = said.difference(wanted).map(|fact| format!("  but said: {fact}"));
    let all: Vec<String> = missing.chain(extra).collect();
    if all.is_empty() {
        return Ok(());
    }
    Err(failed(format!("{who} and the machine's file differ:\n{}", all.join("\n"))))
}

/// The numbers of a kernel list: `0-3,8` is 0, 1, 2, 3 and 8.
pub(crate) fn numbers(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.trim().parse().ok()?..=to.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}
