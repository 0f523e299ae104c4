// SPDX-License-Identifier: MIT OR Apache-2.0
//! What came of changes, for a terminal: what was written, what was taken back, what still holds.
//!
//! Alike lines of several devices are one, so that a thousand CPUs are a line and not a thousand.

use apply::{Ending, Receipt, Receipts, Reverted, Standing, Unconfirmed, Verified};
use journal::{Owner, Transaction};
use setting::{Left, Outcome, Undone};

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

/// What a plan left out.
#[derive(Debug, Clone, Copy, Default)]
pub struct LeftOut<'a> {
    /// What was asked for by name and cannot be done.
    pub named: &'a [Left],
    /// How much else is left to others.
    pub others: usize,
}

/// Whether the kernel was asked to take it: what is not there, is placed by the kernel or may not be
/// read was not.
fn is_tried(outcome: &Outcome) -> bool {
    !matches!(
        outcome,
        Outcome::Equal | Outcome::Managed | Outcome::Unsupported { .. } | Outcome::Denied { .. }
    )
}

/// Draws what came of a plan.
pub fn receipts(came: &Receipts, left: LeftOut<'_>, lines: Lines, style: &Style) -> String {
    let is_equal = |receipt: &&Receipt| receipt.outcome == Outcome::Equal;
    let shown = came.receipts.iter().filter(|each| lines == Lines::All || !is_equal(each));
    let rows = left.named.iter().flat_map(left_rows).chain(shown.map(receipt_row));
    draw(&receipts_summary(came, left), rows.collect(), style)
}

/// One row a device: those that are alike become one line.
fn left_rows(left: &Left) -> Vec<Row> {
    let row = |device: Option<&String>| Row {
        word: "impossible",
        role: Role::Bad,
        setting: left.setting.clone(),
        device: device.cloned(),
        text: format!("{}: {}", left.wanted, left.because),
    };
    match left.devices.as_slice() {
        [] => vec![row(None)],
        devices => devices.iter().map(|device| row(Some(device))).collect(),
    }
}

fn receipts_summary(came: &Receipts, left: LeftOut<'_>) -> String {
    let equal = came.receipts.iter().filter(|each| each.outcome == Outcome::Equal).count();
    let written = came.receipts.iter().filter(|each| is_tried(&each.outcome)).count();
    let unwritten = came.receipts.len() - equal - written;
    let so_before = match equal {
        0 => String::new(),
        many => format!("; {} so before", was(many)),
    };
    match (came.ending, came.transaction) {
        (Ending::Done, None) if written + unwritten > 0 => "Nothing was written.".to_owned(),
        (Ending::Done, None) if !left.named.is_empty() => {
            format!("Nothing to change, and {}.", impossible(left))
        }
        (Ending::Done, None) if left.others > 0 => {
            "Nothing to change: all that nearside writes is as wanted.".to_owned()
        }
        (Ending::Done, None) => "Nothing to change: all is as wanted.".to_owned(),
        (Ending::Done, Some(id)) if !left.named.is_empty() => {
            let writes = text::count(written, "write");
            format!("Transaction {id}: {writes} tried{so_before}; {}.", impossible(left))
        }
        (Ending::Done, Some(id)) => {
            let refused = match unwritten {
                0 => String::new(),
                many => format!("; {many} cannot be written"),
            };
            let tried = text::count(written, "write");
            format!("Transaction {id}: {tried} tried{refused}{so_before}.")
        }
        (Ending::Undone, None) if !left.named.is_empty() => {
            format!("Nothing was written: {}.", impossible(left))
        }
        (Ending::Undone, None) => "Nothing was written: a change cannot be made.".to_owned(),
        (Ending::Undone, Some(id)) if came.is_interrupted => {
            format!("Transaction {id}: interrupted; all was taken back.")
        }
        (Ending::Undone, Some(id)) => {
            format!("Transaction {id}: a change failed, and all others were taken back.")
        }
        (Ending::Stuck, Some(id)) if came.is_interrupted => format!(
            "Transaction {id}: interrupted, and not all could be taken back. A person must look."
        ),
        (Ending::Stuck, id) => format!(
            "Transaction {}: a change failed, and so did taking back the others. A person must look.",
            id.unwrap_or_default()
        ),
    }
}

