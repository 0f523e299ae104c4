// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boxes, fields and tables made of lines.

use crate::style::{Line, Role};
use crate::text;

/// A box of exactly `columns` around `body`, with a title in its upper edge.
///
/// ```text
/// ┌─ title ─────────┐
/// │ body            │
/// └─────────────────┘
/// ```
pub(crate) fn boxed(title: Line, body: Vec<Line>, columns: usize) -> Vec<Line> {
    let inner = inner(columns);
    let mut lines = vec![top(title, columns)];
    for line in body {
        let mut framed = Line::of(Role::Dim, "│ ");
        framed.append(line.fitted(inner));
        framed.push(Role::Dim, " │");
        lines.push(framed);
    }
    lines.push(Line::of(Role::Dim, format!("└{}┘", "─".repeat(columns.saturating_sub(2)))));
    lines
}

/// The columns that a box of `columns` leaves for what is in it.
pub(crate) fn inner(columns: usize) -> usize {
    columns.saturating_sub(4)
}

fn top(title: Line, columns: usize) -> Line {
    let title = title.cut(columns.saturating_sub(6));
    let rest = columns.saturating_sub(5 + title.width());
    let mut line = Line::of(Role::Dim, "┌─ ");
    line.append(title);
    line.and(Role::Dim, format!(" {}┐", "─".repeat(rest)))
}

/// Two stacks of lines beside each other, each `columns` wide.
pub(crate) fn beside(left: Vec<Line>, right: Vec<Line>, columns: usize) -> Vec<Line> {
    let rows = left.len().max(right.len());
    let mut left = left.into_iter();
    let mut right = right.into_iter();
    (0..rows)
        .map(|_| {
            let mut line = left.next().unwrap_or_default().fitted(columns);
            line.push(Role::Plain, " ");
            line.append(right.next().unwrap_or_default());
            line
        })
        .collect()
}

/// A label and a text wrapped beside it.
pub(crate) fn field(label: &str, text: &str, label_columns: usize, columns: usize) -> Vec<Line> {
    field_in(Role::Plain, label, text, label_columns, columns)
}

/// A label and a text of a role, wrapped beside it.
pub(crate) fn field_in(
    role: Role,
    label: &str,
    text: &str,
    label_columns: usize,
    columns: usize,
) -> Vec<Line> {
    let room = columns.saturating_sub(label_columns);
    let text = text::harmless(text);
    text::wrap(&text, room)
        .into_iter()
        .enumerate()
        .map(|(number, part)| {
            let label = if number == 0 { label } else { "" };
            Line::of(Role::Dim, text::pad(label, label_columns)).and(role, part)
        })
        .collect()
}

/// A text wrapped to `columns`, each line after `indent` spaces.
pub(crate) fn paragraph(role: Role, text: &str, indent: usize, columns: usize) -> Vec<Line> {
    field_in(role, "", text, indent, columns)
}

/// A table whose columns are as wide as their widest cell; the one named `flexible` gives way when
/// the whole is wider than `columns`.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<(Role, String)>>,
    flexible: usize,
    caps: Vec<(usize, usize)>,
}

const GAP: usize = 2;

impl Table {
    /// An empty table whose column number `flexible` gives way.
    pub(crate) fn new(flexible: usize) -> Self {
        Self { rows: Vec::new(), flexible, caps: Vec::new() }
    }

    /// Keeps a column from growing beyond `columns`: longer cells wrap.
    pub(crate) fn cap(mut self, column: usize, columns: usize) -> Self {
        self.caps.push((column, columns));
        self
    }

    /// Adds a row of headings.
    pub(crate) fn heading(&mut self, cells: &[&str]) {
        self.row(cells.iter().map(|cell| (Role::Dim, (*cell).to_owned())).collect());
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<(Role, String)>) {
        let harmless = |(role, text): (Role, String)| (role, text::harmless(&text));
        self.rows.push(cells.into_iter().map(harmless).collect());
    }

    /// The lines of the table. A cell of the flexible column wraps over several lines.
    pub(crate) fn lines(self, columns: usize) -> Vec<Line> {
        let widths = self.widths(columns);
        self.rows.iter().flat_map(|row| row_lines(row, &widths, columns)).collect()
    }

    fn widths(&self, columns: usize) -> Vec<usize> {
        let number = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|(_, text)| text::width(text)).max().unwrap_or(0)
        };
        let cap = |column: usize| {
            let cap = self.caps.iter().find(|(capped, _)| *capped == column);
            cap.map_or(usize::MAX, |(_, columns)| *columns)
        };
        let mut widths: Vec<usize> = (0..number).map(|n| widest(n).min(cap(n))).collect();
        let used = |widths: &[usize]| {
            let filled = widths.iter().filter(|width| **width > 0).count();
            widths.iter().sum::<usize>() + GAP * filled.saturating_sub(1)
        };
        let over = used(&widths).saturating_sub(columns);
        if let Some(width) = widths.get_mut(self.flexible) {
            *width = width.saturating_sub(over).max(MIN_FLEXIBLE.min(*width));
        }
        widths
    }
}

/// Below this a wrapped column is no longer readable.
const MIN_FLEXIBLE: usize = 12;

fn row_lines(row: &[(Role, String)], widths: &[usize], columns: usize) -> Vec<Line> {
    let wrapped: Vec<(Role, Vec<String>)> = row
        .iter()
        .zip(widths)
        .map(|((role, text), width)| (*role, text::wrap(text, *width)))
        .collect();
    let height = wrapped.iter().map(|(_, parts)| parts.len()).max().unwrap_or(0);
    let line = |number: usize| {
        let mut line = Line::default();
        for ((role, parts), width) in wrapped.iter().zip(widths).filter(|(_, width)| **width > 0) {
            let part = parts.get(number).map_or("", String::as_str);
            let gap = if line == Line::default() { 0 } else { GAP };
            line.push(Role::Plain, " ".repeat(gap));
            line.push(*role, text::pad(part, *width));
        }
        line.cut(columns)
    };
    (0..height).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{Style, paint};

    #[test]
    fn a_box_is_as_wide_as_it_is_told_whatever_its_text() {
        let body = vec![Line::plain("記憶".repeat(40)), Line::plain("short")];
        for line in boxed(Line::plain("a title\u{1b}[2J that is long"), body, 30) {
            assert_eq!(line.width(), 30);
        }
    }

    #[test]
    fn the_flexible_column_wraps_when_the_table_is_too_wide() {
        let mut table = Table::new(1);
        table.heading(&["irq", "CPUs", "node"]);
        table.row(vec![
            (Role::Plain, "104".to_owned()),
            (Role::Plain, "0,4,8,12,16,20,24,28,32,36".to_owned()),
            (Role::Plain, "2".to_owned()),
        ]);
        let text = paint(&table.lines(30), &Style::default());
        assert_eq!(
            text,
            "irq  CPUs                 node\n104  0,4,8,12,16,20,24,   2\n     28,32,36\n"
        );
    }
}
