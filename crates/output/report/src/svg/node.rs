// SPDX-License-Identifier: MIT OR Apache-2.0
//! A package's box: its nodes, their cores as squares, their devices as tiles.

use machine::{Drive, Function, Machine, Nic, NicKind, Thread};
use units::{CpuSet, NodeId};

use crate::layout::{Devices, Group};
use crate::marks::{self, Mark};
use crate::style::Role;
use crate::{names, topology, words};

use super::canvas::{self, Canvas, Class};

/// Side of a core's square.
pub(super) const SQUARE: u32 = 11;
const PITCH: u32 = 14;
/// From one row of cores to the next.
const ROW: u32 = 20;
const PAD: u32 = 14;
const TILE_WIDTH: u32 = 166;
const GAP: u32 = 8;
/// From this width of a package on its nodes stand two beside each other.
const TWO_ABREAST: u32 = 900;

/// Left, top and width of a box; its height follows from what is in it.
type Place = (u32, u32, u32);

/// The class of a core's square.
pub(super) fn class(mark: Mark) -> Class {
    match mark {
        Mark::Full => Class::Full,
        Mark::First | Mark::Later => Class::Half,
        Mark::Isolated => Class::Isolated,
        Mark::Forbidden => Class::Forbidden,
        Mark::Offline => Class::Offline,
    }
}

/// Draws a package with its nodes; gives the lower edge.
pub(super) fn group<'a>(
    machine: &Machine,
    canvas: &mut Canvas,
    group: &Group,
    home: &dyn Fn(NodeId) -> &'a Devices<'a>,
    (left, top, width): Place,
) -> u32 {
    let mark = canvas.mark();
    let ids: Vec<String> = group.packages.iter().map(ToString::to_string).collect();
    let title = match ids.len() {
        0 => "package unknown".to_owned(),
        1 => format!("package {}", ids.concat()),
        _ => format!("packages {}", names::compact(ids.iter().map(String::as_str))),
    };
    canvas.text(left + PAD, top + 22, 15, Class::Strong, &title, width - 2 * PAD);
    let mut bottom = top + 32;
    let place = |bottom| (left + PAD, bottom, width - 2 * PAD);
    if group.nodes.is_empty() {
        let within = |thread: &Thread| {
            thread.package.as_ref().is_ok_and(|package| group.packages.contains(package))
        };
        bottom = cores(machine, canvas, &within, place(bottom)) + PAD;
    }
    let nodes: Vec<NodeId> = group.nodes.iter().copied().collect();
    // A package that has the whole width shows two nodes beside each other.
    let abreast = if nodes.len() > 1 && width > TWO_ABREAST { 2 } else { 1 };
    let each = (width - PAD) / abreast - PAD;
    for row in nodes.chunks(usize::try_from(abreast).unwrap_or(1)) {
        let mut lowest = bottom;
        for (number, node) in (0..).zip(row) {
            let place = (left + PAD + number * (each + PAD), bottom, each);
            lowest = lowest.max(self::node(machine, canvas, *node, home(*node), place));
        }
        bottom = lowest + PAD;
    }
    canvas.rect_behind(mark, (left, top, width, bottom - top), Class::Package);
    bottom
}

fn node(
    machine: &Machine,
    canvas: &mut Canvas,
    node: NodeId,
    devices: &Devices<'_>,
    (left, top, width): Place,
) -> u32 {
    let mark = canvas.mark();
    let room = width - 2 * PAD;
    let memory = topology::memory(machine, node);
    canvas.text(left + PAD, top + 20, 13, Class::Strong, &format!("node {node}"), 90);
    canvas.text(left + PAD + 90, top + 20, 13, Class::Text, &memory, room - 90);
    let within = |thread: &Thread| thread.node == Some(node);
    let bottom = cores(machine, canvas, &within, (left + PAD, top + 34, room));
    let bottom = tiles(machine, canvas, devices, (left + PAD, bottom + 10, room)) + PAD;
    canvas.rect_behind(mark, (left, top, width, bottom - top), Class::Node);
    bottom
}