/// `1 of what was asked for is not possible here`.
fn impossible(left: LeftOut<'_>) -> String {
    let many = left.named.len();
    let are = if many == 1 { "is" } else { "are" };
    format!("{many} of what was asked for {are} not possible here")
}

fn was(many: usize) -> String {
    if many == 1 { "1 was".to_owned() } else { format!("{many} were") }
}

fn receipt_row(receipt: &Receipt) -> Row {
    let Receipt { setting, device, before, wanted, outcome, note, path, undone } = receipt;
    let before = before.trim();
    let step = format!("{before} → {wanted}");
    let (word, role, text) = match outcome {
        Outcome::Applied | Outcome::Rounded { .. } if undone.is_some() => {
            taken_back(before, wanted, undone.as_ref())
        }
        Outcome::Equal => ("as wanted", Role::Dim, wanted.clone()),
        Outcome::Applied => ("applied", Role::Good, step),
        Outcome::Rounded { came } => {
            ("rounded", Role::Warn, format!("{before} → {came} (asked: {wanted})"))
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

/// Of a value that was written and then taken back with its transaction.
fn taken_back(before: &str, wanted: &str, undone: Option<&Undone>) -> (&'static str, Role, String) {
    match undone {
        Some(Undone::Failed { why }) => {
            ("stays", Role::Bad, format!("{before} → {wanted}, and not taken back: {why}"))
        }
        Some(Undone::Kept { found }) => {
            ("kept", Role::Warn, format!("somebody set {} meanwhile", found.trim()))
        }
        Some(Undone::Missing) => {
            ("missing", Role::Warn, format!("the device is gone; {before} when it returns"))
        }
        _ => ("taken back", Role::Dim, format!("{before} → {wanted} → {before}")),
    }
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
    let elsewhere = count(|undone| matches!(undone, Undone::Elsewhere));
    let mut summary = match (all.len(), restored) {
        (0, _) => "Nothing to take back.".to_owned(),
        (_, 0) => "No value taken back".to_owned(),
        (_, many) => format!("{} taken back, byte for byte", text::count(many, "value")),
    };
    let more = [
        (kept, "changed by others and kept"),
        (elsewhere, "of another network namespace and kept"),
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
        Undone::Elsewhere => (
            "elsewhere",
            Role::Warn,
            format!("set in another network namespace; {before} when reverted there"),
        ),
        Undone::Failed { why } => {
            ("failed", Role::Bad, format!("→ {before}: {why} ({})", each.path))
        }
    };
    Row { word, role, setting: each.setting.clone(), device: each.device.clone(), text }
}

/// How the changes of a journal stand.
#[derive(Debug, Clone, Copy)]
pub struct Standings<'a> {
    /// The values, each with how it stands.
    pub values: &'a [Verified],
    /// Transactions whose process died on the way.
    pub cut_short: &'a [u64],
    /// Transactions that are taken back unless they are confirmed.
    pub waiting: &'a [Unconfirmed],
}

/// Draws how changes stand.
pub fn verified(found: &Standings<'_>, lines: Lines, style: &Style) -> String {
    let cut_short = found.cut_short.iter();
    let mut said: Vec<String> =
        cut_short.map(|id| format!("Transaction {id} was cut short.")).collect();
    let is_here = |each: &&Verified| each.standing != Standing::Elsewhere;
    let here = found.values.iter().filter(is_here).count();
    let off = found.values.iter().filter(is_here).filter(|each| each.is_drift()).count();
    said.extend(match (here, off) {
        (0, _) if said.is_empty() && found.values.is_empty() => {
            Some("Nothing is applied.".to_owned())
        }
        (0, _) => None,
        (1, 0) => Some("The one value holds.".to_owned()),
        (2, 0) => Some("Both values hold.".to_owned()),
        (many, 0) => Some(format!("All {many} values hold.")),
        (1, _) => Some("The one value is not as set.".to_owned()),
        (many, 1) => Some(format!("1 of {many} values is not as set.")),
        (many, off) => Some(format!("{off} of {many} values are not as set.")),
    });
    if found.values.len() > here {
        let elsewhere = text::count(found.values.len() - here, "value");
        said.push(format!("{elsewhere} of another network namespace cannot be seen from here."));
    }
    let summary = said.join(" ");
    let is_notable = |each: &&Verified| lines == Lines::All || each.standing != Standing::AsSet;
    draw(&summary, found.values.iter().filter(is_notable).map(verified_row).collect(), style)
}

/// How long a transaction waits still, as part of a sentence.
pub fn waits(unconfirmed: &Unconfirmed) -> String {
    match unconfirmed.left_s {
        Some(left) => format!("waits for its confirmation, {left} s left"),
        None => "waits for its confirmation".to_owned(),
    }
}

/// The transactions that can be taken back, newest first.
pub fn listed(transactions: &[Transaction], waiting: &[Unconfirmed]) -> String {
    if transactions.is_empty() {
        return "No changes are in the journal.\n".to_owned();
    }
    let state = |each: &Transaction| {
        let left = each.entries.iter().filter(|entry| !entry.is_settled()).count();
        let own = waiting.iter().find(|one| one.transaction == each.begin.transaction);
        let state = match (each.is_cut_short(), own) {
            (true, _) => ", cut short".to_owned(),
            (false, Some(own)) => format!(", {}", waits(own)),
            (false, None) => String::new(),
        };
        format!("{}{state}", text::count(left, "value"))
    };
    let states: Vec<String> = transactions.iter().map(state).collect();
    let width = states.iter().map(|state| state.chars().count()).max().unwrap_or(0);
    let line = |(each, state): (&Transaction, &String)| {
        let begin = &each.begin;
        let why = text::harmless(&begin.why);
        let by =
            begin.owner.as_ref().map_or_else(String::new, |owner| format!("  by {}", by(owner)));
        format!("{:>4}  {}  {state:<width$}  {why}{by}\n", begin.transaction, begin.at)
    };
    transactions.iter().zip(&states).rev().map(line).collect()
}

/// Who made a transaction, as part of a sentence.
fn by(owner: &Owner) -> String {
    let id = || format!("user {}", owner.login.unwrap_or(owner.user));
    owner.name.as_ref().map_or_else(id, |name| text::harmless(name))
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
        Standing::Outdated => (
            "outdated",
            Role::Bad,
            format!("{wanted}: numbers of an earlier boot; the next apply takes them out"),
        ),
        Standing::Reset => ("reset", Role::Warn, format!("{wanted}: a reboot has reset it")),
        Standing::Elsewhere => (
            "elsewhere",
            Role::Warn,
            format!("{wanted}: set in another network namespace, not to be seen from here"),
        ),
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
            undone: None,
        }
    }

    #[test]
    fn alike_receipts_are_one_line_and_what_was_equal_is_counted() {
        let receipts =
            ["nvme0n1", "nvme1n1", "nvme2n1"].map(|name| receipt(name, Outcome::Applied));
        let mut receipts = receipts.to_vec();
        receipts.push(receipt("sda", Outcome::Equal));
        receipts.push(receipt("sdb", Outcome::Refused { errno: "EINVAL".to_owned() }));
        let asked = |errno: &str| errno.to_owned();
        receipts.push(receipt("sdc", Outcome::Unsupported { errno: asked("ENOENT") }));
        receipts.push(receipt("sdd", Outcome::Managed));
        receipts.push(receipt("sde", Outcome::Denied { errno: asked("EPERM") }));
        let came = Receipts {
            transaction: Some(4),
            receipts,
            ending: Ending::Done,
            is_interrupted: false,
        };
        let left = LeftOut::default();
        let drawn = super::receipts(&came, left, Lines::Notable, &Style::default());
        let first = "Transaction 4: 4 writes tried; 3 cannot be written; 1 was so before.";
        assert!(drawn.starts_with(first), "{drawn}");
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

    #[test]
    fn a_value_that_was_taken_back_is_not_said_to_be_applied() {
        let undone = |outcome, undone| Receipt { undone, ..receipt("sda", outcome) };
        let came = |is_interrupted| Receipts {
            transaction: Some(4),
            receipts: vec![
                undone(Outcome::Applied, Some(Undone::Restored)),
                undone(Outcome::Dropped, Some(Undone::Nothing)),
            ],
            ending: Ending::Undone,
            is_interrupted,
        };
        let drawn = |is_interrupted| {
            let left = LeftOut::default();
            super::receipts(&came(is_interrupted), left, Lines::Notable, &Style::default())
        };
        let failed = drawn(false);
        assert!(failed.starts_with("Transaction 4: a change failed, and all others"), "{failed}");
        assert!(failed.contains("taken back") && !failed.contains("applied"), "{failed}");
        assert!(failed.contains("dropped"), "{failed}");
        let interrupted = drawn(true);
        let first = "Transaction 4: interrupted; all was taken back.";
        assert!(interrupted.starts_with(first), "{interrupted}");
        assert!(!interrupted.contains("a change failed"), "{interrupted}");
    }

    #[test]
    fn what_was_named_and_cannot_be_is_never_as_wanted() {
        let left = Left {
            setting: "nic-channels".to_owned(),
            devices: vec!["eth0".to_owned()],
            wanted: "9".to_owned(),
            owner: setting::Owner::Os,
            reboot: setting::Reboot::None,
            why: setting::LeftWhy::Prerequisite,
            because: "eth0 has none".to_owned(),
            by_hand: Vec::new(),
        };
        let came = |ending, transaction| Receipts {
            transaction,
            receipts: Vec::new(),
            ending,
            is_interrupted: false,
        };
        for (ending, transaction) in
            [(Ending::Undone, None), (Ending::Done, None), (Ending::Done, Some(3))]
        {
            let left = LeftOut { named: std::slice::from_ref(&left), others: 1 };
            let came = came(ending, transaction);
            let drawn = super::receipts(&came, left, Lines::Notable, &Style::default());
            assert!(!drawn.contains("as wanted"), "{drawn}");
            assert!(drawn.contains("impossible  nic-channels  eth0  9: eth0 has none"), "{drawn}");
        }
    }

    #[test]
    fn values_are_counted_as_people_count() {
        let value = |standing: &Standing| Verified {
            transaction: 1,
            setting: "swappiness".to_owned(),
            device: None,
            path: "/proc/sys/vm/swappiness".to_owned(),
            wanted: "10".to_owned(),
            standing: standing.clone(),
        };
        let holds = Standing::AsSet;
        let off = Standing::Drifted { found: "7".to_owned() };
        let elsewhere = Standing::Elsewhere;
        for (standings, cut_short, says) in [
            (vec![], &[][..], "Nothing is applied."),
            (vec![], &[4][..], "Transaction 4 was cut short."),
            (vec![&holds], &[], "The one value holds."),
            (vec![&holds; 2], &[], "Both values hold."),
            (vec![&holds; 3], &[4], "Transaction 4 was cut short. All 3 values hold."),
            (vec![&off], &[], "The one value is not as set."),
            (vec![&off, &holds], &[], "1 of 2 values is not as set."),
            (vec![&off, &off, &holds], &[], "2 of 3 values are not as set."),
            (
                vec![&elsewhere, &holds],
                &[],
                "The one value holds. 1 value of another network namespace cannot be seen from here.",
            ),
        ] {
            let values: Vec<Verified> = standings.into_iter().map(value).collect();
            let found = Standings { values: &values, cut_short, waiting: &[] };
            let drawn = verified(&found, Lines::Notable, &Style::default());
            assert_eq!(drawn.lines().next(), Some(says));
        }
    }
}
