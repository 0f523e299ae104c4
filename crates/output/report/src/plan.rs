// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan for a terminal: what is changed in which order, from what to what, why, at what cost;
//! then what is left, to whom, and why.

use machine::Why;
use setting::{Device, Ethtool, Left, LeftWhy, Owner, Place, Plan, Planned, Reboot};

use crate::findings::Detail;
use crate::frame::{field_in, paragraph};
use crate::style::{Line, Role, Style, paint};
use crate::{text, words};

/// Columns before the text of a change: its number.
const INDENT: usize = 4;
/// Columns of the labels below a change.
const LABEL: usize = 10;
/// Lines to type that the brief form shows of what is left.
const BRIEF_LINES: usize = 2;
/// Columns of one value; the JSON document has all of it.
const LONGEST: usize = 60;

/// Changes that a person would call one: of one setting, alike on several devices, or several
/// places of one device.
struct Group<'a> {
    first: &'a Planned,
    devices: Vec<&'a Device>,
    all: Vec<&'a Planned>,
}

/// Draws a plan.
pub fn draw(plan: &Plan, detail: Detail, style: &Style) -> String {
    let columns = style.columns();
    let groups = groups(&plan.changes);
    let mut lines = paragraph(Role::Strong, &summary(plan, groups.len()), 0, columns);
    for (number, group) in groups.iter().enumerate() {
        lines.push(Line::default());
        lines.extend(heading(number + 1, group, columns));
        lines.extend(body(group, detail, columns));
    }
    if !plan.left.is_empty() {
        lines.push(Line::default());
        lines.extend(paragraph(Role::Strong, "Left to others:", 0, columns));
        for left in &plan.left {
            lines.extend(left_over(left, detail, columns));
        }
    }
    lines.extend(equal(plan, detail, columns));
    paint(&lines, style)
}

/// `12 changes in 4 steps for the goal latency, in this order; 3 left; 57 values are as wanted.`
fn summary(plan: &Plan, steps: usize) -> String {
    let purpose = match plan.goal {
        Some(goal) => format!(" for the goal {}", words::goal(goal)),
        None => String::new(),
    };
    let equal: u64 = plan.equal.iter().map(|(_, places)| *places).sum();
    let equal = match equal {
        0 => String::new(),
        1 => "; 1 value is as wanted".to_owned(),
        many => format!("; {many} values are as wanted"),
    };
    let left = match plan.left.len() {
        0 => String::new(),
        many => format!("; {many} left to others"),
    };
    match plan.changes.len() {
        0 => format!("Nothing to change{purpose}{left}{equal}."),
        1 => format!("1 change{purpose}{left}{equal}."),
        many if many == steps => {
            format!("{many} changes{purpose}, in this order{left}{equal}.")
        }
        many => {
            let steps = text::count(steps, "step");
            format!("{many} changes in {steps}{purpose}, in this order{left}{equal}.")
        }
    }
}

fn groups(changes: &[Planned]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for planned in changes {
        let joins = groups.last().is_some_and(|group| is_alike(group, planned));
        match groups.last_mut().filter(|_| joins) {
            Some(group) => group.add(planned),
            None => {
                let mut group = Group { first: planned, devices: Vec::new(), all: Vec::new() };
                group.add(planned);
                groups.push(group);
            }
        }
    }
    groups
}

fn is_alike(group: &Group<'_>, planned: &Planned) -> bool {
    let first = group.first;
    let is_one_device =
        group.devices.len() <= 1 && first.device == planned.device && first.device.is_some();
    let is_one_value = first.from == planned.from
        && first.to == planned.to
        && std::mem::discriminant(&first.place) == std::mem::discriminant(&planned.place);
    first.setting == planned.setting && (is_one_device || (is_one_value && group.is_uniform()))
}

impl<'a> Group<'a> {
    fn add(&mut self, planned: &'a Planned) {
        if let Some(device) = &planned.device
            && !self.devices.contains(&device)
        {
            self.devices.push(device);
        }
        self.all.push(planned);
    }

    fn is_uniform(&self) -> bool {
        self.all.iter().all(|one| one.to == self.first.to && one.from == self.first.from)
    }
}

