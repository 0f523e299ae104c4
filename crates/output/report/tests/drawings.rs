// SPDX-License-Identifier: MIT OR Apache-2.0
//! Snapshots of every drawing on machines made by hand.

mod machines;

use machines::{guest, hostile, mixed_cpus, server, storage_server};
use nearside_report::{Style, topology};

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
