// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words in which drawings speak of sizes, links, nodes and devices.

use std::collections::BTreeSet;

use machine::{
    Drive, DriveKind, Fact, Function, Gpu, LimitedBy, Nic, NicKind, NodeKind, PortKind, Why,
};
use setting::{Goal, Severity};
use units::{BitRate, Bytes, CpuSet, NodeId, Transfers};

use crate::ask::{self, LinkView};
use crate::style::Role;

/// A drive's size as its label has it, in decimal units: `15.4 TB`.
pub(crate) fn drive_size(bytes: Bytes) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
    let rate = units::ByteRate(bytes.0 as f64);
    rate.to_string().trim_end_matches("/s").to_owned()
}

/// Memory in binary units, or why it is unknown.
pub(crate) fn memory(size: &Fact<Bytes>) -> String {
    match size {
        Ok(size) => size.to_string(),
        Err(reason) => format!("unknown ({})", why(reason)),
    }
}

/// A CPU list short enough for one line: `0,2 … 78, every 2nd` where it steps evenly.
pub(crate) fn short_cpus(cpus: &CpuSet) -> String {
    let numbers: Vec<u32> = cpus.iter().map(|cpu| cpu.0).collect();
    let steps = |pair: &[u32]| match pair {
        [a, b] => b.checked_sub(*a),
        _ => None,
    };
    let mut all = numbers.windows(2).map(steps);
    let step = all.next().flatten().unwrap_or(0);
    match numbers.as_slice() {
        [first, second, _, .., last] if step > 1 && all.all(|other| other == Some(step)) => {
            let ordinal = match step {
                2 => "2nd".to_owned(),
                3 => "3rd".to_owned(),
                step => format!("{step}th"),
            };
            format!("{first},{second} … {last}, every {ordinal}")
        }
        _ => cpus.to_string(),
    }
}

/// A fact's value, or `unknown`.
pub(crate) fn or_unknown<T: ToString>(fact: &Fact<T>) -> String {
    fact.as_ref().map_or_else(|_| "unknown".to_owned(), ToString::to_string)
}

/// `node 3`, or `node unknown`.
pub(crate) fn node(node: Option<NodeId>) -> String {
    node.map_or_else(|| "node unknown".to_owned(), |id| format!("node {id}"))
}

/// A speed as its PCIe generation: `Gen5`; other figures as they are.
pub(crate) fn generation(speed: Transfers) -> String {
    speed.generation().map_or_else(|| speed.to_string(), |number| format!("Gen{number}"))
}

/// A link as it is, against what it could be: `Gen5 x4`, `Gen5 x2 of x4`, `Gen3 of Gen5 x4`.
pub(crate) fn link(view: &LinkView) -> String {
    let speed = against(view.speed.map(generation), view.best_speed.map(generation));
    let width = against(
        view.width.map(|lanes| format!("x{lanes}")),
        view.best_width.map(|lanes| format!("x{lanes}")),
    );
    match (speed, width) {
        (None, None) => "link down".to_owned(),
        (speed, width) => [speed, width].into_iter().flatten().collect::<Vec<_>>().join(" "),
    }
}

fn against(now: Option<String>, best: Option<String>) -> Option<String> {
    match (now, best) {
        (Some(now), Some(best)) if now != best => Some(format!("{now} of {best}")),
        (now, _) => now,
    }
}

/// Who holds a link below its best, in words.
pub(crate) fn limit(limit: LimitedBy) -> &'static str {
    match limit {
        LimitedBy::Card => "the card can do no more",
        LimitedBy::Port => "the slot can do no more",
        LimitedBy::Trained => "card and slot can both do more: it trained low, or saves power",
        LimitedBy::Unseen => "the other end of the link cannot be seen",
    }
}

/// A function's link in words and the role that it deserves; empty where it has none.
pub(crate) fn function_link(function: Option<&Function>) -> (Role, String) {
    let Some(view) = function.and_then(ask::link) else { return (Role::Dim, String::new()) };
    let role = if view.limit.is_some() { Role::Warn } else { Role::Dim };
    (role, link(&view))
}

/// What a drive is: `15.4 TB Micron_9550_MTFDLAL15T3TGA`.
pub(crate) fn drive(drive: &Drive) -> String {
    let model = drive.model.as_ref().map(|model| squeezed(model)).unwrap_or_default();
    let kind = drive_kind(drive.kind);
    let model = if model.is_empty() { kind.to_owned() } else { model };
    match &drive.size {
        Ok(size) => format!("{} {model}", drive_size(*size)),
        Err(_) => model,
    }
}

