// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the embedded machines stand for, and what a wrong description is told.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is their failure")]

use nearside_synthetic as synthetic;
use root::Root;
use synthetic::{Description, Entry};

fn machine(name: &str) -> Description {
    synthetic::parse(synthetic::named(name).unwrap()).unwrap()
}

fn text(root: &dyn Root, path: &str) -> String {
    String::from_utf8(root.read(path).unwrap()).unwrap()
}

#[test]
fn the_same_description_gives_the_same_tree() {
    for name in ["epyc-7551", "sick-two-socket", "faulty"] {
        assert_eq!(machine(name).tree(), machine(name).tree(), "{name}");
    }
}

#[test]
fn the_epyc_of_the_study_is_interleaved() {
    let root = machine("epyc-7551").build();
    let cpus = text(&root, "/sys/devices/system/node/node2/cpulist");
    assert_eq!(cpus, "2,6,10,14,18,22,26,30\n");
    assert_eq!(text(&root, "/sys/class/net/eth20/device/numa_node"), "2\n");
    assert_eq!(text(&root, "/sys/class/net/eth20/device/local_cpulist"), cpus);
    assert_eq!(text(&root, "/proc/901/comm"), "irqbalance\n");
    let table = text(&root, "/proc/interrupts");
    let rows = table.lines().filter(|line| line.contains("mlx5_comp")).count();
    assert_eq!(rows, 32);
}

#[test]
fn the_r770_shows_its_drives_as_scsi_disks() {
    let root = machine("r770-factory").build();
    let names = root.list("/sys/block").unwrap();
    assert_eq!(names, ["sda", "sdb", "sdc", "sdd", "sde", "sdf", "sdg", "sdh"]);
    let path = root.resolve("/sys/block/sdh/device/../../..").unwrap();
    assert_eq!(root.link(&format!("{path}/driver")).unwrap().rsplit('/').next(), Some("mpi3mr"));
}

#[test]
fn the_storage_server_has_24_drives_and_10_ports() {
    let root = machine("r7725xd").build();
    let nodes: Vec<String> = (0..24)
        .map(|drive| text(&root, &format!("/sys/class/nvme/nvme{drive}/device/numa_node")))
        .collect();
    assert_eq!(nodes.iter().filter(|node| *node == "0\n").count(), 12);
    assert_eq!(nodes.iter().filter(|node| *node == "1\n").count(), 12);
    assert_eq!(root.list("/sys/class/net").unwrap().len(), 11, "10 ports and lo");
}

#[test]
fn managed_vectors_cannot_be_written_and_others_can() {
    let root = machine("healthy-two-socket").build();
    let mut modes = std::collections::BTreeSet::new();
    for irq in root.list("/proc/irq").unwrap() {
        let names = root.list(&format!("/proc/irq/{irq}")).unwrap_or_default();
        let mode = root.mode(&format!("/proc/irq/{irq}/smp_affinity")).unwrap_or(0o644);
        for name in names.iter().filter(|name| name.starts_with("nvme0q")) {
            modes.insert((name == "nvme0q0", mode));
        }
    }
    assert_eq!(modes.into_iter().collect::<Vec<_>>(), [(false, 0o444), (true, 0o644)]);
}

#[test]
fn sizes_of_the_thousand_cpus_shrink_with_the_divisor() {
    let rows = |divisor: u32| {
        let tree = machine("thousand-cpus").scaled(divisor).tree();
        match tree.entries.get("/proc/interrupts") {
            Some(Entry::File { bytes, .. }) => bytes.len(),
            other => panic!("{other:?}"),
        }
    };
    let (quarter, eighth) = (rows(4), rows(8));
    assert!(quarter > 3 * eighth && quarter < 5 * eighth, "{quarter} and {eighth}");
}

#[test]
fn readers_get_through_every_machine() {
    for name in synthetic::names().filter(|name| *name != "thousand-cpus") {
        let _ = linux::read(&machine(name).build());
    }
}

#[test]
fn wrong_descriptions_are_refused_by_line_and_key() {
    let start = "about = 'x'\n[memory]\nnode-mib = [64]\n[cpu]\nname = 'x'\npackages = 1\n";
    let cases = [
        ("cores-per-nod = 1\n", "line 7: unknown field `cores-per-nod`"),
        ("cores-per-node = 'one'\n", "line 7: invalid type: string \"one\""),
        ("cores-per-node = 1\nthreads = 4\n", "cpu.threads: an x86 core has 1 or 2"),
        ("cores-per-node = 9000\n", "cpu: more than 8192 CPUs"),
        ("cores-per-node = 4294967295\nnodes-per-package = 4294967295\n", "cpu: more than"),
        ("cores-per-node = 1\noffline = '0'\n", "cpu.offline: CPU 0 stays online"),
        (
            "cores-per-node = 1\n[[nvme]]\nmodel = 'x'\ngb = 1\nqueues = 1\nat = { node = 3 }\n",
            "at.node: node 3 of a machine with 1 nodes",
        ),
        (
            "cores-per-node = 1\n[power]\nbase-mhz = 18446744073709551\n",
            "power.base-mhz: 18446744073709551 is more than",
        ),
        (
            "cores-per-node = 1\n[[fault]]\npath = 'sys'\nkind = 'eio'\n",
            "fault.path: \"sys\" is not below /",
        ),
        (
            "cores-per-node = 1\n[[nvme]]\nmodel = 'x'\ngb = 1\nqueues = 1\nat = { best = '9x9' }\n",
            "\"9x9\" is no link such as 32x4",
        ),
    ];
    for (rest, message) in cases {
        let error = synthetic::parse(&format!("{start}{rest}")).unwrap_err().to_string();
        assert!(error.contains(message), "{error:?} lacks {message:?}");
    }
}
