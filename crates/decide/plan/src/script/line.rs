// SPDX-License-Identifier: MIT OR Apache-2.0
//! One change as lines of shell.

use machine::Machine;
use setting::{Device, DeviceKind, Ethtool, Place, Planned, spelled};

use super::interrupt::{Found, Numbers};
use super::quote::{comment, quote};
use crate::device;

/// Which value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// The one wanted.
    Forth,
    /// The one observed.
    Back,
}

/// The lines for one change; a comment where there is nothing to write.
pub(super) fn lines(planned: &Planned, direction: Direction, numbers: &Numbers<'_>) -> Vec<String> {
    match (&planned.place, direction) {
        // These are not undone by writing a value.
        (Place::IdleLatency, Direction::Back) => return vec!["run free_latency".to_owned()],
        (Place::BannedInterrupts, Direction::Back) => return vec!["run unban".to_owned()],
        _ => {}
    }
    let value = match direction {
        Direction::Forth => planned.to.as_str(),
        Direction::Back => match &planned.from {
            Ok(from) => from.as_str(),
            Err(why) => return vec![comment(&format!("not restored, it was not seen: {why}"))],
        },
    };
    match &planned.place {
        Place::File { path } => file(planned, path, value),
        Place::Interrupt { .. } => match numbers.find(planned) {
            Found::Number(number, name) => {
                vec![format!("irq {number} {} {}", quote(name), quote(value))]
            }
            Found::At(function, place) => {
                vec![format!("irq_at {} {place} {}", quote(&function.to_string()), quote(value))]
            }
            Found::Unknown => vec![comment("not written: no such interrupt was seen")],
        },
        Place::Ethtool { what: Ethtool::Features } if direction == Direction::Back => {
            features(planned, numbers.machine)
        }
        Place::Ethtool { what } => ethtool(planned.device.as_ref(), what, value),
        Place::MaxReadRequest => max_read_request(planned.device.as_ref(), value),
        Place::IdleLatency => vec![format!("run hold_latency {}", quote(value))],
        Place::Service { unit } => {
            let verb = if value == "running" { "start" } else { "stop" };
            vec![format!("run systemctl {verb} {}", quote(unit))]
        }
        Place::BannedInterrupts => vec![format!("run ban {}", quote(value))],
    }
}

/// A file, or a loop over those that a `*` stands for, or over the paths of a drive.
fn file(planned: &Planned, path: &str, value: &str) -> Vec<String> {
    let template = path;
    let path = match &planned.device {
        Some(device) => path.replace("{device}", stands_for(device)),
        None => path.to_owned(),
    };
    // A module's parameters print letters, all else prints digits.
    let before = if path.starts_with("/sys/module/") { "Y" } else { "1" };
    let value = quote(&spelled(planned.form, value, before));
    if let Some((subsystem, namespace)) = head(planned).filter(|_| template.contains(QUEUE)) {
        // Requests of a multipath head wait in the queues of its paths: nvme0c0n1 of nvme0n1.
        let rest = template.replace("/sys/block/{device}", "");
        let start = quote(&format!("/sys/block/nvme{subsystem}c"));
        let end = quote(&format!("n{namespace}{rest}"));
        return vec![
            format!("for file in \"$ROOT\"{start}*{end}; do"),
            format!("    [ -e \"$file\" ] || file=\"$ROOT\"{}", quote(&path)),
            format!("    put \"$file\" {value}"),
            "done".to_owned(),
        ];
    }
    match path.split_once('*') {
        None => vec![format!("put \"$ROOT\"{} {value}", quote(&path))],
        Some((head, tail)) => vec![
            format!("for file in \"$ROOT\"{}*{}; do", quote(head), quote(tail)),
            format!("    put \"$file\" {value}"),
            "done".to_owned(),
        ],
    }
}

const QUEUE: &str = "/sys/block/{device}/queue/";

/// Subsystem and namespace of an NVMe drive's name (drivers/nvme/host/multipath.c).
fn head(planned: &Planned) -> Option<(u32, u32)> {
    let device = planned.device.as_ref().filter(|device| device.kind == DeviceKind::Drive)?;
    let (subsystem, namespace) = device.name.strip_prefix("nvme")?.split_once('n')?;
    Some((subsystem.parse().ok()?, namespace.parse().ok()?))
}

/// What `{device}` stands for: the number of a CPU or node, else the name.
fn stands_for(device: &Device) -> &str {
    let number = match device.kind {
        DeviceKind::Cpu => device.name.strip_prefix("cpu "),
        DeviceKind::Node => device.name.strip_prefix("node "),
        _ => None,
    };
    number.unwrap_or(&device.name)
}

/// A short word stands for several features, and not all of them were alike.
fn features(planned: &Planned, machine: &Machine) -> Vec<String> {
    let device = planned.device.as_ref();
    let nic = device.and_then(|device| device::nic_called(machine, &device.name));
    let all = nic.map(|nic| crate::ethtool::by_name(nic, &planned.to)).unwrap_or_default();
    if all.is_empty() {
        return vec![comment("not restored, none of them can be changed")];
    }
    let words: Vec<String> = all.iter().map(|(name, value)| format!("{name}={value}")).collect();
    ethtool(device, &Ethtool::Features, &words.join(" "))
}

fn ethtool(device: Option<&Device>, what: &Ethtool, value: &str) -> Vec<String> {
    let Some(device) = device else { return vec![comment("not written: no device")] };
    let (flag, word) = match what {
        Ethtool::Channels => ("-L", ""),
        Ethtool::Rings => ("-G", ""),
        Ethtool::Coalescing => ("-C", ""),
        Ethtool::Features => ("-K", ""),
        Ethtool::Pause => ("-A", ""),
        Ethtool::ReceiveSpread => ("-X", "equal "),
    };
    if *what == Ethtool::ReceiveSpread && value == "default" {
        return vec![format!("run ethtool -X {} default", quote(&device.name))];
    }
    let words: Vec<String> = value.split([' ', '=']).map(quote).collect();
    vec![format!("run ethtool {flag} {} {word}{}", quote(&device.name), words.join(" "))]
}

/// Device Control bits 14:12 hold the binary logarithm of the size over 128 bytes
/// (PCI Express Base Specification, Device Control Register).
fn max_read_request(device: Option<&Device>, value: &str) -> Vec<String> {
    let bytes = value.parse::<u32>().ok().filter(|bytes| (128..=4096).contains(bytes));
    let bits =
        bytes.filter(|bytes| bytes.is_power_of_two()).map(|bytes| bytes.trailing_zeros() - 7);
    match (device.and_then(|device| device.function), bits) {
        (Some(function), Some(bits)) => vec![format!(
            "run setpci -s {} CAP_EXP+8.w={bits:x}000:7000",
            quote(&function.to_string())
        )],
        _ => vec![comment(&format!("not written: {value:?} is no size of a read request"))],
    }
}
