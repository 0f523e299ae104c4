// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every use of a device on made-up machines.

use root::MemoryRoot;

use super::*;

/// A machine with one NVMe drive of two partitions, and another one.
fn machine() -> MemoryRoot {
    let mut root = MemoryRoot::new();
    for (drive, number) in [("nvme0n1", "259:0"), ("nvme1n1", "259:3")] {
        let path = format!("/sys/devices/pci0000:00/{drive}");
        root.file(&format!("{path}/dev"), format!("{number}\n"))
            .file(&format!("{path}/size"), "2048\n")
            .file(&format!("{path}/device/serial"), format!("S-{drive}   \n"))
            .file(&format!("{path}/device/model"), "DRIVE 1\n")
            .folder(&format!("{path}/holders"))
            .symlink(&format!("/sys/dev/block/{number}"), &format!("../../..{path}"))
            .symlink(&format!("/sys/block/{drive}"), &format!("../..{path}"));
    }
    root.file("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n")
        .file("/proc/self/mountinfo", "36 35 8:1 / / rw - ext4 /dev/sda1 rw\n");
    root
}

fn partition(root: &mut MemoryRoot, number: u32) {
    let path = format!("/sys/devices/pci0000:00/nvme0n1/nvme0n1p{number}");
    root.file(&format!("{path}/dev"), format!("259:{number}\n"))
        .file(&format!("{path}/size"), "1024\n")
        .file(&format!("{path}/partition"), format!("{number}\n"))
        .folder(&format!("{path}/holders"))
        .symlink(&format!("/sys/dev/block/259:{number}"), &format!("../../..{path}"));
}

fn texts(root: &MemoryRoot, number: &str) -> Vec<String> {
    claims(root, number).unwrap().claims.iter().map(ToString::to_string).collect()
}

#[test]
fn an_unused_drive_has_its_identity_and_no_claim() {
    let found = claims(&machine(), "259:0").unwrap();
    assert_eq!((found.name.as_str(), found.disk), ("nvme0n1", None));
    assert_eq!(found.serial, Ok("S-nvme0n1".to_owned()));
    assert_eq!((found.bytes, found.claims), (Ok(1 << 20), Vec::new()));
    assert_eq!((found.kin, found.unseen), (Kin::Alone, Vec::new()));
    assert!(claims(&machine(), "1:1").is_err());
}

/// A change that makes a use of the first drive.
type Change = fn(&mut MemoryRoot);

/// Every use, and how it is told.
const USES: [(Change, &str); 9] = [
    (
        |root| {
            let line = "37 35 259:0 / /data rw - xfs /dev/nvme0n1 rw\n";
            root.file("/proc/self/mountinfo", line);
        },
        "nvme0n1 is mounted at /data",
    ),
    (
        |root| {
            root.file("/proc/swaps", "Filename\n/dev/nvme0n1 partition\t8\t0\t-2\n");
        },
        "the kernel swaps to nvme0n1",
    ),
    (
        |root| {
            root.folder("/sys/devices/pci0000:00/nvme0n1/holders/md127");
        },
        "nvme0n1 is held by md127",
    ),
    (
        |root| {
            root.file("/sys/block/loop7/loop/backing_file", "/dev/nvme0n1\n");
        },
        "nvme0n1 is the file of loop7",
    ),
    (
        |root| {
            let path = "/sys/kernel/config/nvmet/subsystems/nqn.x/namespaces/1/device_path";
            root.file(path, "/dev/disk/by-id/nvme-DRIVE\n")
                .file("/dev/nvme0n1", "")
                .symlink("/dev/disk/by-id/nvme-DRIVE", "../../nvme0n1");
        },
        "nvme0n1 is exported by nvmet as nqn.x",
    ),
    (
        |root| {
            let path = "/sys/kernel/config/target/core/iblock_0/disk1/udev_path";
            root.file(path, "/dev/nvme0n1\n");
        },
        "nvme0n1 is exported by target as disk1",
    ),
    (
        |root| {
            root.folder("/sys/fs/btrfs/3f0c/devices/nvme0n1");
        },
        "nvme0n1 belongs to btrfs 3f0c, which is mounted",
    ),
    (
        |root| {
            root.symlink("/proc/77/fd/9", "/dev/nvme0n1")
                .file("/proc/77/fdinfo/9", "pos:\t0\nflags:\t0140002\nmnt_id:\t9\n")
                .file("/proc/77/comm", "qemu-system-x86\n");
        },
        "qemu-system-x86 (process 77) has nvme0n1 open for writing",
    ),
    (|root| partition(root, 1), "it has a partition, nvme0n1p1"),
];

