// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole trees of block devices, made up.

use machine::{DriveKind, Why};
use root::{MemoryRoot, Question};
use units::{Bytes, NodeId};

use super::*;

fn function(address: &str, driver: &str, node: u32) -> Function {
    let mut function = Function::new(address.parse().unwrap());
    function.driver = Some(driver.to_owned());
    function.node = Some(NodeId(node));
    function
}

/// A block device at `path` below /sys/devices, with its link and a size of 1 GiB.
fn add(root: &mut MemoryRoot, path: &str) -> String {
    let name = path.rsplit('/').next().unwrap();
    let full = format!("/sys/devices/{path}");
    root.symlink(&format!("/sys/block/{name}"), &format!("../devices/{path}"))
        .file(&format!("{full}/size"), "2097152\n")
        .file(&format!("{full}/queue/rotational"), "0\n");
    full
}

fn read_all(root: &MemoryRoot, functions: &[Function]) -> (Vec<Drive>, Vec<Volume>) {
    read(root, functions, &mut Troubles::default())
}

#[test]
fn a_multipath_head_is_one_drive_with_its_paths() {
    let mut root = MemoryRoot::new();
    add(&mut root, "virtual/nvme-subsystem/nvme-subsys0/nvme0n1");
    for (index, address) in [(0, "0000:17:00.0"), (1, "0000:85:00.0")] {
        let nvme = format!("pci/{address}/nvme/nvme{index}");
        let path = add(&mut root, &format!("{nvme}/nvme0c{index}n1"));
        let full = format!("/sys/devices/{nvme}");
        root.symlink(&format!("/sys/class/nvme/nvme{index}"), &format!("../../devices/{nvme}"))
            .file(&format!("{full}/transport"), "pcie\n")
            .file(&format!("{full}/address"), format!("{address}\n"))
            .file(&format!("{full}/queue_count"), "9\n")
            .file(&format!("{full}/model"), "Dual Port            \n")
            .file(&format!("{full}/power/control"), "auto\n")
            .file(&format!("{path}/ana_state"), "optimized\n")
            .file(&format!("{path}/mq/0/cpu_list"), "0, 1\n");
    }
    let functions = [function("17:00.0", "nvme", 0), function("85:00.0", "nvme", 1)];
    let (drives, volumes) = read_all(&root, &functions);
    let [drive] = &drives[..] else { panic!("{drives:?}") };
    assert_eq!((&*drive.name, drive.kind), ("nvme0n1", DriveKind::Nvme));
    assert_eq!(drive.size, Ok(Bytes(1 << 30)));
    assert_eq!(drive.model.as_deref(), Ok("Dual Port"));
    assert_eq!((drive.queues.len(), drive.apst.clone()), (1, Ok(None)));
    let nodes: Vec<_> = drive.controllers.iter().map(|each| (each.node, each.queues)).collect();
    assert_eq!(nodes, [(Some(NodeId(0)), 8), (Some(NodeId(1)), 8)]);
    assert!(drive.controllers.iter().all(|each| each.ana_state.as_deref() == Some("optimized")));
    assert!(volumes.is_empty());
}

#[test]
fn a_drive_stays_one_where_its_class_or_its_controller_cannot_be_read() {
    let nvme = "pci/0000:17:00.0/nvme/nvme0";
    let functions = [function("17:00.0", "nvme", 0)];
    // The link of the class leads nowhere: the controller is the folder above the namespace.
    let mut root = MemoryRoot::new();
    add(&mut root, &format!("{nvme}/nvme0n1"));
    root.symlink("/sys/class/nvme/nvme0", "../../devices/nowhere/nvme0")
        .symlink(&format!("/sys/devices/{nvme}/nvme0n1/device"), "..")
        .file(&format!("/sys/devices/{nvme}/transport"), "pcie\n")
        .file(&format!("/sys/devices/{nvme}/model"), "Alone\n");
    let (drives, _) = read_all(&root, &functions);
    let [drive] = &drives[..] else { panic!("{drives:?}") };
    assert_eq!((&*drive.name, drive.model.as_deref()), ("nvme0n1", Ok("Alone")));
    assert_eq!(drive.controllers.first().and_then(|path| path.node), Some(NodeId(0)));
    // A head below the subsystem, and none of its controllers can be read.
    let mut root = MemoryRoot::new();
    add(&mut root, "virtual/nvme-subsystem/nvme-subsys0/nvme0n1");
    root.symlink("/sys/class/nvme/nvme0", "../../devices/nowhere/nvme0");
    let (drives, _) = read_all(&root, &functions);
    let [drive] = &drives[..] else { panic!("{drives:?}") };
    assert_eq!((&*drive.name, drive.kind), ("nvme0n1", DriveKind::Nvme));
    assert_eq!((drive.size.clone(), drive.controllers.len()), (Ok(Bytes(1 << 30)), 0));
}

