// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first screen: the machine in a box drawing, its three costliest findings, what could not be
//! seen, what to run next. Made to fit 80 columns and 24 lines.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Container, Machine, Thread, Why};
use setting::{Basis, Finding, Severity};
use units::{CpuSet, NodeId};

use crate::findings::{self, Found, role};
use crate::frame::{self, beside, boxed, inner};
use crate::layout::{self, Devices};
use crate::style::{Line, Role, Style, paint};
use crate::{marks, names, text, topology, words};

/// Who looks at the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Root, on this machine.
    Root,
    /// Somebody else, on this machine.
    User,
    /// A capture is replayed: what was not captured cannot be looked up.
    Replayed,
}

/// The findings that the first screen shows.
const SHOWN: usize = 3;

/// What stands before the commands to run next.
const NEXT: &str = "Next     ";

/// Lines that a small terminal shows above its prompt.
const HEIGHT: usize = 23;

/// Draws the first screen.
pub fn draw(machine: &Machine, found: &Found<'_>, standing: Standing, style: &Style) -> String {
    let columns = style.columns();
    let mut lines = topology::title(machine, columns);
    lines.extend(frame::paragraph(Role::Plain, &topology::counts(machine), 0, columns));
    let boxes = boxes(machine, columns);
    lines.extend(boxes);
    let mut below = unseen(machine, found, standing, columns);
    below.extend(next(machine, found, standing, columns));
    let room = HEIGHT.saturating_sub(lines.len() + below.len() + 1);
    lines.extend(findings(found, room, columns));
    lines.extend(below);
    paint(&lines, style)
}

/// Nodes as boxes beside each other, as many as stay readable.
fn boxes(machine: &Machine, columns: usize) -> Vec<Line> {
    let homes = layout::devices(machine);
    let empty = Devices::default();
    let cards = cards(machine);
    let abreast = match cards.len() {
        0 | 1 => 1,
        2..=4 => 2,
        _ => 4,
    };
    let each = (columns + 1) / abreast - 1;
    let rows = cards.len().div_ceil(abreast);
    let depth = if rows > 1 { Depth::Counts } else { Depth::Names };
    let mut lines = Vec::new();
    if rows > 3 {
        lines.extend(cards.iter().flat_map(|card| card.line(machine, &homes, columns)));
    } else {
        for row in cards.chunks(abreast) {
            let drawn: Vec<Vec<Line>> = row
                .iter()
                .map(|card| {
                    let devices = homes.get(&card.node).unwrap_or(&empty);
                    card.boxed(machine, devices, depth, each)
                })
                .collect();
            lines.extend(side_by_side(drawn, each));
        }
    }
    lines.extend(homeless(machine, &homes, columns));
    lines
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Counts,
    Names,
}

/// What a box stands for: a node, or a package without one.
struct Card {
    title: String,
    node: Option<NodeId>,
    cpus: CpuSet,
}

fn cards(machine: &Machine) -> Vec<Card> {
    let mut cards = Vec::new();
    let groups = layout::groups(machine);
    // Beyond four, boxes are too narrow for the package's name as well.
    let number = groups.iter().map(|group| group.nodes.len().max(1)).sum::<usize>();
    let narrow = (5..=12).contains(&number);
    for group in groups {
        let ids: Vec<String> = group.packages.iter().map(ToString::to_string).collect();
        let package = match ids.as_slice() {
            [] => String::new(),
            [id] => format!("package {id}"),
            ids => format!("packages {}", names::compact(ids.iter().map(String::as_str))),
        };
        let within = |thread: &&Thread| {
            thread.package.as_ref().is_ok_and(|package| group.packages.contains(package))
        };
        if group.nodes.is_empty() {
            let cpus = machine.cpus.threads.iter().filter(within).map(|t| t.cpu).collect();
            cards.push(Card { title: package.clone(), node: None, cpus });
        }
        for node in &group.nodes {
            let on_node = machine.cpus.threads.iter().filter(|t| t.node == Some(*node));
            let package = if narrow { String::new() } else { package.clone() };
            let parts = [package, format!("node {node}")];
            let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            let cpus = on_node.map(|thread| thread.cpu).collect();
            cards.push(Card { title: parts.join(" · "), node: Some(*node), cpus });
        }
    }
    cards
}

