// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a fault may change, compared with the same machine unharmed.
//!
//! Both `topology/1` documents are spread into leaves (`functions[0000:3e:00.0].link.width`). A
//! leaf that differs must be about what was hurt: a fault in a drive's file says nothing new of a
//! NIC. And where a file was only withheld, the leaf must say less, never something else, but for
//! the few that are worked out from other files, which [`is_inferred`] names with the reason.

use std::collections::{BTreeMap, BTreeSet};

use root::Root;
use serde_json::Value;
use units::{CpuSet, PciAddress};

use crate::harm::{Harm, Kind};
use crate::pipeline::Said;
use crate::rules::each;

type Leaves = BTreeMap<String, Value>;

/// Holds what the harmed machine says against what the healthy one does.
///
/// # Errors
/// The leaves that no fault explains.
pub(crate) fn hold(
    root: &dyn Root,
    healthy: &Said,
    harmed: &Said,
    harm: &Harm,
) -> Result<(), String> {
    let (before, after) = (leaves(&healthy.topology), leaves(&harmed.topology));
    let differing: Vec<&String> = before
        .keys()
        .chain(after.keys().filter(|key| !before.contains_key(*key)))
        .filter(|key| before.get(*key) != after.get(*key))
        .collect();
    if differing.is_empty() {
        return Ok(());
    }
    let scopes = scopes(root, &[healthy, harmed], harm);
    let wrong: Vec<String> = differing
        .into_iter()
        .filter(|key| !explained(key, &before, &after, &scopes, healthy, harmed))
        .map(|key| format!("{key}: {} became {}", show(before.get(key)), show(after.get(key))))
        .take(6)
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

fn show(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), Value::to_string)
}

fn explained(
    key: &str,
    before: &Leaves,
    after: &Leaves,
    scopes: &[(Kind, Scope)],
    healthy: &Said,
    harmed: &Said,
) -> bool {
    let leaf = Leaf::new(key);
    let hit = |kind| {
        scopes.iter().any(|(of, scope)| {
            *of == kind
                && (scope.holds(&leaf, &healthy.topology) || scope.holds(&leaf, &harmed.topology))
        })
    };
    if hit(Kind::Changed) {
        return true;
    }
    let (old, new) = (before.get(key).unwrap_or(&Value::Null), after.get(key));
    hit(Kind::Withheld)
        && (is_less(&leaf, old, new.unwrap_or(&Value::Null))
            || is_inferred(&leaf)
            || is_other_name(&leaf, healthy, harmed))
}

/// A place in the document: `functions[0000:3e:00.0].link.width`.
struct Leaf<'a> {
    section: &'a str,
    item: &'a str,
    field: &'a str,
}

impl<'a> Leaf<'a> {
    fn new(key: &'a str) -> Self {
        match key
            .split_once('[')
            .and_then(|(section, rest)| Some((section, rest.split_once("].")?)))
        {
            Some((section, (item, field))) => Self { section, item, field },
            None => {
                let (section, field) = key.split_once('.').unwrap_or((key, ""));
                Self { section, item: "", field }
            }
        }
    }

    /// Whether it says where something is, or follows from how CPUs and nodes are grouped.
    fn is_place(&self) -> bool {
        match self.section {
            "cpus" | "packages" | "nodes" | "numbering" | "siblings" | "sub_numa" | "smt"
            | "l3" => true,
            _ => matches!(self.field.rsplit('.').next(), Some("node" | "node_from" | "local_cpus")),
        }
    }
}

fn leaves(document: &Value) -> Leaves {
    let mut leaves = Leaves::new();
    for (section, value) in document.as_object().into_iter().flatten() {
        match (section.as_str(), value) {
            // What is unknown is meant to differ.
            ("unknown", _) => {}
            (_, Value::Array(items)) => {
                for item in items {
                    spread(&format!("{section}[{}]", name(section, item)), item, &mut leaves);
                }
            }
            _ => spread(section, value, &mut leaves),
        }
    }
    leaves
}

fn name(section: &str, item: &Value) -> String {
    let key = match section {
        "packages" | "nodes" => "id",
        "functions" => "address",
        "irqs" => "irq",
        "gpus" => "function",
        "lanes" => "root",
        "l3" => "cpus",
        _ => "name",
    };
    item[key].as_str().map_or_else(|| item[key].to_string(), str::to_owned)
}

fn spread(key: &str, value: &Value, leaves: &mut Leaves) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                spread(&format!("{key}.{field}"), value, leaves);
            }
        }
        // Paths to a drive are things of their own; other arrays are values.
        Value::Array(items) if items.first().is_some_and(Value::is_object) => {
            for item in items {
                spread(&format!("{key}.{}", name("", item)), item, leaves);
            }
        }
        _ => {
            leaves.insert(key.to_owned(), value.clone());
        }
    }
}

