// SPDX-License-Identifier: MIT OR Apache-2.0
//! How packages are split into nodes, in the catalogue's words.

use machine::{Machine, SubNumaKind};

/// The word for how packages are split into nodes, none where it cannot be told, and why.
pub(crate) fn sub_numa(machine: &Machine) -> (Option<String>, String) {
    let split = machine.sub_numa();
    let word = match split.kind {
        SubNumaKind::None => Some("off".to_owned()),
        SubNumaKind::L3 => Some("l3".to_owned()),
        SubNumaKind::Snc | SubNumaKind::Nps | SubNumaKind::Cod => {
            Some(format!("{}-{}", split.kind, split.per_package))
        }
        SubNumaKind::Unknown => None,
    };
    (word, split.why)
}
