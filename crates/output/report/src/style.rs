// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a drawing is painted: width, colour and characters, and lines made of spans with a role.
//!
//! Drawings are built from [`Line`]s, which know nothing of escape codes; only [`paint`] does. So no
//! width is ever measured over an escape code, and no name can smuggle one in.

use std::fmt::Write as _;

use crate::text;

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns; drawings use at least 60 and at most 200 of them.
    pub width: usize,
    /// Whether escape codes for colour may be written. Nothing is told by colour alone.
    pub color: bool,
    /// Whether anything beyond ASCII may be written.
    pub unicode: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 100, color: false, unicode: true }
    }
}

impl Style {
    /// The columns that a drawing may use: a line longer than 200 is hard to read, and below 60
    /// nothing fits.
    pub(crate) fn columns(&self) -> usize {
        self.width.clamp(60, 200)
    }
}

/// What a span of text is, from which its colour follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Role {
    /// Ordinary text.
    #[default]
    Plain,
    /// A name or a heading.
    Strong,
    /// A frame, a label, an explanation.
    Dim,
    /// As it should be.
    Good,
    /// Worth a look.
    Warn,
    /// Costs much.
    Bad,
}

impl Role {
    fn style(self) -> anstyle::Style {
        use anstyle::AnsiColor::{Green, Red, Yellow};
        let plain = anstyle::Style::new();
        match self {
            Self::Plain => plain,
            Self::Strong => plain.bold(),
            Self::Dim => plain.dimmed(),
            Self::Good => plain.fg_color(Some(Green.into())),
            Self::Warn => plain.fg_color(Some(Yellow.into())),
            Self::Bad => plain.fg_color(Some(Red.into())).bold(),
        }
    }
}

/// One line of a drawing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    spans: Vec<(Role, String)>,
    whole: bool,
}

impl Line {
    /// A line of one span.
    pub(crate) fn of(role: Role, text: impl AsRef<str>) -> Self {
        Self::default().and(role, text)
    }

    /// This line, never cut: a command to copy, which is no command when it is broken.
    pub(crate) fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// A line of ordinary text.
    pub(crate) fn plain(text: impl AsRef<str>) -> Self {
        Self::of(Role::Plain, text)
    }

    /// This line with one more span at its end.
    pub(crate) fn and(mut self, role: Role, text: impl AsRef<str>) -> Self {
        self.push(role, text);
        self
    }

    /// Adds a span.
    pub(crate) fn push(&mut self, role: Role, text: impl AsRef<str>) {
        let text = text::harmless(text.as_ref());
        if !text.is_empty() {
            self.spans.push((role, text));
        }
    }

    /// Adds the spans of another line.
    pub(crate) fn append(&mut self, other: Self) {
        self.spans.extend(other.spans);
    }

    /// Columns it takes.
    pub(crate) fn width(&self) -> usize {
        self.spans.iter().map(|(_, text)| text::width(text)).sum()
    }

    /// This line, cut to `columns` and filled with spaces up to it.
    pub(crate) fn fitted(self, columns: usize) -> Self {
        let mut line = self.cut(columns);
        let missing = columns.saturating_sub(line.width());
        line.push(Role::Plain, " ".repeat(missing));
        line
    }

    /// This line, cut to `columns`.
    pub(crate) fn cut(self, columns: usize) -> Self {
        if self.width() <= columns {
            return self;
        }
        let mut room = columns;
        let mut cut = Self::default();
        for (role, text) in self.spans {
            let text = text::cut(&text, room);
            room = room.saturating_sub(text::width(&text));
            let ends = text.ends_with('…');
            cut.push(role, text);
            if ends || room == 0 {
                break;
            }
        }
        cut
    }
}

/// The lines as one text, each with a line feed at its end, none wider than the style's columns
/// but for [`Line::whole`] ones.
pub(crate) fn paint(lines: &[Line], style: &Style) -> String {
    let mut out = String::new();
    for line in lines {
        let line = without_trailing_space(line);
        let line = if line.whole { line } else { line.cut(style.columns()) };
        for (role, text) in &line.spans {
            paint_span(&mut out, *role, text, style);
        }
        out.push('\n');
    }
    out
}

fn without_trailing_space(line: &Line) -> Line {
    let mut line = line.clone();
    while let Some((_, text)) = line.spans.last_mut() {
        text.truncate(text.trim_end().len());
        if !text.is_empty() {
            break;
        }
        line.spans.pop();
    }
    line
}

fn paint_span(out: &mut String, role: Role, text: &str, style: &Style) {
    let text = text.replace('\u{a0}', " ");
    let text = if style.unicode { text } else { ascii(&text) };
    let codes = role.style();
    // Writing to a String cannot fail.
    let _ = if style.color && role != Role::Plain {
        write!(out, "{codes}{text}{codes:#}")
    } else {
        write!(out, "{text}")
    };
}

/// Our own signs in ASCII, one for one, so that no column moves; anything else becomes `?`.
fn ascii(text: &str) -> String {
    text.chars()
        .flat_map(|c| std::iter::repeat_n(ascii_char(c), text::width(c.encode_utf8(&mut [0; 4]))))
        .collect()
}

fn ascii_char(c: char) -> char {
    match c {
        ' '..='~' => c,
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '╭' | '╮' | '╰' | '╯' => '+',
        '─' => '-',
        '│' => '|',
        '█' => '#',
        '▀' => '"',
        '▄' => '_',
        '▒' => 'i',
        '░' => 'x',
        '·' | '•' => '.',
        '×' => 'x',
        '…' => '~',
        '→' | '▸' => '>',
        '◂' => '<',
        '–' | '—' => '-',
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_line_keeps_its_roles_and_its_width() {
        let line = Line::of(Role::Strong, "nvme0n1").and(Role::Dim, " Gen5 x4");
        assert_eq!(line.clone().cut(10).width(), 10);
        assert_eq!(line.clone().fitted(40).width(), 40);
        assert_eq!(paint(&[line.cut(10)], &Style::default()), "nvme0n1 G…\n");
    }

    #[test]
    fn ascii_moves_no_column_and_colour_is_only_written_when_asked_for() {
        let line = Line::of(Role::Warn, "█▀ 記 x2");
        let style = Style { unicode: false, ..Style::default() };
        assert_eq!(paint(std::slice::from_ref(&line), &style), "#\" ?? x2\n");
        let style = Style { color: true, ..Style::default() };
        assert!(paint(&[line], &style).starts_with("\u{1b}["));
    }
}
