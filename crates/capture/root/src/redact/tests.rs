// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is secret is in no byte of a redacted capture, and what is not is in all.

use std::io::Read;

use super::*;
use crate::{About, MemoryRoot, Recorder, Root};

const SERIAL: &str = "S6XYNA0R123456";
const TAG: &str = "EXAMPL1";
const HOST: &str = "db01-frankfurt";
/// Put together, as is the UUID: a whole one in the source would look like somebody's.
const MAC: &str = concat!("3c:ec:ef", ":01:02:03");
/// Dell's, which holds the letters of the service tag.
const UUID: &str = concat!("4c4c4544-0058-4110", "-804d-c5c04f504c31");

/// That of a volume, which cryptsetup writes with dashes and without.
const VOLUME: &str = concat!("aabbccdd-1111-4222", "-8333-444455556666");

/// A structure of a DMI table.
fn structure(kind: u8, fields: &[u8], strings: &[&str]) -> Vec<u8> {
    let mut bytes = vec![kind, u8::try_from(4 + fields.len()).unwrap(), 0, 0];
    bytes.extend_from_slice(fields);
    for string in strings {
        bytes.extend_from_slice(string.as_bytes());
        bytes.push(0);
    }
    bytes.resize(bytes.len() + if strings.is_empty() { 2 } else { 1 }, 0);
    bytes
}

fn dmi() -> Vec<u8> {
    let uuid = [
        0x44, 0x45, 0x4c, 0x4c, 0x58, 0, 0x10, 0x41, 0x80, 0x4d, 0xc5, 0xc0, 0x4f, 0x50, 0x4c, 0x31,
    ];
    let system = [&[1, 2, 0, 3][..], &uuid, &[6, 0, 0]].concat();
    let mut memory = [0; 0x1b - 4];
    (memory[0x17 - 4], memory[0x18 - 4], memory[0x1a - 4]) = (1, 2, 3);
    [
        structure(1, &system, &["Dell Inc.", "PowerEdge R770", TAG]),
        structure(17, &memory, &["Samsung", "0359A1B2", "M321R4GA3BB6-CQKET"]),
        structure(11, &[3], &["Dell System", "x[EXAMPL1]", "5[QWRTPLK]", "ABCDEFG inside"]),
        structure(221, &[0x3c, 0xec, 0xef, 1, 2, 3], &["OEM EXAMPL1X9"]),
        structure(3, &[1, 2, 0, 3], &["Dell Inc.", "letters", "ABCDEFG"]),
        structure(127, &[], &[]),
        // A length that no structure has, and what follows.
        vec![1, 2, 0, 0],
        b"TAIL4711\0\0".to_vec(),
    ]
    .concat()
}

fn vpd() -> Vec<u8> {
    let mut fields = Vec::new();
    for (keyword, value) in
        [("PN", "MCX755106AS-HEAT"), ("SN", "MT2334XZ0ABC"), ("V3", "a1b2c3d4e5f60718")]
    {
        fields.extend_from_slice(keyword.as_bytes());
        fields.push(u8::try_from(value.len()).unwrap());
        fields.extend_from_slice(value.as_bytes());
    }
    fields.extend_from_slice(b"RV\x01\x00");
    let mut bytes = vec![0x82, 4, 0];
    bytes.extend_from_slice(b"Card");
    bytes.extend_from_slice(&[0x90, u8::try_from(fields.len()).unwrap(), 0]);
    bytes.extend_from_slice(&fields);
    let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    *bytes.last_mut().unwrap() = sum.wrapping_neg();
    bytes.push(0x78);
    bytes
}

fn config() -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    bytes[..4].copy_from_slice(&[0xb3, 0x15, 0x21, 0x10]);
    bytes[0x100..0x104].copy_from_slice(&[3, 0, 1, 0]);
    // 3e-ec-ef-ff-fe-01-02-03, the low half first.
    bytes[0x104..0x10c].copy_from_slice(&[3, 2, 1, 0xfe, 0xff, 0xef, 0xec, 0x3e]);
    bytes
}

