// SPDX-License-Identifier: MIT OR Apache-2.0
//! A device by what cannot move: its function, its serial number.

use machine::{Fact, Why};
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
///
/// # Errors
/// Its folder is there and cannot be read.
pub(super) fn find(root: &dyn Root, device: &Device) -> Fact<Option<String>> {
    match device.kind {
        DeviceKind::Cpu => numbered(root, device, "cpu ", "/sys/devices/system/cpu/cpu"),
        DeviceKind::Node => numbered(root, device, "node ", "/sys/devices/system/node/node"),
        DeviceKind::Function => {
            let Some(address) = device.function.or_else(|| device.name.parse().ok()) else {
                return Ok(None);
            };
            let name = address.to_string();
            is_there(root, &format!("/sys/bus/pci/devices/{name}")).map(|is| is.then_some(name))
        }
        DeviceKind::Drive => search(root, device, BLOCK, drive_fits),
        DeviceKind::Nic => search(root, device, NET, nic_fits),
        DeviceKind::ScsiHost => search(root, device, HOSTS, host_fits),
    }
}

/// Whether something is at a path. What is not to be seen may be there.
fn is_there(root: &dyn Root, path: &str) -> Fact<bool> {
    match root.resolve(path) {
        Ok(_) => Ok(true),
        Err(Why::Absent) => Ok(false),
        Err(why) => Err(why),
    }
}

fn numbered(root: &dyn Root, device: &Device, prefix: &str, folder: &str) -> Fact<Option<String>> {
    let number = device.name.strip_prefix(prefix).unwrap_or(&device.name);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_there = is_number && is_there(root, &format!("{folder}{number}"))?;
    Ok(is_there.then(|| number.to_owned()))
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

/// Where a candidate is, against where the device was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seat {
    /// At the function and port that were noted.
    Same,
    /// At others.
    Other,
    /// It has no function of its own: a multipath head, a VLAN.
    None,
}

fn seat(root: &dyn Root, device: &Device, folder: &str, name: &str) -> Seat {
    let function = of(root, folder, name);
    let is_nic = device.kind == DeviceKind::Nic;
    match (device.function, function) {
        // Of a network device its port tells more.
        (Some(_), None) if !is_nic || device.port.is_none() => return Seat::None,
        (Some(noted), Some(function)) if noted != function => return Seat::Other,
        _ => {}
    }
    let noted = device.port.as_ref();
    let is_port = noted.is_none_or(|noted| port(root, device.kind, name).as_ref() == Some(noted));
    if is_port { Seat::Same } else { Seat::Other }
}

/// Looks at the name of old first, then at all of its folder: by serial number, and where none is
/// told, by function and port alone, if one device alone has them. Devices that share a serial, as
/// the paths to a disk or the ports of a bond may, are told apart by where they are.
fn search(
    root: &dyn Root,
    device: &Device,
    folder: &str,
    fits: fn(&dyn Root, &str, &str) -> Fit,
) -> Fact<Option<String>> {
    let serial = device.serial.as_deref();
    let fit = |name: &str| serial.map_or(Fit::Unknown, |serial| fits(root, name, serial));
    let is_at = |name: &str| seat(root, device, folder, name) == Seat::Same;
    if is_there(root, &format!("{folder}/{}", device.name))? {
        let name = device.name.as_str();
        let is_same = match fit(name) {
            Fit::Yes => seat(root, device, folder, name) != Seat::Other,
            Fit::No => false,
            Fit::Unknown => is_at(name),
        };
        if is_same {
            return Ok(Some(name.to_owned()));
        }
    }
    let mut names = match root.list(folder) {
        Err(Why::Absent) => return Ok(None),
        names => names?,
    };
    names.retain(|name| device.kind != DeviceKind::Drive || !is_path(name));
    let by_serial: Vec<&String> = names.iter().filter(|name| fit(name) == Fit::Yes).collect();
    let one_of = |names: &[&String]| match names {
        [only] => Some((*only).clone()),
        _ => None,
    };
    match by_serial.as_slice() {
        [] => {}
        [only] => return Ok(Some((*only).clone())),
        several => {
            let at: Vec<&String> = several.iter().filter(|name| is_at(name)).copied().collect();
            return Ok(one_of(&at));
        }
    }
    let is_index = device.port.as_deref().is_some_and(is_index);
    if device.function.is_none() && !is_index {
        return Ok(None);
    }
    let by_seat: Vec<&String> =
        names.iter().filter(|name| fit(name) != Fit::No && is_at(name)).collect();
    Ok(one_of(&by_seat))
}

