// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hardware below links and volumes.

#![expect(clippy::unwrap_used, reason = "a panic is how these tests fail")]

use nearside_machine::{Function, Machine, Nic, NicKind, NodeFrom};
use support::made::{drive, nic};
use units::NodeId;

fn function(address: &str, node: u32) -> Function {
    Function {
        node: Some(NodeId(node)),
        node_from: NodeFrom::Own,
        ..Function::new(address.parse().unwrap())
    }
}

fn over(name: &str, kind: NicKind, lower: &[&str]) -> Nic {
    Nic { lower: lower.iter().map(|name| (*name).to_owned()).collect(), ..nic(name, kind) }
}

fn machine() -> Machine {
    let functions = vec![function("0000:11:00.0", 0), function("0000:91:00.0", 1)];
    let port = |name: &str, function: &Function, lower: &[&str]| Nic {
        function: Some(function.address),
        node: function.node,
        ..over(name, NicKind::Physical, lower)
    };
    let [near, far] = functions.as_slice() else { panic!("two") };
    Machine {
        nics: vec![
            over("bond0", NicKind::Bond, &["eth0", "eth1"]),
            over("bond0.7", NicKind::Vlan, &["bond0"]),
            port("eth0", near, &[]),
            port("eth1", far, &["eth0"]),
            over("loop0", NicKind::Vlan, &["loop1"]),
            over("loop1", NicKind::Vlan, &["loop0"]),
        ],
        drives: vec![drive(0, near, 1), drive(1, far, 1)],
        functions,
        ..Machine::default()
    }
}

#[test]
fn links_are_over_ports_and_partitions_over_drives() {
    let machine = machine();
    let below = |name: &str| -> Vec<String> {
        machine.below(name).into_iter().map(|below| below.device).collect()
    };
    assert_eq!(below("bond0.7"), ["eth0", "eth1"]);
    assert_eq!(below("/dev/nvme1n1p2"), ["nvme1n1"]);
    // What has hardware of its own is over nothing, whatever it is linked to.
    for name in ["eth1", "nvme1n1", "nvme1", "loop0", "nvme1n11", "nvme1n1p", "lo"] {
        assert_eq!(below(name), [""; 0], "{name}");
    }
}

#[test]
fn several_are_near_where_all_of_them_are() {
    let machine = machine();
    assert_eq!(machine.near("eth1").unwrap().node, Some(NodeId(1)));
    assert_eq!(machine.near("nvme1n1p2").unwrap().node, Some(NodeId(1)));
    assert_eq!(machine.near("bond0").unwrap().node, None);
    let mut alike = machine;
    alike.nics[3].node = Some(NodeId(0));
    let near = alike.near("bond0.7").unwrap();
    assert_eq!((near.node, near.node_from), (Some(NodeId(0)), NodeFrom::Own));
}
