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

/// Two devices without hardware: names, numbers and MTUs.
fn pair(two: [(&str, u32, &str); 2]) -> Simulated {
    let mut tree = tree();
    for (name, index, mtu) in two {
        let folder = format!("/sys/devices/virtual/net/{name}");
        let (number, address) = (index.to_string(), format!("8a:00:00:00:00:0{index}"));
        for (file, text) in [
            ("mtu", mtu),
            ("ifindex", &number),
            ("address", &address),
            ("addr_assign_type", "1"),
            ("dev_port", "0"),
        ] {
            tree.file(&format!("{folder}/{file}"), format!("{text}\n"));
        }
        tree.symlink(&format!("/sys/class/net/{name}"), &folder);
    }
    Simulated::new(tree)
}

#[test]
fn a_device_without_hardware_is_itself_under_any_name() {
    let is = |kernel: &Simulated, name: &str| read(kernel, &format!("/sys/class/net/{name}/mtu"));
    let medium = MemoryMedium::default();
    let before = pair([("va", 5, "1500"), ("vb", 6, "1500")]);
    carry_out(&before, &medium, vec![mtu(&before, "va", "1400")]);
    let noted = medium.bytes();
    // It is called otherwise, and its name is another one's.
    let renamed = pair([("vz", 5, "1400"), ("va", 6, "9000")]);
    let verified = verify(&renamed, journal(&medium).transactions()).unwrap();
    assert_eq!(verified[0].standing, Standing::AsSet);
    assert_eq!(verified[0].path, "/sys/class/net/vz/mtu");
    let back = |kernel: &Simulated, medium: &MemoryMedium| {
        revert(kernel, &mut journal(medium), &Selection::All, Force::Overwrite).unwrap().reverted
    };
    assert_eq!(back(&renamed, &medium)[0].undone, Undone::Restored);
    assert_eq!((is(&renamed, "vz"), is(&renamed, "va")), ("1500".to_owned(), "9000".to_owned()));
    // It is gone, and its name is another one's.
    let (gone, medium) = (pair([("va", 6, "9000"), ("vc", 7, "1500")]), MemoryMedium::with(noted));
    assert_eq!(back(&gone, &medium)[0].undone, Undone::Missing);
    assert_eq!((is(&gone, "va").as_str(), gone.writes().len()), ("9000", 0));
    assert_eq!(journal(&medium).transactions().len(), 1);
}

#[test]
fn two_changes_of_one_device_are_of_one_place_whatever_it_was_called() {
    let medium = MemoryMedium::default();
    let before = pair([("va", 5, "1500"), ("vb", 6, "1500")]);
    carry_out(&before, &medium, vec![mtu(&before, "va", "1400")]);
    let renamed = pair([("vz", 5, "1400"), ("va", 6, "1500")]);
    carry_out(&renamed, &medium, vec![mtu(&renamed, "vz", "1300")]);
    let first = Selection::Transaction(1);
    let older = revert(&renamed, &mut journal(&medium), &first, Force::Respect).unwrap().reverted;
    assert_eq!(older[0].undone, Undone::Inherited);
    take_back(&renamed, &medium);
    assert_eq!(read(&renamed, "/sys/class/net/vz/mtu"), "1500");
}

/// Subsystems of fabrics: numbers and qualified names.
fn subsystems(two: [(u32, &str, &str); 2]) -> Simulated {
    let mut tree = tree();
    for (number, name, policy) in two {
        let folder = format!("/sys/devices/virtual/nvme-subsystem/nvme-subsys{number}");
        tree.file(&format!("{folder}/subsysnqn"), format!("nqn.2014-08.org.example:{name}\n"))
            .file(&format!("{folder}/iopolicy"), format!("{policy}\n"))
            .symlink(&format!("/sys/class/nvme-subsystem/nvme-subsys{number}"), &folder);
    }
    Simulated::new(tree)
}

#[test]
fn a_subsystem_is_known_by_its_qualified_name() {
    let policy = |kernel: &Simulated, number: u32| {
        read(kernel, &format!("/sys/class/nvme-subsystem/nvme-subsys{number}/iopolicy"))
    };
    let medium = MemoryMedium::default();
    let before = subsystems([(7, "a", "numa"), (8, "b", "queue-depth")]);
    let all = "/sys/class/nvme-subsystem/*/iopolicy";
    carry_out(&before, &medium, vec![file(all, Form::Text, "round-robin")]);
    assert_eq!(policy(&before, 7), "round-robin");
    // They came back in another order; then one alone.
    let noted = medium.bytes();
    let after = subsystems([(7, "b", "round-robin"), (8, "a", "round-robin")]);
    take_back(&after, &medium);
    assert_eq!((policy(&after, 7).as_str(), policy(&after, 8).as_str()), ("queue-depth", "numa"));
    let medium = MemoryMedium::with(noted);
    let other = subsystems([(7, "c", "round-robin"), (8, "b", "round-robin")]);
    let reverted = take_back(&other, &medium);
    assert_eq!(policy(&other, 7), "round-robin", "{reverted:?}");
    assert!(reverted.iter().any(|one| one.undone == Undone::Missing), "{reverted:?}");
}

/// `cpu0/cpufreq` is a link to `cpufreq/policy0`.
#[test]
fn two_names_of_one_value_do_not_fight() {
    let (kernel, medium) = (kernel(), MemoryMedium::default());
    let policy = format!("{CPUS}/cpufreq/policy0");
    kernel.set(&format!("{policy}/scaling_governor"), "performance\n");
    kernel.set(&format!("{policy}/energy_performance_preference"), "performance\n");
    let name = "cpu 0".to_owned();
    let cpu = Device { name, kind: DeviceKind::Cpu, function: None, serial: None, port: None };
    let own = format!("{CPUS}/cpu{{device}}/cpufreq/energy_performance_preference");
    let changes = vec![
        file(&format!("{policy}/scaling_governor"), Form::Text, "powersave"),
        planned(Some(cpu), Place::File { path: own }, Form::Text, "balance_power"),
    ];
    assert_eq!(carry_out(&kernel, &medium, changes).ending, Ending::Done);
    let reverted = take_back(&kernel, &medium);
    assert!(reverted.iter().all(|one| one.undone == Undone::Restored), "{reverted:?}");
    let is = |file: &str| read(&kernel, &format!("{policy}/{file}"));
    assert_eq!(is("scaling_governor"), "performance");
    assert_eq!(is("energy_performance_preference"), "performance");
}