/// One space where there are several: firmware pads names.
pub(crate) fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The kind of a drive.
pub(crate) fn drive_kind(kind: DriveKind) -> &'static str {
    match kind {
        DriveKind::Nvme => "NVMe",
        DriveKind::NvmeFabrics => "NVMe over fabrics",
        DriveKind::Sata => "SATA",
        DriveKind::Sas => "SAS",
        DriveKind::Scsi => "SCSI",
        DriveKind::Virtio => "virtio",
        DriveKind::RaidVolume => "RAID volume",
        DriveKind::Mmc => "MMC",
        DriveKind::Pmem => "persistent memory",
        DriveKind::Paravirtual => "paravirtual",
        DriveKind::Other => "drive",
    }
}

/// A network device's speed and state: `100 Gb/s`, `down`.
pub(crate) fn nic_state(nic: &Nic) -> String {
    match (&nic.speed, nic.state.as_str()) {
        (Ok(speed), "up" | "unknown") if speed.0 > 0 => BitRate(speed.0).to_string(),
        (Ok(speed), state) if speed.0 > 0 => format!("{} {state}", BitRate(speed.0)),
        (_, "") => "state unknown".to_owned(),
        (_, state) => state.to_owned(),
    }
}

/// The kind of a network device.
pub(crate) fn nic_kind(kind: NicKind) -> &'static str {
    match kind {
        NicKind::Physical => "physical",
        NicKind::VirtualFunction => "virtual function",
        NicKind::Paravirtual => "paravirtual",
        NicKind::Bond => "bond",
        NicKind::Bridge => "bridge",
        NicKind::Vlan => "VLAN",
        NicKind::Loopback => "loopback",
        NicKind::Virtual => "virtual",
    }
}

/// What a memory-only node is made of.
pub(crate) fn node_kind(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Ordinary => "memory",
        NodeKind::PersistentMemory => "persistent memory",
        NodeKind::Cxl => "CXL memory",
        NodeKind::HighBandwidth => "high-bandwidth memory",
        NodeKind::Gpu => "GPU memory",
        NodeKind::MemoryOnly => "memory without CPUs",
        NodeKind::Empty => "empty: neither CPUs nor memory",
    }
}

/// A function's name as pci.ids has it, shortened to what tells it apart.
pub(crate) fn function_name(function: &Function) -> String {
    let names = &function.names;
    // `MT2910 Family [ConnectX-7]`: of NICs and GPUs people use the name in brackets.
    let bracketed =
        bracketed(&names.device).filter(|_| matches!(function.class.base, 2 | 3 | 0x12));
    let device = bracketed.unwrap_or(&names.device);
    let vendor = short_vendor(&names.vendor);
    match (vendor, device) {
        ("", "") if function.vendor == 0 => "unidentified".to_owned(),
        ("", "") => format!("{:04x}:{:04x}", function.vendor, function.device),
        (vendor, device) if device.starts_with(vendor) => device.to_owned(),
        (vendor, device) => format!("{vendor} {device}"),
    }
}

/// What kind of port a bridge is, before its name: `root port, `; nothing for other functions.
pub(crate) fn port(function: &Function) -> &'static str {
    match function.port {
        Some(PortKind::Root) => "root port, ",
        Some(PortKind::Upstream) => "switch, ",
        Some(PortKind::Downstream) => "switch port, ",
        _ => "",
    }
}

/// What stands in brackets: `H100 SXM5 80GB` of `GH100 [H100 SXM5 80GB]`.
fn bracketed(name: &str) -> Option<&str> {
    let (_, rest) = name.split_once('[')?;
    let inner = rest.split_once(']')?.0.trim();
    (!inner.is_empty()).then_some(inner)
}

/// The vendor's everyday name: that in brackets where pci.ids has one, without legal forms.
fn short_vendor(vendor: &str) -> &str {
    let name = bracketed(vendor).unwrap_or(vendor);
    let name = name.split([',', '/']).next().unwrap_or(name).trim();
    let end = FORMS.iter().filter_map(|form| name.find(form)).min();
    end.and_then(|end| name.get(..end)).unwrap_or(name)
}

/// What follows a vendor's name in pci.ids and tells nothing.
const FORMS: &[&str] = &[
    " Corporation",
    " Corp",
    " Inc",
    " Technolog",
    " Electronics",
    " Co ",
    " Co.",
    " Ltd",
    " Limited",
    " Semiconductor",
    " Networks",
    " Group",
    " GmbH",
    " and subsidiaries",
];

/// What a GPU is called: its address where its name is but its model, which several may share.
pub(crate) fn gpu_name(gpu: &Gpu, function: Option<&Function>) -> String {
    match function {
        Some(function) if function.names.device == gpu.name => function.address.to_string(),
        _ => gpu.name.clone(),
    }
}