/// Whether a leaf says the same or less: nothing, a part of a set, a smaller count.
fn is_less(leaf: &Leaf<'_>, old: &Value, new: &Value) -> bool {
    match (old, new) {
        (_, Value::Null) => true,
        (_, Value::String(text)) if text.is_empty() => true,
        (_, Value::Array(items)) if items.is_empty() => true,
        (Value::Array(old), Value::Array(new)) => new.iter().all(|item| is_in(item, old)),
        (Value::Bool(_), Value::Bool(new)) => !new,
        (Value::String(old), Value::String(new)) => is_less_text(leaf, old, new),
        (Value::Number(old), Value::Number(new)) => is_count(leaf) && new.as_f64() <= old.as_f64(),
        _ => false,
    }
}

/// A card is called by its first function whose link can be read: `0000:21:00.1` for `.0`.
fn is_in(item: &Value, list: &[Value]) -> bool {
    let card = |item: &Value| {
        item.as_str()?.parse::<PciAddress>().ok().map(|a| (a.domain, a.bus, a.device))
    };
    list.contains(item) || (card(item).is_some() && list.iter().any(|old| card(old) == card(item)))
}

fn is_less_text(leaf: &Leaf<'_>, old: &str, new: &str) -> bool {
    if leaf.field.ends_with("cpus") || leaf.section == "cpus" {
        let (old, new) = (CpuSet::from_list(old), CpuSet::from_list(new));
        return matches!((old, new), (Ok(old), Ok(new)) if new.is_subset(&old));
    }
    // What hides behind a controller cannot be told without its driver.
    let is_drive = leaf.section == "drives" && leaf.field == "kind" && new == "scsi";
    // A guest whose clock is not seen is one of QEMU's, with or without KVM.
    let is_guest = leaf.field == "virtual" && (old, new) == ("kvm", "qemu");
    // No CPU is seen, so none with a second thread.
    let is_empty = leaf.section == "siblings" && new == "none";
    // Without the port's best, which end limits a link cannot be told.
    let is_unseen = leaf.field.ends_with("limited_by") && new == "unseen";
    // A version of firmware is followed by its date, where that can be read.
    let is_undated = leaf.field == "firmware" && old.starts_with(&format!("{new} ("));
    is_drive
        || is_undated
        || is_unseen
        || is_guest
        || is_empty
        || matches!(new, "unknown" | "undecided" | "other" | "vm-other")
}

/// Numbers that count what was found.
fn is_count(leaf: &Leaf<'_>) -> bool {
    matches!(
        (leaf.section, leaf.field.rsplit('.').next().unwrap_or_default()),
        ("packages", "dies" | "nodes" | "cores" | "threads")
            | ("smt", "threads_per_core")
            | ("sub_numa", "per_package")
            | ("lanes", "lanes" | "bytes_per_second")
            | ("nics" | "drives", "queues")
    )
}

/// Leaves that are worked out from something else when their own file is withheld, so that they may
/// say another thing than before without being wrong.
fn is_inferred(leaf: &Leaf<'_>) -> bool {
    let field = leaf.field.rsplit('.').next().unwrap_or_default();
    match (leaf.section, field) {
        // Says itself where the node came from.
        ("functions", "node_from") => true,
        // Devices that disagree leave a root without a node: where one is not seen, the others' stands.
        ("lanes", "node") => true,
        // Prose.
        ("sub_numa", "why") => true,
        _ => false,
    }
}

/// Whether the same thing is called by another of its names, since the better one cannot be seen:
/// an interrupt's device by its driver's or address, a drive without namespace by its controller's.
fn is_other_name(leaf: &Leaf<'_>, healthy: &Said, harmed: &Said) -> bool {
    match (leaf.section, leaf.field) {
        ("irqs", "device") => {
            let function = |said: &Said| {
                let irq =
                    said.machine.irqs.iter().find(|irq| irq.number.to_string() == leaf.item)?;
                irq.source.as_ref()?.function
            };
            function(healthy).is_some() && function(healthy) == function(harmed)
        }
        ("drives", _) => {
            let mut paths = healthy.machine.drives.iter().flat_map(|drive| &drive.controllers);
            paths.any(|path| path.name == leaf.item)
        }
        _ => false,
    }
}

/// What a fault is about.
#[derive(Debug, Default)]
struct Scope {
    /// It may move anything that says where things are.
    places: bool,
    /// Whole sections of the document.
    sections: BTreeSet<&'static str>,
    /// Devices: addresses and names.
    devices: BTreeSet<String>,
}

impl Scope {
    fn holds(&self, leaf: &Leaf<'_>, document: &Value) -> bool {
        if self.sections.contains(leaf.section) || (self.places && leaf.is_place()) {
            return true;
        }
        self.devices.contains(leaf.item) || self.is_of_device(leaf, document)
    }

