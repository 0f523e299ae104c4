// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a machine's file may not say, each with the sentence that a person reads.

use std::collections::BTreeSet;

use super::{Backing, Device, DriveBus, Kind, Machine, NicModel, Wiring};

/// TCG gives a virtual CPU a thread of the host: more than this only waits.
const MOST_CPUS: u32 = 64;
/// A serial number's field in Identify Controller has 20 characters (NVMe base 2.0, figure 275).
const LONGEST_ID: usize = 15;

pub(super) fn check(machine: &Machine) -> Result<(), String> {
    cpus(machine)?;
    distances(machine)?;
    let devices = machine.devices();
    let mut ids = BTreeSet::new();
    for device in &devices {
        self::device(machine, device).map_err(|why| format!("device {:?}: {why}", device.id))?;
        if !ids.insert(device.id.as_str()) {
            return Err(format!("device {:?}: named twice", device.id));
        }
    }
    machine.degraded.keys().try_for_each(|id| {
        let device = devices.iter().find(|device| device.id == *id);
        let device = device.ok_or_else(|| format!("degraded: no device {id:?}"))?;
        let best = device.best_link.ok_or_else(|| format!("degraded: {id:?} has no link"))?;
        let now = device.link.unwrap_or(best);
        let better = now.code > best.code || now.width > best.width;
        if better { Err(format!("degraded: {id:?}: {now} is better than {best}")) } else { Ok(()) }
    })
}

fn cpus(machine: &Machine) -> Result<(), String> {
    let cpus = &machine.cpus;
    let counts = [cpus.packages, cpus.dies, cpus.cores, cpus.threads, cpus.nodes_per_package];
    let total = counts[..4].iter().try_fold(1_u32, |n, count| n.checked_mul((*count).into()));
    if counts.contains(&0) || total.is_none_or(|total| total > MOST_CPUS) {
        return Err(format!(
            "cpus: none of the counts may be 0, and {MOST_CPUS} CPUs are the most"
        ));
    }
    if !cpus.cores_of_package().is_multiple_of(cpus.nodes_per_package) {
        let cores = cpus.cores_of_package();
        return Err(format!(
            "cpus: {cores} cores cannot be divided among {} nodes",
            cpus.nodes_per_package
        ));
    }
    let states = machine.firmware.c_states_us.len();
    if states > 8 || machine.firmware.frequencies_mhz.len() > 16 {
        return Err("firmware: at most 8 C-states and 16 frequencies".into());
    }
    Ok(())
}

fn distances(machine: &Machine) -> Result<(), String> {
    let nodes = usize::from(machine.nodes());
    let rows = &machine.distances;
    let square = rows.len() == nodes && rows.iter().all(|row| row.len() == nodes);
    if !rows.is_empty() && !square {
        return Err(format!("distances: {nodes} rows of {nodes}, one a node"));
    }
    for (i, row) in rows.iter().enumerate() {
        for (j, distance) in row.iter().enumerate() {
            if (i == j) != (*distance == 10) || *distance < 10 {
                return Err(format!("distances: node {i} to {j} is {distance}; 10 is local"));
            }
        }
    }
    Ok(())
}

fn device(machine: &Machine, device: &Device) -> Result<(), String> {
    let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if device.id.is_empty() || device.id.len() > LONGEST_ID || !device.id.bytes().all(word) {
        return Err(format!("an id is 1 to {LONGEST_ID} small letters and digits"));
    }
    if device.node >= machine.nodes() {
        return Err(format!("no node {}; there are {}", device.node, machine.nodes()));
    }
    match &device.kind {
        Kind::Drive(drive) => {
            let nvme = drive.bus == DriveBus::Nvme;
            let named = drive.model.is_some() || drive.revision.is_some();
            refuse(drive.queues == 0 || drive.queues > 64, "1 to 64 queues")?;
            refuse(!nvme && named, "model and revision are for NVMe")?;
            refuse(!nvme && drive.link.is_some(), "an AHCI controller has no link")?;
            refuse(
                drive.model.as_ref().is_some_and(|m| m.len() > 40),
                "a model has 40 characters",
            )?;
            refuse(drive.revision.as_ref().is_some_and(|r| r.len() > 8), "a revision has 8")?;
            refuse(
                drive.backing == Backing::File && drive.latency_us > 0,
                "latency_us is for backing = \"nothing\"",
            )
        }
        Kind::Nic(nic) => {
            let tap = nic.wiring == Wiring::Tap;
            refuse(nic.queues == 0 || nic.queues > 16, "1 to 16 queues")?;
            refuse(
                nic.model == NicModel::Vmxnet3 && nic.queues > 1,
                "a vmxnet3 has a queue a CPU, up to eight, whatever is asked for",
            )?;
            refuse(nic.model == NicModel::E1000e && nic.queues > 1, "an e1000e has one queue")?;
            refuse(
                nic.model == NicModel::Virtio && nic.queues > 1 && !tap,
                "virtio with several queues takes wiring = \"tap\"",
            )
        }
        Kind::Gpu(_) => Ok(()),
    }
}

fn refuse(wrong: bool, message: &str) -> Result<(), String> {
    if wrong { Err(message.to_owned()) } else { Ok(()) }
}
