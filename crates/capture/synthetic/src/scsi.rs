// SPDX-License-Identifier: MIT OR Apache-2.0
//! SCSI disks: behind RAID controllers that hide what they are, and behind SATA; virtio disks.

use units::CpuSet;

use crate::block::{Disk, sectors, write_disk};
use crate::build::Build;
use crate::irq::Vector;
use crate::pci::{Attached, Card, attach};
use crate::text::{disk_name, noise};
use crate::{Ahci, Lanes, Place, Queue, Raid, VirtualDisk, spread};

/// A SCSI disk and where it hangs.
struct Unit<'a> {
    /// Folder of its host: `.../host0`.
    host: &'a str,
    /// `0:0:1:0`.
    address: String,
    vendor: &'a str,
    model: &'a str,
    gb: u64,
    queue: &'a Queue,
    queues: &'a [CpuSet],
}

pub(crate) fn write(build: &mut Build<'_>) {
    let description = build.description;
    for raid in &description.raid {
        write_raid(build, raid);
    }
    for ahci in &description.ahci {
        write_ahci(build, ahci);
    }
    for disks in &description.virtual_disk {
        (0..disks.count).for_each(|_| write_virtual(build, disks));
    }
}

fn write_raid(build: &mut Build<'_>, raid: &Raid) {
    let card = Card {
        id: raid.id,
        class: 0x01_0400,
        driver: &raid.driver,
        functions: 1,
        vectors: raid.queues,
        lanes: Lanes { generation: 4, width: 16 },
        virtual_functions: [0, 0],
    };
    let queues = spread::managed(build.topology, raid.queues);
    let host_number = build.next_scsi_host;
    for function in attach(build, &raid.at, &card) {
        let vectors = (0..)
            .zip(&queues)
            .map(|(queue, cpus)| {
                let action = vector_name(&raid.driver, host_number, queue);
                Vector::managed(action, cpus.clone())
            })
            .collect();
        build.interrupt(&function, vectors);
        let host = write_host(build, &function.path, &raid.driver);
        for drive in 0..raid.drives {
            let unit = Unit {
                host: &host,
                address: format!("{host_number}:0:{drive}:0"),
                vendor: &raid.vendor,
                model: &raid.model,
                gb: raid.gb,
                queue: &raid.queue,
                queues: &queues,
            };
            write_unit(build, &unit);
        }
    }
}

/// How RAID drivers name their interrupts: `megasas0-msix3`, `mpi3mr0-msix3`.
fn vector_name(driver: &str, host: u32, queue: u32) -> String {
    let stem = match driver {
        "megaraid_sas" => "megasas",
        "mpt3sas" => "mpt3sas",
        other => other,
    };
    format!("{stem}{host}-msix{queue}")
}

/// `hostN` with its class folder; its path.
fn write_host(build: &mut Build<'_>, parent: &str, driver: &str) -> String {
    let name = format!("host{}", build.next_scsi_host);
    build.next_scsi_host += 1;
    let host = format!("{parent}/{name}");
    let class = format!("{host}/scsi_host/{name}");
    build.tree.lines(
        &class,
        [
            ("proc_name", driver.to_owned()),
            ("state", "running".to_owned()),
            ("can_queue", "5101".to_owned()),
            ("cmd_per_lun", "128".to_owned()),
            ("nr_hw_queues", "1".to_owned()),
        ],
    );
    build.tree.link(format!("{class}/device"), &host);
    build.tree.link(format!("/sys/class/scsi_host/{name}"), &class);
    host
}

fn write_unit(build: &mut Build<'_>, unit: &Unit<'_>) {
    let (target, _) = unit.address.rsplit_once(':').unwrap_or_default();
    let device = format!("{}/target{target}/{}", unit.host, unit.address);
    let name = disk_name(build.next_disk);
    let number = build.next_disk;
    build.next_disk += 1;
    let wwid = format!("naa.{:016x}", noise(u64::from(number)) >> 4 | 5 << 60);
    build.tree.lines(
        &device,
        [
            ("vendor", format!("{:<8}", unit.vendor)),
            ("model", format!("{:<16}", unit.model)),
            ("rev", format!("{:<4}", "5210")),
            ("type", "0".to_owned()),
            ("scsi_level", "7".to_owned()),
            ("state", "running".to_owned()),
            ("queue_depth", "128".to_owned()),
            ("queue_type", "simple".to_owned()),
            ("wwid", wwid),
        ],
    );
    let serial = format!("S{:08X}", noise(u64::from(number)) & 0xffff_ffff);
    let length = u8::try_from(serial.len()).unwrap_or(0);
    // Vital product data page 80h: unit serial number (SPC-5, 7.7.18).
    let page = [&[0, 0x80, 0, length], serial.as_bytes()].concat();
    build.tree.text(format!("{device}/vpd_pg80"), page);
    build.tree.link(format!("{device}/driver"), "/sys/bus/scsi/drivers/sd");
    build.tree.link(format!("{device}/subsystem"), "/sys/bus/scsi");
    build.tree.link(format!("/sys/bus/scsi/devices/{}", unit.address), &device);
    let path = format!("{device}/block/{name}");
    build.tree.link(format!("{path}/device"), &device);
    // Sixteen minors a disk (drivers/scsi/sd.c).
    let disk = Disk { name, path, sectors: sectors(unit.gb), number: format!("8:{}", number * 16) };
    write_disk(build, disk, unit.queue, unit.queues);
}

