// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines' files: what they promise, and the sentence for each way of getting one wrong.

use super::*;

const SMALL: &str = r#"
about = "small"
memory_mib = 128
distances = [[10, 21], [21, 10]]
[cpus]
model = "Nehalem"
packages = 2
cores = 2
[[drive]]
ids = ["nv0", "nv1"]
node = 1
link = "32x4"
"#;

fn refused(text: &str) -> String {
    match Machine::parse(Path::new("m.toml"), text) {
        Ok(machine) => panic!("accepted: {machine:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_machine_of_the_lab_is_understood() {
    let names = names().unwrap();
    assert!(names.len() >= 8, "{names:?}");
    for name in names {
        let machine = Machine::named(&name).unwrap();
        assert!(!machine.devices().is_empty() && machine.about.len() < 100, "{name}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let cases = [
        ("[cpus]", "[cpus]\nsockets = 2", "unknown field `sockets`"),
        ("cores = 2", "cores = 0", "cpus: none of the counts may be 0, and 64 CPUs are the most"),
        ("cores = 2", "cores = 40", "cpus: none of the counts may be 0, and 64 CPUs are the most"),
        (
            "cores = 2",
            "cores = 3\nnodes_per_package = 2",
            "cpus: 3 cores cannot be divided among 2 nodes",
        ),
        ("[21, 10]]", "[21, 10], [1, 2]]", "distances: 2 rows of 2, one a node"),
        ("[21, 10]]", "[21, 11]]", "distances: node 1 to 1 is 11; 10 is local"),
        ("[21, 10]]", "[10, 10]]", "distances: node 1 to 0 is 10; 10 is local"),
        ("node = 1", "node = 2", "device \"nv0\": no node 2; there are 2"),
        ("\"nv1\"", "\"nv0\"", "device \"nv0\": named twice"),
        ("\"nv1\"", "\"NV,x=1\"", "device \"NV,x=1\": an id is 1 to 15 small letters and digits"),
        (
            "32x4",
            "33x4",
            "no link \"33x4\": a rate of 2.5, 5, 8, 16, 32 or 64, an x, and the lanes",
        ),
        ("32x4", "32x3", "no link \"32x3\""),
        (
            "node = 1",
            "node = 1\nlatency_us = 5",
            "device \"nv0\": latency_us is for backing = \"nothing\"",
        ),
        ("node = 1", "node = 1\nqueues = 0", "device \"nv0\": 1 to 64 queues"),
        ("node = 1", "node = 1\nbus = \"sata\"", "device \"nv0\": an AHCI controller has no link"),
        ("[cpus]", "[degraded]\nnv7 = \"2.5x1\"\n[cpus]", "degraded: no device \"nv7\""),
        (
            "[cpus]",
            "[degraded]\nnv1 = \"32x8\"\n[cpus]",
            "degraded: \"nv1\": 32x8 is better than 32x4",
        ),
    ];
    assert!(Machine::parse(Path::new("m.toml"), SMALL).is_ok());
    for (from, to, message) in cases {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, SMALL, "{from} is not there");
        let said = refused(&text);
        assert!(said.starts_with("m.toml: ") && said.contains(message), "{to}: {said}");
    }
}

#[test]
fn round_robin_steps_through_packages_and_keeps_second_threads_for_last() {
    let mut machine = Machine::named("snc2-round-robin").unwrap();
    let place = |cpu: &Cpu| (cpu.package, cpu.core, cpu.thread, cpu.node);
    let listed: Vec<_> = machine.cpus.listed().iter().map(place).collect();
    assert_eq!(listed[..4], [(0, 0, 0, 0), (1, 0, 0, 2), (0, 1, 0, 0), (1, 1, 0, 2)]);
    assert_eq!(listed[8], (0, 0, 1, 0));
    machine.cpus.numbering = Numbering::Linear;
    assert_eq!(machine.cpus.listed(), machine.cpus.in_place());
}

#[test]
fn apic_ids_leave_room_for_what_is_no_power_of_two() {
    let machine = Machine::parse(
        Path::new("m.toml"),
        "about = \"\"\nmemory_mib = 64\n[cpus]\nmodel = \"x\"\npackages = 2\ndies = 3\ncores = 3\nthreads = 2",
    );
    let cpus = machine.unwrap().cpus;
    let ids: Vec<u32> = cpus.in_place().iter().map(|cpu| cpus.apic_id(cpu)).collect();
    assert_eq!(ids[..8], [0, 1, 2, 3, 4, 5, 8, 9], "a die has room for four cores");
    assert_eq!(ids[18], 32, "a package has room for four dies");
}

#[test]
fn a_degraded_link_keeps_its_best() {
    let twin = Machine::named("r7725xd").unwrap();
    let devices = twin.devices();
    let nv18 = devices.iter().find(|device| device.id == "nv18").unwrap();
    let text = |link: Option<Link>| link.map(|link| link.to_string());
    assert_eq!(text(nv18.link).as_deref(), Some("32x2"));
    assert_eq!(text(nv18.best_link).as_deref(), Some("32x4"));
    assert_eq!(devices.iter().filter(|d| d.link != d.best_link).count(), 2);
}