impl Card {
    fn boxed(
        &self,
        machine: &Machine,
        devices: &Devices<'_>,
        depth: Depth,
        columns: usize,
    ) -> Vec<Line> {
        let room = inner(columns);
        let mut body = self.marks(machine, room, 2);
        let memory = self.memory(machine);
        let counted = counted(devices).join(", ");
        let cpus = format!("CPUs {}", words::short_cpus(&self.cpus));
        match depth {
            // Half a list of CPUs says nothing: the line is better spent on the devices.
            Depth::Counts if text::width(&cpus) > room => {
                body.extend([memory, counted].map(|text| Line::plain(text).cut(room)));
            }
            Depth::Counts => {
                let parts = [memory, counted].into_iter().filter(|part| !part.is_empty());
                body.push(Line::plain(cpus));
                body.push(Line::plain(parts.collect::<Vec<_>>().join(" · ")).cut(room));
            }
            Depth::Names => {
                body.push(Line::plain(cpus).cut(room));
                if !memory.is_empty() {
                    body.push(Line::plain(format!("memory {memory}")).cut(room));
                }
                body.extend(named(machine, devices, room).into_iter().map(|line| line.cut(room)));
            }
        }
        boxed(Line::of(Role::Strong, &self.title), body, columns)
    }

    /// At most `most` lines of marks; a number where there are more cores than fit.
    fn marks(&self, machine: &Machine, columns: usize, most: usize) -> Vec<Line> {
        let within = |thread: &Thread| self.cpus.contains(thread.cpu);
        let lines = marks::lines(&marks::stretches(machine, within), columns);
        if lines.len() <= most {
            return lines;
        }
        let inside = machine.cpus.threads.iter().filter(|thread| within(thread));
        let cores = inside.map(|thread| thread.core).collect::<BTreeSet<_>>().len();
        let cpus = text::count(self.cpus.len(), "CPU");
        vec![Line::plain(format!("{}, {cpus}", text::count(cores, "core"))).cut(columns)]
    }

    fn memory(&self, machine: &Machine) -> String {
        let node = machine.nodes.iter().find(|node| Some(node.id) == self.node);
        // Why it is unknown does not fit, and is no news on the first screen.
        node.map_or_else(String::new, |node| words::or_unknown(&node.memory))
    }

    /// One line a node, for machines with very many.
    fn line(
        &self,
        machine: &Machine,
        homes: &BTreeMap<Option<NodeId>, Devices<'_>>,
        columns: usize,
    ) -> Vec<Line> {
        let counted = homes.get(&self.node).map(counted).unwrap_or_default();
        let parts = [format!("CPUs {}", words::short_cpus(&self.cpus)), self.memory(machine)];
        let text = parts.into_iter().chain(counted).collect::<Vec<_>>().join(" · ");
        vec![Line::of(Role::Strong, text::pad(&self.title, 22)).and(Role::Plain, text).cut(columns)]
    }
}

fn side_by_side(drawn: Vec<Vec<Line>>, columns: usize) -> Vec<Line> {
    let height = drawn.iter().map(Vec::len).max().unwrap_or(0);
    let mut wide = 0;
    let mut lines: Vec<Line> = Vec::new();
    for mut one in drawn {
        stretch(&mut one, height, columns);
        lines = if wide == 0 { one } else { beside(lines, one, wide) };
        wide = if wide == 0 { columns } else { wide + 1 + columns };
    }
    lines
}

/// Adds empty lines above a box's lower edge, so that boxes in a row end together.
fn stretch(lines: &mut Vec<Line>, height: usize, columns: usize) {
    let edge = lines.pop();
    while lines.len() + 1 < height {
        lines.push(
            Line::of(Role::Dim, "│ ")
                .and(Role::Plain, " ".repeat(inner(columns)))
                .and(Role::Dim, " │"),
        );
    }
    lines.extend(edge);
}

