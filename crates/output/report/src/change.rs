// SPDX-License-Identifier: MIT OR Apache-2.0
//! What came of changes, for a terminal: what was written, what was taken back, what still holds.
//!
//! Alike lines of several devices are one, so that a thousand CPUs are a line and not a thousand.

use apply::{Ending, Receipt, Receipts, Reverted, Standing, Verified};
use setting::{Outcome, Undone};

use crate::frame::{Table, paragraph};
use crate::style::{Role, Style, paint};
use crate::{text, words};

/// Which lines are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Those that a person has to know of.
    Notable,
    /// All.
    All,
}

/// One value, in the words of its line.
struct Row {
    word: &'static str,
    role: Role,
    setting: String,
    device: Option<String>,
    text: String,
}

/// Draws what came of a plan.
pub fn receipts(came: &Receipts, lines: Lines, style: &Style) -> String {
    let is_equal = |receipt: &&Receipt| receipt.outcome == Outcome::Equal;
    let shown = came.receipts.iter().filter(|each| lines == Lines::All || !is_equal(each));
    draw(&receipts_summary(came), shown.map(receipt_row).collect(), style)
}

fn receipts_summary(came: &Receipts) -> String {
    let equal = came.receipts.iter().filter(|each| each.outcome == Outcome::Equal).count();
    let written = came.receipts.len() - equal;
    let so_before = match equal {
        0 => String::new(),
        many => format!("; {} so before", was(many)),
    };
    match (came.ending, came.transaction) {
        (Ending::Done, None) if written == 0 => "Nothing to change: all is as wanted.".to_owned(),
        (Ending::Done, None) => "Nothing was written.".to_owned(),
        (Ending::Done, Some(id)) => {
            format!("Transaction {id}: {} tried{so_before}.", text::count(written, "write"))
        }
        (Ending::Undone, None) => "Nothing was written: a change cannot be made.".to_owned(),
        (Ending::Undone, Some(id)) => {
            format!("Transaction {id}: a change failed, and all others were taken back.")
        }
        (Ending::Stuck, id) => format!(
            "Transaction {}: a change failed, and so did taking back the others. A person must look.",
            id.unwrap_or_default()
        ),
    }
}

fn was(many: usize) -> String {
    if many == 1 { "1 was".to_owned() } else { format!("{many} were") }
}

fn receipt_row(receipt: &Receipt) -> Row {
    let Receipt { setting, device, before, wanted, outcome, note, path } = receipt;
    let step = format!("{} → {wanted}", before.trim());
    let (word, role, text) = match outcome {
        Outcome::Equal => ("as wanted", Role::Dim, wanted.clone()),
        Outcome::Applied => ("applied", Role::Good, step),
        Outcome::Rounded { came } => {
            ("rounded", Role::Warn, format!("{} → {came} (asked: {wanted})", before.trim()))
        }
        Outcome::Dropped => {
            ("dropped", Role::Bad, format!("{step}: accepted, and the old value stayed"))
        }
        Outcome::Managed => ("managed", Role::Dim, "the kernel places it by itself".to_owned()),
        Outcome::Unsupported { errno } => {
            ("unsupported", Role::Warn, format!("{step}: not here ({errno}, {path})"))
        }
        Outcome::Busy { errno } => {
            ("busy", Role::Bad, format!("{step}: held by something else ({errno}, {path})"))
        }
        Outcome::Denied { errno } => {
            ("denied", Role::Bad, format!("{step}: not allowed ({errno}, {path})"))
        }
        Outcome::Refused { errno } => {
            ("refused", Role::Bad, format!("{step}: the kernel says {errno} ({path})"))
        }
        Outcome::Lost => ("lost", Role::Bad, "the device is gone".to_owned()),
    };
    let text = match note {
        Some(note) => format!("{text}; {note}"),
        None => text,
    };
    Row { word, role, setting: setting.clone(), device: device.clone(), text }
}

