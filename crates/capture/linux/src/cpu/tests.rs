// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the CPU reader on small made-up trees.

use super::*;
use machine::CoreKind;
use root::MemoryRoot;
use units::PackageId;

fn set(text: &str) -> CpuSet {
    CpuSet::from_list(text).unwrap()
}

fn cpus(root: &MemoryRoot) -> Cpus {
    read(root, &mut Troubles::default())
}

/// Two packages, SMT siblings n and n + 2, CPU 4 offline.
fn tree() -> MemoryRoot {
    let mut root = MemoryRoot::new();
    root.file("/sys/devices/system/cpu/online", "0-3\n")
        .file("/sys/devices/system/cpu/present", "0-4\n")
        .file("/sys/devices/system/cpu/isolated", "\n")
        .file("/sys/devices/system/cpu/smt/control", "on\n");
    for cpu in 0..4 {
        let (package, core) = (cpu % 2, cpu % 2);
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
        root.file(&format!("{folder}/physical_package_id"), format!("{package}\n"))
            .file(&format!("{folder}/die_id"), "-1\n")
            .file(&format!("{folder}/thread_siblings_list"), format!("{core},{}\n", core + 2));
    }
    root
}

#[test]
fn threads_find_their_core_and_package() {
    let cpus = cpus(&tree());
    let seen: Vec<_> = cpus
        .threads
        .iter()
        .map(|t| (t.cpu.0, t.package.clone().ok().map(|p| p.0), t.core.0, t.rank, t.online))
        .collect();
    assert_eq!(
        seen,
        [
            (0, Some(0), 0, 0, true),
            (1, Some(1), 1, 0, true),
            (2, Some(0), 0, 1, true),
            (3, Some(1), 1, 1, true),
            (4, None, 4, 0, false),
        ]
    );
    assert_eq!(cpus.threads[0].die, Err(Why::NotSupported));
    assert_eq!(cpus.threads[0].cluster, Err(Why::Absent));
    assert_eq!((cpus.offline, cpus.smt.threads_per_core), (set("4"), 2));
}

#[test]
fn package_minus_one_is_unknown() {
    let mut root = tree();
    root.file("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "-1\n");
    assert_eq!(cpus(&root).threads[0].package, Err(Why::NotSupported));
    root.file("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "8442\n");
    assert_eq!(cpus(&root).threads[0].package, Ok(PackageId(8442)));
}

#[test]
fn cpuinfo_alone_is_enough() {
    let mut root = MemoryRoot::new();
    let mut text = String::new();
    for cpu in 0..8 {
        let (package, core) = (cpu / 4, cpu % 2);
        text += &format!("processor\t: {cpu}\nphysical id\t: {package}\ncore id\t\t: {core}\n\n");
    }
    root.file("/proc/cpuinfo", text);
    let cpus = cpus(&root);
    assert_eq!(cpus.online, set("0-7"));
    let cores: Vec<_> = cpus.threads.iter().map(|thread| thread.core.0).collect();
    assert_eq!(cores, [0, 1, 0, 1, 4, 5, 4, 5]);
}

#[test]
fn a_list_without_its_own_cpu_is_not_believed() {
    let mut root = tree();
    root.file("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "1,3\n");
    let cpus = cpus(&root);
    let cores: Vec<_> = cpus.threads.iter().map(|thread| thread.core.0).collect();
    assert_eq!(cores[1], 1);
    assert_eq!(cores[3], 1);
}

/// A CPU whose own folder is gone sits where its sibling's lists say; it is no core of its own.
#[test]
fn a_later_sibling_tells_where_a_silent_cpu_sits() {
    let mut root = tree();
    root.refuse("/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", Why::Denied)
        .refuse("/sys/devices/system/cpu/cpu1/topology/physical_package_id", Why::Denied)
        .file("/sys/devices/system/cpu/cpu3/topology/core_siblings_list", "1,3\n");
    let cpus = cpus(&root);
    let cores: Vec<_> = cpus.threads.iter().map(|thread| thread.core.0).collect();
    assert_eq!(cores, [0, 1, 0, 1, 4]);
    assert_eq!(cpus.threads[1].package, Ok(PackageId(1)));
    // Without the sibling's word the reason stays.
    root.file("/sys/devices/system/cpu/cpu3/topology/core_siblings_list", "3\n");
    assert_eq!(super::tests::cpus(&root).threads[1].package, Err(Why::Denied));
}

#[test]
fn masks_serve_where_lists_are_missing() {
    let mut root = MemoryRoot::new();
    root.file("/sys/devices/system/cpu/online", "0-1\n");
    for cpu in 0..2 {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
        root.file(&format!("{folder}/physical_package_id"), "0\n")
            .file(&format!("{folder}/thread_siblings"), "00000000,00000003\n");
    }
    assert_eq!(cpus(&root).smt.threads_per_core, 2);
}

#[test]
fn affinity_and_cpuset_both_bind() {
    let mut root = tree();
    root.answer(Question::Affinity, Ok("\"1-3\"".to_owned()))
        .file("/proc/mounts", "none /dev/cpuset cpuset rw 0 0\n")
        .file("/proc/self/cpuset", "/x\n")
        .file("/dev/cpuset/x/cpus", "0,2-9\n");
    assert_eq!(cpus(&root).allowed, set("2-3"));
    assert_eq!(status_allowed("Name:\tcat\nCpus_allowed:\tf\n"), Some(set("0-3")));
    assert_eq!(status_allowed("Cpus_allowed:\tf\nCpus_allowed_list:\t1\n"), Some(set("1")));
}

#[test]
fn hybrid_kinds() {
    let mut intel = tree();
    intel.file("/sys/devices/cpu_core/cpus", "0,2\n").file("/sys/devices/cpu_atom/cpus", "1,3\n");
    let mut arm = tree();
    for (cpu, capacity) in [(0, 1024), (1, 446), (2, 1024), (3, 446)] {
        arm.file(&format!("/sys/devices/system/cpu/cpu{cpu}/cpu_capacity"), capacity.to_string());
    }
    for root in [intel, arm] {
        let kinds: Vec<_> = cpus(&root).threads.iter().map(|thread| thread.kind).collect();
        let (big, small) = (CoreKind::Performance, CoreKind::Efficiency);
        assert_eq!(kinds, [big, small, big, small, CoreKind::Uniform]);
    }
    assert_eq!(cpus(&tree()).threads[0].kind, CoreKind::Uniform);
}

#[test]
fn an_empty_tree_has_no_cpus() {
    let cpus = cpus(&MemoryRoot::new());
    assert_eq!((cpus.threads.len(), cpus.smt.threads_per_core), (0, 0));
}