fn counted(devices: &Devices<'_>) -> Vec<String> {
    [
        (devices.drives.len(), "drive"),
        (devices.nics.len(), "NIC"),
        (devices.gpus.len(), "GPU"),
        (devices.others.len(), "other function"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, word)| text::count(number, word))
    .collect()
}

/// A line for each kind of device: how many, which.
fn named(machine: &Machine, devices: &Devices<'_>, room: usize) -> Vec<Line> {
    let below = |function: Option<units::PciAddress>| {
        let function = function.and_then(|address| machine.function(address));
        words::function_link(function).0 == Role::Warn
    };
    let drives = devices.drives.iter().filter(|drive| {
        below(drive.controllers.first().and_then(|path| path.function)) && drive.hidden_by.is_none()
    });
    let drive_names = devices.drives.iter().map(|drive| drive.name.clone()).collect();
    let nic_names = devices.nics.iter().map(|nic| nic.name.clone()).collect();
    let gpu_names =
        devices.gpus.iter().map(|gpu| words::gpu_name(gpu, machine.function(gpu.function)));
    let sets: [(&str, Vec<String>, usize); 3] = [
        ("drive", drive_names, drives.count()),
        ("NIC", nic_names, devices.nics.iter().filter(|nic| below(nic.function)).count()),
        ("GPU", gpu_names.collect(), 0),
    ];
    let mut lines = Vec::new();
    for (word, all, below) in sets {
        if all.is_empty() {
            continue;
        }
        let number = text::count(all.len(), word);
        let room = room.saturating_sub(text::width(&number) + 2);
        let names = names::within(all.iter().map(String::as_str), room);
        lines.push(Line::plain(format!("{number}: {names}")));
        if below > 0 {
            let links = text::count(below, "link");
            lines.push(Line::of(Role::Warn, format!("  {links} below the best ◂")));
        }
    }
    if !devices.others.is_empty() {
        lines.push(Line::plain(text::count(devices.others.len(), "other I/O function")));
    }
    lines
}

fn homeless(
    machine: &Machine,
    homes: &BTreeMap<Option<NodeId>, Devices<'_>>,
    columns: usize,
) -> Vec<Line> {
    let Some(devices) = homes.get(&None).filter(|devices| !devices.is_empty()) else {
        return Vec::new();
    };
    let label = if machine.nodes.is_empty() { "devices" } else { "node unknown" };
    let text = counted(devices).join(", ");
    let all = devices.drives.iter().map(|drive| drive.name.as_str());
    let all = all.chain(devices.nics.iter().map(|nic| nic.name.as_str()));
    let all = all.chain(devices.gpus.iter().map(|gpu| gpu.name.as_str()));
    let room = columns.saturating_sub(label.len() + text::width(&text) + 4);
    let names = names::within(all, room);
    let text = if names.is_empty() { text } else { format!("{text}: {names}") };
    vec![
        Line::of(Role::Warn, text::pad(label, label.len() + 2)).and(Role::Plain, text).cut(columns),
    ]
}

/// What costs. Notes cost nothing now, so that they wait for the audit.
fn costly<'a>(found: &Found<'a>) -> impl Iterator<Item = &'a Finding> {
    found.findings.iter().filter(|finding| finding.severity > Severity::Note)
}

/// What the words before the findings and the brackets behind them mean, where a study's gain may seem
/// to contradict the order.
const MEANING: &str =
    "  (high … low: what it can hold up here; in brackets: a study's gain elsewhere)";