/// Draws what was taken back.
pub fn reverted(all: &[Reverted], lines: Lines, style: &Style) -> String {
    let is_notable = |each: &&Reverted| {
        lines == Lines::All || !matches!(each.undone, Undone::Nothing | Undone::Inherited)
    };
    let count = |is: fn(&Undone) -> bool| all.iter().filter(|each| is(&each.undone)).count();
    let restored = count(|undone| matches!(undone, Undone::Restored));
    let kept = count(|undone| matches!(undone, Undone::Kept { .. }));
    let failed = count(|undone| matches!(undone, Undone::Failed { .. }));
    let missing = count(|undone| matches!(undone, Undone::Missing));
    let mut summary = match all.len() {
        0 => "Nothing to take back.".to_owned(),
        _ => format!("{} taken back, byte for byte", text::count(restored, "value")),
    };
    let more = [
        (kept, "changed by others and kept"),
        (missing, "waiting for a device that is gone"),
        (failed, "failed"),
    ];
    for (many, what) in more.into_iter().filter(|(many, _)| *many > 0) {
        summary += &format!("; {many} {what}");
    }
    if !all.is_empty() {
        summary.push('.');
    }
    draw(&summary, all.iter().filter(is_notable).map(reverted_row).collect(), style)
}

fn reverted_row(each: &Reverted) -> Row {
    let before = each.before.trim();
    let (word, role, text) = match &each.undone {
        Undone::Nothing => ("unchanged", Role::Dim, format!("it is {before}")),
        Undone::Restored => ("restored", Role::Good, format!("→ {before}")),
        Undone::Kept { found } => (
            "kept",
            Role::Warn,
            format!("somebody set {} since; --force writes {before}", found.trim()),
        ),
        Undone::Inherited => ("inherited", Role::Dim, "a newer change builds on it".to_owned()),
        Undone::Reset => ("reset", Role::Dim, "a reboot has reset it".to_owned()),
        Undone::Missing => {
            ("missing", Role::Warn, format!("the device is gone; {before} when it returns"))
        }
        Undone::Failed { why } => {
            ("failed", Role::Bad, format!("→ {before}: {why} ({})", each.path))
        }
    };
    Row { word, role, setting: each.setting.clone(), device: each.device.clone(), text }
}

/// Draws how changes stand.
pub fn verified(all: &[Verified], lines: Lines, style: &Style) -> String {
    let off = all.iter().filter(|each| each.is_drift()).count();
    let summary = match (all.len(), off) {
        (0, _) => "Nothing is applied.".to_owned(),
        (1, 0) => "The one value holds.".to_owned(),
        (many, 0) => format!("All {many} values hold."),
        (many, off) => format!("Of {}, {off} not as set.", text::count(many, "value")),
    };
    let is_notable = |each: &&Verified| lines == Lines::All || each.standing != Standing::AsSet;
    draw(&summary, all.iter().filter(is_notable).map(verified_row).collect(), style)
}

fn verified_row(each: &Verified) -> Row {
    let wanted = &each.wanted;
    let (word, role, text) = match &each.standing {
        Standing::AsSet => ("holds", Role::Good, wanted.clone()),
        Standing::Drifted { found } => {
            ("drifted", Role::Bad, format!("{wanted} → {}: somebody changed it", found.trim()))
        }
        Standing::Overridden { found, by } => {
            ("overridden", Role::Bad, format!("{wanted} → {}: {by} writes it", found.trim()))
        }
        Standing::LostOnReopen { found } => (
            "lost",
            Role::Bad,
            format!("{wanted} → {}: the device was opened or loaded again", found.trim()),
        ),
        Standing::CpusOffline { found } => {
            ("offline", Role::Bad, format!("{wanted} → {}: its CPUs are offline", found.trim()))
        }
        Standing::NotYetEffective { effective } => (
            "waiting",
            Role::Dim,
            format!("{wanted}; still on {effective}, since no interrupt came"),
        ),
        Standing::Reset => ("reset", Role::Warn, format!("{wanted}: a reboot has reset it")),
        Standing::Missing => ("missing", Role::Warn, format!("{wanted}: the device is gone")),
        Standing::Unknown { why } => ("unknown", Role::Warn, format!("{wanted}: {why}")),
    };
    Row { word, role, setting: each.setting.clone(), device: each.device.clone(), text }
}