/// The slot's name, as people read it on the machine.
pub(crate) fn slot(function: &Function) -> String {
    function.slot.as_ref().map_or_else(String::new, |slot| format!("slot {slot}"))
}

/// Why something is unknown, as a clause.
pub(crate) fn why(why: &Why) -> String {
    match why {
        Why::Absent => "the kernel does not tell".to_owned(),
        Why::Denied => "needs root".to_owned(),
        Why::NotSupported => "not supported".to_owned(),
        Why::Unparsed(text) => format!("unreadable text {text:?}"),
        Why::Failed(text) => format!("reading failed: {text}"),
    }
}

/// What a drive hangs from, when that is not plain PCIe: the RAID controller that hides it, fabric,
/// volumes on top.
pub(crate) fn drive_note(drive: &Drive) -> String {
    let mut notes = Vec::new();
    if let Some(hidden) = &drive.hidden_by {
        notes.extend(Some(hidden.likely.clone()).filter(|likely| !likely.is_empty()));
        notes.push(format!("behind {} {}", hidden.driver, hidden.function));
    }
    if drive.kind == DriveKind::NvmeFabrics {
        notes.extend(drive.controllers.first().map(|path| format!("over {}", path.transport)));
    }
    if drive.controllers.len() > 1 {
        notes.push(format!("{} paths", drive.controllers.len()));
    }
    let nodes: BTreeSet<NodeId> = drive.controllers.iter().filter_map(|path| path.node).collect();
    if nodes.len() > 1 {
        let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
        notes.push(format!("from nodes {}", nodes.join(", ")));
    }
    notes.join(", ")
}

/// A goal by its name.
pub(crate) fn goal(goal: Goal) -> &'static str {
    match goal {
        Goal::Throughput => "throughput",
        Goal::Latency => "latency",
        Goal::Balanced => "balanced",
    }
}

/// What a finding does for a goal, after "what" or "that".
pub(crate) fn costs(goal: Goal) -> &'static str {
    match goal {
        Goal::Throughput => "costs throughput",
        Goal::Latency => "costs latency",
        Goal::Balanced => "a balanced machine should change",
    }
}

/// A severity by its name.
pub(crate) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Low => "low",
        Severity::Medium => "medium",
        Severity::High => "high",
    }
}

/// Devices that a line names one by one.
const NAMED: usize = 6;

/// `nvme0n1, nvme1n1 and 22 more`; CPUs as a list.
pub(crate) fn devices<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let cpu = |name: &str| name.strip_prefix("cpu ")?.parse().ok().map(units::Cpu);
    if let Some(cpus) =
        names.clone().map(cpu).collect::<Option<Vec<_>>>().filter(|cpus| !cpus.is_empty())
    {
        return format!("CPUs {}", cpus.into_iter().collect::<CpuSet>());
    }
    let shown = names.clone().take(NAMED).collect::<Vec<_>>().join(", ");
    match names.count().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_are_called_what_people_call_them() {
        let names = [
            ("Intel Corporation", "Intel"),
            ("Red Hat, Inc.", "Red Hat"),
            ("Micron Technology Inc", "Micron"),
            ("Samsung Electronics Co Ltd", "Samsung"),
            ("Broadcom / LSI", "Broadcom"),
            ("Broadcom Inc. and subsidiaries", "Broadcom"),
            ("Advanced Micro Devices, Inc. [AMD/ATI]", "AMD"),
            ("Mellanox Technologies", "Mellanox"),
            ("", ""),
        ];
        for (long, short) in names {
            assert_eq!(short_vendor(long), short);
        }
    }

    #[test]
    fn lists_that_step_evenly_are_short() {
        let short = |list: &str| short_cpus(&CpuSet::from_list(list).unwrap());
        assert_eq!(short("0,2,4,6,8"), "0,2 … 8, every 2nd");
        assert_eq!(short("2,6,10,14"), "2,6 … 14, every 4th");
        assert_eq!(short("0-3,8"), "0-3,8");
        assert_eq!(short(""), "");
    }

    #[test]
    fn a_link_says_what_it_is_and_what_it_could_be() {
        let view = |speed, width| LinkView {
            speed: Transfers::of_generation(speed),
            width: Some(width),
            best_speed: Transfers::of_generation(5),
            best_width: Some(4),
            limit: None,
        };
        assert_eq!(link(&view(5, 4)), "Gen5 x4");
        assert_eq!(link(&view(5, 2)), "Gen5 x2 of x4");
        assert_eq!(link(&view(3, 4)), "Gen3 of Gen5 x4");
        assert_eq!(link(&LinkView { speed: None, width: None, ..view(5, 4) }), "link down");
    }
}
