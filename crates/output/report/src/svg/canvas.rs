// SPDX-License-Identifier: MIT OR Apache-2.0
//! SVG elements as text: every string is made harmless and escaped on its way in.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::text;

/// What an element is, from which its colours follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Text,
    Strong,
    Dim,
    Package,
    Node,
    Tile,
    Low,
    LowText,
    Cache,
    Full,
    Half,
    Isolated,
    Forbidden,
    Offline,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Strong => "strong",
            Self::Dim => "dim",
            Self::Package => "package",
            Self::Node => "node",
            Self::Tile => "tile",
            Self::Low => "low",
            Self::LowText => "lowtext",
            Self::Cache => "cache",
            Self::Full => "full",
            Self::Half => "half",
            Self::Isolated => "isolated",
            Self::Forbidden => "forbidden",
            Self::Offline => "offline",
        }
    }
}

/// Colours for light and dark. Presentation follows the viewer; a renderer without media queries
/// shows the light ones.
const STYLE: &str = "\
svg{background:#fff}\
.paper{fill:#fff}\
.text,.strong{fill:#1b1f24}\
.strong{font-weight:bold}\
.dim{fill:#57606a}\
.package{fill:#f6f8fa;stroke:#8c959f}\
.node{fill:#fff;stroke:#afb8c1}\
.tile{fill:#eef4fb;stroke:#b6cbe3}\
.low{fill:#fff3e0;stroke:#c4550d;stroke-width:2}\
.lowtext{fill:#a0410a;font-weight:bold}\
.cache{fill:#f0f3f6;stroke:#c3ccd5}\
.full{fill:#2f7d4f}\
.half{fill:#9fd3b2;stroke:#2f7d4f}\
.isolated{fill:#c9a227;stroke:#7a5f00}\
.forbidden{fill:#d0d7de;stroke:#8c959f}\
.offline{fill:none;stroke:#8c959f}\
@media (prefers-color-scheme:dark){\
svg{background:#0d1117}\
.paper{fill:#0d1117}\
.text,.strong{fill:#e6edf3}\
.dim{fill:#9da7b3}\
.package{fill:#161b22;stroke:#6e7681}\
.node{fill:#0d1117;stroke:#484f58}\
.tile{fill:#15233a;stroke:#2f4b70}\
.low{fill:#3a2413;stroke:#f0883e}\
.lowtext{fill:#ffb077}\
.cache{fill:#161b22;stroke:#3d444d}\
.full{fill:#4cc38a}\
.half{fill:#1f5c3f;stroke:#4cc38a}\
.forbidden{fill:#30363d;stroke:#6e7681}\
.offline{stroke:#6e7681}\
}";

/// A picture being drawn.
#[derive(Debug)]
pub(super) struct Canvas {
    body: String,
    width: u32,
    boxes: BTreeSet<Class>,
}

impl Canvas {
    /// An empty picture of a width.
    pub(super) fn new(width: u32) -> Self {
        Self { body: String::new(), width, boxes: BTreeSet::new() }
    }

    /// Whether a box of a class was drawn.
    pub(super) fn has(&self, class: Class) -> bool {
        self.boxes.contains(&class)
    }

