// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tags of the machine and of its devices, which say where a wish holds.

mod device;
mod processor;

pub(crate) use device::of_device;

use std::collections::BTreeSet;

use machine::{Container, CoreKind, DriveKind, Machine, Nic, NicKind, Virtual};
use setting::Observation;

use crate::devices;
use crate::place::Places;

/// Every tag that `machine` carries. IP forwarding is no part of the model, so that
/// `forwarding-router` asks what was observed.
pub(crate) fn of_machine(machine: &Machine, observations: &[Observation]) -> BTreeSet<String> {
    let mut tags = BTreeSet::new();
    for (tag, holds) in surroundings(machine, observations)
        .into_iter()
        .chain(processors(machine))
        .chain(equipment(machine))
    {
        if holds {
            tags.insert(tag.to_owned());
        }
    }
    if let Ok(vendor) = &machine.host.vendor {
        let vendor = vendor.trim().to_lowercase();
        if let Some(first) = vendor.split_whitespace().next() {
            tags.insert(format!("vendor:{}", first.trim_matches(|c: char| !c.is_alphanumeric())));
        }
        tags.insert(format!("vendor:{vendor}"));
    }
    tags
}

fn surroundings(machine: &Machine, observations: &[Observation]) -> Vec<(&'static str, bool)> {
    let guest = matches!(machine.host.virtual_machine, Virtual::Yes { .. });
    let hypervisor = machine.host.hypervisor_host.is_some();
    let containers = machine.nics.iter().any(is_container_network);
    vec![
        ("bare-metal", !guest),
        ("guest", guest),
        ("container", matches!(machine.host.container, Container::Yes { .. })),
        ("container-host", containers),
        ("hypervisor-host", hypervisor),
        ("forwarding-router", forwards(observations) && !containers && !hypervisor),
        ("vfio", uses_vfio(machine)),
    ]
}

/// Bridges that container engines and Kubernetes networks make under their own names.
fn is_container_network(nic: &Nic) -> bool {
    const NAMES: [&str; 7] = ["docker", "cni", "podman", "flannel", "cali", "cilium", "lxcbr"];
    matches!(nic.kind, NicKind::Bridge | NicKind::Virtual)
        && NAMES.iter().any(|name| nic.name.starts_with(name))
}

fn forwards(observations: &[Observation]) -> bool {
    let files = ["/ipv4/ip_forward", "/ipv6/conf/all/forwarding"];
    observations.iter().any(|observation| {
        let mut lines = observation.evidence.iter();
        lines.any(|line| files.iter().any(|file| line.path.ends_with(file)))
            && observation.value.as_deref().is_ok_and(|value| value == "1" || value == "on")
    })
}

fn uses_vfio(machine: &Machine) -> bool {
    machine
        .functions
        .iter()
        .any(|function| function.driver.as_deref().is_some_and(|driver| driver.starts_with("vfio")))
}

fn processors(machine: &Machine) -> Vec<(&'static str, bool)> {
    let places = Places::of(machine);
    let vendor = machine.host.cpu_vendor.as_deref().unwrap_or_default();
    let model = machine.host.cpu_model.as_deref().unwrap_or_default();
    let cpus = &machine.cpus;
    let hybrid = cpus.threads.iter().any(|thread| thread.kind != CoreKind::Uniform);
    vec![
        ("intel", vendor == "GenuineIntel"),
        ("amd", vendor == "AuthenticAMD"),
        ("arm", processor::is_arm(vendor, &cpus_flags(machine))),
        ("multi-package", places.packages().len() > 1),
        ("multi-node", places.has_far_nodes()),
        ("sub-numa-capable", processor::splits(vendor, model, cores_a_package(machine, &places))),
        ("front-side-bus", machine.has_front_side_bus()),
        ("over-254-apic", highest_apic(machine) > 254),
        ("many-cpus", cpus.online.len() >= 64),
        ("isolated-cpus", !cpus.isolated.is_empty() || !cpus.nohz_full.is_empty()),
        ("desktop", hybrid || processor::is_desktop(model)),
    ]
}

fn cpus_flags(machine: &Machine) -> Vec<&str> {
    machine.host.cpu_flags.iter().map(String::as_str).collect()
}

fn cores_a_package(machine: &Machine, places: &Places) -> usize {
    let cores = machine.cpus.threads.iter().filter(|thread| thread.online && thread.rank == 0);
    cores.count() / places.packages().len().max(1)
}

fn highest_apic(machine: &Machine) -> u32 {
    let told = machine.acpi.apic_ids.iter().map(|(_, apic)| *apic).max().unwrap_or(0);
    // 0xffffffff marks an unused entry of the MADT (ACPI 6.5, the processor local x2APIC structure).
    let listed = machine.acpi.madt.iter().flatten().filter(|id| **id != u32::MAX).max().copied();
    told.max(listed.unwrap_or(0))
}

fn equipment(machine: &Machine) -> Vec<(&'static str, bool)> {
    let drives = &machine.drives;
    vec![
        ("has-nvme", drives.iter().any(devices::is_nvme)),
        ("has-sata", drives.iter().any(|drive| drive.kind == DriveKind::Sata)),
        (
            "has-fast-nic",
            machine.nics.iter().any(|nic| devices::is_port(nic) && devices::is_fast(nic)),
        ),
        ("has-rdma", !machine.rdma.is_empty()),
        ("has-gpu", !machine.gpus.is_empty()),
    ]
}