/// The costliest, in about `room` lines.
fn findings(found: &Found<'_>, room: usize, columns: usize) -> Vec<Line> {
    let costly: Vec<&Finding> = costly(found).collect();
    if costly.is_empty() {
        return nothing(found, columns);
    }
    let costs = words::costs(found.goal);
    // All are counted, so that the number is the one that the audit heads its list with.
    let heading = match found.findings.len() {
        0..=SHOWN => format!("What {costs}:"),
        number => format!("What {costs} most, of {number} findings:"),
    };
    let mut lines = vec![Line::of(Role::Strong, heading)];
    let shown: Vec<&Finding> = costly.into_iter().take(SHOWN).collect();
    lines.extend(shown_lines(&shown, room.max(SHOWN), columns));
    lines
}

/// With what studies gained where there is room for it; else the titles alone; else as many of them as
/// fit, the last one cut.
fn shown_lines(shown: &[&Finding], room: usize, columns: usize) -> Vec<Line> {
    let has_gain = shown.iter().any(|finding| !gain(finding).is_empty());
    let with = |finding: &&Finding| finding_lines(finding, &gain(finding), columns);
    let full: Vec<Line> = shown.iter().flat_map(with).collect();
    if has_gain && full.len() < room {
        return full.into_iter().chain([Line::of(Role::Dim, MEANING).cut(columns)]).collect();
    }
    let mut lines = Vec::new();
    for finding in shown {
        let left = room.saturating_sub(lines.len());
        let titled = finding_lines(finding, "", columns);
        match titled.len() {
            needed if needed <= left => lines.extend(titled),
            _ if left == 0 && !lines.is_empty() => break,
            _ => lines.extend(cut_to(finding, left.max(1), columns)),
        }
    }
    lines
}

/// The title in at most `most` lines.
fn cut_to(finding: &Finding, most: usize, columns: usize) -> Vec<Line> {
    let room = columns.saturating_sub(BEFORE);
    let mut parts = text::wrap(&text::harmless(&finding.title), room);
    let rest = parts.split_off(most.saturating_sub(1).min(parts.len())).join(" ");
    parts.push(text::cut(&rest, room));
    under_word(finding, parts)
}

/// Nothing found is worth as much as what could be looked at, so that it says how much that was.
fn nothing(found: &Found<'_>, columns: usize) -> Vec<Line> {
    let seen = found.seen();
    let (read, unseen) = (seen.settings.len(), seen.unseen.len());
    let role = if read >= unseen { Role::Good } else { Role::Plain };
    let within = match (read, unseen) {
        (0, 0) => String::new(),
        (read, 0) => format!(" in the {} read", text::count(read, "setting")),
        (read, unseen) => {
            format!(" in the {} read; {unseen} could not be seen", text::count(read, "setting"))
        }
    };
    let text = format!("Nothing found that {}{within}.", words::costs(found.goal));
    frame::paragraph(role, &text, 0, columns)
}

/// Columns before a finding's title.
const BEFORE: usize = 9;

fn finding_lines(finding: &Finding, gain: &str, columns: usize) -> Vec<Line> {
    let title = text::harmless(&finding.title);
    let parts = text::wrap(&format!("{title}{gain}"), columns.saturating_sub(BEFORE));
    under_word(finding, parts)
}

/// Lines behind the severity's word.
fn under_word(finding: &Finding, parts: Vec<String>) -> Vec<Line> {
    let line = |(number, part): (usize, String)| {
        let word = if number == 0 { words::severity(finding.severity) } else { "" };
        let word = text::pad(word, BEFORE - 2);
        Line::plain("  ").and(role(finding.severity), word).and(Role::Plain, part)
    };
    parts.into_iter().enumerate().map(line).collect()
}

/// What a study gained, elsewhere: no promise for this machine, and said so.
fn gain(finding: &Finding) -> String {
    let effect = &finding.effect;
    let with = match effect.basis {
        Basis::Measured => "",
        Basis::Bundle => " with other changes",
        Basis::Rated | Basis::Reasoned => return String::new(),
    };
    let ratio = effect.ratio.filter(|ratio| ratio.is_finite() && *ratio > 1.0);
    ratio.map_or_else(String::new, |ratio| {
        let gain = format!("[a study: +{:.0} %{with}]", (ratio - 1.0) * 100.0);
        format!(" {}", gain.replace(' ', "\u{a0}"))
    })
}

