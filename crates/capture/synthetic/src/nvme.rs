// SPDX-License-Identifier: MIT OR Apache-2.0
//! NVMe drives: controllers, namespaces, subsystems, and their identify and SMART pages.

use std::fmt::Write;

use root::Question;
use units::CpuSet;

use crate::block::{Disk, sectors, write_disk};
use crate::build::Build;
use crate::irq::Vector;
use crate::pci::{Attached, Card, attach};
use crate::text::noise;
use crate::{IdlePower, Lanes, Nvme, Place, spread};

/// Class of an NVMe I/O controller.
const NVME: u32 = 0x01_0802;
const LANES: Lanes = Lanes { generation: 5, width: 4 };

/// A drive and the numbers that its files show.
struct Drive<'a> {
    group: &'a Nvme,
    /// Number of its first controller, of its subsystem and of its head.
    number: u32,
    serial: String,
}

pub(crate) fn write(build: &mut Build<'_>) {
    for group in &build.description.nvme {
        // All drives of a group have the same queues on the same CPUs.
        let queues = spread::managed(build.topology, group.queues);
        let group = &Nvme { queues: u32::try_from(queues.len()).unwrap_or(0), ..group.clone() };
        for index in 0..group.count {
            let serial = format!("{}{:08X}", group.serial, noise(u64::from(index)) & 0xffff_ffff);
            let drive = Drive { group, number: build.next_nvme, serial };
            write_drive(build, &drive, index, &queues);
            build.next_nvme += group.paths.max(1);
        }
    }
}

fn write_drive(build: &mut Build<'_>, drive: &Drive<'_>, index: u32, queues: &[CpuSet]) {
    let group = drive.group;
    let nodes = build.description.cpu.node_count();
    let many = group.paths > 1;
    for path in 0..group.paths.max(1) {
        let slot = group.at.slot.as_ref().map(|slot| match slot.parse::<u32>() {
            Ok(first) => (first + index).to_string(),
            Err(_) => format!("{slot}{index}"),
        });
        let node = (group.at.node + path) % nodes;
        let place = Place { node, slot, ..group.at.clone() };
        let controller = drive.number + path;
        let function = write_function(build, &place, group, controller, queues);
        let folder = write_controller(build, drive, controller, &function);
        let namespace = |name: &str| format!("{folder}/{name}");
        if many {
            let hidden = format!("nvme{}c{controller}n1", drive.number);
            build.tree.line(format!("{}/ana_state", namespace(&hidden)), "optimized");
            build.tree.line(format!("{}/hidden", namespace(&hidden)), 1);
            build.tree.line(format!("{}/size", namespace(&hidden)), sectors(group.gb));
            let target = namespace(&hidden);
            build.tree.link(format!("/sys/block/{hidden}"), &target);
            build.tree.link(format!("{target}/device"), &folder);
        } else {
            write_namespace(build, drive, &folder, queues, &folder);
        }
        link_subsystem(build, drive, controller, &folder);
    }
    write_subsystem(build, drive);
    if many {
        let subsystem = format!("/sys/devices/virtual/nvme-subsystem/nvme-subsys{}", drive.number);
        write_namespace(build, drive, &subsystem, queues, &subsystem);
    }
}

fn write_function(
    build: &mut Build<'_>,
    place: &Place,
    group: &Nvme,
    number: u32,
    queues: &[CpuSet],
) -> Attached {
    let card = Card {
        id: group.id,
        class: NVME,
        driver: "nvme",
        functions: 1,
        vectors: group.queues + 1,
        lanes: LANES,
        virtual_functions: [0, 0],
    };
    let mut functions = attach(build, place, &card);
    // `attach` returns one function for a card that has one.
    let function = functions.remove(0);
    let admin = build.topology.near(function.told);
    let mut vectors = vec![Vector::free(format!("nvme{number}q0"), admin)];
    vectors.extend(
        (1..)
            .zip(queues)
            .map(|(queue, cpus)| Vector::managed(format!("nvme{number}q{queue}"), cpus.clone())),
    );
    build.interrupt(&function, vectors);
    function
}

