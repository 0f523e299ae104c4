// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spoilt trees: whatever happens to the files of PCI functions and drives, nothing panics and no
//! wrong number comes out.

use std::collections::BTreeSet;

use machine::{Machine, Why};
use proptest::prelude::*;
use root::MemoryRoot;

/// What happens to one file.
#[derive(Debug, Clone)]
enum Spoil {
    Text(String),
    Bytes(Vec<u8>),
    Cut(usize),
    Padded,
    Refused(Why),
    Looped,
}

fn spoil() -> impl Strategy<Value = Spoil> {
    prop_oneof![
        "[-0-9a-fx:./ G]{0,24}".prop_map(Spoil::Text),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(Spoil::Bytes),
        (0_usize..300).prop_map(Spoil::Cut),
        Just(Spoil::Padded),
        Just(Spoil::Refused(Why::Denied)),
        Just(Spoil::Refused(Why::Failed("EIO".to_owned()))),
        Just(Spoil::Looped),
    ]
}

/// Configuration space of an Express function with a capability at 0x40 and AER at 0x100.
fn config(kind: u16, link: u32, status: u32) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    let mut put = |at: usize, text: &[u8]| bytes[at..at + text.len()].copy_from_slice(text);
    put(6, &0x10_u16.to_le_bytes());
    put(0x34, &[0x40]);
    put(0x40, &[0x10, 0]);
    put(0x42, &(2 | kind << 4).to_le_bytes());
    put(0x4c, &link.to_le_bytes());
    put(0x50, &status.to_le_bytes());
    put(0x100, &0x0001_0001_u32.to_le_bytes());
    bytes
}

/// Two ports with an NVMe drive each, one of them behind multipath, and a SATA disk.
fn files() -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let mut add = |path: String, bytes: &[u8]| files.push((path, bytes.to_vec()));
    for (node, cpus) in [(0, "0-3"), (1, "4-7")] {
        let node = format!("/sys/devices/system/node/node{node}");
        add(format!("{node}/cpulist"), cpus.as_bytes());
    }
    for (node, bus) in [(0, "17"), (1, "85")] {
        let port = format!("/sys/devices/pci0000:{bus}/0000:{bus}:00.0");
        let card = format!("{port}/0000:{}:00.0", if node == 0 { "18" } else { "86" });
        for (path, kind, modalias) in [
            (&port, 4, "pci:v00008086d00002030sv00000000sd00000000bc06sc04i00"),
            (&card, 0, "pci:v00001344d000051C3sv00001344sd00001300bc01sc08i02"),
        ] {
            add(format!("{path}/modalias"), modalias.as_bytes());
            add(format!("{path}/numa_node"), node.to_string().as_bytes());
            add(format!("{path}/local_cpulist"), if node == 0 { b"0-3" } else { b"4-7" });
            add(format!("{path}/config"), &config(kind, 0x45, 0x0045_0000));
            add(format!("{path}/max_link_width"), b"4");
            add(format!("{path}/max_link_speed"), b"32.0 GT/s PCIe");
            add(format!("{path}/msi_irqs/{}", 40 + node), b"msix");
        }
        let nvme = format!("{card}/nvme/nvme{node}");
        add(format!("{nvme}/transport"), b"pcie");
        add(format!("{nvme}/queue_count"), b"9");
        add(format!("{nvme}/power/pm_qos_latency_tolerance_us"), b"100000");
        add(format!("{nvme}/hwmon{node}/temp1_input"), b"38850");
        add(format!("{nvme}/nvme{node}n1/size"), b"31457280000");
        add(format!("{nvme}/nvme{node}n1/mq/0/cpu_list"), b"0, 1");
        add(format!("{nvme}/nvme{node}n1/holders/md0"), b"");
    }
    let sata = "/sys/devices/pci0000:17/0000:17:1f.2/ata1/host0/target0:0:0/0:0:0:0";
    add(format!("{sata}/block/sda/size"), b"1000");
    add(format!("{sata}/vpd_pg80"), b"\0\x80\0\x04S123");
    add("/sys/devices/virtual/block/md0/size".to_owned(), b"1000");
    add("/proc/self/mountinfo".to_owned(), b"24 1 8:0 / / rw - ext4 /dev/sda rw\n");
    files
}

