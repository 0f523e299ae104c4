// SPDX-License-Identifier: MIT OR Apache-2.0
//! Snapshots of every drawing on machines made by hand.

mod machines;

use machines::{findings as some_findings, guest, hostile, mixed_cpus, server, storage_server};
use nearside_report::findings::{self, Detail, Found};
use nearside_report::screen::{self, Standing};
use nearside_report::{Style, irqs, json, lanes, near, path, svg, topology, tree};

fn at(width: usize) -> Style {
    Style { width, ..Style::default() }
}

#[test]
fn topology_of_a_storage_server() {
    insta::assert_snapshot!("topology_storage_100", topology::draw(&storage_server(), &at(100)));
    insta::assert_snapshot!("topology_storage_80", topology::draw(&storage_server(), &at(80)));
    insta::assert_snapshot!("topology_storage_200", topology::draw(&storage_server(), &at(200)));
}

#[test]
fn topology_of_small_and_large_machines() {
    insta::assert_snapshot!("topology_guest", topology::draw(&guest(), &at(80)));
    insta::assert_snapshot!("topology_mixed", topology::draw(&mixed_cpus(), &at(100)));
    insta::assert_snapshot!("topology_8_sockets", topology::draw(&server(8, 1, 28, 2), &at(120)));
    insta::assert_snapshot!("topology_1024", topology::draw(&server(4, 4, 32, 2), &at(100)));
    let ascii = Style { unicode: false, ..at(80) };
    insta::assert_snapshot!("topology_ascii", topology::draw(&mixed_cpus(), &ascii));
}

#[test]
fn topology_of_a_hostile_machine() {
    insta::assert_snapshot!("topology_hostile", topology::draw(&hostile(), &at(80)));
}

#[test]
fn tables_of_a_storage_server() {
    let machine = storage_server();
    insta::assert_snapshot!("tree", tree::draw(&machine, &at(100)));
    insta::assert_snapshot!("lanes", lanes::draw(&machine, &at(100)));
    insta::assert_snapshot!("irqs_nic", irqs::draw(&machine, "eth1", &at(100)).unwrap());
    insta::assert_snapshot!("near_drive", near::draw(&machine, "nvme3n1", &at(100)).unwrap());
    insta::assert_snapshot!("path", path::draw(&machine, "nvme3n1", "eth1", &at(100)).unwrap());
}

#[test]
fn a_device_that_is_not_there_is_named_with_those_that_are() {
    let error = near::draw(&storage_server(), "eth9\u{1b}", &at(80)).unwrap_err();
    insta::assert_snapshot!(error.to_string());
}

#[test]
fn the_topology_document_of_a_guest() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&json::topology(&guest())).unwrap());
}

fn found(findings: &[setting::Finding]) -> Found<'_> {
    Found { goal: setting::Goal::Throughput, findings, observations: &[], unknown: &[], named: "" }
}

#[test]
fn findings_brief_and_full() {
    let all = some_findings();
    let draw = |detail| findings::draw(&found(&all), detail, &at(80));
    insta::assert_snapshot!("findings_brief", draw(Detail::Brief));
    insta::assert_snapshot!("findings_full", draw(Detail::Full));
    let none = findings::draw(&found(&[]), Detail::Brief, &at(80));
    assert_eq!(none, "Nothing found that costs throughput.\n");
}

#[test]
fn the_first_screen_fits_80_by_24() {
    let machines = [
        ("storage", storage_server()),
        ("guest", guest()),
        ("mixed", mixed_cpus()),
        ("8_sockets", server(8, 1, 28, 2)),
        ("nps4", server(2, 4, 16, 2)),
    ];
    let all = some_findings();
    for (name, machine) in machines {
        let text = screen::draw(&machine, &found(&all), Standing::User, &at(80));
        assert!(text.lines().count() < 24, "{name} takes {} lines", text.lines().count());
        insta::assert_snapshot!(format!("screen_{name}"), text);
    }
    let text = screen::draw(&server(4, 4, 32, 2), &found(&all), Standing::Root, &at(80));
    insta::assert_snapshot!("screen_1024", text);
}

#[test]
fn the_picture_of_a_storage_server() {
    insta::assert_snapshot!("svg_storage", svg::draw(&storage_server()));
    let text = svg::draw(&hostile());
    assert!(!text.contains("<script"), "markup of a name got through");
}