    /// A text whose baseline starts at a point, cut where it would grow wider than `room`.
    pub(super) fn text(&mut self, x: u32, y: u32, size: u32, class: Class, text: &str, room: u32) {
        let harmless = text::harmless(text).replace('\u{a0}', " ");
        let cut = fit(&harmless, size, room);
        let title = if cut == harmless { String::new() } else { title(&harmless) };
        let class = class.name();
        // Writing to a String cannot fail.
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" font-size=\"{size}\">{}{title}</text>",
            escape(&cut)
        );
    }

    /// A text wrapped to `room`, the first baseline at a point and each line `size + 5` below the
    /// last; gives the baseline of the last line.
    pub(super) fn paragraph(
        &mut self,
        (x, y): (u32, u32),
        size: u32,
        class: Class,
        text: &str,
        room: u32,
    ) -> u32 {
        let mut last = y;
        for (number, line) in (0..).zip(wrap(text, size, room)) {
            last = y + number * (size + 5);
            self.text(x, last, size, class, &line, room);
        }
        last
    }

    /// A line of fixed pitch: columns stay under each other.
    pub(super) fn mono(&mut self, x: u32, y: u32, size: u32, class: Class, text: &str) {
        let class = class.name();
        let text = escape(&text::harmless(text));
        let _ = writeln!(
            self.body,
            "<text class=\"{class} mono\" xml:space=\"preserve\" x=\"{x}\" y=\"{y}\" \
             font-size=\"{size}\">{text}</text>"
        );
    }

    /// A box with round corners.
    pub(super) fn rect(&mut self, place: (u32, u32, u32, u32), class: Class) {
        self.boxes.insert(class);
        let (x, y, width, height) = place;
        let class = class.name();
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
             rx=\"5\"/>"
        );
    }

    /// A small square.
    pub(super) fn square(&mut self, x: u32, y: u32, side: u32, class: Class) {
        let class = class.name();
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\"/>"
        );
    }

    /// Where the boxes drawn from now on end up behind: a mark to insert a box at later.
    pub(super) fn mark(&self) -> usize {
        self.body.len()
    }

    /// Draws a box behind all that was drawn since `mark`: its height is known only afterwards.
    pub(super) fn rect_behind(&mut self, mark: usize, place: (u32, u32, u32, u32), class: Class) {
        let drawn = self.body.split_off(mark.min(self.body.len()));
        self.rect(place, class);
        self.body.push_str(&drawn);
    }

    /// The whole document.
    pub(super) fn finish(self, height: u32) -> String {
        let Self { body, width, .. } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" \
             font-family=\"'DejaVu Sans',Verdana,'Segoe UI',sans-serif\">\n\
             <style>{STYLE}.mono{{font-family:'DejaVu Sans Mono',Menlo,Consolas,monospace}}\
             </style>\n\
             <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n{body}</svg>\n"
        )
    }
}

fn title(text: &str) -> String {
    format!("<title>{}</title>", escape(text))
}

/// Pixels that a text takes at most in a wide sans-serif such as DejaVu or Verdana: on average 0.62
/// of the size a column, as measured over device names.
pub(super) fn estimate(text: &str, size: u32) -> u32 {
    let columns = u32::try_from(text::width(text)).unwrap_or(u32::MAX / 100);
    columns.saturating_mul(size).saturating_mul(64) / 100
}

fn fit(text: &str, size: u32, room: u32) -> String {
    if estimate(text, size) <= room {
        return text.to_owned();
    }
    text::cut(text, columns(size, room))
}

/// Columns that fit into `room` pixels.
fn columns(size: u32, room: u32) -> usize {
    let columns = room.saturating_mul(100) / size.saturating_mul(64).max(1);
    usize::try_from(columns).unwrap_or(0)
}

/// The lines of a text that is `room` pixels wide.
pub(super) fn wrap(text: &str, size: u32, room: u32) -> Vec<String> {
    text::wrap(&text::harmless(text), columns(size, room))
}

/// Text for an XML document: markup is taken as text, and characters that XML forbids are gone.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out_of_the_document() {
        let mut canvas = Canvas::new(100);
        canvas.text(0, 0, 10, Class::Text, "</text><script>&\"'\u{1b}", 1000);
        let text = canvas.finish(10);
        assert!(text.contains("&lt;/text&gt;&lt;script&gt;&amp;&quot;&#39;\u{fffd}"), "{text}");
    }

    #[test]
    fn what_is_cut_keeps_its_whole_text_as_title() {
        let mut canvas = Canvas::new(100);
        canvas.text(0, 0, 10, Class::Text, "a long name of a device", 64);
        assert!(canvas.finish(10).contains("<title>a long name of a device</title>"));
    }
}
