// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices by what cannot move: a name becomes a function, a serial, a number.

use machine::{Drive, Machine, Nic};
use setting::{Device, DeviceKind, Scope};
use units::{CpuSet, PciAddress};

use crate::words::{is_name, natural};

/// The devices that a name of an observation or a finding stands for: several for `cpu 0-79`, none
/// for what the machine does not have.
pub(crate) fn find(machine: &Machine, scope: Scope, name: &str) -> Vec<Device> {
    match scope {
        Scope::Machine => Vec::new(),
        Scope::Cpu => {
            let cpus = cpus_of(name).unwrap_or_default();
            let present = cpus.and(&machine.cpus.online.or(&machine.cpus.offline));
            present.iter().map(|cpu| numbered(DeviceKind::Cpu, format!("cpu {cpu}"))).collect()
        }
        Scope::Node => {
            let mut nodes = machine.nodes.iter().map(|node| format!("node {}", node.id));
            let found = nodes.find(|known| known == name);
            found.map(|name| numbered(DeviceKind::Node, name)).into_iter().collect()
        }
        Scope::Function => functions(machine, name).into_iter().map(function).collect(),
        Scope::Drive => drive_called(machine, name).map(drive).into_iter().collect(),
        Scope::Nic => nic_called(machine, name).map(nic).into_iter().collect(),
        Scope::ScsiHost => host(machine, name).into_iter().collect(),
    }
}

/// The CPUs of a label `cpu 0-79`.
pub(crate) fn cpus_of(label: &str) -> Option<CpuSet> {
    CpuSet::from_list(label.strip_prefix("cpu ")?).ok()
}

fn numbered(kind: DeviceKind, name: String) -> Device {
    Device { name, kind, function: None, serial: None, port: None }
}

/// A PCI function as a device.
pub(crate) fn function(address: PciAddress) -> Device {
    Device {
        name: address.to_string(),
        kind: DeviceKind::Function,
        function: Some(address),
        serial: None,
        port: None,
    }
}

/// A drive as a device.
pub(crate) fn drive(drive: &Drive) -> Device {
    let text = |fact: &machine::Fact<String>| {
        fact.as_ref().ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    Device {
        name: drive.name.clone(),
        kind: DeviceKind::Drive,
        function: drive.controllers.iter().find_map(|path| path.function),
        serial: text(&drive.wwid).or_else(|| text(&drive.serial)),
        port: None,
    }
}

/// A network device.
pub(crate) fn nic(nic: &Nic) -> Device {
    Device {
        name: nic.name.clone(),
        kind: DeviceKind::Nic,
        function: nic.function,
        serial: nic.mac.as_ref().ok().cloned(),
        port: nic.port.clone(),
    }
}

fn host(machine: &Machine, name: &str) -> Option<Device> {
    let mut paths = machine.drives.iter().flat_map(|drive| &drive.controllers);
    let function = paths.find(|path| path.name == name).and_then(|path| path.function);
    is_name(name).then(|| Device {
        name: name.to_owned(),
        kind: DeviceKind::ScsiHost,
        function,
        serial: None,
        port: None,
    })
}

/// A drive by its own name, that of a controller, or its function's address.
pub(crate) fn drive_called<'a>(machine: &'a Machine, name: &str) -> Option<&'a Drive> {
    let name = name.strip_prefix("/dev/").unwrap_or(name);
    let address = name.parse::<PciAddress>().ok();
    let reaches = |drive: &&Drive| {
        let mut paths = drive.controllers.iter();
        paths.any(|path| path.name == name || (address.is_some() && path.function == address))
    };
    let by_name = machine.drives.iter().find(|drive| drive.name == name);
    by_name.or_else(|| machine.drives.iter().find(reaches)).filter(|drive| is_name(&drive.name))
}

/// A network device by name, exactly: `eth1` is not `eth10`.
pub(crate) fn nic_called<'a>(machine: &'a Machine, name: &str) -> Option<&'a Nic> {
    let address = name.parse::<PciAddress>().ok();
    let by_name = machine.nics.iter().find(|nic| nic.name == name);
    let by_function =
        || machine.nics.iter().find(|nic| address.is_some() && nic.function == address);
    by_name.or_else(by_function).filter(|nic| is_name(&nic.name))
}

/// The functions under a name: one, or one for each path of a drive.
pub(crate) fn functions(machine: &Machine, name: &str) -> Vec<PciAddress> {
    if let Ok(address) = name.parse::<PciAddress>() {
        return vec![address];
    }
    if let Some(drive) = drive_called(machine, name) {
        return functions_of(drive);
    }
    machine.near(name).and_then(|near| near.function).into_iter().collect()
}

/// The functions of a drive's controllers.
pub(crate) fn functions_of(drive: &Drive) -> Vec<PciAddress> {
    let mut functions: Vec<PciAddress> =
        drive.controllers.iter().filter_map(|path| path.function).collect();
    functions.sort();
    functions.dedup();
    functions
}

/// Devices in the order that people count in.
pub(crate) fn sort(devices: &mut [String]) {
    devices.sort_by(|a, b| natural(a, b));
}