    /// Devices that hang from those hurt, and sums over them.
    fn is_of_device(&self, leaf: &Leaf<'_>, document: &Value) -> bool {
        let is_hurt =
            |value: &Value| value.as_str().is_some_and(|name| self.devices.contains(name));
        let item =
            || each(document, leaf.section).find(|item| name(leaf.section, item) == leaf.item);
        let Some(item) = item() else { return false };
        match leaf.section {
            "drives" => {
                each(item, "controllers").any(|c| is_hurt(&c["function"]) || is_hurt(&c["name"]))
            }
            "nics" => is_hurt(&item["function"]),
            "irqs" => is_hurt(&item["device"]),
            "lanes" => each(item, "used_by").any(is_hurt),
            _ => false,
        }
    }
}

/// The scope of each path that was hurt.
fn scopes(root: &dyn Root, said: &[&Said], harm: &Harm) -> Vec<(Kind, Scope)> {
    let scope = |path: &String| {
        let mut scope = of_path(path);
        // The same file by its real path: what a class folder links to.
        let real = root.resolve(path).unwrap_or_default();
        if real != *path {
            scope.join(of_path(&real));
        }
        said.iter().for_each(|said| scope.reach(said));
        scope
    };
    let hurts = harm.0.iter().flat_map(|hurt| hurt.paths.iter().map(|path| (hurt.kind(), path)));
    hurts.map(|(kind, path)| (kind, scope(path))).collect()
}

impl Scope {
    fn join(&mut self, other: Self) {
        self.places |= other.places;
        self.sections.extend(other.sections);
        self.devices.extend(other.devices);
    }

    /// Adds what hangs below the devices: functions behind a port, and what their drivers made.
    fn reach(&mut self, said: &Said) {
        // Parents come before children: lists are in the order of addresses, which buses follow.
        for function in &said.machine.functions {
            let below = function.parent.is_some_and(|p| self.devices.contains(&p.to_string()));
            if below {
                self.devices.insert(function.address.to_string());
            }
        }
        for controller in said.machine.drives.iter().flat_map(|drive| &drive.controllers) {
            if controller.function.is_some_and(|f| self.devices.contains(&f.to_string())) {
                self.devices.insert(controller.name.clone());
            }
        }
        for nic in &said.machine.nics {
            if nic.function.is_some_and(|f| self.devices.contains(&f.to_string())) {
                self.devices.insert(nic.name.clone());
            }
        }
    }
}

/// Where facts come from, by the beginning of the path; the first that fits.
const SOURCES: &[(&str, bool, &[&str])] = &[
    ("/sys/devices/system/cpu", true, &["host"]),
    ("/sys/devices/system/node", true, &["gpus"]),
    ("/sys/firmware/acpi", true, &[]),
    ("/sys/fs/cgroup", true, &["host"]),
    ("/proc/cpuinfo", true, &["host"]),
    ("/proc/self", true, &["host", "drives"]),
    ("/proc/1/", false, &["host"]),
    ("/proc/interrupts", false, &["irqs"]),
    ("/proc/irq", false, &["irqs"]),
    ("/sys/kernel/irq", false, &["irqs"]),
    ("/proc/net", false, &["nics"]),
    ("/proc/cmdline", true, &["host"]),
    ("/sys/firmware/dmi", true, &["host", "functions"]),
    ("/sys/class/dmi", true, &["host"]),
    ("/sys/devices/virtual/dmi", true, &["host"]),
    ("/sys/bus/pci/slots", false, &["functions"]),
    ("/proc", false, &["host"]),
    ("/etc", false, &["host"]),
    ("/sys/hypervisor", false, &["host"]),
];

/// Folders whose own list says which devices there are.
const LISTS: &[(&str, &[&str])] = &[
    ("/sys/bus/pci/devices", &["functions", "drives", "nics", "gpus", "irqs", "lanes"]),
    ("/sys/block", &["drives"]),
    ("/sys/class/nvme", &["drives"]),
    ("/sys/class/net", &["nics", "irqs"]),
    ("/sys/class/drm", &["gpus"]),
];

fn of_path(path: &str) -> Scope {
    if let Some((_, sections)) = LISTS.iter().find(|(folder, _)| *folder == path) {
        return Scope { sections: sections.iter().copied().collect(), ..Scope::default() };
    }
    let source = SOURCES.iter().find(|(start, ..)| path.starts_with(start));
    if let Some((_, places, sections)) = source {
        let sections = sections.iter().copied().collect();
        return Scope { places: *places, sections, ..Scope::default() };
    }
    // The last PCI function on the way, and what is below it; ports above are not concerned.
    let parts: Vec<&str> = path.split('/').collect();
    let is_function = |part: &str| part.parse::<PciAddress>().is_ok();
    let from = parts.iter().rposition(|part| is_function(part)).unwrap_or(0);
    let devices = parts.iter().skip(from).map(|part| part.to_string()).collect();
    Scope { devices, ..Scope::default() }
}
