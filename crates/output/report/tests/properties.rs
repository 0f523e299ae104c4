// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever the machine: every drawing is drawn, and no line is wider than it was told.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod machines;

use machines::{findings, guest, hostile, mixed_cpus, server, storage_server};
use nearside_report::findings::{Detail, Found};
use nearside_report::screen::Standing;
use nearside_report::{Style, irqs, json, lanes, near, path, screen, svg, topology, tree};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

/// Machines bent in every way that the model allows.
fn any_machine() -> impl Strategy<Value = machine::Machine> {
    let base = prop_oneof![
        Just(storage_server()),
        Just(guest()),
        Just(hostile()),
        Just(mixed_cpus()),
        Just(machine::Machine::default()),
        (1_u32..9, 1_u32..5, 1_u32..20, 1_u32..9).prop_map(|(p, n, c, t)| server(p, n, c, t)),
    ];
    let name = "[\\PC\\x00-\\x1f]{0,60}";
    (base, prop::collection::vec(name, 6), any::<u64>())
        .prop_map(|(machine, names, seed)| bent(machine, &names, seed))
}

fn bent(mut machine: machine::Machine, names: &[String], seed: u64) -> machine::Machine {
    let chance = |number: usize| (seed >> (number % 64)) & 1 == 1;
    let name = |number: usize| names[number % names.len()].clone();
    for (number, drive) in machine.drives.iter_mut().enumerate().filter(|(n, _)| chance(*n)) {
        drive.name = name(number);
        drive.model = Ok(name(number + 1));
        drive.controllers.clear();
    }
    for (number, nic) in machine.nics.iter_mut().enumerate().filter(|(n, _)| chance(*n + 7)) {
        nic.name = name(number);
        nic.lower = vec![name(number + 1), name(number)];
        nic.node = None;
    }
    let addresses: Vec<_> = machine.functions.iter().map(|function| function.address).collect();
    for (number, function) in machine.functions.iter_mut().enumerate().filter(|(n, _)| chance(*n)) {
        // Parents at random make loops, and functions that no root reaches.
        let parent = usize::try_from(seed % 1009).unwrap() * (number + 1) % addresses.len();
        function.parent = addresses.get(parent).copied();
        function.slot = Some(name(number));
        function.driver = Some(name(number + 2));
        function.root = name(number);
        function.node = None;
    }
    for (number, thread) in machine.cpus.threads.iter_mut().enumerate().filter(|(n, _)| chance(*n))
    {
        thread.node = chance(number + 3).then_some(units::NodeId(thread.cpu.0 % 5));
        thread.package = Err(machine::Why::Absent);
    }
    if chance(11) {
        machine.nodes.clear();
    }
    machine.host.product = Ok(name(3));
    machine
}

fn too_wide(text: &str, width: usize) -> Option<&str> {
    // Commands to copy are never broken.
    let command = |line: &&str| ["numactl ", "taskset ", "echo "].iter().any(|c| line.contains(c));
    text.lines().filter(|line| !command(line)).find(|line| line.width() > width)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_machine_is_drawn_within_its_width(
        machine in any_machine(),
        width in 60_usize..220,
        unicode: bool,
    ) {
        let style = Style { width, color: false, unicode };
        let all = findings();
        let found = Found {
            goal: setting::Goal::Latency,
            findings: &all,
            observations: &[],
            unknown: &machine.unknown,
            named: "",
        };
        let first = machine.drives.first().map_or("", |drive| drive.name.as_str());
        let nic = machine.nics.first().map_or("", |nic| nic.name.as_str());
        let texts = [
            Ok(topology::draw(&machine, &style)),
            Ok(tree::draw(&machine, &style)),
            Ok(lanes::draw(&machine, &style)),
            Ok(screen::draw(&machine, &found, Standing::User, &style)),
            Ok(nearside_report::findings::draw(&found, Detail::Full, &style)),
            irqs::draw(&machine, nic, &style),
            near::draw(&machine, first, &style),
            path::draw(&machine, first, nic, &style),
        ];
        for text in texts.into_iter().flatten() {
            prop_assert_eq!(too_wide(&text, width), None);
            prop_assert!(!text.contains('\u{1b}'), "an escape code got through");
            prop_assert!(unicode || text.is_ascii());
        }
    }

    #[test]
    fn documents_are_well_formed(machine in any_machine()) {
        let text = serde_json::to_string(&json::topology(&machine)).unwrap();
        let back: json::Topology = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(back, json::topology(&machine));
        let svg = svg::draw(&machine);
        prop_assert!(!svg.contains("<script"));
        prop_assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }
}
