// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times and names of runs.

use record::{FormatError, Run};

/// RFC 3339 in UTC, to the millisecond: `2026-03-01T12:00:00.250Z`. What no calendar has is its
/// beginning.
pub fn rfc3339(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// What of a run contradicts what; none where all of it can be true.
pub(crate) fn contradiction(run: &Run) -> Option<String> {
    match run.check() {
        Ok(()) => None,
        Err(FormatError::Contradiction(what)) => Some(what),
        Err(error) => Some(error.to_string()),
    }
}

/// A name that sorts by time and is that of this record alone: the same output read twice has the
/// same, so that an import is no second run.
pub fn id(run: &Run) -> String {
    let named = Run { id: String::new(), ..run.clone() };
    let text = serde_json::to_string(&named).unwrap_or_default();
    let digits = |from: &str| from.chars().filter(char::is_ascii_digit).collect::<String>();
    let (day, time) = run.started.split_once('T').unwrap_or((&run.started, ""));
    let hash = blake3::hash(text.as_bytes()).to_hex();
    let hash = hash.get(..10).unwrap_or_default();
    let time = time.get(..8).unwrap_or_default();
    format!("{}-{}-{hash}", digits(day), digits(time))
}
