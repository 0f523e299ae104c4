// SPDX-License-Identifier: MIT OR Apache-2.0
//! `/sys/devices/system/node` and /proc/meminfo.

use std::fmt::Write;

use units::{Cpu, CpuSet};

use crate::text::{mask, noise};
use crate::topology::Topology;
use crate::{Description, MemoryKind, Tree};

const NODES: &str = "/sys/devices/system/node";

/// Lines of /proc/meminfo, with the blanks between name and number that `%8lu` leaves.
const MEMINFO: [&str; 10] = [
    "MemTotal",
    "MemFree",
    "MemAvailable",
    "Buffers",
    "Cached",
    "SwapCached",
    "Active",
    "Inactive",
    "SwapTotal",
    "SwapFree",
];

pub(crate) fn write(tree: &mut Tree, description: &Description, topology: &Topology) {
    let count = description.node_count();
    let sets = [
        ("possible", all(0, count)),
        ("online", all(0, count)),
        ("has_cpu", nodes_where(topology, |cpus| !cpus.is_empty())),
        ("has_memory", (0..count).filter(|n| kib(description, *n) > 0).map(Cpu).collect()),
        ("has_normal_memory", (0..count).filter(|n| kib(description, *n) > 0).map(Cpu).collect()),
        ("has_generic_initiator", CpuSet::new()),
    ];
    for (name, set) in sets {
        tree.line(format!("{NODES}/{name}"), set);
    }
    for node in 0..count {
        write_node(tree, description, topology, node);
    }
    write_meminfo(tree, description);
    write_tiers(tree, description);
}

fn all(first: u32, count: u32) -> CpuSet {
    crate::text::range(first, count)
}

fn nodes_where(topology: &Topology, test: impl Fn(&CpuSet) -> bool) -> CpuSet {
    (0..).zip(&topology.nodes).filter(|(_, cpus)| test(cpus)).map(|(node, _)| Cpu(node)).collect()
}

/// Memory that the kernel manages on a node, KiB: a little less than what is fitted.
pub(crate) fn kib(description: &Description, node: u32) -> u64 {
    let mib = fitted_mib(description, node);
    (mib * 1024).saturating_sub(mib * 12 + noise(u64::from(node)) % 4 * 4)
}

/// Memory fitted on a node, MiB.
pub(crate) fn fitted_mib(description: &Description, node: u32) -> u64 {
    match node.checked_sub(description.cpu.node_count()) {
        None => description.memory.of(node),
        Some(index) => {
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            description.memory_only.get(index).map_or(0, |memory| memory.mib)
        }
    }
}

/// The distance between two nodes.
pub(crate) fn distance(description: &Description, a: u32, b: u32) -> u8 {
    let with_cpus = description.cpu.node_count();
    if a == b {
        return 10;
    }
    let only = |node: u32| {
        let index = usize::try_from(node.checked_sub(with_cpus)?).ok()?;
        description.memory_only.get(index)
    };
    match (only(a), only(b)) {
        (None, None) => {
            let package = |node: u32| node / description.cpu.nodes_per_package;
            let memory = &description.memory;
            if package(a) == package(b) { memory.near } else { memory.far }
        }
        (Some(memory), None) if memory.near == b => memory.distance,
        (None, Some(memory)) if memory.near == a => memory.distance,
        (Some(memory), None) | (None, Some(memory)) => {
            memory.distance.saturating_add(description.memory.far - 10)
        }
        (Some(one), Some(other)) => one.distance.saturating_add(other.distance),
    }
}