/// Which of the devices of its function a device is.
pub(super) fn port(root: &dyn Root, kind: DeviceKind, name: &str) -> Option<String> {
    let told = |path: String| text(root, &path).ok().filter(|told| !told.is_empty());
    match kind {
        DeviceKind::Nic if of(root, NET, name).is_none() => index(root, name),
        DeviceKind::Nic => told(format!("{NET}/{name}/phys_port_name"))
            .or_else(|| told(format!("{NET}/{name}/dev_port"))),
        DeviceKind::Drive => told(format!("{BLOCK}/{name}/nsid")).or_else(|| {
            let path = root.resolve(&format!("{BLOCK}/{name}/device")).ok()?;
            let last = path.rsplit('/').next()?;
            is_scsi_address(last).then(|| last.to_owned())
        }),
        _ => None,
    }
}

/// What a network device without hardware is known by: its number, which it keeps under any name and
/// which is of one boot (`ifindex`, Documentation/ABI/testing/sysfs-class-net). One that has an
/// address of its own is known by that.
fn index(root: &dyn Root, name: &str) -> Option<String> {
    if permanent_address(root, name).is_some() {
        return None;
    }
    let number: u32 = text(root, &format!("{NET}/{name}/ifindex")).ok()?.parse().ok()?;
    let boot = text(root, "/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{INDEX}{number} of boot {boot}"))
}

/// How a port begins that is a number of a network device.
const INDEX: &str = "ifindex ";

/// Whether a port is the number of a network device: then it alone tells which one it is.
pub(super) fn is_index(port: &str) -> bool {
    port.starts_with(INDEX)
}

/// Whether a network device lies on another one, whose address it may wear as if it was its own
/// (`eth_hw_addr_inherit`, include/linux/etherdevice.h).
fn is_stacked(root: &dyn Root, name: &str) -> bool {
    let files = root.list(&format!("{NET}/{name}")).unwrap_or_default();
    files.iter().any(|file| file.starts_with("lower_"))
}

/// `2:0:1:0`: host, channel, target, unit.
fn is_scsi_address(name: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    name.split(':').count() == 4 && name.split(':').all(is_number)
}

