// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbering, sub-NUMA, interleaving, and what firmware says of places.

use machine::NodeFrom;
use setting::{Goal, Severity};
use units::NodeId;

use super::{made, of, one, whole};
use made::{Order, set};

#[test]
fn round_robin_numbering_is_found() {
    let machine = made::bare(2, 1, 8, Order::RoundRobin);
    let finding = one(&machine, "madt-core-enumeration");
    assert_eq!(finding.severity, Severity::Medium);
    assert!(finding.because.contains("node 0 has CPUs 0,2,4,6"), "{}", finding.because);
    for healthy in [made::bare(2, 1, 8, Order::Linear), made::bare(1, 1, 8, Order::Linear)] {
        assert_eq!(of(&healthy, "madt-core-enumeration"), []);
    }
}

#[test]
fn pinned_work_is_named() {
    let mut machine = made::bare(2, 1, 8, Order::RoundRobin);
    machine.cpus.isolated = set("4-7");
    assert!(one(&machine, "madt-core-enumeration").because.contains("isolated CPUs 4-7"));
}

#[test]
fn unsplit_packages_matter_for_processors_that_can_and_drives_that_gain() {
    let mut machine = made::healthy();
    assert_eq!(of(&machine, "sub-numa-cluster"), []);
    machine.host.cpu_model = Ok("Intel(R) Xeon(R) Platinum 8480+".into());
    let finding = one(&machine, "sub-numa-cluster");
    assert_eq!(finding.severity, Severity::Medium);
    assert!(finding.because.contains("8 drives"), "{}", finding.because);
    machine.drives.clear();
    machine.nics.clear();
    assert_eq!(of(&machine, "sub-numa-cluster"), []);
}

#[test]
fn two_packages_in_one_node_are_found_unless_by_nature() {
    let mut machine = made::bare(2, 1, 8, Order::Linear);
    machine.cpus.threads.iter_mut().for_each(|thread| thread.node = Some(NodeId(0)));
    machine.nodes = vec![made::node(0, set("0-15"), 128)];
    let finding = one(&machine, "node-interleaving");
    assert_eq!(finding.severity, Severity::High);
    assert_eq!(finding.evidence[0].path, "/sys/devices/system/node/node0/cpulist");

    let mut old = machine.clone();
    old.host.cpu_family_model = Ok((6, 23));
    assert_eq!(of(&old, "node-interleaving"), []);

    let mut told = machine.clone();
    made::option(&mut told, "numa", Some("off"));
    assert_eq!(of(&told, "node-interleaving"), []);
    let mut told = whole(&told, Goal::Throughput);
    told.retain(|finding| finding.id == "command-line-overrides");
    assert_eq!(told[0].severity, Severity::High);

    made::into_guest(&mut machine);
    assert_eq!(of(&machine, "node-interleaving"), []);
}

#[test]
fn a_device_without_a_node_is_found_where_others_have_one() {
    let mut machine = made::healthy();
    machine.functions[0].node = None;
    machine.functions[0].node_from = NodeFrom::Unknown;
    machine.functions[0].local_cpus = machine.cpus.online.clone();
    let finding = one(&machine, "device-node-unknown");
    assert_eq!(finding.device(), Some("nvme0n1"));
    let address = machine.functions[0].address;
    let path = format!("/sys/bus/pci/devices/{address}/numa_node");
    assert_eq!(finding.evidence[0].path, path);
    assert_eq!(of(&machine, "misleading-firmware"), []);
}

#[test]
fn firmware_that_tells_no_node_is_named_once() {
    let mut machine = made::healthy();
    for function in &mut machine.functions {
        function.node = None;
        function.node_from = NodeFrom::Unknown;
    }
    // A tree without `numa_node` files says nothing of the firmware.
    assert_eq!(of(&machine, "misleading-firmware"), []);
    for function in &mut machine.functions {
        function.local_cpus = set("0-31");
    }
    assert_eq!(one(&machine, "misleading-firmware").observed, "-1 for 10 of 10");
    assert_eq!(of(&machine, "device-node-unknown"), []);
    made::into_guest(&mut machine);
    assert_eq!(of(&machine, "misleading-firmware"), []);
}

#[test]
fn overlapping_nodes_and_split_cards_are_found() {
    let mut machine = made::healthy();
    machine.nodes[1].cpus.insert(units::Cpu(3));
    assert_eq!(one(&machine, "misleading-firmware").observed, "CPU 3 on two nodes");

    let mut machine = made::healthy();
    let mut second = machine.functions[8].clone();
    second.address.function = 1;
    second.node = Some(NodeId(1));
    machine.functions.push(second);
    let finding = one(&machine, "misleading-firmware");
    assert_eq!(finding.observed, "nodes 0 and 1");
    machine.functions.last_mut().unwrap().node = Some(NodeId(0));
    assert_eq!(of(&machine, "misleading-firmware"), []);
}

#[test]
fn a_device_on_another_node_than_its_port_is_found() {
    let mut machine = made::healthy();
    machine.functions.push(made::bridge(0x01, machine::PortKind::Root, None));
    machine.functions.retain(|function| function.address.bus <= 0x13);
    assert_eq!(of(&machine, "misleading-firmware"), []);
    machine.functions[2].node = Some(NodeId(1));
    let finding = one(&machine, "misleading-firmware");
    assert_eq!(finding.title, "nvme2n1: The firmware says node 1, and node 0 for the port above");
}

#[test]
fn a_device_placed_by_its_port_alone_is_a_small_matter() {
    let mut machine = made::healthy();
    machine.functions[0].node_from = NodeFrom::Parent;
    machine.functions[0].local_cpus = machine.cpus.online.clone();
    let finding = one(&machine, "device-node-unknown");
    assert_eq!((finding.severity, finding.wanted.as_str()), (Severity::Low, "0"));
}

#[test]
fn an_offline_node_is_no_interleaving() {
    let mut machine = made::bare(2, 1, 8, Order::Linear);
    machine.nodes.remove(0);
    machine.cpus.threads.iter_mut().take(8).for_each(|thread| thread.node = None);
    assert_eq!(of(&machine, "node-interleaving"), []);
}
