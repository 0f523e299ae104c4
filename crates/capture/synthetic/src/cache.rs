// SPDX-License-Identifier: MIT OR Apache-2.0
//! `/sys/devices/system/cpu/cpuN/cache`.

use std::collections::BTreeMap;

use units::CpuSet;

use crate::text::mask;
use crate::topology::{Logical, Topology};
use crate::{Description, Tree};

/// A cache as one CPU sees it.
struct Seen<'a> {
    level: u32,
    kind: &'static str,
    kib: u32,
    ways: u32,
    id: u32,
    cpus: &'a CpuSet,
}

/// First-level caches of a core, KiB: 48 data and 64 instructions (Xeon 6, Zen 5); their ways.
const L1: [(&str, u32, u32); 2] = [("Data", 48, 12), ("Instruction", 64, 16)];

pub(crate) fn write(tree: &mut Tree, description: &Description, topology: &Topology) {
    let mut cores: BTreeMap<(u32, u32), CpuSet> = BTreeMap::new();
    let mut l3s: BTreeMap<u32, CpuSet> = BTreeMap::new();
    for cpu in topology.cpus.iter().filter(|cpu| cpu.online) {
        cores.entry((cpu.package, cpu.core)).or_default().insert(units::Cpu(cpu.cpu));
        l3s.entry(cpu.l3).or_default().insert(units::Cpu(cpu.cpu));
    }
    let none = CpuSet::new();
    for cpu in topology.cpus.iter().filter(|cpu| cpu.online) {
        let core = cores.get(&(cpu.package, cpu.core)).unwrap_or(&none);
        let l3 = l3s.get(&cpu.l3).unwrap_or(&none);
        write_cpu(tree, description, topology, cpu, core, l3);
    }
}

fn write_cpu(
    tree: &mut Tree,
    description: &Description,
    topology: &Topology,
    cpu: &Logical,
    core: &CpuSet,
    l3: &CpuSet,
) {
    let layout = &description.cpu;
    let core_id = cpu.apic / layout.threads.next_power_of_two();
    let mut seen: Vec<Seen<'_>> = L1
        .iter()
        .map(|(kind, kib, ways)| Seen {
            level: 1,
            kind,
            kib: *kib,
            ways: *ways,
            id: core_id,
            cpus: core,
        })
        .collect();
    let unified = |level, kib, id, cpus| Seen { level, kind: "Unified", kib, ways: 16, id, cpus };
    seen.push(unified(2, layout.l2_kib, core_id, core));
    seen.push(unified(3, layout.l3_kib, cpu.l3, l3));
    for (index, cache) in seen.iter().enumerate() {
        let folder = format!("/sys/devices/system/cpu/cpu{}/cache/index{index}", cpu.cpu);
        write_one(tree, topology, &folder, cache);
    }
}

fn write_one(tree: &mut Tree, topology: &Topology, folder: &str, cache: &Seen<'_>) {
    tree.lines(
        folder,
        [
            ("level", cache.level.to_string()),
            ("type", cache.kind.to_owned()),
            ("size", format!("{}K", cache.kib)),
            ("id", cache.id.to_string()),
            ("coherency_line_size", "64".to_owned()),
            ("physical_line_partition", "1".to_owned()),
            ("ways_of_associativity", cache.ways.to_string()),
            ("number_of_sets", (cache.kib * 1024 / 64 / cache.ways).to_string()),
            ("shared_cpu_map", mask(cache.cpus, topology.bits)),
            ("shared_cpu_list", cache.cpus.to_string()),
        ],
    );
}