fn machine() -> MemoryRoot {
    let mut root = MemoryRoot::new();
    root.file("/sys/class/nvme/nvme0/serial", format!("{SERIAL}      \n"))
        .file("/sys/class/nvme/nvme0/model", "SAMSUNG MZWLR3T8HBLS-00007              \n")
        .file("/sys/class/nvme/nvme0/firmware_rev", "MPK92B5Q\n")
        .file("/sys/class/nvme/nvme0/subsysnqn", format!("nqn.1994-11.com.samsung:nvme:PM1733:2.5-inch:{SERIAL}\n"))
        .file("/sys/block/nvme0n1/wwid", "nvme.144d-533658594e4130523132333435362020-53414d53554e47-00000001\n")
        .file("/sys/block/nvme0n1/eui", "00 25 38 0a 0b 0c 0d 0e\n")
        .file("/sys/class/net/enx3cecef010203/address", format!("{MAC}\n"))
        .file("/sys/class/net/enx3cecef010203/broadcast", "ff:ff:ff:ff:ff:ff\n")
        .file("/sys/class/net/enx3cecef010203/phys_port_id", "3cecef010203\n")
        .symlink("/sys/class/net/link", "enx3cecef010203")
        .file("/sys/class/infiniband/mlx5_0/ports/1/gids/0", "fe80:0000:0000:0000:3eec:efff:fe01:0203\n")
        .file("/sys/class/infiniband/mlx5_0/node_guid", "3cec:ef03:0001:0203\n")
        .file("/sys/class/dmi/id/product_serial", format!("{TAG}\n"))
        .file("/sys/class/dmi/id/product_uuid", format!("{UUID}\n"))
        .file("/sys/class/dmi/id/bios_version", "2.19.1.4\n")
        .file("/sys/firmware/dmi/tables/DMI", dmi())
        .file("/sys/devices/pci0000:00/0000:00:02.0/vpd", vpd())
        .file("/sys/devices/pci0000:00/0000:00:02.0/config", config())
        .file("/proc/sys/kernel/hostname", format!("{HOST}\n"))
        .file("/proc/version", "Linux version 6.1.192.1 (builder@build)\n")
        .file(
            "/proc/cmdline",
            format!("BOOT_IMAGE=/vmlinuz-6.1.192.1 root=UUID={UUID} ip=203.0.113.80::203.0.113.1:255.255.255.0:{HOST}:eth0 BOOTIF=01-3c-ec-ef-01-02-03 luks.key=Hunter22 isolcpus=4-7\n"),
        )
        .file("/proc/mounts", format!("{HOST}:/export /mnt nfs4 rw,addr=203.0.113.80 0 0\nrootfs / rootfs rw 0 0\n"))
        .file("/proc/self/cgroup", "7:cpuset:/lxc/billing\n0::/\n")
        .file("/proc/self/mountinfo", "34 28 0:28 /lxc/billing /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n")
        .file("/sys/fs/cgroup/cpuset/lxc/billing/cpuset.cpus", "0-3\n")
        .file("/sys/devices/virtual/block/dm-0/dm/name", format!("luks-{VOLUME}\n"))
        .file(
            "/sys/devices/virtual/block/dm-0/dm/uuid",
            format!("CRYPT-LUKS2-{}-luks-{VOLUME}\n", VOLUME.replace('-', "")),
        )
        .file("/proc/mdstat", format!("md0 : active raid1 # {HOST}:0\n"))
        .file("/proc/interrupts", format!("{}\n 24: 1 PCI-MSI enx3cecef010203-TxRx-0 {SERIAL}\n", " 0".repeat(3 << 20)))
        .file("/proc/net/route", "Iface\tDestination\tGateway\tMask\neth0\t00000000\t017100CB\t00FFFFFF\n")
        .answer(Question::Rings("enx3cecef010203".to_owned()), Ok("{\"rx\":1024}".to_owned()));
    root
}

/// Every file, folder and link of a tree asked for through a recorder.
fn record(root: &dyn Root) -> Record {
    let recorder = Recorder::new(root);
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for name in recorder.list(&format!("{folder}/")).unwrap() {
            let path = format!("{folder}/{name}");
            if recorder.link(&path).is_ok() {
                continue;
            }
            if recorder.list(&path).is_ok() {
                folders.push(path);
            } else if let Ok(mut stream) = recorder.stream(&path) {
                stream.read_to_end(&mut Vec::new()).unwrap();
            }
        }
    }
    let _ = recorder.ask(&Question::Rings("enx3cecef010203".to_owned()));
    recorder.into_record()
}

