// SPDX-License-Identifier: MIT OR Apache-2.0
//! A package's box: its nodes, their cores as squares, their devices as tiles.

use machine::{Function, Machine, Thread};
use units::{CpuSet, NodeId};

use crate::layout::{Devices, Group};
use crate::marks::{self, Mark};
use crate::style::Role;
use crate::{names, words};

use super::canvas::{Canvas, Class};

/// Side of a core's square.
pub(super) const SQUARE: u32 = 11;
const PITCH: u32 = 14;
const PAD: u32 = 14;
const TILE_WIDTH: u32 = 166;
const TILE_HEIGHT: u32 = 52;
const GAP: u32 = 8;

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
    for node in &group.nodes {
        bottom = self::node(machine, canvas, *node, home(*node), place(bottom)) + PAD;
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
    let entry = machine.nodes.iter().find(|other| other.id == node);
    let memory = entry.map_or_else(String::new, |entry| words::memory(&entry.memory));
    canvas.text(left + PAD, top + 20, 13, Class::Strong, &format!("node {node}"), 120);
    canvas.text(left + PAD + 80, top + 20, 13, Class::Text, &memory, width - 80 - 2 * PAD);
    let within = |thread: &Thread| thread.node == Some(node);
    let inside = (left + PAD, top + 30, width - 2 * PAD);
    let bottom = cores(machine, canvas, &within, inside);
    let bottom = tiles(machine, canvas, devices, (left + PAD, bottom + 6, width - 2 * PAD)) + PAD;
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

/// Squares in rows, groups of a shared L3 apart, and the CPU numbers below.
fn cores(
    machine: &Machine,
    canvas: &mut Canvas,
    within: &dyn Fn(&Thread) -> bool,
    (left, top, width): Place,
) -> u32 {
    let mut x = left;
    let mut y = top;
    for stretch in marks::stretches(machine, within) {
        let length = u32::try_from(stretch.marks.len()).unwrap_or(u32::MAX / PITCH);
        if x > left && x - left + length.saturating_mul(PITCH) > width {
            (x, y) = (left, y + PITCH);
        }
        for mark in stretch.marks {
            if x - left + PITCH > width {
                (x, y) = (left, y + PITCH);
            }
            canvas.square(x, y, SQUARE, class(mark));
            x += PITCH;
        }
        x += PITCH / 2;
    }
    let threads = machine.cpus.threads.iter().filter(|thread| within(thread));
    let cpus: CpuSet = threads.map(|thread| thread.cpu).collect();
    let bottom = y + PITCH + 14;
    canvas.text(left, bottom, 12, Class::Dim, &format!("CPUs {}", words::short_cpus(&cpus)), width);
    bottom
}

/// What a tile says.
struct Tile {
    name: String,
    what: String,
    link: String,
    role: Role,
}

fn tiles(
    machine: &Machine,
    canvas: &mut Canvas,
    devices: &Devices<'_>,
    (left, top, width): Place,
) -> u32 {
    let all = all_tiles(machine, devices);
    let number = u32::try_from(all.len()).unwrap_or(0);
    let columns = ((width + GAP) / (TILE_WIDTH + GAP)).max(1);
    for (place, tile) in (0..number).zip(&all) {
        let x = left + place % columns * (TILE_WIDTH + GAP);
        let y = top + place / columns * (TILE_HEIGHT + GAP);
        let low = tile.role == Role::Warn;
        let class = if low { Class::Low } else { Class::Tile };
        canvas.rect((x, y, TILE_WIDTH, TILE_HEIGHT), class);
        let room = TILE_WIDTH - 16;
        canvas.text(x + 8, y + 16, 12, Class::Strong, &tile.name, room);
        canvas.text(x + 8, y + 31, 10, Class::Text, &tile.what, room);
        let (class, sign) = if low { (Class::LowText, "◂ ") } else { (Class::Dim, "") };
        canvas.text(x + 8, y + 45, 10, class, &format!("{sign}{}", tile.link), room);
    }
    top + number.div_ceil(columns) * (TILE_HEIGHT + GAP)
}

fn all_tiles(machine: &Machine, devices: &Devices<'_>) -> Vec<Tile> {
    let link = |address: Option<units::PciAddress>| {
        words::function_link(address.and_then(|address| machine.function(address)))
    };
    let drives = devices.drives.iter().map(|drive| {
        let path = drive.controllers.first().and_then(|path| path.function);
        let hidden = drive.hidden_by.is_some();
        let (role, text) = if hidden { (Role::Dim, words::drive_note(drive)) } else { link(path) };
        Tile { name: drive.name.clone(), what: words::drive(drive), link: text, role }
    });
    let nics = devices.nics.iter().map(|nic| {
        let (role, text) = link(nic.function);
        let driver = nic.driver.as_deref().unwrap_or("no driver");
        let what = format!("{} {driver}", words::nic_state(nic));
        Tile { name: nic.name.clone(), what, link: text, role }
    });
    let gpus = devices.gpus.iter().map(|gpu| {
        let (role, text) = link(Some(gpu.function));
        let function = machine.function(gpu.function);
        let what = function.map_or_else(String::new, words::function_name);
        Tile { name: words::gpu_name(gpu, function), what, link: text, role }
    });
    let others = devices.others.iter().map(|function: &&Function| {
        let (role, text) = words::function_link(Some(function));
        let name = function.address.to_string();
        Tile { name, what: words::function_name(function), link: text, role }
    });
    drives.chain(nics).chain(gpus).chain(others).collect()
}
