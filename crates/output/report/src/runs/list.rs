// SPDX-License-Identifier: MIT OR Apache-2.0
//! A list of runs, the newest first.

use store::Entry;

use super::{iops, rate, time_of};
use crate::frame::{Table, paragraph};
use crate::style::{Line, Role, Style, paint};

/// Draws a list of runs, of which there are `total`.
pub fn list(entries: &[Entry], total: u64, style: &Style) -> String {
    let columns = style.columns();
    if entries.is_empty() {
        let lines = paragraph(Role::Plain, "no such run is kept", 0, columns);
        return paint(&lines, style);
    }
    let mut table = Table::new(3).cap(1, 9).cap(2, 34);
    table.heading(&["ID (UTC)", "ENGINE", "RESULT", "WHAT"]);
    for entry in entries {
        table.row(row(entry));
    }
    let mut lines = table.lines(columns);
    let shown = u64::try_from(entries.len()).unwrap_or(u64::MAX);
    if shown < total {
        let text = format!("{shown} newest of {total}; --all lists the others");
        lines.push(Line::default());
        lines.extend(paragraph(Role::Dim, &text, 0, columns));
    }
    paint(&lines, style)
}

fn row(entry: &Entry) -> Vec<(Role, String)> {
    let what = [entry.target.as_deref(), entry.note.as_deref(), entry.why.as_deref()];
    let what: Vec<&str> = what.into_iter().flatten().collect();
    let (role, result) = result(entry);
    vec![
        (Role::Strong, entry.id.clone()),
        (Role::Plain, entry.engine.clone()),
        (role, result),
        (Role::Plain, what.join("; ")),
    ]
}

fn result(entry: &Entry) -> (Role, String) {
    let (Some(operations), Some(bytes)) = (entry.iops, entry.bytes_per_second) else {
        let role = if entry.outcome == "failed" { Role::Bad } else { Role::Warn };
        return (role, entry.outcome.clone());
    };
    let mut parts = vec![iops(operations), rate(bytes)];
    parts.extend(entry.p99_ns.map(|ns| format!("p99 {}", time_of(ns))));
    let role = if entry.doubts > 0 { Role::Warn } else { Role::Plain };
    // Told in words too, for nothing is told by colour alone.
    parts.extend((entry.doubts > 0).then(|| "doubtful".to_owned()));
    (role, parts.join(", "))
}
