// SPDX-License-Identifier: MIT OR Apache-2.0
//! `/sys/devices/system/cpu` (topology, sets, SMT, vulnerabilities) and /proc/cpuinfo.

use std::collections::BTreeMap;
use std::fmt::Write;

use units::CpuSet;

use crate::text::{mask, noise, range};
use crate::topology::{Logical, Topology};
use crate::{Description, Tree};

const CPUS: &str = "/sys/devices/system/cpu";

/// Flags that every server processor of the last years shows.
const COMMON_FLAGS: &str = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat \
    pse36 clflush mmx fxsr sse sse2 ht syscall nx pdpe1gb rdtscp lm constant_tsc rep_good \
    nopl cpuid aperfmperf pni pclmulqdq monitor ssse3 fma cx16 pcid sse4_1 sse4_2 x2apic movbe \
    popcnt aes xsave avx f16c rdrand lahf_lm abm fsgsbase bmi1 avx2 smep bmi2 erms invpcid rdseed \
    adx smap clflushopt clwb sha_ni xsaveopt xsavec xgetbv1 xsaves";

/// Names in `vulnerabilities/` of a 6.x kernel.
const VULNERABILITIES: [&str; 8] = [
    "gather_data_sampling",
    "itlb_multihit",
    "l1tf",
    "mds",
    "meltdown",
    "retbleed",
    "spectre_v1",
    "spectre_v2",
];

/// The groups that a CPU's topology files name, each built once and shared by its members.
struct Groups {
    cores: BTreeMap<(u32, u32), CpuSet>,
    dies: BTreeMap<(u32, u32), CpuSet>,
    packages: BTreeMap<u32, CpuSet>,
}

pub(crate) fn write(tree: &mut Tree, description: &Description, topology: &Topology) {
    write_sets(tree, description, topology);
    write_smt(tree, description);
    write_vulnerabilities(tree, description);
    let groups = groups(topology);
    for cpu in &topology.cpus {
        write_cpu(tree, topology, &groups, cpu);
    }
    tree.text("/proc/cpuinfo", cpuinfo(description, topology, &groups));
}

fn write_sets(tree: &mut Tree, description: &Description, topology: &Topology) {
    let all = range(0, topology.bits);
    let layout = &description.cpu;
    tree.line(format!("{CPUS}/possible"), &all);
    tree.line(format!("{CPUS}/present"), &all);
    tree.line(format!("{CPUS}/online"), &topology.online);
    tree.line(format!("{CPUS}/offline"), &layout.offline);
    tree.line(format!("{CPUS}/isolated"), &layout.isolated);
    // The kernel prints a bitmap pointer that it never set: `  (null)` behind eight blanks.
    match layout.nohz_full.is_empty() {
        true => tree.line(format!("{CPUS}/nohz_full"), "  (null)"),
        false => tree.line(format!("{CPUS}/nohz_full"), &layout.nohz_full),
    }
    tree.line(format!("{CPUS}/kernel_max"), 8191);
}

fn write_smt(tree: &mut Tree, description: &Description) {
    let threads = description.cpu.threads;
    let usual = if threads > 1 { "on" } else { "off" };
    let control = description.cpu.smt.as_deref().unwrap_or(usual);
    tree.line(format!("{CPUS}/smt/control"), control);
    tree.line(format!("{CPUS}/smt/active"), u32::from(control == "on" && threads > 1));
}

fn write_vulnerabilities(tree: &mut Tree, description: &Description) {
    let told = &description.kernel.vulnerabilities;
    for name in VULNERABILITIES {
        let text = told.get(name).map_or("Not affected", String::as_str);
        tree.line(format!("{CPUS}/vulnerabilities/{name}"), text);
    }
    for (name, text) in told {
        tree.line(format!("{CPUS}/vulnerabilities/{name}"), text);
    }
}

fn groups(topology: &Topology) -> Groups {
    let mut groups =
        Groups { cores: BTreeMap::new(), dies: BTreeMap::new(), packages: BTreeMap::new() };
    for cpu in topology.cpus.iter().filter(|cpu| cpu.online) {
        let id = units::Cpu(cpu.cpu);
        groups.cores.entry((cpu.package, cpu.core)).or_default().insert(id);
        groups.dies.entry((cpu.package, cpu.die)).or_default().insert(id);
        groups.packages.entry(cpu.package).or_default().insert(id);
    }
    groups
}