#[test]
fn each_use_is_named() {
    for (change, wanted) in USES {
        let mut root = machine();
        change(&mut root);
        assert_eq!(texts(&root, "259:0"), [wanted]);
        assert_eq!(texts(&root, "259:3"), [""; 0], "the other drive: {wanted}");
    }
}

#[test]
fn a_drive_is_used_where_a_partition_is_and_the_other_way_round() {
    let mut root = machine();
    partition(&mut root, 1);
    partition(&mut root, 2);
    root.file("/proc/self/mountinfo", "37 35 259:2 / /data rw - xfs /dev/nvme0n1p2 rw\n");
    let whole = texts(&root, "259:0");
    assert!(whole.contains(&"nvme0n1p2 is mounted at /data".to_owned()), "{whole:?}");
    assert_eq!(texts(&root, "259:1"), [""; 0]);
    assert_eq!(texts(&root, "259:2"), ["nvme0n1p2 is mounted at /data"]);
    root.folder("/sys/devices/pci0000:00/nvme0n1/holders/dm-3");
    assert_eq!(texts(&root, "259:1"), ["nvme0n1 is held by dm-3"]);
    let part = claims(&root, "259:1").unwrap();
    assert_eq!((part.disk.as_deref(), part.serial), (Some("nvme0n1"), Ok("S-nvme0n1".to_owned())));
    assert_eq!(part.kin, Kin::Partition(1));
}

#[test]
fn reading_is_no_use() {
    let mut root = machine();
    root.symlink("/proc/77/fd/9", "/dev/nvme0n1")
        .file("/proc/77/fdinfo/9", "pos:\t0\nflags:\t0140000\n");
    assert_eq!(texts(&root, "259:0"), [""; 0]);
    assert!(!users::is_writing("flags:\tx") && !users::is_writing(""));
}

#[test]
fn the_serial_of_a_scsi_drive_is_in_its_page() {
    let mut root = MemoryRoot::new();
    root.file("/sys/devices/a/sda/device/vpd_pg80", b"\0\x80\0\x14     WD-WX12      \0\0")
        .file("/sys/devices/a/sda/size", "8")
        .symlink("/sys/dev/block/8:0", "../../devices/a/sda");
    assert_eq!(claims(&root, "8:0").unwrap().serial, Ok("WD-WX12".to_owned()));
}

#[test]
fn a_device_under_another_name_is_known_by_its_number() {
    let node = |root: &mut MemoryRoot, path: &str, number: &str| {
        root.answer(root::Question::BlockDevice(path.to_owned()), Ok(format!("\"{number}\"")));
    };
    let mut root = machine();
    // A node that somebody made, a node of another mount namespace, and another device's.
    for (process, link, number) in
        [(77, "/srv/disk", "259:0"), (78, "/dev/xvda", "259:0"), (79, "/dev/nvme0n1", "8:0")]
    {
        root.symlink(&format!("/proc/{process}/fd/9"), link)
            .file(&format!("/proc/{process}/fdinfo/9"), "flags:\t0140002\n")
            .file(&format!("/proc/{process}/comm"), "qemu\n");
        node(&mut root, &format!("/proc/{process}/fd/9"), number);
    }
    root.file("/sys/block/loop7/loop/backing_file", "/srv/disk\n")
        .file("/sys/kernel/config/nvmet/subsystems/nqn.x/namespaces/1/device_path", "/srv/disk\n");
    node(&mut root, "/srv/disk", "259:0");
    assert_eq!(
        texts(&root, "259:0"),
        [
            "nvme0n1 is the file of loop7",
            "nvme0n1 is exported by nvmet as nqn.x",
            "qemu (process 77) has nvme0n1 open for writing",
            "qemu (process 78) has nvme0n1 open for writing",
        ]
    );
    assert_eq!(texts(&root, "259:3"), [""; 0]);
}

