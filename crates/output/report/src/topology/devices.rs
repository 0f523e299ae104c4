// SPDX-License-Identifier: MIT OR Apache-2.0
//! The devices of a box as rows: names, what they are, how their link runs.

use std::collections::BTreeMap;

use machine::{Drive, Function, Gpu, Machine, Nic, NicKind};
use units::PciAddress;

use crate::frame::Table;
use crate::layout::{Devices, alike};
use crate::style::{Line, Role};
use crate::{names, words};

/// Functions by address, so that a device's link is found without a search each.
type Functions<'a> = BTreeMap<PciAddress, &'a Function>;

/// Names of hostile trees may be of any length; none that people sell is longer.
const LONGEST_WHAT: usize = 160;

struct Row {
    label: &'static str,
    names: Vec<String>,
    what: String,
    link: (Role, String),
}

/// The rows of all devices of a box, at most `columns` wide.
pub(crate) fn rows(machine: &Machine, devices: &Devices<'_>, columns: usize) -> Vec<Line> {
    let functions: Functions<'_> =
        machine.functions.iter().map(|function| (function.address, function)).collect();
    let mut rows = drive_rows(&devices.drives, &functions);
    rows.extend(nic_rows(machine, &devices.nics, &functions));
    rows.extend(gpu_rows(&devices.gpus, &functions));
    rows.extend(other_rows(&devices.others));
    table(rows, columns)
}

fn table(rows: Vec<Row>, columns: usize) -> Vec<Line> {
    let mut table = Table::new(2).cap(1, names_columns(columns));
    let mut last = "";
    for row in rows {
        let label = if row.label == last { "" } else { row.label };
        last = row.label;
        let names = names::compact(row.names.iter().map(String::as_str));
        let (role, link) = row.link;
        let mark = if role == Role::Warn { " ◂" } else { "" };
        table.row(vec![
            (Role::Dim, crate::text::pad(label, super::node::LABEL - 2)),
            (Role::Strong, names),
            (Role::Plain, crate::text::cut(&crate::text::harmless(&row.what), LONGEST_WHAT)),
            (role, format!("{link}{mark}")),
        ]);
    }
    table.lines(columns)
}

/// Names get at most two fifths of the line.
fn names_columns(columns: usize) -> usize {
    (columns * 2 / 5).max(18)
}

fn times(number: usize, what: String) -> String {
    if number > 1 { format!("{number} × {what}") } else { what }
}

fn drive_rows(drives: &[&Drive], functions: &Functions<'_>) -> Vec<Row> {
    let link = |drive: &Drive| {
        let path = drive.controllers.first().and_then(|path| path.function);
        let hidden = drive.hidden_by.is_some();
        let function = path.and_then(|path| functions.get(&path).copied());
        // The link of a controller that many drives share is the controller's, not the drive's.
        if hidden { (Role::Dim, String::new()) } else { words::function_link(function) }
    };
    let key = |drive: &Drive| (words::drive(drive), words::drive_note(drive));
    let mut rows = Vec::new();
    for set in alike(drives, key) {
        let links = alike(&set, |drive| link(drive).1);
        let Some((usual, odd)) = usual_first(links) else { continue };
        let note = usual.first().map(|drive| words::drive_note(drive)).filter(|n| !n.is_empty());
        let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
        let what = usual.first().map(|drive| words::drive(drive)).unwrap_or_default();
        rows.push(Row {
            label: "drives",
            names: set.iter().map(|drive| drive.name.clone()).collect(),
            what: format!("{}{note}", times(set.len(), what)),
            link: usual.first().map(|drive| link(drive)).unwrap_or_default(),
        });
        rows.extend(odd.into_iter().map(|drives| Row {
            label: "drives",
            names: drives.iter().map(|drive| format!("  {}", drive.name)).collect(),
            what: format!("{} of these", drives.len()),
            link: drives.first().map(|drive| link(drive)).unwrap_or_default(),
        }));
    }
    rows
}