fn write_controller(
    build: &mut Build<'_>,
    drive: &Drive<'_>,
    number: u32,
    function: &Attached,
) -> String {
    let (group, name) = (drive.group, format!("nvme{number}"));
    let folder = format!("{}/nvme/{name}", function.path);
    let tree = &mut build.tree;
    tree.lines(
        &folder,
        [
            // The drive pads its texts with blanks to the widths of the identify page.
            ("model", format!("{:<40}", group.model)),
            ("serial", format!("{:<20}", drive.serial)),
            ("firmware_rev", format!("{:<8}", group.firmware)),
            ("transport", "pcie".to_owned()),
            ("state", "live".to_owned()),
            ("address", function.address.to_string()),
            ("queue_count", (group.queues + 1).to_string()),
            ("sqsize", "1023".to_owned()),
            ("cntlid", (number - drive.number).to_string()),
            ("cntrltype", "io".to_owned()),
            ("dctype", "none".to_owned()),
            ("numa_node", function.told.to_string()),
            ("kato", "0".to_owned()),
            ("dev", format!("241:{number}")),
            ("subsysnqn", nqn(drive)),
        ],
    );
    tree.text(
        format!("{folder}/uevent"),
        format!("MAJOR=241\nMINOR={number}\nDEVNAME={name}\nNVME_TRTYPE=pcie\n"),
    );
    tree.link(format!("{folder}/device"), &function.path);
    tree.link(format!("{folder}/subsystem"), "/sys/class/nvme");
    tree.link(format!("/sys/class/nvme/{name}"), &folder);
    if group.apst != IdlePower::None {
        let tolerance = if group.apst == IdlePower::On { 100_000 } else { 0 };
        tree.line(format!("{folder}/power/pm_qos_latency_tolerance_us"), tolerance);
    }
    let hwmon = format!("{folder}/hwmon{number}");
    tree.lines(
        &hwmon,
        [
            ("name", "nvme".to_owned()),
            ("temp1_input", group.temperature_mc.to_string()),
            ("temp1_label", "Composite".to_owned()),
            ("temp1_max", "69850".to_owned()),
            ("temp1_crit", "84850".to_owned()),
        ],
    );
    tree.link(format!("{hwmon}/device"), &folder);
    tree.link(format!("/sys/class/hwmon/hwmon{number}"), &hwmon);
    answer(build, drive, &name);
    folder
}

fn nqn(drive: &Drive<'_>) -> String {
    format!(
        "nqn.2014.08.org.nvmexpress:{:04x}{:04x}{}",
        drive.group.id[0], drive.group.id[0], drive.serial
    )
}

/// The namespace's block device, below its controller or, with several paths, its subsystem.
fn write_namespace(
    build: &mut Build<'_>,
    drive: &Drive<'_>,
    parent: &str,
    queues: &[CpuSet],
    device: &str,
) {
    let name = format!("nvme{}n1", drive.number);
    let path = format!("{parent}/{name}");
    let number = format!("259:{}", build.next_minor);
    build.next_minor += 1;
    build.tree.line(format!("{path}/nsid"), 1);
    build.tree.line(
        format!("{path}/wwid"),
        format!("eui.{:016x}0050434b", noise(crate::text::seed(&drive.serial))),
    );
    build.tree.link(format!("{path}/device"), device);
    let disk = Disk { name, path, sectors: sectors(drive.group.gb), number };
    write_disk(build, disk, &drive.group.queue, queues);
}

fn link_subsystem(build: &mut Build<'_>, drive: &Drive<'_>, number: u32, folder: &str) {
    let subsystem = format!("/sys/devices/virtual/nvme-subsystem/nvme-subsys{}", drive.number);
    build.tree.link(format!("{subsystem}/nvme{number}"), folder);
}

fn write_subsystem(build: &mut Build<'_>, drive: &Drive<'_>) {
    let name = format!("nvme-subsys{}", drive.number);
    let folder = format!("/sys/devices/virtual/nvme-subsystem/{name}");
    build.tree.lines(
        &folder,
        [
            ("model", format!("{:<40}", drive.group.model)),
            ("serial", format!("{:<20}", drive.serial)),
            ("firmware_rev", format!("{:<8}", drive.group.firmware)),
            ("iopolicy", "numa".to_owned()),
            ("subsystype", "nvm".to_owned()),
            ("subsysnqn", nqn(drive)),
        ],
    );
    build.tree.link(format!("/sys/class/nvme-subsystem/{name}"), &folder);
}

/// Identify controller, SMART log and the APST feature (NVM Express Base Specification 2.0,
/// figures 275 and 207, feature 0Ch).
fn answer(build: &mut Build<'_>, drive: &Drive<'_>, name: &str) {
    let group = drive.group;
    let mut identify = vec![0_u8; 4096];
    put(&mut identify, 0, &group.id[0].to_le_bytes());
    put(&mut identify, 2, &group.id[0].to_le_bytes());
    put(&mut identify, 4, format!("{:<20}", drive.serial).as_bytes());
    put(&mut identify, 24, format!("{:<40}", group.model).as_bytes());
    put(&mut identify, 64, format!("{:<8}", group.firmware).as_bytes());
    put(&mut identify, 80, &0x0002_0000_u32.to_le_bytes());
    put(&mut identify, 265, &[u8::from(group.apst != IdlePower::None)]);
    let mut smart = vec![0_u8; 512];
    let kelvin = u16::try_from(group.temperature_mc / 1000 + 273).unwrap_or(273);
    put(&mut smart, 1, &kelvin.to_le_bytes());
    put(&mut smart, 3, &[100, 10, group.used_percent]);
    let answers = &mut build.tree.answers;
    answers.insert(Question::NvmeIdentify(name.to_owned()), quoted(&identify));
    answers.insert(Question::NvmeSmart(name.to_owned()), quoted(&smart));
    if group.apst != IdlePower::None {
        let enabled = u32::from(group.apst == IdlePower::On);
        answers.insert(Question::NvmeApst(name.to_owned()), enabled.to_string());
    }
}

fn put(page: &mut [u8], offset: usize, bytes: &[u8]) {
    if let Some(place) = page.get_mut(offset..offset + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// A page as JSON: a string of hexadecimal digits.
fn quoted(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2 + 2);
    text.push('"');
    bytes.iter().for_each(|byte| {
        let _ = write!(text, "{byte:02x}");
    });
    text.push('"');
    text
}