fn redacted(key: u8) -> (Vec<u8>, MemoryRoot) {
    let record = record(&machine());
    let mut bytes = Vec::new();
    let mut redactor = Redactor::new([key; 32]);
    record.write(&mut bytes, &About::default(), Some(&mut redactor)).unwrap();
    let tar = zstd::decode_all(bytes.as_slice()).unwrap();
    let unpacked = crate::archive::read(bytes.as_slice(), &crate::archive::Limits::default());
    let (root, about) = crate::capture::restore(unpacked.unwrap().root).unwrap();
    assert!(about.unwrap().redacted);
    (tar, root)
}

fn text(root: &dyn Root, path: &str) -> String {
    let bytes = root.read(path).unwrap_or_else(|why| panic!("{path}: {why}"));
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn no_secret_is_in_any_byte() {
    let (tar, _) = redacted(1);
    let upper = TAG.to_lowercase();
    for secret in [
        SERIAL,
        TAG,
        &upper,
        HOST,
        MAC,
        UUID,
        "3cecef010203",
        "3c-ec-ef-01-02-03",
        "0359A1B2",
        "MT2334XZ0ABC",
        "203.0.113",
        "017100CB",
        "533658594e41",
        "3eec:efff:fe01",
        "Hunter22",
        "00 25 38 0a",
        "a1b2c3d4e5f60718",
        "\x3c\u{ec}",
        "ABCDEFG",
        "QWRTPLK",
        "TAIL4711",
        "billing",
        VOLUME,
        "aabbccdd",
        "444455556666",
    ] {
        let found = tar.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "{secret} is still there");
    }
    for raw in
        [&[0x3c, 0xec, 0xef, 1, 2, 3][..], &[3, 2, 1, 0xfe, 0xff, 0xef], &[0x44, 0x45, 0x4c, 0x4c]]
    {
        assert!(!tar.windows(raw.len()).any(|window| window == raw), "{raw:x?} is still there");
    }
}

#[test]
fn what_is_no_secret_stays_and_so_do_relations() {
    let (_, root) = redacted(1);
    let original = machine();
    for path in [
        "/sys/class/nvme/nvme0/model",
        "/sys/class/nvme/nvme0/firmware_rev",
        "/sys/class/dmi/id/bios_version",
        "/proc/version",
    ] {
        assert_eq!(text(&root, path), text(&original, path));
    }
    let serial = text(&root, "/sys/class/nvme/nvme0/serial");
    assert_eq!(serial.len(), SERIAL.len() + 7);
    assert!(text(&root, "/sys/class/nvme/nvme0/subsysnqn").trim().ends_with(serial.trim()));
    let hex: String = serial.trim().bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(
        text(&root, "/sys/block/nvme0n1/wwid").starts_with(&format!("nvme.144d-{hex}2020-53414d"))
    );
    let nic = root.list("/sys/class/net").unwrap().remove(0);
    let mac = text(&root, &format!("/sys/class/net/{nic}/address"));
    assert_eq!(nic, format!("enx{}", mac.trim().replace(':', "")));
    assert_eq!(root.link("/sys/class/net/link").unwrap(), nic);
    assert_eq!(text(&root, "/sys/class/net/link/broadcast"), "ff:ff:ff:ff:ff:ff\n");
    assert_eq!(root.ask(&Question::Rings(nic.clone())).unwrap(), "{\"rx\":1024}");
    let octets: Vec<&str> = mac.trim().split(':').collect();
    let guid = text(&root, "/sys/class/infiniband/mlx5_0/node_guid");
    assert_eq!(
        guid.trim().replace(':', ""),
        format!("{}0300{}", octets[..3].concat(), octets[3..].concat())
    );
    let volume = text(&root, "/sys/devices/virtual/block/dm-0/dm/name");
    let (volume, kind) = (volume.trim().trim_start_matches("luks-"), "CRYPT-LUKS2");
    assert_eq!(
        text(&root, "/sys/devices/virtual/block/dm-0/dm/uuid"),
        format!("{kind}-{}-luks-{volume}\n", volume.replace('-', ""))
    );
    let cmdline = text(&root, "/proc/cmdline");
    assert!(cmdline.starts_with("BOOT_IMAGE=/vmlinuz-6.1.192.1 root=UUID="), "{cmdline}");
    assert!(
        cmdline.contains(":255.255.255.0:") && cmdline.ends_with(" isolcpus=4-7\n"),
        "{cmdline}"
    );
    assert!(cmdline.contains(text(&root, "/sys/class/dmi/id/product_uuid").trim()));
    let host = text(&root, "/proc/sys/kernel/hostname");
    for path in ["/proc/cmdline", "/proc/mounts", "/proc/mdstat"] {
        assert!(text(&root, path).contains(host.trim()), "{path}");
    }
    let groups = text(&root, "/proc/self/cgroup");
    let group = groups.lines().next().and_then(|line| line.rsplit('/').next()).unwrap();
    assert!(groups.starts_with("7:cpuset:/lxc/"), "{groups}");
    assert_eq!(text(&root, &format!("/sys/fs/cgroup/cpuset/lxc/{group}/cpuset.cpus")), "0-3\n");
    assert!(text(&root, "/proc/self/mountinfo").contains(&format!(" /lxc/{group} /sys/fs/cgroup")));
    assert_eq!(text(&root, "/proc/net/route").len(), text(&original, "/proc/net/route").len());
    assert!(text(&root, "/proc/net/route").ends_with("\t00FFFFFF\n"));
}

