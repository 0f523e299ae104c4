// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices that look alike are undone each for itself.

use super::*;
use crate::{Standing, verify};

/// Both NICs as ports of a bond, which wear its address.
fn bonded() -> Simulated {
    let kernel = kernel();
    let worn = read(&kernel, "/sys/class/net/eth0/address");
    for name in ["eth0", "eth1"] {
        kernel.set(&format!("/sys/class/net/{name}/address"), &format!("{worn}\n"));
        kernel.set(&format!("/sys/class/net/{name}/addr_assign_type"), "3\n");
    }
    kernel
}

fn mtu(kernel: &Simulated, name: &str, to: &str) -> Planned {
    let path = "/sys/class/net/{device}/mtu".to_owned();
    planned(Some(device(kernel, DeviceKind::Nic, name)), Place::File { path }, Form::Number, to)
}

fn own_left(kernel: &Simulated) -> Vec<String> {
    let mut left = left(kernel);
    left.retain(|line| !line.contains("/addr"));
    left
}

#[test]
fn ports_of_a_bond_are_changed_and_undone_each_for_itself() {
    let (kernel, medium) = (bonded(), MemoryMedium::default());
    let is = |name: &str| read(&kernel, &format!("/sys/class/net/{name}/mtu"));
    let before = is("eth0");
    carry_out(&kernel, &medium, vec![mtu(&kernel, "eth0", "9000")]);
    carry_out(&kernel, &medium, vec![mtu(&kernel, "eth1", "8000")]);
    let verified = verify(&kernel, journal(&medium).transactions()).unwrap();
    let standings: Vec<_> = verified.iter().map(|one| &one.standing).collect();
    assert_eq!(standings, [&Standing::AsSet, &Standing::AsSet]);
    let first = Selection::Transaction(1);
    let reverted = revert(&kernel, &mut journal(&medium), &first, Force::Respect).unwrap().reverted;
    assert_eq!(reverted[0].undone, Undone::Restored, "{reverted:?}");
    assert_eq!((is("eth0"), is("eth1").as_str()), (before, "8000"));
    take_back(&kernel, &medium);
    assert_eq!(own_left(&kernel), [""; 0]);
}

#[test]
fn what_lies_beside_a_change_is_each_ports_own() {
    let (kernel, medium) = (bonded(), MemoryMedium::default());
    let changes = vec![
        nic(&kernel, "eth0", Ethtool::Channels, "combined=6"),
        nic(&kernel, "eth1", Ethtool::Channels, "combined=2"),
    ];
    assert_eq!(carry_out(&kernel, &medium, changes).ending, Ending::Done);
    take_back(&kernel, &medium);
    assert_eq!(own_left(&kernel), [""; 0]);
}

#[test]
fn the_paths_of_one_disk_are_two_places() {
    let mut tree = tree();
    for (name, function, address) in
        [("sda", "0000:01:00.0", "1:0:0:0"), ("sdb", "0000:02:00.0", "2:0:0:0")]
    {
        let unit = format!("/sys/devices/pci0000:00/{function}/host0/{address}");
        let disk = format!("{unit}/block/{name}");
        tree.file(&format!("{unit}/wwid"), "naa.5\n")
            .file(&format!("{disk}/queue/nomerges"), "0\n")
            .symlink(&format!("{disk}/device"), &unit)
            .symlink(&format!("/sys/block/{name}"), &disk);
    }
    let (kernel, medium) = (Simulated::new(tree), MemoryMedium::default());
    let path = "/sys/block/{device}/queue/nomerges".to_owned();
    let change = |name: &str, to: &str| {
        let found = device(&kernel, DeviceKind::Drive, name);
        let disk = Device { serial: Some("naa.5".to_owned()), ..found };
        planned(Some(disk), Place::File { path: path.clone() }, Form::Number, to)
    };
    carry_out(&kernel, &medium, vec![change("sda", "2")]);
    carry_out(&kernel, &medium, vec![change("sdb", "1")]);
    let is = |name: &str| read(&kernel, &format!("/sys/block/{name}/queue/nomerges"));
    assert_eq!((is("sda").as_str(), is("sdb").as_str()), ("2", "1"));
    let first = Selection::Transaction(1);
    revert(&kernel, &mut journal(&medium), &first, Force::Respect).unwrap();
    assert_eq!((is("sda").as_str(), is("sdb").as_str()), ("0", "1"));
    take_back(&kernel, &medium);
    assert_eq!(kernel.differences(), [""; 0]);
}
