// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way from one device to another: ports, root complexes, nodes.

use machine::{Machine, Meeting};
use units::PciAddress;

use crate::error::UnknownDevice;
use crate::frame::field_in;
use crate::style::{Line, Role, Style, paint};
use crate::topology::owners;
use crate::{names, words};

/// Columns of the addresses.
const LABEL: usize = 16;

/// Draws the way from device `a` to device `b`, each named as a person names it.
///
/// # Errors
/// A device that the machine does not have.
pub fn draw(machine: &Machine, a: &str, b: &str, style: &Style) -> Result<String, UnknownDevice> {
    for device in [a, b] {
        if machine.place_of(device).is_none() {
            return Err(UnknownDevice::of(machine, device));
        }
    }
    let path = machine.path(a, b).ok_or_else(|| UnknownDevice::of(machine, b))?;
    let columns = style.columns();
    let (role, verdict) = verdict(machine, &path.meet);
    let mut lines = vec![
        Line::of(Role::Strong, a)
            .and(Role::Dim, " → ")
            .and(Role::Strong, b)
            .and(Role::Dim, ": ")
            .and(role, verdict)
            .cut(columns.max(60)),
    ];
    lines.extend(path.up.iter().flat_map(|address| step(machine, *address, columns)));
    lines.extend(meeting(machine, &path.meet, columns));
    lines.extend(path.down.iter().flat_map(|address| step(machine, *address, columns)));
    Ok(paint(&lines, style))
}

/// How near the two are, in a few words.
fn verdict(machine: &Machine, meet: &Meeting) -> (Role, String) {
    match meet {
        Meeting::Port(address) => {
            let switch = machine.function(*address).is_some_and(|function| {
                matches!(
                    function.port,
                    Some(machine::PortKind::Upstream | machine::PortKind::Downstream)
                )
            });
            let text = if switch { "behind one switch" } else { "behind one port" };
            (Role::Good, text.to_owned())
        }
        Meeting::RootComplex(_) => (Role::Good, "in one root complex".to_owned()),
        Meeting::Node(node) => (Role::Good, format!("both on node {node}")),
        Meeting::Nodes { from, to, .. } => (Role::Warn, format!("from node {from} to node {to}")),
        Meeting::Unknown => (Role::Warn, "the node of one of them is unknown".to_owned()),
    }
}

fn meeting(machine: &Machine, meet: &Meeting, columns: usize) -> Vec<Line> {
    let text = match meet {
        Meeting::Port(address) => return step(machine, *address, columns),
        Meeting::RootComplex(root) => format!("root complex {root}"),
        Meeting::Node(node) => format!("inside the processor, node {node}"),
        Meeting::Nodes { from, to, distance } => {
            let distance = distance.map_or_else(
                || "distance unknown".to_owned(),
                |distance| format!("distance {distance} (10 is local)"),
            );
            format!("from node {from} to node {to}, {distance}")
        }
        Meeting::Unknown => "the way between them is unknown".to_owned(),
    };
    field_in(Role::Plain, "  ·", &text, LABEL, columns)
}

fn step(machine: &Machine, address: PciAddress, columns: usize) -> Vec<Line> {
    let Some(function) = machine.function(address) else {
        return field_in(Role::Dim, &format!("  {address}"), "cannot be read", LABEL, columns);
    };
    let mut text = format!("{}{}", words::port(function), words::function_name(function));
    let owners = owners(machine);
    if let Some(owner) = owners.get(&address) {
        let owner = names::compact(owner.iter().map(String::as_str));
        text = format!("{owner}, {text}");
    }
    let (role, link) = words::function_link(Some(function));
    if !link.is_empty() {
        text = format!("{text}, {link}");
    }
    let role = if role == Role::Warn { Role::Warn } else { Role::Plain };
    field_in(role, &format!("  {address}"), &text, LABEL, columns)
}