#[test]
fn binary_tables_keep_their_form() {
    let (_, root) = redacted(1);
    let dmi = root.read("/sys/firmware/dmi/tables/DMI").unwrap();
    let tag = text(&root, "/sys/class/dmi/id/product_serial");
    let holds = |text: &str| dmi.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds(tag.trim()) && holds("PowerEdge R770") && holds("M321R4GA3BB6-CQKET"));
    assert_eq!(dmi.len(), super::tests::dmi().len());
    let uuid = text(&root, "/sys/class/dmi/id/product_uuid");
    let first = u32::from_le_bytes(dmi[8..12].try_into().unwrap());
    assert_eq!(uuid[..8], format!("{first:08x}"));
    let vpd = root.read("/sys/devices/pci0000:00/0000:00:02.0/vpd").unwrap();
    let checked = &vpd[..vpd.len() - 1];
    assert_eq!(checked.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)), 0);
    assert!(String::from_utf8_lossy(&vpd).contains("MCX755106AS-HEAT"));
    let config = root.read("/sys/devices/pci0000:00/0000:00:02.0/config").unwrap();
    assert_eq!(config[..0x104], super::tests::config()[..0x104]);
}

#[test]
fn a_key_decides_and_nothing_else() {
    assert_eq!(redacted(1).0, redacted(1).0);
    let serial = |key| text(&redacted(key).1, "/sys/class/nvme/nvme0/serial");
    assert_ne!(serial(1), serial(2));
    Redactor::random().unwrap();
}

mod property {
    use proptest::prelude::*;

    use super::*;

    const PATHS: [&str; 14] = [
        "/sys/x/serial",
        "/sys/x/wwid",
        "/sys/x/eui",
        "/sys/x/subsysnqn",
        "/sys/x/hostnqn",
        "/sys/devices/pci0/config",
        "/sys/x/vpd",
        "/sys/x/vpd_pg80",
        "/sys/x/vpd_pg83",
        "/sys/x/inquiry",
        "/sys/firmware/dmi/tables/DMI",
        "/proc/cmdline",
        "/proc/mounts",
        "/sys/x/gids/0",
    ];

    proptest! {
        #[test]
        fn any_bytes_keep_their_length(
            which in 0..PATHS.len(), bytes in proptest::collection::vec(any::<u8>(), 0..400),
        ) {
            let mut redacted = bytes.clone();
            let mut redactor = Redactor::new([9; 32]);
            redactor.learn_file(PATHS[which], &bytes);
            redactor.content(PATHS[which], &mut redacted);
            prop_assert_eq!(redacted.len(), bytes.len());
        }

        #[test]
        fn any_text_keeps_its_length(which in 0..PATHS.len(), text in r"[ -~\n]{0,80}") {
            let mut bytes = text.clone().into_bytes();
            Redactor::new([9; 32]).content(PATHS[which], &mut bytes);
            prop_assert_eq!(bytes.len(), text.len());
            // Tables are no text, whatever they are made of here.
            let is_table = (5..=10).contains(&which);
            prop_assert!(is_table || String::from_utf8(bytes).is_ok());
        }
    }
}
