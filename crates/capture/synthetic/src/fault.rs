// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breaks a finished tree where the description says so.

use machine::Why;

use crate::text::{noise, seed};
use crate::{Entry, Fault, FaultKind, Tree};

/// Bytes that `random` and `nul-padded` make where the fault says nothing: a page.
const PAGE: u32 = 4096;

pub(crate) fn apply(tree: &mut Tree, faults: &[Fault]) {
    for fault in faults {
        let hit: Vec<String> = paths(tree)
            .filter(|path| matches(&fault.path, path))
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        hit.iter().for_each(|path| apply_one(tree, fault, path));
    }
}

/// Every path that is there, folders that are only implied included.
fn paths(tree: &Tree) -> impl Iterator<Item = String> {
    tree.entries.keys().flat_map(|path| {
        let ends = path.match_indices('/').map(|(index, _)| index).chain([path.len()]);
        ends.filter(|end| *end > 0).filter_map(|end| path.get(..end).map(str::to_owned))
    })
}

/// Whether a path fits a pattern: part by part, `*` for any text within a part.
fn matches(pattern: &str, path: &str) -> bool {
    let (patterns, parts) = (pattern.split('/'), path.split('/'));
    patterns.clone().count() == parts.clone().count()
        && patterns.zip(parts).all(|(pattern, part)| part_matches(pattern, part))
}

fn part_matches(pattern: &str, part: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == part };
    let Some(mut left) = part.strip_prefix(start) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(found) = left.find(piece) else { return false };
        left = left.get(found + piece.len()..).unwrap_or_default();
    }
    left.ends_with(last)
}

fn apply_one(tree: &mut Tree, fault: &Fault, path: &str) {
    let replacement = match fault.kind {
        FaultKind::Missing => None,
        FaultKind::Denied => Some(Entry::Refused(Why::Denied)),
        FaultKind::Eio => {
            Some(Entry::Refused(Why::Failed("Input/output error (os error 5)".to_owned())))
        }
        FaultKind::LinkLoop => {
            Some(Entry::Link(path.rsplit_once('/').map_or(path, |(_, name)| name).to_owned()))
        }
        FaultKind::Dangling => Some(Entry::Link("../nothing/there".to_owned())),
        FaultKind::Cut | FaultKind::NulPadded | FaultKind::Random | FaultKind::Mode => {
            return change_file(tree, fault, path);
        }
    };
    remove(tree, path);
    if let Some(entry) = replacement {
        tree.entries.insert(path.to_owned(), entry);
    }
}

/// Takes a path and everything below it out.
fn remove(tree: &mut Tree, path: &str) {
    let below = format!("{path}/");
    let gone: Vec<String> = tree
        .entries
        .range(below.clone()..)
        .take_while(|(name, _)| name.starts_with(&below))
        .map(|(name, _)| name.clone())
        .collect();
    gone.iter().for_each(|name| {
        tree.entries.remove(name);
    });
    tree.entries.remove(path);
}

fn change_file(tree: &mut Tree, fault: &Fault, path: &str) {
    let Some(Entry::File { bytes, mode }) = tree.entries.get_mut(path) else { return };
    let size = |usual: u32| usize::try_from(fault.value.unwrap_or(usual)).unwrap_or(0);
    match fault.kind {
        FaultKind::Cut => {
            let half = u32::try_from(bytes.len() / 2).unwrap_or(u32::MAX);
            bytes.truncate(size(half));
        }
        FaultKind::NulPadded => bytes.resize(size(PAGE).max(bytes.len()), 0),
        FaultKind::Random => {
            let start = fault.seed ^ seed(path);
            let words = (0..).map(|index| noise(start.wrapping_add(index)));
            *bytes = words.flat_map(u64::to_le_bytes).take(size(PAGE)).collect();
        }
        FaultKind::Mode => *mode = fault.value.unwrap_or(0) & 0o7777,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let mut tree = Tree::default();
        tree.line("/sys/class/net/eth0/mtu", 1500);
        tree.line("/sys/class/net/eth1/mtu", 9000);
        tree.line("/sys/class/net/eth1/speed", 100_000);
        tree
    }

    fn fault(path: &str, kind: FaultKind, value: Option<u32>) -> Fault {
        Fault { path: path.to_owned(), kind, value, seed: 1 }
    }

    #[test]
    fn patterns_stay_within_a_part() {
        let cases = [
            ("/sys/class/net/*/mtu", "/sys/class/net/eth0/mtu", true),
            ("/sys/*/mtu", "/sys/class/net/eth0/mtu", false),
            ("/sys/bus/pci/devices/0000:2*:00.0", "/sys/bus/pci/devices/0000:21:00.0", true),
            ("/a/*b*c", "/a/xbyc", true),
            ("/a/*b*c", "/a/xcyb", false),
            ("/a/b", "/a/bc", false),
        ];
        for (pattern, path, fits) in cases {
            assert_eq!(matches(pattern, path), fits, "{pattern} {path}");
        }
    }

    #[test]
    fn a_missing_folder_takes_its_files_along() {
        let mut tree = tree();
        apply(&mut tree, &[fault("/sys/class/net/eth1", FaultKind::Missing, None)]);
        assert_eq!(tree.entries.keys().collect::<Vec<_>>(), ["/sys/class/net/eth0/mtu"]);
    }

    #[test]
    fn files_are_cut_padded_and_replaced() {
        let mut tree = tree();
        let faults = [
            fault("/sys/class/net/eth0/mtu", FaultKind::Cut, Some(2)),
            fault("/sys/class/net/eth1/mtu", FaultKind::NulPadded, Some(8)),
            fault("/sys/class/net/eth1/speed", FaultKind::Random, Some(16)),
        ];
        apply(&mut tree, &faults);
        let bytes = |path: &str| match &tree.entries[path] {
            Entry::File { bytes, .. } => bytes.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(bytes("/sys/class/net/eth0/mtu"), b"15");
        assert_eq!(bytes("/sys/class/net/eth1/mtu"), b"9000\n\0\0\0");
        assert_eq!(bytes("/sys/class/net/eth1/speed").len(), 16);
    }

    #[test]
    fn a_denied_folder_hides_what_is_below() {
        let mut tree = tree();
        apply(&mut tree, &[fault("/sys/class/net", FaultKind::Denied, None)]);
        assert_eq!(tree.entries.len(), 1);
        assert_eq!(tree.entries["/sys/class/net"], Entry::Refused(Why::Denied));
    }
}
