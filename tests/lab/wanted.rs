// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a machine's file promises.

use nearside_lab::Machine;
use nearside_lab::machine::{Device, DriveBus, Gpu, Kind, Link, NicModel, Numbering};

use crate::facts::Facts;

/// Everything that `topology --json` must say.
pub(crate) fn topology(machine: &Machine) -> Facts {
    let mut facts = shape(machine);
    let cpus = machine.cpus.listed();
    let numbering = match machine.cpus.numbering {
        Numbering::Linear => "linear",
        Numbering::RoundRobin => "round-robin",
    };
    let siblings = match (machine.cpus.threads, machine.cpus.numbering) {
        (1, _) => "none",
        (_, Numbering::Linear) => "adjacent",
        (_, Numbering::RoundRobin) => "second-half",
    };
    let (split, packages) = (machine.cpus.nodes_per_package, machine.cpus.packages);
    facts.insert(format!("numbering {numbering}, siblings {siblings}"));
    facts.insert(format!("{packages} packages of {split} nodes, sub-NUMA {}", split > 1));
    for (key, value) in [
        ("vendor", &machine.firmware.vendor),
        ("product", &machine.firmware.product),
        ("firmware", &machine.firmware.version),
    ] {
        facts.extend(value.as_ref().map(|value| format!("{key} {value}")));
    }
    let devices = machine.devices();
    facts.extend(devices.iter().enumerate().map(|(n, one)| device(n, one, cpus.len())));
    facts
}

/// Nodes, their CPUs and distances: what every tool must say.
pub(crate) fn shape(machine: &Machine) -> Facts {
    let cpus = machine.cpus.listed();
    let node = |node: u16| {
        let own = cpus.iter().enumerate().filter(|(_, cpu)| cpu.node == node);
        let own: Vec<usize> = own.map(|(number, _)| number).collect();
        let distances = machine.distances.get(usize::from(node)).cloned().unwrap_or_default();
        format!("node {node}: CPUs {own:?}, distances {distances:?}")
    };
    (0..machine.nodes()).map(node).collect()
}

/// The serial number, hardware address or PCI ids by which a device is found again.
pub(crate) fn name(number: usize, device: &Device) -> String {
    match &device.kind {
        Kind::Drive(_) => format!("drive {}", device.serial()),
        Kind::Nic(_) => format!("NIC 02:00:00:00:00:{number:02x}"),
        Kind::Gpu(gpu) => gpu_name(gpu),
    }
}

fn gpu_name(gpu: &Gpu) -> String {
    let [vendor, device, ..] = gpu.pci;
    format!("GPU {vendor:04x}:{device:04x} {:06x}", gpu.class)
}

fn device(number: usize, device: &Device, cpus: usize) -> String {
    let node = device.node;
    let link = match (device.link, device.best_link) {
        (Some(now), Some(best)) => format!("{} of {}", link(now), link(best)),
        _ => "2.5x1 of 2.5x1".to_owned(),
    };
    let name = name(number, device);
    match &device.kind {
        // Each I/O queue has a vector that the kernel manages, and the admin queue one of its own.
        Kind::Drive(drive) if drive.bus == DriveBus::Nvme => {
            let queues = usize::from(drive.queues).min(cpus);
            format!(
                "{name}: node {node}, {link}, {queues} queues, {queues} managed vectors of {}",
                queues + 1
            )
        }
        // An AHCI controller is no PCI Express device.
        Kind::Drive(_) => format!("{name}: node {node}, no link"),
        Kind::Nic(nic) => {
            let queues = match nic.model {
                NicModel::Virtio => usize::from(nic.queues),
                NicModel::Vmxnet3 => cpus.min(8),
                NicModel::E1000e => 1,
            };
            format!("{name}: node {node}, {link}, {queues} queues")
        }
        Kind::Gpu(_) => format!("{name}: node {node}, {link}"),
    }
}

fn link(link: Link) -> String {
    format!("{:?}x{}", link.rate_gts(), link.width)
}