fn tree(files: &[(String, Vec<u8>)], spoils: &[(prop::sample::Index, Spoil)]) -> MemoryRoot {
    let mut root = MemoryRoot::new();
    for (path, bytes) in files {
        root.file(path, bytes.clone());
    }
    for path in [
        "pci0000:17/0000:17:00.0",
        "pci0000:17/0000:17:00.0/0000:18:00.0",
        "pci0000:85/0000:85:00.0",
        "pci0000:85/0000:85:00.0/0000:86:00.0",
    ] {
        let address = last(path);
        root.symlink(
            &format!("/sys/bus/pci/devices/{address}"),
            &format!("../../../devices/{path}"),
        );
    }
    for (name, path) in [
        ("nvme0n1", "pci0000:17/0000:17:00.0/0000:18:00.0/nvme/nvme0/nvme0n1"),
        ("nvme1n1", "pci0000:85/0000:85:00.0/0000:86:00.0/nvme/nvme1/nvme1n1"),
        ("sda", "pci0000:17/0000:17:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda"),
        ("md0", "virtual/block/md0"),
    ] {
        root.symlink(&format!("/sys/block/{name}"), &format!("../devices/{path}"));
    }
    for (index, spoil) in spoils {
        let (path, bytes) = index.get(files);
        match spoil {
            Spoil::Text(text) => root.file(path, text.as_str()),
            Spoil::Bytes(noise) => root.file(path, noise.clone()),
            Spoil::Cut(length) => {
                root.file(path, bytes.iter().copied().take(*length).collect::<Vec<u8>>())
            }
            Spoil::Padded => root.file(path, [bytes.as_slice(), &[0; 4000]].concat()),
            Spoil::Refused(why) => root.refuse(path, why.clone()),
            Spoil::Looped => root.symlink(path, last(path)),
        };
    }
    root
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// What must hold of any machine.
fn check(machine: &Machine) -> Result<(), TestCaseError> {
    let nodes: BTreeSet<_> = machine.nodes.iter().map(|node| node.id).collect();
    for function in &machine.functions {
        prop_assert!(function.node.is_none_or(|node| nodes.is_empty() || nodes.contains(&node)));
        let Some(link) = &function.link else { continue };
        for side in [Some(&link.own), link.above.as_ref()].into_iter().flatten() {
            prop_assert!(side.speed.as_ref().map_or(true, |speed| speed.generation().is_some()));
            prop_assert!(side.width.as_ref().map_or(true, |width| (1..=32).contains(width)));
        }
    }
    let names: BTreeSet<&str> = machine.drives.iter().map(|drive| drive.name.as_str()).collect();
    prop_assert_eq!(names.len(), machine.drives.len());
    for drive in &machine.drives {
        prop_assert!(machine.near(&drive.name).is_some());
        let _ = machine.path(&drive.name, "nvme0n1");
    }
    let _ = machine.lanes();
    prop_assert_eq!(machine.differences(machine), vec![]);
    Ok(())
}

#[test]
fn the_tree_is_read_when_nothing_is_spoilt() {
    let machine = nearside_linux::read(&tree(&files(), &[]));
    let names: Vec<&str> = machine.drives.iter().map(|drive| drive.name.as_str()).collect();
    assert_eq!(names, ["nvme0n1", "nvme1n1", "sda"]);
    assert_eq!(machine.functions.len(), 4);
    assert!(machine.functions.iter().all(|function| function.link.is_some()));
    check(&machine).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn no_spoilt_tree_yields_a_wrong_number(
        spoils in prop::collection::vec((any::<prop::sample::Index>(), spoil()), 1..12)
    ) {
        check(&nearside_linux::read(&tree(&files(), &spoils)))?;
    }
}