#[test]
fn a_namespace_that_hangs_from_its_function_is_on_its_node() {
    let mut root = MemoryRoot::new();
    add(&mut root, "pci0000:00/0000:17:00.0/block/nvme3n1");
    let (drives, _) = read_all(&root, &[function("17:00.0", "nvme", 1)]);
    let [drive] = &drives[..] else { panic!("{drives:?}") };
    let [path] = &drive.controllers[..] else { panic!("{drive:?}") };
    assert_eq!((&*path.name, path.node), ("0000:17:00.0", Some(NodeId(1))));
    assert_eq!(path.function, "17:00.0".parse().ok());
}

#[test]
fn fabrics_have_an_address_and_no_function() {
    let mut root = MemoryRoot::new();
    let nvme = "virtual/nvme-fabrics/ctl/nvme3";
    add(&mut root, &format!("{nvme}/nvme3n1"));
    let full = format!("/sys/devices/{nvme}");
    root.symlink("/sys/class/nvme/nvme3", &format!("../../devices/{nvme}"))
        .file(&format!("{full}/transport"), "tcp\n")
        .file(&format!("{full}/address"), "traddr=192.0.2.7,trsvcid=4420\n")
        .file(&format!("{full}/numa_node"), "-1\n");
    let (drives, _) = read_all(&root, &[]);
    let [drive] = &drives[..] else { panic!("{drives:?}") };
    let [controller] = &drive.controllers[..] else { panic!("{drive:?}") };
    assert_eq!(drive.kind, DriveKind::NvmeFabrics);
    assert_eq!((controller.function, controller.node), (None, None));
    assert_eq!(controller.address.as_deref(), Some("traddr=192.0.2.7,trsvcid=4420"));
}

#[test]
fn nvme_drives_behind_vmd_and_raid_are_named_as_such() {
    let mut root = MemoryRoot::new();
    let vmd = "pci0000:b0/0000:b0:05.5/pci10000:00/10000:01:00.0/nvme/nvme0";
    add(&mut root, &format!("{vmd}/nvme0n1"));
    root.file(&format!("/sys/devices/{vmd}/transport"), "pcie\n")
        .file(&format!("/sys/devices/{vmd}/power/pm_qos_latency_tolerance_us"), "0\n")
        .answer(Question::NvmeSmart("nvme0".to_owned()), Ok("\"004401640a07\"".to_owned()));
    let raid = "pci0000:17/0000:18:00.0/host0/target0:0:5/0:0:5:0";
    add(&mut root, &format!("{raid}/block/sda"));
    root.file(&format!("/sys/devices/{raid}/vendor"), "NVMe    \n")
        .file(&format!("/sys/devices/{raid}/model"), "Dell Ent NVMe P5\n");
    let mut drive = function("10000:01:00.0", "nvme", 1);
    drive.parent = "0000:b0:05.5".parse().ok();
    let functions = [function("18:00.0", "megaraid_sas", 0), function("b0:05.5", "vmd", 1), drive];
    let (drives, _) = read_all(&root, &functions);
    let [nvme, sda] = &drives[..] else { panic!("{drives:?}") };
    assert_eq!(nvme.hidden_by.as_ref().unwrap().driver, "vmd");
    assert_eq!((nvme.apst.clone(), nvme.percentage_used.clone()), (Ok(Some(false)), Ok(7)));
    assert_eq!(nvme.temperature_mc, Ok(50_850));
    let hidden = sda.hidden_by.as_ref().unwrap();
    assert_eq!(
        (&*hidden.driver, &*hidden.likely),
        ("megaraid_sas", "NVMe drive shown as SCSI disk")
    );
    assert_eq!(sda.controllers[0].node, Some(NodeId(0)));
}

