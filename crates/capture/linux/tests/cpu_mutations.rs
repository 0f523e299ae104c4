// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tree in memory, its files cut, padded, exchanged, refused or filled with noise: reading never
//! panics, and what it says stays consistent with itself.

use machine::{Machine, Why};
use proptest::prelude::*;
use root::MemoryRoot;

const CPU: &str = "/sys/devices/system/cpu";
const NODE: &str = "/sys/devices/system/node";

/// Two packages of two nodes, eight cores with two threads, power files and tables: path and text.
fn tree() -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let mut put = |path: String, text: String| files.push((path, text.into_bytes()));
    for (name, text) in
        [("online", "0-15"), ("present", "0-15"), ("isolated", "4-5"), ("smt/control", "on")]
    {
        put(format!("{CPU}/{name}"), format!("{text}\n"));
    }
    for cpu in 0..16 {
        let (core, package) = (cpu % 8, cpu % 8 / 4);
        let (own, topology) = (format!("{CPU}/cpu{cpu}"), format!("{CPU}/cpu{cpu}/topology"));
        put(format!("{topology}/physical_package_id"), package.to_string());
        put(format!("{topology}/die_id"), "0".to_owned());
        put(format!("{topology}/core_cpus_list"), format!("{core},{}\n", core + 8));
        let first = package * 4;
        let list = format!("{first}-{},{}-{}\n", first + 3, first + 8, first + 11);
        put(format!("{topology}/package_cpus_list"), list.clone());
        put(format!("{own}/cache/index0/level"), "3\n".to_owned());
        put(format!("{own}/cache/index0/type"), "Unified\n".to_owned());
        put(format!("{own}/cache/index0/size"), "32768K\n".to_owned());
        put(format!("{own}/cache/index0/shared_cpu_list"), list);
        put(format!("{own}/cpuidle/state0/name"), "C6\n".to_owned());
        put(format!("{own}/cpuidle/state0/latency"), "170\n".to_owned());
        put(format!("{own}/cpuidle/state0/disable"), "0\n".to_owned());
        put(format!("{CPU}/cpufreq/policy{cpu}/scaling_max_freq"), "3500000\n".to_owned());
        put(format!("{CPU}/cpufreq/policy{cpu}/affected_cpus"), format!("{cpu}\n"));
    }
    put(format!("{NODE}/online"), "0-3\n".to_owned());
    for node in 0..4 {
        let first = node * 2;
        let own = format!("{NODE}/node{node}");
        put(
            format!("{own}/cpulist"),
            format!("{first}-{},{}-{}\n", first + 1, first + 8, first + 9),
        );
        put(format!("{own}/distance"), "10 11 21 21\n".to_owned());
        put(format!("{own}/meminfo"), format!("Node {node} MemTotal:       65536 kB\n"));
    }
    put("/proc/cmdline".to_owned(), "a=\"b c\" isolcpus=4-5 -- x\n".to_owned());
    put("/proc/cpuinfo".to_owned(), "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 143\n".to_owned());
    put("/proc/self/cgroup".to_owned(), "0::/a/b\n".to_owned());
    let mount = "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    put("/proc/self/mountinfo".to_owned(), mount.to_owned());
    put("/sys/fs/cgroup/a/cpuset.cpus.effective".to_owned(), "0-7\n".to_owned());
    for table in ["APIC", "SRAT", "SLIT", "FACP"] {
        let path = format!("/sys/firmware/acpi/tables/{table}");
        put(path, format!("{table}\u{40}\0\0\0{}", "\0\u{8}".repeat(28)));
    }
    let module = "\u{11}\u{28}\0\0".to_owned() + &"\u{1}".repeat(0x24) + "A1\0\0";
    put("/sys/firmware/dmi/tables/DMI".to_owned(), module);
    files
}

/// What happens to one file.
#[derive(Debug, Clone)]
enum Harm {
    Gone,
    Denied,
    Cut(usize),
    Padded,
    Noise(Vec<u8>),
    Text(String),
    Loop,
}

fn harm() -> impl Strategy<Value = Harm> {
    let words = "(-1|0|1|0-65535|4294967295|0-15|15-0|,|x|-0|99999999999999999999| |\n){0,6}";
    prop_oneof![
        Just(Harm::Gone),
        Just(Harm::Denied),
        (0_usize..20).prop_map(Harm::Cut),
        Just(Harm::Padded),
        proptest::collection::vec(any::<u8>(), 0..80).prop_map(Harm::Noise),
        words.prop_map(Harm::Text),
        Just(Harm::Loop),
    ]
}

fn build(files: &[(String, Vec<u8>)], harms: &[(prop::sample::Index, Harm)]) -> MemoryRoot {
    let mut root = MemoryRoot::new();
    for (path, bytes) in files {
        root.file(path, bytes.clone());
    }
    for (index, harm) in harms {
        let (path, bytes) = index.get(files);
        match harm {
            Harm::Gone => root.refuse(path, Why::Absent),
            Harm::Denied => root.refuse(path, Why::Denied),
            Harm::Cut(length) => root.file(path, &bytes[..bytes.len().min(*length)]),
            Harm::Padded => root.file(path, [bytes.as_slice(), &[0; 40]].concat()),
            Harm::Noise(noise) => root.file(path, noise.clone()),
            Harm::Text(text) => root.file(path, text.clone()),
            Harm::Loop => root.symlink(path, path),
        };
    }
    root
}

/// What holds of any machine, however little of it could be read.
fn is_consistent(machine: &Machine) -> Result<(), TestCaseError> {
    let cpus = &machine.cpus;
    prop_assert!(cpus.allowed.is_subset(&cpus.online));
    prop_assert!(!cpus.offline.overlaps(&cpus.online));
    prop_assert_eq!(cpus.threads.len(), cpus.online.len() + cpus.offline.len());
    prop_assert!(cpus.threads.is_sorted_by_key(|thread| thread.cpu));
    for thread in &cpus.threads {
        prop_assert!(thread.core <= thread.cpu);
        prop_assert_eq!(thread.rank == 0, thread.core == thread.cpu);
    }
    for cache in &machine.caches {
        prop_assert!(!cache.cpus.is_empty() && (1..=4).contains(&cache.level));
    }
    let packages = machine.packages();
    prop_assert_eq!(packages.iter().map(|p| p.cpus.len()).sum::<usize>(), cpus.online.len());
    let cores: u32 = packages.iter().map(|package| package.cores).sum();
    prop_assert!(u32::try_from(machine.cores()).is_ok_and(|least| least <= cores));
    for why in [machine.numbering().why, machine.sub_numa().why, machine.node_interleaving().why] {
        prop_assert!(!why.is_empty());
    }
    let _ = machine.siblings();
    Ok(())
}

#[test]
fn the_tree_without_harm_is_read_right() {
    let machine = nearside_linux::read(&build(&tree(), &[]));
    is_consistent(&machine).unwrap();
    assert_eq!((machine.packages().len(), machine.nodes.len(), machine.caches.len()), (2, 4, 2));
    assert_eq!(machine.numbering().kind.to_string(), "linear");
    assert_eq!(machine.siblings().to_string(), "second-half");
    assert_eq!(machine.cpus.allowed.to_string(), "0-7");
    assert_eq!(machine.power.policies.len(), 1);
    assert_eq!(machine.dimms.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn harm_is_survived(harms in proptest::collection::vec((any::<prop::sample::Index>(), harm()), 1..12)) {
        let machine = nearside_linux::read(&build(&tree(), &harms));
        is_consistent(&machine)?;
    }
}
