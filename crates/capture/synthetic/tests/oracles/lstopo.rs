// SPDX-License-Identifier: MIT OR Apache-2.0
//! What hwloc makes of a machine: packages, nodes, cores, CPUs, PCI functions and where drives sit.

use std::collections::BTreeMap;
use std::process::Command;

use support::{Failed, failed};
use units::CpuSet;

use crate::{Written, equal, output};

/// An object of hwloc's tree, and the package above it.
#[derive(Debug)]
struct Object {
    kind: String,
    attributes: BTreeMap<String, String>,
    package: Option<String>,
}

pub(crate) fn check(machine: &Written) -> Result<(), Failed> {
    let mut command = Command::new("lstopo-no-graphics");
    command.arg("-i").arg(machine.path()).args(["--if", "fsroot", "--whole-io", "--of", "xml"]);
    let objects = objects(&output(command.env("HWLOC_COMPONENTS", "-x86"))?);
    let count = |kind: &str| {
        u64::try_from(objects.iter().filter(|object| object.kind == kind).count()).unwrap_or(0)
    };
    let layout = &machine.description.cpu;
    let threads = u64::from(layout.threads);
    equal("packages", count("Package"), u64::from(layout.packages))?;
    equal("nodes", count("NUMANode"), u64::from(machine.description.node_count()))?;
    equal("CPUs", count("PU"), machine.online())?;
    equal("cores", count("Core"), machine.online() / threads)?;
    check_nodes(machine, &objects)?;
    check_functions(machine, &objects)?;
    check_drives(machine, &objects)
}

/// Each node's CPUs are as many as described, and those of sysfs.
fn check_nodes(machine: &Written, objects: &[Object]) -> Result<(), Failed> {
    for object in objects.iter().filter(|object| object.kind == "NUMANode") {
        let index = attribute(object, "os_index")?;
        let path = format!("sys/devices/system/node/node{index}/cpulist");
        let list = std::fs::read_to_string(machine.path().join(path))?;
        let own = CpuSet::from_list(&list)?;
        // A node without CPUs is drawn at the CPUs of what it is near to.
        if !own.is_empty() {
            let told = CpuSet::from_mask(&attribute(object, "cpuset")?.replace("0x", ""))?;
            equal("CPUs of a node", told.to_string(), own.to_string())?;
        }
    }
    Ok(())
}

fn check_functions(machine: &Written, objects: &[Object]) -> Result<(), Failed> {
    let mut told: Vec<String> =
        objects.iter().filter_map(|object| object.attributes.get("pci_busid").cloned()).collect();
    told.sort();
    equal("PCI functions", told, machine.functions()?)
}

/// NVMe drives by package, where a package is told.
fn check_drives(machine: &Written, objects: &[Object]) -> Result<(), Failed> {
    let description = &machine.description;
    let plain = description.nvme.iter().all(|drives| drives.at.told.is_none() && drives.paths == 1);
    if description.host.silent_about_nodes || !plain || description.cpu.packages == 1 {
        return Ok(());
    }
    let mut described: BTreeMap<String, u32> = BTreeMap::new();
    for drives in &description.nvme {
        let package = drives.at.node / description.cpu.nodes_per_package;
        *described.entry(package.to_string()).or_default() += drives.count;
    }
    let mut told: BTreeMap<String, u32> = BTreeMap::new();
    for object in objects {
        let class = object.attributes.get("pci_type").is_some_and(|text| text.starts_with("0108"));
        if let (true, Some(package)) = (class, &object.package) {
            *told.entry(package.clone()).or_default() += 1;
        }
    }
    equal("drives by package", told, described)
}

fn attribute<'a>(object: &'a Object, name: &str) -> Result<&'a str, Failed> {
    let value = object.attributes.get(name).map(String::as_str);
    value.ok_or_else(|| failed(format!("{} has no {name}", object.kind)))
}

/// The objects of lstopo's XML, which has one tag a line.
fn objects(xml: &str) -> Vec<Object> {
    let mut found = Vec::new();
    let mut above: Vec<Option<String>> = Vec::new();
    for line in xml.lines().map(str::trim) {
        if line == "</object>" {
            above.pop();
        } else if let Some(tag) = line.strip_prefix("<object ") {
            let attributes = attributes(tag);
            let kind = attributes.get("type").cloned().unwrap_or_default();
            let package = match kind.as_str() {
                "Package" => attributes.get("os_index").cloned(),
                _ => above.last().cloned().flatten(),
            };
            if !tag.ends_with("/>") {
                above.push(package.clone());
            }
            found.push(Object { kind, attributes, package });
        }
    }
    found
}

/// `type="PU" os_index="0" ...`.
fn attributes(tag: &str) -> BTreeMap<String, String> {
    let mut parts = tag.split('"');
    let mut attributes = BTreeMap::new();
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        attributes.insert(name.trim().trim_end_matches('=').to_owned(), value.to_owned());
    }
    attributes
}