#[test]
fn sata_and_sas_tell_link_power_and_rate() {
    let mut root = MemoryRoot::new();
    add(&mut root, "pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sda");
    root.file("/sys/class/scsi_host/host2/link_power_management_policy", "med_power_with_dipm\n")
        .file("/sys/class/ata_link/link3/sata_spd", "6.0 Gbps\n");
    let port = "pci0000:17/0000:18:00.0/host9/port-9:0";
    add(&mut root, &format!("{port}/end_device-9:0/target9:0:0/9:0:0:0/block/sdb"));
    root.folder(&format!("/sys/devices/{port}/phy-9:0"))
        .file("/sys/class/sas_phy/phy-9:0/negotiated_linkrate", "12.0 Gbit\n");
    let functions = [function("00:1f.2", "ahci", 0), function("18:00.0", "mpt3sas", 1)];
    let (drives, _) = read_all(&root, &functions);
    let [sata, sas] = &drives[..] else { panic!("{drives:?}") };
    let told = |drive: &Drive| {
        let controller = &drive.controllers[0];
        (drive.kind, controller.link_power.clone(), controller.link_rate.clone())
    };
    let policy = Some("med_power_with_dipm".to_owned());
    assert_eq!(told(sata), (DriveKind::Sata, policy, Some("6.0 Gbps".to_owned())));
    assert_eq!(told(sas), (DriveKind::Sas, None, Some("12.0 Gbit".to_owned())));
    assert_eq!((sas.hidden_by.clone(), sas.serial.clone()), (None, Err(Why::Absent)));
}

#[test]
fn what_is_stacked_and_mounted_is_found() {
    let mut root = MemoryRoot::new();
    let disk = add(&mut root, "pci0000:00/0000:00:1d.0/virtio1/block/vda");
    root.file(&format!("{disk}/dev"), "254:0\n")
        .file(&format!("{disk}/vda1/dev"), "254:1\n")
        .file(&format!("{disk}/vda2/dev"), "254:2\n")
        .symlink(&format!("{disk}/vda2/holders/dm-0"), "../../../../../virtual/block/dm-0");
    let dm = add(&mut root, "virtual/block/dm-0");
    root.file(&format!("{dm}/dm/name"), "vg-data\n")
        .file(&format!("{dm}/dm/uuid"), "LVM-abc\n")
        .file(&format!("{dm}/dev"), "253:0\n")
        .symlink(&format!("{dm}/slaves/vda2"), "../../vda2")
        .file(
            "/proc/self/mountinfo",
            "24 1 254:1 / /boot rw - ext4 /dev/vda1 rw\n25 1 253:0 / /data rw - xfs /dev/mapper/vg-data rw\n",
        );
    for name in ["loop0", "ram0", "zram0"] {
        add(&mut root, &format!("virtual/block/{name}"));
    }
    let (drives, volumes) = read_all(&root, &[function("00:1d.0", "virtio-pci", 0)]);
    let ([drive], [volume]) = (&drives[..], &volumes[..]) else { panic!("{drives:?} {volumes:?}") };
    assert_eq!((drive.kind, &*drive.controllers[0].name), (DriveKind::Virtio, "virtio1"));
    assert_eq!(
        (&drive.holders[..], &drive.mounts[..]),
        (&["dm-0".to_owned()][..], &["/boot".to_owned()][..])
    );
    assert_eq!((volume.kind, volume.label.as_deref()), (VolumeKind::Lvm, Some("vg-data")));
    assert_eq!(
        (&volume.mounts[..], &volume.members[..]),
        (&["/data".to_owned()][..], &["vda2".to_owned()][..])
    );
}

#[test]
fn disks_below_dm_multipath_are_one_drive() {
    let mut root = MemoryRoot::new();
    for (host, name) in [(1, "sda"), (2, "sdb")] {
        add(
            &mut root,
            &format!(
                "pci0000:17/0000:18:00.{host}/host{host}/rport-{host}:0-0/target{host}:0:0/{host}:0:0:0/block/{name}"
            ),
        );
        root.folder(&format!("/sys/devices/virtual/block/dm-0/slaves/{name}"));
    }
    let dm = add(&mut root, "virtual/block/dm-0");
    root.file(&format!("{dm}/dm/uuid"), "mpath-3600\n");
    let functions = [function("18:00.1", "lpfc", 0), function("18:00.2", "lpfc", 0)];
    let (drives, volumes) = read_all(&root, &functions);
    let [drive] = &drives[..] else { panic!("{drives:?}") };
    let hosts: Vec<&str> = drive.controllers.iter().map(|each| &*each.name).collect();
    assert_eq!((&*drive.name, hosts), ("sda", vec!["host1", "host2"]));
    assert_eq!(volumes[0].kind, VolumeKind::Multipath);
}

#[test]
fn names_sort_by_their_numbers() {
    let mut names = ["nvme10n1", "sda", "nvme2n1", "nvme2n10", "dm-3"];
    names.sort_by(|a, b| natural(a).cmp(&natural(b)));
    assert_eq!(names, ["dm-3", "nvme2n1", "nvme2n10", "nvme10n1", "sda"]);
}
