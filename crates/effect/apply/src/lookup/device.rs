// SPDX-License-Identifier: MIT OR Apache-2.0
//! A device by what cannot move: its function, its serial number.

use root::{Root, text};
use setting::{Device, DeviceKind};
use units::PciAddress;

const BLOCK: &str = "/sys/block";
const NET: &str = "/sys/class/net";
const HOSTS: &str = "/sys/class/scsi_host";

/// Files that may hold what tells a drive from all others, below its folder in /sys/block: of NVMe
/// namespaces, of SCSI disks, of virtio disks. The serial number of an NVMe controller is its own.
const DRIVE_SERIALS: [&str; 5] = ["wwid", "uuid", "device/wwid", "device/serial", "serial"];

/// What a device is called now; none where it is gone.
pub(super) fn find(root: &dyn Root, device: &Device) -> Option<String> {
    match device.kind {
        DeviceKind::Cpu => numbered(root, device, "cpu ", "/sys/devices/system/cpu/cpu"),
        DeviceKind::Node => numbered(root, device, "node ", "/sys/devices/system/node/node"),
        DeviceKind::Function => {
            let address = device.function.or_else(|| device.name.parse().ok())?;
            let name = address.to_string();
            root.resolve(&format!("/sys/bus/pci/devices/{name}")).ok().map(|_| name)
        }
        DeviceKind::Drive => search(root, device, BLOCK, drive_fits),
        DeviceKind::Nic => search(root, device, NET, nic_fits),
        DeviceKind::ScsiHost => search(root, device, HOSTS, host_fits),
    }
}

fn numbered(root: &dyn Root, device: &Device, prefix: &str, folder: &str) -> Option<String> {
    let number = device.name.strip_prefix(prefix).unwrap_or(&device.name);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_there = is_number && root.resolve(&format!("{folder}{number}")).is_ok();
    is_there.then(|| number.to_owned())
}

/// What a serial number says of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// It is this one.
    Yes,
    /// It is another one.
    No,
    /// Nothing is told.
    Unknown,
}

/// Looks at the name of old first, then at all of its folder: by serial number, and where none is
/// told, by function alone, if one device alone has it.
fn search(
    root: &dyn Root,
    device: &Device,
    folder: &str,
    fits: fn(&dyn Root, &str, &str) -> Fit,
) -> Option<String> {
    let serial = device.serial.as_deref();
    let fit = |name: &str| serial.map_or(Fit::Unknown, |serial| fits(root, name, serial));
    let is_at = |name: &str| {
        device.function.is_none_or(|function| Some(function) == of(root, folder, name))
    };
    let is_there = root.resolve(&format!("{folder}/{}", device.name)).is_ok();
    if is_there {
        let as_before = match fit(&device.name) {
            Fit::Yes => true,
            Fit::No => false,
            Fit::Unknown => is_at(&device.name),
        };
        if as_before {
            return Some(device.name.clone());
        }
    }
    let names = root.list(folder).ok()?;
    let by_serial: Vec<&String> = names.iter().filter(|name| fit(name) == Fit::Yes).collect();
    match by_serial.as_slice() {
        [only] => return Some((*only).clone()),
        [] => {}
        // A VLAN has the address of its device, a path the name of its drive.
        several => {
            return several.iter().find(|name| is_at(name)).map(|name| (*name).clone());
        }
    }
    device.function?;
    let by_function: Vec<&String> =
        names.iter().filter(|name| fit(name) != Fit::No && is_at(name)).collect();
    match by_function.as_slice() {
        [only] => Some((*only).clone()),
        _ => None,
    }
}

fn drive_fits(root: &dyn Root, name: &str, serial: &str) -> Fit {
    let told: Vec<String> = DRIVE_SERIALS
        .iter()
        .filter_map(|file| text(root, &format!("{BLOCK}/{name}/{file}")).ok())
        .filter(|told| !told.is_empty())
        .collect();
    let page = root.read(&format!("{BLOCK}/{name}/device/vpd_pg80")).ok();
    let unit = page.as_deref().and_then(unit_serial);
    match told.iter().map(String::as_str).chain(unit).any(|told| told == serial) {
        true => Fit::Yes,
        false if told.is_empty() && unit.is_none() => Fit::Unknown,
        // Another drive in its slot is not it.
        false => Fit::No,
    }
}

