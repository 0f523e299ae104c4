// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many names as few words, each still to be found: `nvme0n1 … nvme11n1`, `sda … sdh`.

use std::cmp::Ordering;

use crate::text;

/// From this many on, consecutive names are written as first and last.
const RUN: usize = 3;

/// The names in natural order, consecutive ones joined.
pub(crate) fn compact<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by(|a, b| natural(a, b));
    names.dedup();
    let mut runs: Vec<Vec<&str>> = Vec::new();
    for name in names {
        match runs.last_mut() {
            Some(run) if run.last().is_some_and(|last| follows(last, name)) => run.push(name),
            _ => runs.push(vec![name]),
        }
    }
    runs.iter().map(|run| joined(run)).collect::<Vec<_>>().join(", ")
}

/// The same in at most `columns`: as many as fit whole, and how many more there are.
pub(crate) fn within<'a>(names: impl IntoIterator<Item = &'a str>, columns: usize) -> String {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by(|a, b| natural(a, b));
    names.dedup();
    let whole = compact(names.iter().copied());
    if text::width(&whole) <= columns {
        return whole;
    }
    let number = names.len();
    let fits = (1..number).rev().find_map(|shown| {
        let first = compact(names.iter().take(shown).copied());
        let text = format!("{first} + {}", number - shown);
        (text::width(&text) <= columns).then_some(text)
    });
    fits.unwrap_or(whole)
}

fn joined(run: &[&str]) -> String {
    match run {
        // No-break spaces keep the two ends on one line where there is room.
        [first, .., last] if run.len() >= RUN => format!("{first}\u{a0}…\u{a0}{last}"),
        _ => run.join(", "),
    }
}

/// Order in which numbers inside names count as numbers: `nvme2n1` before `nvme10n1`, `sdz` before
/// `sdaa`.
pub(crate) fn natural(a: &str, b: &str) -> Ordering {
    let keys = |name| parts(name).into_iter().map(sortable);
    keys(a).cmp(keys(b)).then_with(|| a.cmp(b))
}

fn sortable(part: Part<'_>) -> (u64, usize, &str) {
    match part {
        Part::Number(number) => (number, 0, ""),
        Part::Word(word) => (0, disk_letters(word).map_or(0, str::len), word),
    }
}

/// The letters after `sd`, `vd`, `hd`, `xvd`: they count in base 26.
fn disk_letters(word: &str) -> Option<&str> {
    ["xvd", "sd", "vd", "hd"]
        .iter()
        .find_map(|prefix| word.strip_prefix(prefix))
        .filter(|letters| !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_lowercase()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    Number(u64),
    Word(&'a str),
}

/// Stretches of digits and of everything else. A number that does not fit stays a word.
fn parts(name: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let digits = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(rest.len());
        let (part, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        parts.push(part.parse().map_or(Part::Word(part), Part::Number));
        rest = after;
    }
    parts
}

/// Whether `b` is the next name after `a`: one number is one higher, or the disk letters are.
fn follows(a: &str, b: &str) -> bool {
    if let (Some(x), Some(y)) = (letters_value(a), letters_value(b)) {
        return x.checked_add(1) == Some(y) && a.bytes().next() == b.bytes().next();
    }
    let (a, b) = (parts(a), parts(b));
    if a.len() != b.len() {
        return false;
    }
    let mut steps = a.iter().zip(&b).filter(|(x, y)| x != y);
    match (steps.next(), steps.next()) {
        (Some((Part::Number(x), Part::Number(y))), None) => x.checked_add(1) == Some(*y),
        _ => false,
    }
}

fn letters_value(name: &str) -> Option<u64> {
    disk_letters(name)?.bytes().try_fold(0_u64, |value, byte| {
        value.checked_mul(26)?.checked_add(u64::from(byte.checked_sub(b'a')?) + 1)
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn consecutive_names_join_and_others_stay() {
        let nvme: Vec<String> = (0..12).map(|n| format!("nvme{n}n1")).collect();
        let compact = |names: &[&str]| super::compact(names.iter().copied()).replace('\u{a0}', " ");
        let nvme: Vec<&str> = nvme.iter().map(String::as_str).collect();
        assert_eq!(compact(&nvme), "nvme0n1 … nvme11n1");
        assert_eq!(compact(&["sdb", "sda", "sdc", "sdh"]), "sda … sdc, sdh");
        assert_eq!(compact(&["sdz", "sdaa", "sdy"]), "sdy … sdaa");
        assert_eq!(compact(&["eth0", "eth1", "eth10"]), "eth0, eth1, eth10");
        assert_eq!(compact(&["ens1f0np0", "ens1f1np1"]), "ens1f0np0, ens1f1np1");
        assert_eq!(compact(&["99999999999999999999", "b"]), "99999999999999999999, b");
        assert_eq!(compact(&[]), "");
    }
}