fn write_ahci(build: &mut Build<'_>, ahci: &Ahci) {
    let card = Card {
        id: [0x8086, 0x1bd2],
        class: 0x01_0601,
        driver: "ahci",
        functions: 1,
        vectors: 1,
        lanes: Lanes { generation: 3, width: 4 },
        virtual_functions: [0, 0],
    };
    let everywhere = [build.topology.online.clone()];
    for function in attach(build, &ahci.at, &card) {
        let action = format!("ahci[{}]", function.address);
        let [online] = &everywhere;
        build.interrupt(&function, vec![Vector::free(action, online.clone())]);
        for port in 0..ahci.ports {
            let number = build.next_scsi_host;
            let ata = number + 1;
            let host = write_host(build, &format!("{}/ata{ata}", function.path), "ahci");
            write_port(build, &function, &host, ahci, ata);
            if port < ahci.drives {
                let unit = Unit {
                    host: &host,
                    address: format!("{number}:0:0:0"),
                    vendor: "ATA",
                    model: &ahci.model,
                    gb: ahci.gb,
                    queue: &ahci.queue,
                    queues: &everywhere,
                };
                write_unit(build, &unit);
            }
        }
    }
}

fn write_port(build: &mut Build<'_>, function: &Attached, host: &str, ahci: &Ahci, ata: u32) {
    let (_, name) = host.rsplit_once('/').unwrap_or_default();
    let class = format!("{host}/scsi_host/{name}");
    build.tree.line(format!("{class}/link_power_management_policy"), &ahci.link_power);
    build.tree.line(format!("{class}/ahci_port_cmd"), "4006");
    let link = format!("{}/ata{ata}/link{ata}/ata_link/link{ata}", function.path);
    build.tree.lines(
        &link,
        [("sata_spd", "6.0 Gbps".to_owned()), ("hw_sata_spd_limit", "6.0 Gbps".to_owned())],
    );
    build.tree.link(format!("/sys/class/ata_link/link{ata}"), &link);
}

fn write_virtual(build: &mut Build<'_>, disks: &VirtualDisk) {
    let card = Card {
        id: [0x1af4, 0x1042],
        class: 0x01_0000,
        driver: "virtio-pci",
        functions: 1,
        vectors: disks.queues + 1,
        lanes: Lanes { generation: 1, width: 1 },
        virtual_functions: [0, 0],
    };
    let place = Place { on_root_bus: true, ..disks.at.clone() };
    let queues = spread::managed(build.topology, disks.queues);
    for function in attach(build, &place, &card) {
        let device = virtio(build, &function, "virtio_blk");
        let index = u32::try_from(build.disks.len()).unwrap_or(0);
        let virtio_name = device.rsplit_once('/').map_or("", |(_, name)| name).to_owned();
        let mut vectors =
            vec![Vector::free(format!("{virtio_name}-config"), build.topology.online.clone())];
        vectors.extend((0..).zip(&queues).map(|(queue, cpus)| {
            Vector::managed(format!("{virtio_name}-req.{queue}"), cpus.clone())
        }));
        build.interrupt(&function, vectors);
        let letter = disk_name(index).split_off(2);
        let name = format!("vd{letter}");
        let path = format!("{device}/block/{name}");
        build.tree.link(format!("{path}/device"), &device);
        build.tree.text(format!("{path}/serial"), "");
        let number = format!("254:{}", index * 16);
        let disk = Disk { name, path, sectors: sectors(disks.gb), number };
        write_disk(build, disk, &disks.queue, &queues);
    }
}

/// The virtio device below a function; its folder.
pub(crate) fn virtio(build: &mut Build<'_>, function: &Attached, driver: &str) -> String {
    let name = format!("virtio{}", build.next_virtio);
    build.next_virtio += 1;
    let device = format!("{}/{name}", function.path);
    let kind = if driver == "virtio_net" { "0x0001" } else { "0x0002" };
    build.tree.lines(&device, [("device", kind.to_owned()), ("vendor", "0x1af4".to_owned())]);
    build.tree.link(format!("{device}/driver"), &format!("/sys/bus/virtio/drivers/{driver}"));
    build.tree.link(format!("{device}/subsystem"), "/sys/bus/virtio");
    build.tree.link(format!("/sys/bus/virtio/devices/{name}"), &device);
    device
}