fn write_cpu(tree: &mut Tree, topology: &Topology, groups: &Groups, cpu: &Logical) {
    let folder = format!("{CPUS}/cpu{}", cpu.cpu);
    tree.link(format!("{folder}/subsystem"), "/sys/bus/cpu");
    if cpu.cpu != 0 {
        tree.line(format!("{folder}/online"), u32::from(cpu.online));
    }
    if cpu.online {
        let node = format!("/sys/devices/system/node/node{}", cpu.node);
        tree.link(format!("{folder}/node{}", cpu.node), &node);
        write_topology(tree, topology, groups, cpu, &format!("{folder}/topology"));
    }
}

fn write_topology(
    tree: &mut Tree,
    topology: &Topology,
    groups: &Groups,
    cpu: &Logical,
    folder: &str,
) {
    tree.lines(
        folder,
        [
            ("physical_package_id", cpu.package.to_string()),
            ("die_id", cpu.die.to_string()),
            ("cluster_id", (cpu.apic & !1).to_string()),
            ("core_id", cpu.core.to_string()),
        ],
    );
    let none = CpuSet::new();
    let core = groups.cores.get(&(cpu.package, cpu.core)).unwrap_or(&none);
    let die = groups.dies.get(&(cpu.package, cpu.die)).unwrap_or(&none);
    let package = groups.packages.get(&cpu.package).unwrap_or(&none);
    // Each set has an old name and a new one (Documentation/admin-guide/cputopology.rst).
    for (name, list, set) in [
        ("core_cpus", "core_cpus_list", core),
        ("thread_siblings", "thread_siblings_list", core),
        ("cluster_cpus", "cluster_cpus_list", core),
        ("die_cpus", "die_cpus_list", die),
        ("package_cpus", "package_cpus_list", package),
        ("core_siblings", "core_siblings_list", package),
    ] {
        tree.line(format!("{folder}/{name}"), mask(set, topology.bits));
        tree.line(format!("{folder}/{list}"), set);
    }
}

/// /proc/cpuinfo: a block for each online CPU, an empty line after each.
fn cpuinfo(description: &Description, topology: &Topology, groups: &Groups) -> String {
    let layout = &description.cpu;
    let mut text = String::new();
    let flags = flags(description);
    let base = description.power.base_mhz;
    for cpu in topology.cpus.iter().filter(|cpu| cpu.online) {
        let siblings = groups.packages.get(&cpu.package).map_or(0, CpuSet::len);
        let cores = layout.nodes_per_package * layout.cores_per_node;
        let [family, model, stepping] = layout.id;
        let thousandths = noise(u64::from(cpu.cpu)) % 1000;
        let block = [
            ("processor\t", cpu.cpu.to_string()),
            ("vendor_id\t", layout.vendor.clone()),
            ("cpu family\t", family.to_string()),
            ("model\t\t", model.to_string()),
            ("model name\t", layout.name.clone()),
            ("stepping\t", stepping.to_string()),
            ("microcode\t", "0x10003a2".to_owned()),
            ("cpu MHz\t\t", format!("{base}.{thousandths:03}")),
            ("cache size\t", format!("{} KB", layout.l3_kib)),
            ("physical id\t", cpu.package.to_string()),
            ("siblings\t", siblings.to_string()),
            ("core id\t\t", cpu.core.to_string()),
            ("cpu cores\t", cores.to_string()),
            ("apicid\t\t", cpu.apic.to_string()),
            ("initial apicid\t", cpu.apic.to_string()),
            ("fpu\t\t", "yes".to_owned()),
            ("fpu_exception\t", "yes".to_owned()),
            ("cpuid level\t", "32".to_owned()),
            ("wp\t\t", "yes".to_owned()),
            ("flags\t\t", flags.clone()),
            ("bogomips\t", format!("{}.00", base * 2)),
            ("clflush size\t", "64".to_owned()),
            ("cache_alignment\t", "64".to_owned()),
            ("address sizes\t", "52 bits physical, 57 bits virtual".to_owned()),
        ];
        for (key, value) in block {
            let _ = writeln!(text, "{key}: {value}");
        }
        text.push_str("power management:\n\n");
    }
    text
}

fn flags(description: &Description) -> String {
    let vendor = match description.cpu.vendor.as_str() {
        "AuthenticAMD" => " topoext cpb hw_pstate",
        _ => " nonstop_tsc xtopology dtherm ida arat epb hwp hwp_act_window hwp_epp",
    };
    let guest = if description.host.hypervisor.is_some() { " hypervisor" } else { "" };
    let more = &description.cpu.flags;
    let blank = if more.is_empty() { "" } else { " " };
    format!("{COMMON_FLAGS}{vendor}{guest}{blank}{more}")
}