fn heading(number: usize, group: &Group<'_>, columns: usize) -> Vec<Line> {
    let title = match names(&group.devices) {
        names if names.is_empty() => group.first.setting.clone(),
        names => format!("{} of {names}", group.first.setting),
    };
    let wrapped = text::wrap(&text::harmless(&title), columns.saturating_sub(INDENT));
    let line = |(at, part): (usize, String)| match at {
        0 => Line::of(Role::Dim, format!("{number:>2}  ")).and(Role::Strong, part),
        _ => Line::plain(" ".repeat(INDENT)).and(Role::Strong, part),
    };
    wrapped.into_iter().enumerate().map(line).collect()
}

/// `nvme0n1, nvme1n1 and 22 more`; CPUs as a list.
fn names(devices: &[&Device]) -> String {
    words::devices(devices.iter().map(|device| device.name.as_str()))
}

fn body(group: &Group<'_>, detail: Detail, columns: usize) -> Vec<Line> {
    let first = group.first;
    let mut lines = labelled(Role::Plain, "change", &step(group, detail), columns);
    lines.extend(labelled(Role::Plain, "why", &first.because, columns));
    lines.extend(labelled(Role::Dim, "costs", &first.cost, columns));
    if let Some(nic) = &first.drops_link {
        let text = format!("drops the link of {nic} for a moment");
        lines.extend(labelled(Role::Warn, "link", &text, columns));
    }
    if detail == Detail::Full {
        for (at, planned) in group.all.iter().enumerate() {
            let label = if at == 0 { "places" } else { "" };
            let text = format!("{}: {} → {}", place(planned), from(planned), to(planned));
            lines.extend(labelled(Role::Dim, label, &text, columns));
        }
    }
    lines
}

/// `0-63 → 1, 3, 9, 11 (4 interrupts)`.
fn step(group: &Group<'_>, detail: Detail) -> String {
    let places = match (&group.first.place, group.all.len()) {
        (_, 1) => String::new(),
        (Place::Interrupt { .. }, many) => format!(" ({many} interrupts)"),
        (Place::File { path }, many) if path.contains("/queues/") => format!(" ({many} queues)"),
        (_, many) => format!(" ({many} places)"),
    };
    let shown = |values: Vec<String>| {
        let mut distinct: Vec<String> = Vec::new();
        for value in values {
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        let most = if detail == Detail::Full { distinct.len() } else { 16 };
        let more = distinct.len().saturating_sub(most);
        distinct.truncate(most);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", distinct.join("; "))
    };
    let from = shown(group.all.iter().map(|one| from(one)).collect());
    let to = shown(group.all.iter().map(|one| to(one)).collect());
    format!("{} → {}{places}", text::cut(&from, 200), text::cut(&to, 400))
}

fn from(planned: &Planned) -> String {
    match &planned.from {
        Ok(value) if value.is_empty() => "none".to_owned(),
        Ok(value) => short(value),
        // The bound is the least of all that hold the file open, and no file tells it.
        Err(_) if planned.place == Place::IdleLatency => "as it is".to_owned(),
        Err(Why::Absent) => "unknown".to_owned(),
        // Several files in one, and no two of them alike.
        Err(Why::Unparsed(text)) => text::harmless(text),
        Err(why) => format!("unknown ({})", words::why(why)),
    }
}

fn to(planned: &Planned) -> String {
    match (&planned.place, planned.to.as_str()) {
        (_, "") => "none".to_owned(),
        (Place::BannedInterrupts, list) => left_alone(list),
        (Place::IdleLatency, us) => format!("at most {us} us to wake"),
        (_, value) => short(value),
    }
}

/// Interrupts by number are counted; functions stand for the queues that they will have.
fn left_alone(list: &str) -> String {
    let (functions, numbers): (Vec<&str>, Vec<&str>) =
        list.split_whitespace().partition(|word| word.contains(':'));
    let counted = text::count(numbers.len(), "interrupt");
    let queues = format!("the queues of {}", functions.join(" and "));
    match (numbers.is_empty(), functions.is_empty()) {
        (true, false) => format!("irqbalance leaves {queues} alone"),
        (false, false) => format!("irqbalance leaves {counted} and {queues} alone"),
        _ => format!("irqbalance leaves {counted} alone"),
    }
}

/// A long set of CPUs by its steps, or cut.
fn short(value: &str) -> String {
    let cpus = units::CpuSet::from_list(value).ok().filter(|_| value.contains([',', '-']));
    let value = cpus.map_or_else(|| value.to_owned(), |cpus| words::short_cpus(&cpus));
    text::cut(&value, LONGEST)
}

/// A place in words.
pub(crate) fn place(planned: &Planned) -> String {
    let device = planned.device.as_ref().map_or("", |device| device.name.as_str());
    let number = device.strip_prefix("cpu ").or(device.strip_prefix("node ")).unwrap_or(device);
    match &planned.place {
        Place::File { path } => path.replace("{device}", number),
        Place::Interrupt { queue: Some(queue), ordinal: 0 } => {
            format!("interrupt of {device}, queue {queue}")
        }
        Place::Interrupt { queue: Some(queue), ordinal } => {
            format!("interrupt of {device}, queue {queue}, vector {ordinal}")
        }
        Place::Interrupt { queue: None, ordinal } => {
            format!("interrupt of {device} without a queue, vector {ordinal}")
        }
        Place::Ethtool { what } => format!("ethtool {} {device}", flag(what)),
        Place::MaxReadRequest => format!("PCI Express Device Control of {device}"),
        Place::IdleLatency => "/dev/cpu_dma_latency".to_owned(),
        Place::Service { unit } => format!("service {unit}"),
        Place::BannedInterrupts => "exceptions of irqbalance".to_owned(),
    }
}

fn flag(what: &Ethtool) -> &'static str {
    match what {
        Ethtool::Channels => "-L",
        Ethtool::Rings => "-G",
        Ethtool::Coalescing => "-C",
        Ethtool::Features => "-K",
        Ethtool::Pause => "-A",
        Ethtool::ReceiveSpread => "-X",
    }
}