fn write_node(tree: &mut Tree, description: &Description, topology: &Topology, node: u32) {
    let folder = format!("{NODES}/node{node}");
    let none = CpuSet::new();
    let index = usize::try_from(node).unwrap_or(usize::MAX);
    let cpus = topology.nodes.get(index).unwrap_or(&none);
    tree.line(format!("{folder}/cpulist"), cpus);
    tree.line(format!("{folder}/cpumap"), mask(cpus, topology.bits));
    for cpu in cpus.iter() {
        let target = format!("/sys/devices/system/cpu/cpu{}", cpu.0);
        tree.link(format!("{folder}/cpu{}", cpu.0), &target);
    }
    let row: Vec<String> = (0..description.node_count())
        .map(|other| distance(description, node, other).to_string())
        .collect();
    tree.line(format!("{folder}/distance"), row.join(" "));
    tree.text(format!("{folder}/meminfo"), node_meminfo(description, node));
    let numastat = "numa_hit 1048576\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 512\n\
                    local_node 1040000\nother_node 8576\n";
    tree.text(format!("{folder}/numastat"), numastat);
    for (size, name) in [(2048, "hugepages-2048kB"), (1_048_576, "hugepages-1048576kB")] {
        let _ = size;
        let pages = format!("{folder}/hugepages/{name}");
        for file in ["nr_hugepages", "free_hugepages", "surplus_hugepages"] {
            tree.line(format!("{pages}/{file}"), 0);
        }
    }
}

/// `Node 1 MemTotal:         256880 kB`: the name and its spaces are 16 wide.
fn node_meminfo(description: &Description, node: u32) -> String {
    let total = kib(description, node);
    let free = total / 100 * description.memory.free_percent;
    let mut text = String::new();
    let lines = [
        ("MemTotal", total),
        ("MemFree", free),
        ("MemUsed", total - free),
        ("SwapCached", 0),
        ("Active", (total - free) / 4),
        ("Inactive", (total - free) / 4),
        ("FilePages", (total - free) / 4),
        ("AnonPages", (total - free) / 8),
    ];
    for (name, kib) in lines {
        let _ = writeln!(text, "Node {node} {:<16}{kib:>8} kB", format!("{name}:"));
    }
    for name in ["HugePages_Total", "HugePages_Free", "HugePages_Surp"] {
        let _ = writeln!(text, "Node {node} {:<16}{:>5}", format!("{name}:"), 0);
    }
    text
}

/// `MemTotal:         980900 kB`.
fn write_meminfo(tree: &mut Tree, description: &Description) {
    let total: u64 = (0..description.node_count()).map(|node| kib(description, node)).sum();
    let free = total / 100 * description.memory.free_percent;
    let used = total - free;
    let values = [total, free, free, used / 50, used / 4, 0, used / 4, used / 4, 0, 0];
    let mut text = String::new();
    for (name, kib) in MEMINFO.iter().zip(values) {
        let _ = writeln!(text, "{:<16}{kib:>8} kB", format!("{name}:"));
    }
    text.push_str("HugePages_Total:       0\nHugePages_Free:        0\nHugePages_Rsvd:        0\n");
    text.push_str(
        "HugePages_Surp:        0\nHugepagesize:       2048 kB\nHugetlb:               0 kB\n",
    );
    tree.text("/proc/meminfo", text);
}

/// What tells memory-only nodes apart: dax devices for PMEM and CXL, a memory tier for each.
fn write_tiers(tree: &mut Tree, description: &Description) {
    let first = description.cpu.node_count();
    for (node, memory) in (first..).zip(&description.memory_only) {
        let index = node - first;
        let device = match memory.kind {
            MemoryKind::Pmem => {
                format!(
                    "/sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/ndbus0/region{index}/dax{index}.0/dax{index}.0"
                )
            }
            MemoryKind::Cxl => {
                format!(
                    "/sys/devices/platform/ACPI0017:00/root0/decoder0.0/region{index}/dax_region{index}/dax{index}.0"
                )
            }
            MemoryKind::Hbm => format!("/sys/devices/platform/hmem.{index}/dax{index}.0"),
            MemoryKind::Gpu => continue,
        };
        tree.line(format!("{device}/target_node"), node);
        tree.line(format!("{device}/numa_node"), memory.near);
        tree.line(format!("{device}/size"), memory.mib << 20);
        tree.link(format!("{device}/driver"), "/sys/bus/dax/drivers/kmem");
        tree.link(format!("/sys/bus/dax/devices/dax{index}.0"), &device);
    }
}
