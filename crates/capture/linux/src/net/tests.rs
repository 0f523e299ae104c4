// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network devices of a tree in memory.

use machine::{Channels, NicKind, Pause, Why};
use root::{MemoryRoot, Question};
use units::CpuSet;

use super::*;

fn add(root: &mut MemoryRoot, name: &str, path: &str, files: &[(&str, &str)]) {
    let folder = format!("/sys/devices/{path}/net/{name}");
    root.symlink(&format!("{NET}/{name}"), &format!("../../devices/{path}/net/{name}"));
    if !path.starts_with("virtual") {
        root.symlink(&format!("{folder}/device"), "../..");
    }
    for (file, text) in files {
        root.file(&format!("{folder}/{file}"), *text);
    }
}

fn tree() -> MemoryRoot {
    let mut root = MemoryRoot::new();
    let port = "pci0000:85/0000:85:00.0/0000:86:00.0";
    let files = [("mtu", "9000\n"), ("operstate", "up\n"), ("speed", "100000\n"), ("type", "1\n")];
    add(&mut root, "ens1f0", port, &files);
    root.symlink(&format!("/sys/devices/{port}/driver"), "../../../../bus/pci/drivers/mlx5_core");
    add(
        &mut root,
        "ens1f0v0",
        "pci0000:85/0000:85:00.0/0000:86:01.0",
        &[("speed", "-1\n"), ("operstate", "down\n")],
    );
    root.symlink("/sys/devices/pci0000:85/0000:85:00.0/0000:86:01.0/physfn", "../0000:86:00.0");
    add(
        &mut root,
        "eth0",
        "pci0000:00/0000:00:03.0/virtio0",
        &[
            ("queues/rx-0/rps_cpus", "00000000,000000ff\n"),
            ("queues/rx-0/rps_flow_cnt", "4096\n"),
            ("queues/rx-10/rps_cpus", "0\n"),
            ("queues/rx-2/rps_cpus", "x\n"),
            ("queues/tx-0/traffic_class", ""),
        ],
    );
    root.symlink("/sys/devices/pci0000:00/0000:00:03.0/virtio0/driver", "../../virtio_net");
    add(
        &mut root,
        "idrac",
        "pci0000:00/0000:00:14.0/usb1/1-14/1-14.3/1-14.3:1.0",
        &[("mtu", "1500")],
    );
    add(&mut root, "lo", "virtual", &[("type", "772\n"), ("mtu", "65536\n")]);
    add(
        &mut root,
        "bond0",
        "virtual",
        &[("bonding/slaves", "ens1f0 ens1f0v0\n"), ("lower_ens1f0", "")],
    );
    add(&mut root, "bond0.7", "virtual", &[("uevent", "DEVTYPE=vlan\nINTERFACE=bond0.7\n")]);
    add(&mut root, "br0", "virtual", &[("bridge/stp_state", "0"), ("brif/idrac/x", "")]);
    add(&mut root, "veth9", "virtual", &[]);
    root.file("/sys/class/net/bonding_masters", "bond0\n");
    root.file("/proc/net/vlan/config", "VLAN Dev name | VLAN ID\nbond0.7 | 7 | bond0\n");
    root.file("/proc/net/route", "Iface\tDestination\nbond0.7\t00000000\t01\n");
    root.answer(Question::Channels("ens1f0".into()), Ok(r#"{"combined":[63,63]}"#.into()));
    root.answer(Question::Pause("ens1f0".into()), Ok("[true,false]".into()));
    root.answer(
        Question::Driver("ens1f0".into()),
        Ok(r#"{"driver":"mlx5_core","version":"6.1","firmware":"22.36","bus":"0000:86:00.0"}"#
            .into()),
    );
    root.answer(Question::Rings("ens1f0".into()), Ok("{nonsense".into()));
    root
}

fn nics() -> Vec<Nic> {
    read(&tree(), &[], &mut Troubles::default())
}

fn nic(name: &str) -> Nic {
    nics().into_iter().find(|nic| nic.name == name).unwrap()
}

#[test]
fn kinds_and_functions() {
    let found: Vec<_> = nics()
        .iter()
        .map(|nic| (nic.name.clone(), nic.kind, nic.function.map(|f| f.to_string())))
        .collect();
    let function = |text: &str| Some(text.to_owned());
    let expected = [
        ("bond0", NicKind::Bond, None),
        ("bond0.7", NicKind::Vlan, None),
        ("br0", NicKind::Bridge, None),
        ("ens1f0", NicKind::Physical, function("0000:86:00.0")),
        ("ens1f0v0", NicKind::VirtualFunction, function("0000:86:01.0")),
        ("eth0", NicKind::Paravirtual, function("0000:00:03.0")),
        ("idrac", NicKind::Physical, None),
        ("lo", NicKind::Loopback, None),
        ("veth9", NicKind::Virtual, None),
    ];
    assert_eq!(found, expected.map(|(name, kind, function)| (name.to_owned(), kind, function)));
}

#[test]
fn speed_is_unknown_when_the_kernel_does_not_know() {
    assert_eq!(nic("ens1f0").speed, Ok(BitRate(100_000_000_000)));
    assert_eq!(nic("ens1f0v0").speed, Err(Why::NotSupported));
    assert_eq!(nic("eth0").speed, Err(Why::Absent));
    assert_eq!(speed("4294967295"), Err(Why::NotSupported));
    assert_eq!(speed("fast"), Err(Why::Unparsed("fast".to_owned())));
    assert!(speed("9223372036854775807").is_err());
}

#[test]
fn queues_are_in_the_order_of_their_numbers() {
    let nic = nic("eth0");
    let numbers: Vec<u32> = nic.rx_queues.iter().map(|queue| queue.number).collect();
    assert_eq!(numbers, [0, 2, 10]);
    assert_eq!(nic.rx_queues[0].rps, Ok(CpuSet::from_list("0-7").unwrap()));
    assert_eq!(nic.rx_queues[0].flow_count, Ok(4096));
    assert_eq!(nic.rx_queues[1].rps, Err(Why::Unparsed("x".to_owned())));
    assert_eq!(nic.rx_queues[2].rps, Ok(CpuSet::new()));
    assert_eq!(nic.tx_queues[0].xps, Err(Why::Absent));
}

#[test]
fn what_carries_a_used_device_is_in_use() {
    let used: Vec<String> =
        nics().into_iter().filter(|nic| nic.in_use).map(|nic| nic.name).collect();
    assert_eq!(used, ["bond0", "bond0.7", "ens1f0"]);
    assert_eq!(nic("bond0").upper, ["bond0.7"]);
    assert_eq!(nic("br0").lower, ["idrac"]);
    assert_eq!(nic("ens1f0").upper, ["bond0"]);
}

#[test]
fn answers_are_facts() {
    let nic = nic("ens1f0");
    assert_eq!(nic.channels.unwrap(), Channels { combined: Some((63, 63)), ..Channels::default() });
    assert_eq!(nic.pause, Ok(Pause { receive: true, transmit: false }));
    assert_eq!(nic.firmware.as_deref(), Some("22.36"));
    assert_eq!(nic.rings, Err(Why::Unparsed("{nonsense".to_owned())));
    assert_eq!(nic.features, Err(Why::Absent));
}