/// Draws the devices whose node is unknown.
pub(super) fn homeless(
    machine: &Machine,
    canvas: &mut Canvas,
    devices: &Devices<'_>,
    (left, top, width): Place,
) -> u32 {
    let mark = canvas.mark();
    let title = if machine.nodes.is_empty() {
        "devices: the kernel tells of no NUMA nodes"
    } else {
        "node unknown: neither firmware nor bridges say which node these are near"
    };
    canvas.text(left + PAD, top + 22, 14, Class::LowText, title, width - 2 * PAD);
    let bottom = tiles(machine, canvas, devices, (left + PAD, top + 34, width - 2 * PAD)) + PAD;
    canvas.rect_behind(mark, (left, top, width, bottom - top), Class::Package);
    bottom
}

/// Squares in rows, a frame around those that share an L3 cache; CPU numbers and caches below.
fn cores(
    machine: &Machine,
    canvas: &mut Canvas,
    within: &dyn Fn(&Thread) -> bool,
    (left, top, width): Place,
) -> u32 {
    let has_caches = machine.l3_domains().next().is_some();
    let in_a_row = usize::try_from(width / PITCH).unwrap_or(1).max(1);
    let mut at = (left, top);
    for stretch in marks::stretches(machine, within) {
        let length = u32::try_from(stretch.marks.len()).unwrap_or(u32::MAX / PITCH);
        if at.0 > left && at.0 - left + length.saturating_mul(PITCH) > width {
            at = (left, at.1 + ROW);
        }
        let rows: Vec<&[Mark]> = stretch.marks.chunks(in_a_row).collect();
        if has_caches {
            frame(canvas, &rows, at);
        }
        for (marks, y) in rows.iter().zip((at.1..).step_by(ROW as usize)) {
            squares(canvas, marks, (at.0, y));
            at.1 = y;
        }
        let longest = rows.first().map_or(0, |row| row.len());
        at.0 += u32::try_from(longest).unwrap_or(0) * PITCH + PITCH / 2 + 3;
    }
    let threads = machine.cpus.threads.iter().filter(|thread| within(thread));
    let cpus: CpuSet = threads.map(|thread| thread.cpu).collect();
    let text = format!("CPUs {}", words::short_cpus(&cpus));
    let mut bottom = canvas.paragraph((left, at.1 + ROW + 12), 12, Class::Dim, &text, width);
    let caches = topology::l3_text(machine, &cpus);
    if !caches.is_empty() {
        bottom = canvas.paragraph((left, bottom + 17), 12, Class::Dim, &caches, width);
    }
    bottom
}

/// A frame around rows of squares from a point on.
fn frame(canvas: &mut Canvas, rows: &[&[Mark]], (x, y): (u32, u32)) {
    let longest = rows.first().map_or(0, |row| row.len());
    let [columns, rows] = [longest, rows.len()].map(|count| u32::try_from(count).unwrap_or(0));
    let inset = (PITCH - SQUARE).div_ceil(2) + 1;
    let (width, height) = (columns * PITCH + inset, rows.saturating_sub(1) * ROW + SQUARE);
    let place = (x.saturating_sub(inset), y - inset, width, height + 2 * inset);
    canvas.rect(place, Class::Cache);
}

/// A row of squares from a point on.
fn squares(canvas: &mut Canvas, marks: &[Mark], (x, y): (u32, u32)) {
    for (number, mark) in (0..).zip(marks) {
        canvas.square(x + number * PITCH, y, SQUARE, class(*mark));
    }
}

/// What a tile says: a name, then lines that wrap.
struct Tile {
    name: String,
    lines: Vec<(Class, String)>,
    is_low: bool,
}

/// Size of the text in a tile, and the distance of its lines.
const SMALL: u32 = 10;
const LINE: u32 = 14;

impl Tile {
    fn new(name: String) -> Self {
        Self { name, lines: Vec::new(), is_low: false }
    }

    fn line(mut self, class: Class, text: &str) -> Self {
        if !text.is_empty() {
            let wrapped = canvas::wrap(text, SMALL, TILE_WIDTH - 16);
            self.lines.extend(wrapped.into_iter().map(|line| (class, line)));
        }
        self
    }