/// The largest set, and the others.
fn usual_first<T>(mut sets: Vec<Vec<&T>>) -> Option<(Vec<&T>, Vec<Vec<&T>>)> {
    let largest = sets.iter().map(Vec::len).max()?;
    let at = sets.iter().position(|set| set.len() == largest)?;
    let usual = sets.remove(at);
    Some((usual, sets))
}

fn nic_rows(machine: &Machine, nics: &[&Nic], functions: &Functions<'_>) -> Vec<Row> {
    let function = |nic: &Nic| nic.function.and_then(|address| functions.get(&address).copied());
    let rdma = |nic: &Nic| {
        let devices = rdma_of(machine, nic);
        if devices.is_empty() { devices } else { format!(" {devices}") }
    };
    let what = |nic: &Nic| {
        let driver = nic.driver.as_deref().unwrap_or("no driver");
        let kind = if nic.kind == NicKind::VirtualFunction { " VF" } else { "" };
        let master = nic.master.as_ref().map_or_else(String::new, |name| format!(" in {name}"));
        format!("{} {driver}{kind}{master}", words::nic_state(nic))
    };
    let link = |nic: &Nic| words::function_link(function(nic));
    let row = |set: Vec<&Nic>| {
        let nic = set.first()?;
        let rdma = if set.len() == 1 { rdma(nic) } else { String::new() };
        let names = set.iter().map(|nic| nic.name.clone()).collect();
        let what = format!("{}{rdma}", times(set.len(), what(nic)));
        Some(Row { label: "NICs", names, what, link: link(nic) })
    };
    let key = |nic: &Nic| (what(nic), rdma(nic).is_empty(), link(nic).1);
    alike(nics, key).into_iter().filter_map(row).collect()
}

/// `RDMA mlx5_0`; empty where no RDMA device has a port on this network device.
pub(crate) fn rdma_of(machine: &Machine, nic: &Nic) -> String {
    let carries = |device: &&machine::RdmaDevice| {
        device.ports.iter().any(|port| port.netdev.as_deref() == Some(nic.name.as_str()))
    };
    let devices = machine.rdma.iter().filter(carries).map(|device| device.name.as_str());
    let devices = names::compact(devices);
    if devices.is_empty() { devices } else { format!("RDMA {devices}") }
}

fn gpu_rows(gpus: &[&Gpu], functions: &Functions<'_>) -> Vec<Row> {
    let what = |gpu: &Gpu| {
        let function = functions.get(&gpu.function).copied();
        let name = function.map_or_else(String::new, words::function_name);
        let memory = gpu.memory_node.map(|node| format!(", its memory is node {node}"));
        format!("{name}{}", memory.unwrap_or_default())
    };
    let link = |gpu: &Gpu| words::function_link(functions.get(&gpu.function).copied());
    let row = |set: Vec<&Gpu>| {
        let gpu = set.first()?;
        let name = |gpu: &&Gpu| words::gpu_name(gpu, functions.get(&gpu.function).copied());
        let names = set.iter().map(name).collect();
        Some(Row { label: "GPUs", names, what: times(set.len(), what(gpu)), link: link(gpu) })
    };
    alike(gpus, |gpu| (what(gpu), link(gpu).1)).into_iter().filter_map(row).collect()
}

fn other_rows(others: &[&Function]) -> Vec<Row> {
    let what = |function: &Function| {
        if !function.is_readable() {
            return "function that cannot be read".to_owned();
        }
        let driver = function
            .driver
            .as_ref()
            .map_or_else(|| "no driver bound".to_owned(), |driver| format!("driver {driver}"));
        format!("{}, {driver}", words::function_name(function))
    };
    let link = |function: &Function| words::function_link(Some(function));
    let row = |set: Vec<&Function>| {
        let function = set.first()?;
        let names = set.iter().map(|function| function.address.to_string()).collect();
        let what = match (function.is_readable(), set.len()) {
            (false, number @ 2..) => format!("{number} functions that cannot be read"),
            (_, number) => times(number, what(function)),
        };
        Some(Row { label: "others", names, what, link: link(function) })
    };
    let key = |function: &Function| (what(function), link(function).1);
    alike(others, key).into_iter().filter_map(row).collect()
}