fn labelled(role: Role, label: &str, text: &str, columns: usize) -> Vec<Line> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let label = format!("{}{label}", " ".repeat(INDENT));
    field_in(role, &label, text, INDENT + LABEL, columns)
}

fn left_over(left: &Left, detail: Detail, columns: usize) -> Vec<Line> {
    let devices = match words::devices(left.devices.iter().map(String::as_str)) {
        names if names.is_empty() => names,
        names => format!(" of {names}"),
    };
    let title = format!("{}{devices}, wanted {}", left.setting, text::cut(&left.wanted, 100));
    let mut lines = paragraph(Role::Plain, &text::harmless(&title), 2, columns);
    let because = format!("{}: {}", reason(left), text::harmless(&left.because));
    lines.extend(paragraph(Role::Dim, &because, INDENT, columns));
    let most = if detail == Detail::Full { usize::MAX } else { BRIEF_LINES };
    for command in left.by_hand.iter().take(most) {
        lines.push(Line::plain(" ".repeat(INDENT)).and(Role::Good, command).whole());
    }
    let more = left.by_hand.len().saturating_sub(most);
    if more > 0 {
        let text = format!("and {}", text::count(more, "more line"));
        lines.extend(paragraph(Role::Dim, &text, INDENT, columns));
    }
    lines
}

/// Who could change it, or what keeps nearside from it, in a few words.
fn reason(left: &Left) -> &'static str {
    match (left.why, left.owner, left.reboot) {
        (LeftWhy::Owner, Owner::Bios, _) => "firmware",
        (LeftWhy::Owner, Owner::Person, _) => "a person",
        (LeftWhy::Owner, _, _) => "the device",
        (LeftWhy::Reboot, _, Reboot::Reload) => "reload",
        (LeftWhy::Reboot, _, _) => "reboot",
        (LeftWhy::LockOut, _, _) => "could lock you out",
        (LeftWhy::Conflict, _, _) => "conflict",
        (LeftWhy::Prerequisite, _, _) => "cannot be",
        (LeftWhy::Security, _, _) => "security",
        (LeftWhy::Managed, _, _) => "the kernel",
        (LeftWhy::Choice, _, _) => "your choice",
    }
}

fn equal(plan: &Plan, detail: Detail, columns: usize) -> Vec<Line> {
    if detail == Detail::Brief || plan.equal.is_empty() {
        return Vec::new();
    }
    let list = plan.equal.iter().map(|(setting, places)| match places {
        1 => setting.clone(),
        many => format!("{setting} ({many})"),
    });
    let text = list.collect::<Vec<_>>().join(", ");
    let mut lines = vec![Line::default()];
    lines.extend(paragraph(Role::Strong, "As wanted already:", 0, columns));
    lines.extend(paragraph(Role::Dim, &text, 2, columns));
    lines
}