    /// A link, with its sign where it runs below its best.
    fn link(self, (role, text): (Role, String)) -> Self {
        match role {
            Role::Warn => {
                let tile = self.line(Class::LowText, &format!("◂ {text}"));
                Self { is_low: true, ..tile }
            }
            _ => self.line(Class::Dim, &text),
        }
    }

    fn height(&self) -> u32 {
        24 + u32::try_from(self.lines.len()).unwrap_or(0) * LINE
    }

    fn draw(&self, canvas: &mut Canvas, (x, y): (u32, u32), height: u32) {
        let class = if self.is_low { Class::Low } else { Class::Tile };
        canvas.rect((x, y, TILE_WIDTH, height), class);
        let room = TILE_WIDTH - 16;
        canvas.text(x + 8, y + 16, 12, Class::Strong, &self.name, room);
        for (number, (class, line)) in (1..).zip(&self.lines) {
            canvas.text(x + 8, y + 16 + number * LINE, SMALL, *class, line, room);
        }
    }
}

/// Tiles in rows, each row as high as its highest.
fn tiles(
    machine: &Machine,
    canvas: &mut Canvas,
    devices: &Devices<'_>,
    (left, top, width): Place,
) -> u32 {
    let all = all_tiles(machine, devices);
    let columns = usize::try_from((width + GAP) / (TILE_WIDTH + GAP)).unwrap_or(1).max(1);
    let mut y = top;
    for row in all.chunks(columns) {
        let height = row.iter().map(Tile::height).max().unwrap_or(0);
        for (place, tile) in (0..).zip(row) {
            tile.draw(canvas, (left + place * (TILE_WIDTH + GAP), y), height);
        }
        y += height + GAP;
    }
    y - if all.is_empty() { 0 } else { GAP }
}

fn all_tiles(machine: &Machine, devices: &Devices<'_>) -> Vec<Tile> {
    let drives = devices.drives.iter().map(|drive| drive_tile(machine, drive));
    let nics = devices.nics.iter().map(|nic| nic_tile(machine, nic));
    let gpus = devices.gpus.iter().map(|gpu| {
        let function = machine.function(gpu.function);
        let what = function.map_or_else(String::new, words::function_name);
        Tile::new(words::gpu_name(gpu, function))
            .line(Class::Text, &what)
            .link(words::function_link(function))
    });
    let others = devices.others.iter().map(|function: &&Function| {
        let what = match function.is_readable() {
            true => words::function_name(function),
            false => "cannot be read".to_owned(),
        };
        Tile::new(function.address.to_string())
            .line(Class::Text, &what)
            .link(words::function_link(Some(function)))
    });
    drives.chain(nics).chain(gpus).chain(others).collect()
}

/// The link of a controller that many drives share is the controller's, and said to be.
fn drive_tile(machine: &Machine, drive: &Drive) -> Tile {
    let tile = Tile::new(drive.name.clone())
        .line(Class::Text, &words::drive(drive))
        .line(Class::Dim, &words::drive_note(drive));
    let function = match &drive.hidden_by {
        Some(hidden) => Some(hidden.function),
        None => drive.controllers.first().and_then(|path| path.function),
    };
    let (role, link) = words::function_link(function.and_then(|at| machine.function(at)));
    match drive.hidden_by.is_some() && !link.is_empty() {
        true => tile.link((role, format!("controller {link}"))),
        false => tile.link((role, link)),
    }
}

fn nic_tile(machine: &Machine, nic: &Nic) -> Tile {
    let driver = nic.driver.as_deref().unwrap_or("no driver");
    let kind = if nic.kind == NicKind::VirtualFunction { " VF" } else { "" };
    let master = nic.master.as_ref().map_or_else(String::new, |name| format!("in {name}"));
    let function = nic.function.and_then(|at| machine.function(at));
    Tile::new(nic.name.clone())
        .line(Class::Text, &format!("{} {driver}{kind}", words::nic_state(nic)))
        .line(Class::Text, &topology::rdma_of(machine, nic))
        .line(Class::Text, &master)
        .link(words::function_link(function))
}
