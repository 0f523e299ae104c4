// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits that zero each other, taken back: 0 cannot be written to those in bytes
//! (mm/page-writeback.c), and writing the one that counts makes the other 0.

use setting::{Place, Planned, counterpart};

use super::quote::{comment, quote};

/// The lines that bring a limit back to 0, among all that are taken back; none where something else
/// is to be written.
pub(super) fn lines(planned: &Planned, all: &[&Planned]) -> Option<Vec<String>> {
    let path = file(planned)?;
    let other = counterpart(path)?;
    if !is_zero(planned) {
        return None;
    }
    let rivals = || all.iter().filter(|one| file(one) == Some(other.as_str()));
    if rivals().any(|one| one.from.is_ok() && !is_zero(one)) {
        return Some(vec![comment(&format!("0 comes with {other}"))]);
    }
    let ratio = if path.ends_with("ratio") { path } else { other.as_str() };
    if rivals().any(|one| is_zero(one)) {
        // Both were 0: a ratio of 1 takes the bytes away, then it may go itself.
        let put = |value: u32| format!("put \"$ROOT\"{} '{value}'", quote(ratio));
        return Some(vec![put(1), put(0)]);
    }
    let what = format!("{path}: what {other} was is not known, and 0 comes with it alone");
    (ratio != path).then(|| vec![format!("fail {}", quote(&what))])
}

fn file(planned: &Planned) -> Option<&str> {
    match &planned.place {
        Place::File { path } => Some(path),
        _ => None,
    }
}

fn is_zero(planned: &Planned) -> bool {
    planned.from.as_deref().is_ok_and(|from| from.trim() == "0")
}
