// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drives that are neither NVMe nor SCSI: virtio, Xen, MMC, persistent memory, and the rest.

use machine::{Controller, Drive, DriveKind};
use units::NodeId;

use super::disk::{Disk, filled};
use super::place::Functions;

/// Reads a drive that has a device behind it.
pub(super) fn read(disk: &Disk<'_>, functions: &Functions<'_>) -> Drive {
    let (kind, transport, name) = attachment(disk);
    let mut drive = disk.drive(kind);
    let device = disk.device();
    let function = disk.function().and_then(|address| functions.get(address));
    let own_node = || (kind == DriveKind::Pmem).then(|| region_node(disk)).flatten();
    drive.serial = disk.text("serial");
    drive.model = filled(device.text("model")).or_else(|_| filled(device.text("name")));
    drive.controllers = vec![Controller {
        name,
        function: function.map(|function| function.address),
        node: function.and_then(|function| function.node).or_else(own_node),
        driver: function.and_then(|function| function.driver.clone()),
        queues: u32::try_from(drive.queues.len()).unwrap_or(u32::MAX),
        transport: transport.to_owned(),
        state: String::new(),
        address: None,
        link_power: None,
        link_rate: None,
        ana_state: None,
    }];
    drive
}

/// What kind it is, by the parts of its path, and the part that reaches it.
fn attachment(disk: &Disk<'_>) -> (DriveKind, &'static str, String) {
    let part = |prefix: &str| disk.parts().rev().find(|part| part.starts_with(prefix));
    if let Some(part) = disk.numbered("virtio") {
        return (DriveKind::Virtio, "virtio", part.to_owned());
    }
    if let Some(part) = part("vbd-") {
        return (DriveKind::Paravirtual, "xen", part.to_owned());
    }
    if let Some(part) = disk.numbered("mmc") {
        return (DriveKind::Mmc, "mmc", part.to_owned());
    }
    if let Some(part) = disk.numbered("region") {
        return (DriveKind::Pmem, "nd", part.to_owned());
    }
    let device = disk.device();
    let name = device.path().rsplit('/').next().unwrap_or_default();
    (DriveKind::Other, "other", name.to_owned())
}

/// The node of the persistent memory's region: `region0/numa_node`.
fn region_node(disk: &Disk<'_>) -> Option<NodeId> {
    let region = disk.numbered("region")?;
    let (above, _) = disk.dir.path().split_once(&format!("/{region}/"))?;
    let text = root::text(disk.dir.root(), &format!("{above}/{region}/numa_node")).ok()?;
    crate::pci::parse_node(&text).ok()
}