/// An address that a network device keeps, and no other one has. A port of a bond wears the bond's;
/// its own is told beside that (drivers/net/bonding/bond_sysfs_slave.c). One that was set by hand
/// or made up may be anybody's (`addr_assign_type`, include/uapi/linux/netdevice.h).
pub(super) fn permanent_address(root: &dyn Root, name: &str) -> Option<String> {
    let told = |file: &str| text(root, &format!("{NET}/{name}/{file}")).ok();
    if of(root, NET, name).is_none() && is_stacked(root, name) {
        return None;
    }
    let address = match told("bonding_slave/perm_hwaddr") {
        Some(own) => own,
        None => {
            told("addr_assign_type").is_none_or(|kind| kind == "0").then(|| told("address"))??
        }
    };
    let is_nothing = address.bytes().all(|byte| matches!(byte, b'0' | b':'));
    (!is_nothing).then_some(address)
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

fn nic_fits(root: &dyn Root, name: &str, serial: &str) -> Fit {
    match permanent_address(root, name) {
        Some(address) if address.eq_ignore_ascii_case(serial) => Fit::Yes,
        _ => Fit::Unknown,
    }
}

/// Hosts are numbered in the order in which they were found: behind AHCI each port of a function is
/// one, and which is told by its number there.
fn host_fits(root: &dyn Root, name: &str, serial: &str) -> Fit {
    match host_port(root, name) {
        Some(port) if port == serial => Fit::Yes,
        Some(_) => Fit::No,
        None => Fit::Unknown,
    }
}

/// `0000:00:1f.2 port 3`: what a SATA host is, whatever its number. The host lies below its port,
/// `.../0000:00:1f.2/ata4/host3`, whose number on the controller the port tells
/// (drivers/ata/libata-transport.c). None for hosts of other transports: they have a function alone.
pub(super) fn host_port(root: &dyn Root, name: &str) -> Option<String> {
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

/// `nvme0c1n1`: the path of a multipath drive, never a drive of its own.
fn is_path(name: &str) -> bool {
    let own = name.strip_prefix("nvme").and_then(|rest| rest.rsplit_once('n'));
    own.is_some_and(|(subsystem, _)| subsystem.contains('c'))
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
            port: None,
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
        let name = |device: Device| find(&root, &device).unwrap();
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
            let (name, kind) = (name.to_owned(), DeviceKind::Nic);
            find(&root, &Device { name, kind, function, serial, port: None }).unwrap()
        };
        assert_eq!(nic("eth1", "0000:01:00.0", None).as_deref(), Some("eth1"));
        assert_eq!(nic("eth1", "0000:01:00.1", None).as_deref(), Some("eth10"));
        let moved = nic("eth0", "0000:01:00.0", Some("02:00:00:00:00:05"));
        assert_eq!(moved.as_deref(), Some("eth10"));
    }

    fn nic_at(root: &mut MemoryRoot, name: &str, function: &str, files: &[(&str, &str)]) {
        let folder = format!("/sys/devices/pci0000:00/{function}/net/{name}");
        for (file, text) in files {
            root.file(&format!("{folder}/{file}"), format!("{text}\n"));
        }
        root.symlink(&format!("/sys/class/net/{name}"), &folder);
    }

    fn noted(name: &str, kind: DeviceKind, function: &str, serial: &str, port: &str) -> Device {
        let told = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let function = Some(function.parse().unwrap());
        Device { name: name.to_owned(), kind, function, serial: told(serial), port: told(port) }
    }

    /// Both wear the address of their bond, and swapped their names since they were noted.
    #[test]
    fn the_ports_of_a_bond_are_told_apart() {
        let (bond, own) = ("02:00:00:00:00:01", "02:00:00:00:00:02");
        let (a, b) = ("0000:01:00.0", "0000:01:00.1");
        let mut root = MemoryRoot::new();
        let worn = ("address", bond);
        nic_at(&mut root, "eth1", a, &[worn, ("bonding_slave/perm_hwaddr", bond)]);
        nic_at(&mut root, "eth0", b, &[worn, ("bonding_slave/perm_hwaddr", own)]);
        nic_at(&mut root, "eth2", "0000:02:00.0", &[worn, ("addr_assign_type", "3")]);
        nic_at(&mut root, "vf0", "0000:01:02.0", &[("address", "00:00:00:00:00:00")]);
        let name = |name, function, serial| {
            find(&root, &noted(name, DeviceKind::Nic, function, serial, "")).unwrap()
        };
        assert_eq!(name("eth0", a, bond).as_deref(), Some("eth1"));
        assert_eq!(name("eth1", b, own).as_deref(), Some("eth0"));
        // Noted with nothing but the address that all of them wear.
        assert_eq!(name("eth0", a, "").as_deref(), Some("eth1"));
        assert_eq!(name("eth1", b, "").as_deref(), Some("eth0"));
        let own_of = |name| permanent_address(&root, name);
        assert_eq!(own_of("eth0").as_deref(), Some(own));
        assert_eq!((own_of("eth2"), own_of("vf0")), (None, None));
    }

    #[test]
    fn ports_of_one_function_are_told_apart() {
        let function = "0000:01:00.0";
        let mut root = MemoryRoot::new();
        nic_at(&mut root, "eth0", function, &[("dev_port", "1")]);
        nic_at(&mut root, "eth1", function, &[("dev_port", "0")]);
        let name =
            |name, port| find(&root, &noted(name, DeviceKind::Nic, function, "", port)).unwrap();
        assert_eq!(name("eth0", "0").as_deref(), Some("eth1"));
        assert_eq!(name("eth0", "1").as_deref(), Some("eth0"));
        assert_eq!(name("eth7", ""), None);
    }

    #[test]
    fn the_paths_of_a_disk_are_told_apart() {
        let (a, b) = ("0000:01:00.0", "0000:02:00.0");
        let mut root = MemoryRoot::new();
        for (name, function, address) in [("sda", b, "2:0:0:0"), ("sdb", a, "1:0:0:0")] {
            let unit = format!("/sys/devices/pci0000:00/{function}/host0/{address}");
            root.file(&format!("{unit}/wwid"), "naa.5\n")
                .folder(&format!("{unit}/block/{name}"))
                .symlink(&format!("{unit}/block/{name}/device"), &unit)
                .symlink(&format!("/sys/block/{name}"), &format!("{unit}/block/{name}"));
        }
        let name = |name, function, port| {
            find(&root, &noted(name, DeviceKind::Drive, function, "naa.5", port)).unwrap()
        };
        assert_eq!(port(&root, DeviceKind::Drive, "sda").as_deref(), Some("2:0:0:0"));
        assert_eq!(name("sda", a, "1:0:0:0").as_deref(), Some("sdb"));
        assert_eq!(name("sdb", b, "").as_deref(), Some("sda"));
        assert_eq!(name("sdb", "0000:03:00.0", ""), None);
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
        let own = host_port(&root, "host1").unwrap();
        assert_eq!(own, "0000:00:17.0 port 1");
        let function = Some(sata.parse().unwrap());
        let host = |serial: Option<String>| Device {
            name: "host1".to_owned(),
            kind: DeviceKind::ScsiHost,
            function,
            serial,
            port: None,
        };
        assert_eq!(find(&root, &host(Some(own.clone()))).unwrap().as_deref(), Some("host1"));
        let turned = boot(other, sata);
        assert_eq!(find(&turned, &host(Some(own))).unwrap().as_deref(), Some("host3"));
        // By its function alone it could be either of two, and neither is taken.
        assert_eq!(find(&turned, &host(None)).unwrap(), None);
        assert_eq!(host_port(&turned, "host7"), None);
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