/// A summary, and a table of rows, those that are alike as one.
fn draw(summary: &str, rows: Vec<Row>, style: &Style) -> String {
    let columns = style.columns();
    let mut lines = paragraph(Role::Strong, &text::harmless(summary), 0, columns);
    let mut table = Table::new(3);
    for (row, devices) in merged(rows) {
        table.row(vec![
            (row.role, row.word.to_owned()),
            (Role::Plain, text::harmless(&row.setting)),
            (Role::Plain, text::harmless(&words::devices(devices.iter().map(String::as_str)))),
            (Role::Dim, text::harmless(&row.text)),
        ]);
    }
    lines.extend(table.lines(columns));
    paint(&lines, style)
}

/// Rows that say the same of several devices become one, at the place of the first.
fn merged(rows: Vec<Row>) -> Vec<(Row, Vec<String>)> {
    let mut merged: Vec<(Row, Vec<String>)> = Vec::new();
    let mut known = std::collections::BTreeMap::new();
    for row in rows {
        let key = (row.word, row.setting.clone(), row.text.clone(), row.device.is_some());
        let at = *known.entry(key).or_insert(merged.len());
        let device = row.device.clone();
        if at == merged.len() {
            merged.push((row, Vec::new()));
        }
        if let Some((_, devices)) = merged.get_mut(at) {
            devices.extend(device.filter(|device| !devices.contains(device)));
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(device: &str, outcome: Outcome) -> Receipt {
        Receipt {
            setting: "block-scheduler".to_owned(),
            device: Some(device.to_owned()),
            path: format!("/sys/block/{device}/queue/scheduler"),
            before: "[mq-deadline] none\n".to_owned(),
            wanted: "none".to_owned(),
            outcome,
            note: None,
        }
    }

    #[test]
    fn alike_receipts_are_one_line_and_what_was_equal_is_counted() {
        let receipts =
            ["nvme0n1", "nvme1n1", "nvme2n1"].map(|name| receipt(name, Outcome::Applied));
        let mut receipts = receipts.to_vec();
        receipts.push(receipt("sda", Outcome::Equal));
        receipts.push(receipt("sdb", Outcome::Refused { errno: "EINVAL".to_owned() }));
        let came = Receipts {
            transaction: Some(4),
            receipts,
            ending: Ending::Done,
            is_interrupted: false,
        };
        let drawn = super::receipts(&came, Lines::Notable, &Style::default());
        assert!(drawn.starts_with("Transaction 4: 4 writes tried; 1 was so before."), "{drawn}");
        assert!(drawn.contains("nvme0n1, nvme1n1, nvme2n1"), "{drawn}");
        assert!(drawn.contains("EINVAL"), "{drawn}");
        assert_eq!(drawn.matches("applied").count(), 1, "{drawn}");
    }

    #[test]
    fn others_values_and_missing_devices_are_told_in_the_first_line() {
        let each = |undone| Reverted {
            transaction: 1,
            setting: "swappiness".to_owned(),
            device: None,
            path: "/proc/sys/vm/swappiness".to_owned(),
            before: "60\n".to_owned(),
            undone,
        };
        let all = [
            each(Undone::Restored),
            each(Undone::Kept { found: "7\n".to_owned() }),
            each(Undone::Missing),
        ];
        let drawn = reverted(&all, Lines::Notable, &Style::default());
        let first =
            "1 value taken back, byte for byte; 1 changed by others and kept; 1 waiting for a";
        assert!(drawn.starts_with(first), "{drawn}");
        assert!(drawn.contains("somebody set 7 since; --force writes 60"), "{drawn}");
    }
}