/// How much could not be seen and what to do about it.
fn unseen(machine: &Machine, found: &Found<'_>, standing: Standing, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Container::Yes { name, .. } = &machine.host.container {
        let text = format!("in a container ({name}): some of the host may be hidden");
        lines.push(Line::of(Role::Dim, "Not seen ").and(Role::Plain, text).cut(columns));
    }
    let text = not_seen(machine, found, standing);
    if !text.is_empty() {
        lines.extend(frame::field("Not seen", &text, NEXT.len(), columns));
    }
    lines
}

/// `14 things for root alone: run as root; 29 not on this machine; audit -v names all`.
fn not_seen(machine: &Machine, found: &Found<'_>, standing: Standing) -> String {
    let seen = found.seen();
    let all = || {
        let things = machine.unknown.iter().map(|trouble| (trouble.what.as_str(), &trouble.why));
        things.chain(seen.unseen.iter().map(|(setting, why)| (*setting, *why)))
    };
    let count = |picks: &dyn Fn(&Why) -> bool| {
        let whats: BTreeSet<&str> =
            all().filter(|(_, why)| picks(why)).map(|(what, _)| what).collect();
        whats.len()
    };
    let denied = count(&|why| *why == Why::Denied);
    let unreadable = count(&|why| matches!(why, Why::Failed(_) | Why::Unparsed(_)));
    let missing = count(&findings::is_missing);
    let only_root = match standing {
        Standing::User => "for root alone: run as root",
        Standing::Root => "denied even to root",
        Standing::Replayed => "denied when captured: capture as root",
    };
    let parts = [(denied, only_root), (unreadable, "unreadable"), (missing, "not on this machine")];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0).enumerate();
    let told = |(place, (number, what)): (usize, (usize, &str))| match place {
        0 => format!("{} {what}", text::count(number, "thing")),
        _ => format!("{number} {what}"),
    };
    let told: Vec<String> = parts.map(told).collect();
    if told.is_empty() { String::new() } else { format!("{}; audit -v names all", told.join("; ")) }
}

/// Commands to type, never cut: half a command is none. What they do stands beside them where there
/// is room.
fn next(machine: &Machine, found: &Found<'_>, standing: Standing, columns: usize) -> Vec<Line> {
    let denied = machine.unknown.iter().any(|trouble| trouble.why == Why::Denied);
    let of = |verb: &str| format!("nearside {verb} {}", found.named).trim_end().to_owned();
    let mut commands: Vec<(String, &str)> = Vec::new();
    if standing == Standing::User && denied {
        commands.push(("sudo nearside".to_owned(), "to see what needs root"));
    }
    let changes = |finding: &&Finding| finding.change.as_ref().is_some_and(|change| change.at_once);
    match found.findings.is_empty() {
        false => commands.push((of("audit"), "every finding: why, and what to do")),
        true => commands.push((of("audit"), "what could not be seen")),
    }
    if found.findings.iter().any(|finding| changes(&finding)) {
        commands.push((of("plan"), "what nearside would change, in order"));
    }
    commands.push((of("topology"), "every device on its node"));
    commands.truncate(SHOWN);
    let width = commands.iter().map(|(command, _)| text::width(command)).max().unwrap_or(0) + 2;
    let longest = commands.iter().map(|(_, text)| text::width(text)).max().unwrap_or(0);
    let has_room = NEXT.len() + width + longest <= columns;
    let line = |(number, (command, text)): (usize, (String, &str))| {
        let label = Line::of(Role::Dim, text::pad(if number == 0 { NEXT } else { "" }, NEXT.len()));
        if has_room {
            label.and(Role::Strong, text::pad(&command, width)).and(Role::Dim, text)
        } else {
            label.and(Role::Strong, command).whole()
        }
    };
    commands.into_iter().enumerate().map(line).collect()
}
