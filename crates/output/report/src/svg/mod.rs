// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine as one picture: packages and nodes as boxes, a square a core, a tile a device.
//!
//! The picture stands alone: no script, no font, no link to anything outside. It follows the
//! viewer's light or dark scheme; what a colour says, a word or a sign says too.

mod canvas;
mod node;

use machine::Machine;
use units::NodeId;

use crate::layout::{self, Devices};
use crate::{marks, topology};

pub(crate) use canvas::escape;
use canvas::{Canvas, Class};

/// Width of the picture in pixels.
const WIDTH: u32 = 1200;
/// Space around and between boxes.
const MARGIN: u32 = 20;

/// Draws the machine as an SVG document.
pub fn draw(machine: &Machine) -> String {
    let mut canvas = Canvas::new(WIDTH);
    let mut top = head(machine, &mut canvas);
    top = groups(machine, &mut canvas, top);
    top = foot(machine, &mut canvas, top);
    canvas.finish(top + MARGIN)
}

fn head(machine: &Machine, canvas: &mut Canvas) -> u32 {
    let style = crate::Style { width: 150, color: false, unicode: true };
    // 20 px of bold type take some 12.8 px a letter: more than 90 do not fit.
    let lines = crate::style::paint(&topology::title(machine, 90), &style);
    let mut top = MARGIN + 22;
    for (number, line) in lines.lines().enumerate() {
        let (size, class) = if number == 0 { (20, Class::Strong) } else { (14, Class::Text) };
        canvas.text(MARGIN, top, size, class, line, WIDTH - 2 * MARGIN);
        top += size + 6;
    }
    canvas.text(MARGIN, top, 14, Class::Dim, &topology::counts(machine), WIDTH - 2 * MARGIN);
    for text in topology::numbering_texts(machine) {
        top = canvas.paragraph((MARGIN, top + 20), 13, Class::Dim, &text, WIDTH - 2 * MARGIN);
    }
    top + 18
}

/// Packages in one or two columns, each placed where there is more room.
fn groups(machine: &Machine, canvas: &mut Canvas, top: u32) -> u32 {
    let mut homes = layout::devices(machine);
    let homeless = homes.remove(&None).unwrap_or_default();
    let groups = layout::groups(machine);
    let columns = if groups.len() > 1 { 2 } else { 1 };
    let width = (WIDTH - MARGIN * (columns + 1)) / columns;
    let empty = Devices::default();
    let mut tops = vec![top; columns as usize];
    for group in &groups {
        let column = usize::from(tops.get(1).is_some_and(|right| Some(right) < tops.first()));
        let Some(at) = tops.get_mut(column) else { continue };
        let left = MARGIN + u32::try_from(column).unwrap_or(0) * (width + MARGIN);
        let home = |node: NodeId| homes.get(&Some(node)).unwrap_or(&empty);
        *at = node::group(machine, canvas, group, &home, (left, *at, width)) + MARGIN;
    }
    let mut bottom = tops.into_iter().max().unwrap_or(top);
    if !homeless.is_empty() {
        let place = (MARGIN, bottom, WIDTH - 2 * MARGIN);
        bottom = node::homeless(machine, canvas, &homeless, place) + MARGIN;
    }
    bottom
}

/// The legend, distances, and what spans boxes.
fn foot(machine: &Machine, canvas: &mut Canvas, top: u32) -> u32 {
    let mut top = legend(machine, canvas, top);
    let style = crate::Style { width: 160, color: false, unicode: true };
    for lines in topology::below_boxes(machine, 160) {
        top += 14;
        let text = crate::style::paint(&lines, &style);
        for line in text.lines() {
            top += 18;
            canvas.mono(MARGIN, top, 12, Class::Text, line);
        }
    }
    top
}

/// What squares, frames and colours mean, of those that occur; gives the lower edge.
fn legend(machine: &Machine, canvas: &mut Canvas, top: u32) -> u32 {
    let marks = marks::seen(machine).into_iter();
    let mut parts: Vec<(Class, String)> =
        marks.map(|mark| (node::class(mark), mark.meaning(machine))).collect();
    let boxes = [
        (Class::Cache, "frame: cores that share an L3 cache"),
        (Class::Tile, "drive, port, GPU or other device"),
        (Class::Low, "◂ its link runs below its best"),
    ];
    let boxes = boxes.into_iter().filter(|(class, _)| canvas.has(*class));
    parts.extend(boxes.map(|(class, text)| (class, text.to_owned())));
    let (mut left, mut top) = (MARGIN, top);
    for (class, text) in parts {
        let width = 18 + canvas::estimate(&text, 12) + 24;
        if left > MARGIN && left + width > WIDTH - MARGIN {
            (left, top) = (MARGIN, top + 20);
        }
        canvas.square(left, top, node::SQUARE, class);
        canvas.text(left + 18, top + 11, 12, Class::Dim, &text, width);
        left += width;
    }
    top + 14
}
