// SPDX-License-Identifier: MIT OR Apache-2.0
//! How packages are split into nodes, in the catalogue's words.

use machine::{InterleavingState, Machine, SubNumaKind};

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

/// `on` or `off`, none where it cannot be told, and why.
pub(crate) fn interleaving(machine: &Machine) -> (Option<&'static str>, String) {
    let interleaving = machine.node_interleaving();
    let word = match interleaving.state {
        InterleavingState::On => "on",
        InterleavingState::Off | InterleavingState::ByNature => "off",
        InterleavingState::Unknown => return (None, interleaving.why),
    };
    // A node that is offline leaves its package's CPUs on no node at all.
    let lost = machine.cpus.threads.iter().find(|thread| thread.online && thread.node.is_none());
    match lost {
        Some(thread) => (None, format!("CPU {} is online and on no node", thread.cpu)),
        None => (Some(word), interleaving.why),
    }
}
