// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tags of one device, by the scope of the setting that asks.

use std::collections::BTreeSet;

use machine::{Drive, DriveKind, Function, Nic, NicKind};
use setting::Scope;
use units::PciAddress;

use crate::context::Context;
use crate::devices::{self, Role, role};

/// Every tag that the device called `name` carries in the given scope.
pub(crate) fn of_device(context: &Context<'_>, scope: Scope, name: &str) -> BTreeSet<String> {
    let machine = context.machine;
    let mut tags = BTreeSet::new();
    match scope {
        Scope::Machine | Scope::Cpu | Scope::Node => {}
        Scope::Function => {
            if let Some(function) = name.parse().ok().and_then(|at| context.devices.function(at)) {
                of_function(&mut tags, context, function);
            }
        }
        Scope::Drive => {
            if let Some(drive) = machine.drives.iter().find(|drive| drive.name == name) {
                of_drive(&mut tags, context, drive);
            }
        }
        Scope::Nic => {
            if let Some(nic) = machine.nics.iter().find(|nic| nic.name == name) {
                of_nic(&mut tags, context, nic);
            }
        }
        Scope::ScsiHost => {
            for drive in &machine.drives {
                if drive.controllers.iter().any(|path| path.name == name) {
                    of_drive(&mut tags, context, drive);
                }
            }
        }
    }
    tags
}

fn put(tags: &mut BTreeSet<String>, tag: &str, holds: bool) {
    if holds {
        tags.insert(tag.to_owned());
    }
}

fn put_driver(tags: &mut BTreeSet<String>, driver: Option<&str>) {
    if let Some(driver) = driver {
        tags.insert(format!("driver:{driver}"));
    }
}

fn of_function(tags: &mut BTreeSet<String>, context: &Context<'_>, function: &Function) {
    let role = role(function);
    let nics = || context.machine.nics.iter().filter(|nic| nic.function == Some(function.address));
    put(tags, "nvme", role == Role::Nvme);
    // Class 01.06 is SATA, 01.07 SAS (PCI Code and ID Assignment Specification).
    put(tags, "sata", (function.class.base, function.class.sub) == (0x01, 0x06));
    put(tags, "sas", (function.class.base, function.class.sub) == (0x01, 0x07));
    put(tags, "storage", matches!(role, Role::Nvme | Role::Storage));
    put(tags, "nic", role == Role::Network);
    put(tags, "gpu", role == Role::Gpu);
    put(tags, "fast-nic", nics().any(devices::is_fast));
    put(tags, "physical-nic", nics().any(is_physical));
    put(tags, "paravirtual-nic", nics().any(|nic| nic.kind == NicKind::Paravirtual));
    put(tags, "rdma", carries_rdma(context, Some(function.address), ""));
    put(tags, "hot-plug", function.hot_plug);
    put(tags, "integrated", devices::is_integrated(function));
    put_driver(tags, function.driver.as_deref());
}

fn of_drive(tags: &mut BTreeSet<String>, context: &Context<'_>, drive: &Drive) {
    let kind = drive.kind;
    put(tags, "nvme", kind == DriveKind::Nvme);
    put(tags, "sata", kind == DriveKind::Sata);
    put(tags, "sas", kind == DriveKind::Sas);
    put(tags, "rotational", drive.rotational == Ok(true));
    put(tags, "flash", drive.rotational == Ok(false));
    put(tags, "virtual-drive", matches!(kind, DriveKind::Virtio | DriveKind::Paravirtual));
    put(tags, "hidden", drive.hidden_by.is_some());
    put(tags, "storage", true);
    for path in &drive.controllers {
        put_driver(tags, path.driver.as_deref());
        let function = path.function.and_then(|at| context.devices.function(at));
        put(tags, "hot-plug", function.is_some_and(|function| function.hot_plug));
    }
}

fn of_nic(tags: &mut BTreeSet<String>, context: &Context<'_>, nic: &Nic) {
    put(tags, "nic", true);
    put(tags, "fast-nic", devices::is_fast(nic));
    put(tags, "physical-nic", is_physical(nic));
    put(tags, "paravirtual-nic", nic.kind == NicKind::Paravirtual);
    put(tags, "rdma", carries_rdma(context, nic.function, &nic.name));
    let function = nic.function.and_then(|at| context.devices.function(at));
    put(tags, "hot-plug", function.is_some_and(|function| function.hot_plug));
    put_driver(tags, nic.driver.as_deref());
}

fn is_physical(nic: &Nic) -> bool {
    matches!(nic.kind, NicKind::Physical | NicKind::VirtualFunction)
}

fn carries_rdma(context: &Context<'_>, function: Option<PciAddress>, nic: &str) -> bool {
    context.machine.rdma.iter().any(|device| {
        (function.is_some() && device.function == function)
            || device.ports.iter().any(|port| port.netdev.as_deref() == Some(nic))
    })
}