/// Unit serial number page: four bytes of header, then text (SCSI Primary Commands).
fn unit_serial(page: &[u8]) -> Option<&str> {
    Some(std::str::from_utf8(page.get(4..)?).ok()?.trim_matches([' ', '\0']))
}

/// A port of a bond wears the bond's address; its own is told by ethtool only.
fn nic_fits(root: &dyn Root, name: &str, serial: &str) -> Fit {
    match text(root, &format!("{NET}/{name}/address")) {
        Ok(address) if address.eq_ignore_ascii_case(serial) => Fit::Yes,
        _ => Fit::Unknown,
    }
}

/// Hosts are numbered in the order in which they were found: behind AHCI each port of a function is
/// one, and which is told by its number there.
fn host_fits(root: &dyn Root, name: &str, serial: &str) -> Fit {
    match port(root, name) {
        Some(port) if port == serial => Fit::Yes,
        Some(_) => Fit::No,
        None => Fit::Unknown,
    }
}

/// `0000:00:1f.2 port 3`: what a SATA host is, whatever its number. The host lies below its port,
/// `.../0000:00:1f.2/ata4/host3`, whose number on the controller the port tells
/// (drivers/ata/libata-transport.c). None for hosts of other transports: they have a function alone.
pub(super) fn port(root: &dyn Root, name: &str) -> Option<String> {
    let path = root.resolve(&format!("{HOSTS}/{name}")).ok()?;
    let function: PciAddress = path.rsplit('/').find_map(|part| part.parse().ok())?;
    let is_port = |part: &&str| {
        let number = part.strip_prefix("ata").unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let ata = path.split('/').find(is_port)?;
    let (folder, _) = path.split_once(&format!("/{ata}/"))?;
    let number: u32 =
        text(root, &format!("{folder}/{ata}/ata_port/{ata}/port_no")).ok()?.trim().parse().ok()?;
    Some(format!("{function} port {number}"))
}

/// The function that something in a folder of links hangs from.
fn of(root: &dyn Root, folder: &str, name: &str) -> Option<PciAddress> {
    let path = root.resolve(&format!("{folder}/{name}")).ok()?;
    path.rsplit('/').find_map(|part| part.parse().ok())
}

/// The function behind a device.
pub(super) fn function(root: &dyn Root, kind: DeviceKind, name: &str) -> Option<PciAddress> {
    match kind {
        DeviceKind::Function => name.parse().ok(),
        DeviceKind::Drive => of(root, BLOCK, name),
        DeviceKind::Nic => of(root, NET, name),
        DeviceKind::ScsiHost => of(root, HOSTS, name),
        DeviceKind::Cpu | DeviceKind::Node => None,
    }
}

/// The paths of a multipath drive: requests wait in their queues, not in that of the head.
/// `nvme0c1n1` is the path of `nvme0n1` through controller 1 (drivers/nvme/host/multipath.c).
pub(super) fn paths_of(root: &dyn Root, head: &str) -> Vec<String> {
    let split = |name: &str| {
        let (subsystem, namespace) = name.strip_prefix("nvme")?.rsplit_once('n')?;
        Some((subsystem.to_owned(), namespace.to_owned()))
    };
    let Some((subsystem, namespace)) = split(head) else { return Vec::new() };
    let is_path = |name: &String| {
        let Some((own, own_namespace)) = split(name) else { return false };
        own.split_once('c').is_some_and(|(own, _)| own == subsystem) && own_namespace == namespace
    };
    root.list(BLOCK).unwrap_or_default().into_iter().filter(is_path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;

    fn drive(name: &str, function: Option<&str>, serial: Option<&str>) -> Device {
        Device {
            name: name.to_owned(),
            kind: DeviceKind::Drive,
            function: function.map(|address| address.parse().unwrap()),
            serial: serial.map(str::to_owned),
        }
    }

    fn disk(root: &mut MemoryRoot, name: &str, function: &str, wwid: &str) {
        let folder = format!("/sys/devices/pci0000:00/{function}/nvme/{name}");
        root.file(&format!("{folder}/wwid"), format!("{wwid}\n"))
            .symlink(&format!("/sys/block/{name}"), &folder);
    }

    #[test]
    fn a_drive_is_found_under_another_name() {
        let mut root = MemoryRoot::new();
        disk(&mut root, "nvme0n1", "0000:01:00.0", "eui.a");
        disk(&mut root, "nvme1n1", "0000:02:00.0", "eui.b");
        let name = |device: Device| find(&root, &device);
        let first = Some("0000:01:00.0");
        assert_eq!(name(drive("nvme0n1", first, Some("eui.b"))).as_deref(), Some("nvme1n1"));
        assert_eq!(name(drive("nvme7n1", first, Some("eui.a"))).as_deref(), Some("nvme0n1"));
        assert_eq!(name(drive("nvme7n1", first, None)).as_deref(), Some("nvme0n1"));
        assert_eq!(name(drive("nvme0n1", first, None)).as_deref(), Some("nvme0n1"));
        assert_eq!(name(drive("nvme1n1", Some("0000:09:00.0"), None)), None);
        assert_eq!(name(drive("nvme7n1", None, None)), None);
    }

    #[test]
    fn eth1_is_not_eth10() {
        let mut root = MemoryRoot::new();
        for (name, function) in [("eth1", "0000:01:00.0"), ("eth10", "0000:01:00.1")] {
            let folder = format!("/sys/devices/pci0000:00/{function}/net/{name}");
            root.file(&format!("{folder}/address"), format!("02:00:00:00:00:0{}\n", name.len()))
                .symlink(&format!("/sys/class/net/{name}"), &folder);
        }
        let nic = |name: &str, function: &str, serial: Option<&str>| {
            let function = Some(function.parse().unwrap());
            let serial = serial.map(str::to_owned);
            find(&root, &Device { name: name.to_owned(), kind: DeviceKind::Nic, function, serial })
        };
        assert_eq!(nic("eth1", "0000:01:00.0", None).as_deref(), Some("eth1"));
        assert_eq!(nic("eth1", "0000:01:00.1", None).as_deref(), Some("eth10"));
        let moved = nic("eth0", "0000:01:00.0", Some("02:00:00:00:00:05"));
        assert_eq!(moved.as_deref(), Some("eth10"));
    }

    /// AHCI makes a host of each port; the next boot may find another controller first.
    #[test]
    fn a_host_is_found_by_its_port() {
        let boot = |first: &str, second: &str| {
            let mut root = MemoryRoot::new();
            let hosts = [first, second].into_iter().flat_map(|at| [(at, 0), (at, 1)]);
            for (number, (function, port)) in (0..).zip(hosts) {
                let ata = format!("ata{}", number + 1);
                let folder = format!("/sys/devices/pci0000:00/{function}/{ata}");
                let host = format!("{folder}/host{number}/scsi_host/host{number}");
                root.file(&format!("{folder}/ata_port/{ata}/port_no"), format!("{port}\n"))
                    .file(&format!("{host}/link_power_management_policy"), "max_performance\n")
                    .symlink(&format!("{HOSTS}/host{number}"), &host);
            }
            root
        };
        let (sata, other) = ("0000:00:17.0", "0000:00:18.0");
        let root = boot(sata, other);
        let own = port(&root, "host1").unwrap();
        assert_eq!(own, "0000:00:17.0 port 1");
        let function = Some(sata.parse().unwrap());
        let host = |serial: Option<String>| Device {
            name: "host1".to_owned(),
            kind: DeviceKind::ScsiHost,
            function,
            serial,
        };
        assert_eq!(find(&root, &host(Some(own.clone()))).as_deref(), Some("host1"));
        let turned = boot(other, sata);
        assert_eq!(find(&turned, &host(Some(own))).as_deref(), Some("host3"));
        // By its function alone it could be either of two, and neither is taken.
        assert_eq!(find(&turned, &host(None)), None);
        assert_eq!(port(&turned, "host7"), None);
    }

    #[test]
    fn a_multipath_drive_has_its_paths() {
        let mut root = MemoryRoot::new();
        for name in ["nvme0n1", "nvme0c0n1", "nvme0c1n1", "nvme10c0n1", "nvme0c0n2"] {
            root.folder(&format!("/sys/block/{name}"));
        }
        assert_eq!(paths_of(&root, "nvme0n1"), ["nvme0c0n1", "nvme0c1n1"]);
        assert_eq!(paths_of(&root, "sda"), [""; 0]);
    }
}