#[test]
fn a_name_with_a_slash_is_that_of_the_kernel() {
    let mut root = MemoryRoot::new();
    root.file("/sys/devices/a/cciss!c0d0/size", "8")
        .symlink("/sys/dev/block/104:0", "../../devices/a/cciss!c0d0")
        .file("/proc/swaps", "Filename\n/dev/cciss/c0d0 partition\t8\t0\t-2\n");
    assert_eq!(texts(&root, "104:0"), ["the kernel swaps to cciss!c0d0"]);
}

#[test]
fn a_controller_that_is_exported_is_a_use_of_its_namespaces() {
    let mut root = machine();
    root.file("/sys/kernel/config/nvmet/subsystems/nqn.x/passthru/device_path", "/dev/nvme0\n")
        .symlink("/sys/devices/pci0000:00/nvme1n1/device", "../nvme0")
        .folder("/sys/devices/pci0000:00/nvme0");
    assert_eq!(texts(&root, "259:3"), ["nvme1n1 is exported by nvmet as nqn.x"]);
}

/// Something that cannot be looked at, and how that is told.
const UNSEEN: [(Change, &str); 7] = [
    (
        |root| {
            root.refuse("/proc/77/fd", Why::Denied).refuse("/proc/78/fd", Why::Denied);
        },
        "which programs have it open (/proc/77/fd and 1 more): permission denied",
    ),
    (
        |root| {
            root.symlink("/proc/self/ns/pid", "pid:[4026532001]");
        },
        "which programs have it open outside of this container (/proc): absent",
    ),
    (
        |root| {
            root.folder("/sys/module/nvmet");
        },
        "whether it is exported (/sys/kernel/config/nvmet/subsystems): absent",
    ),
    (
        |root| {
            root.refuse("/sys/kernel/config/target/core", Why::Denied);
        },
        "whether it is exported (/sys/kernel/config/target/core): permission denied",
    ),
    (
        |root| {
            let path = "/sys/kernel/config/nvmet/subsystems/nqn.x/namespaces/1/device_path";
            root.refuse(path, Why::Failed("EIO".to_owned()));
        },
        "whether it is exported (/sys/kernel/config/nvmet/subsystems/nqn.x/namespaces/1/device_path): \
         failed: EIO",
    ),
    (
        |root| {
            root.refuse("/sys/block/loop3/loop/backing_file", Why::Denied);
        },
        "whether a loop has it as its file (/sys/block/loop3/loop/backing_file): permission denied",
    ),
    (
        |root| {
            root.refuse("/sys/fs/btrfs", Why::Denied);
        },
        "whether a mounted file system has it (/sys/fs/btrfs): permission denied",
    ),
];

#[test]
fn what_cannot_be_looked_at_is_told() {
    for (change, wanted) in UNSEEN {
        let mut root = machine();
        change(&mut root);
        let found = claims(&root, "259:0").unwrap();
        let texts: Vec<String> = found.unseen.iter().map(ToString::to_string).collect();
        assert_eq!(texts, [wanted]);
    }
    // A kernel without /proc, or a container without /sys/block, hides everything.
    let mut root = MemoryRoot::new();
    root.file("/sys/devices/a/sda/size", "8").symlink("/sys/dev/block/8:0", "../../devices/a/sda");
    assert_eq!(claims(&root, "8:0").unwrap().unseen.len(), 2);
}

#[test]
fn a_serial_number_that_others_have_is_told_from_one_of_its_own() {
    let mut root = machine();
    for (number, drive) in [(1, "nvme0n1"), (2, "nvme1n1")] {
        root.file(&format!("/sys/devices/pci0000:00/{drive}/device/serial"), "SAME\n")
            .file(&format!("/sys/devices/pci0000:00/{drive}/nsid"), format!("{number}\n"));
    }
    assert_eq!(claims(&root, "259:0").unwrap().kin, Kin::Namespace(1));
    assert_eq!(claims(&root, "259:3").unwrap().kin, Kin::Namespace(2));
}
