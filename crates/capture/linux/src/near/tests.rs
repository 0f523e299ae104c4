// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ways from names to devices on trees in memory.

use machine::{Lost, NodeFrom, Site};
use proptest::prelude::*;
use root::MemoryRoot;

use super::*;

/// Two nodes, and a function on each: 0000:17:00.0 on node 0, 0000:98:00.0 on node 1.
fn two_nodes() -> MemoryRoot {
    let mut root = MemoryRoot::new();
    root.file("/sys/devices/system/cpu/online", "0-7\n")
        .file("/sys/devices/system/node/online", "0-1\n")
        .file("/proc/self/status", "Mems_allowed_list:\t0-1\n");
    for (node, cpus, bus) in [(0, "0-3", "17"), (1, "4-7", "98")] {
        let folder = format!("/sys/devices/system/node/node{node}");
        root.file(&format!("{folder}/cpulist"), cpus)
            .file(&format!("{folder}/meminfo"), format!("Node {node} MemTotal: 64 kB\n"));
        let function = format!("/sys/devices/pci0000:{bus}/0000:{bus}:00.0");
        root.file(&format!("{function}/numa_node"), node.to_string())
            .file(&format!("{function}/local_cpulist"), cpus)
            .symlink(
                &format!("/sys/bus/pci/devices/0000:{bus}:00.0"),
                &format!("../../../devices/pci0000:{bus}/0000:{bus}:00.0"),
            );
    }
    root
}

/// A block device below the function of a bus.
fn disk(root: &mut MemoryRoot, name: &str, bus: &str) {
    let number = if name == "sda" { "8:0" } else { "8:16" };
    let path = format!("devices/pci0000:{bus}/0000:{bus}:00.0/ata1/host1/block/{name}");
    root.file(&format!("/sys/{path}/dev"), number)
        .symlink(&format!("/sys/class/block/{name}"), &format!("../../{path}"));
}

/// A volume over others.
fn volume(root: &mut MemoryRoot, name: &str, members: &[&str]) {
    let path = format!("devices/virtual/block/{name}");
    root.folder(&format!("/sys/{path}"))
        .symlink(&format!("/sys/class/block/{name}"), &format!("../../{path}"));
    for member in members {
        root.folder(&format!("/sys/{path}/slaves/{member}"));
    }
}

fn nic(root: &mut MemoryRoot, name: &str, bus: &str) {
    let path = format!("devices/pci0000:{bus}/0000:{bus}:00.0/net/{name}");
    root.folder(&format!("/sys/{path}"))
        .symlink(&format!("/sys/class/net/{name}"), &format!("../../{path}"));
}

fn named(root: &MemoryRoot, name: &str) -> Result<Site, Lost> {
    site(root, Addresses::Kept, &[Asked::Name(name.to_owned())], &[])
}

fn path(root: &MemoryRoot, path: &str) -> Result<Site, Lost> {
    let (name, path) = (path.to_owned(), path.to_owned());
    site(root, Addresses::Kept, &[Asked::Path { name, path, number: None, mount: None }], &[])
}

/// `sda 0, sdb 1`: devices with their nodes.
fn found(site: Result<Site, Lost>) -> String {
    let site = match site {
        Ok(site) => site,
        Err(lost) => return lost.to_string(),
    };
    let end = |end: &End| {
        let node = end.node.map_or("?".to_owned(), |node| node.to_string());
        let doubt = if end.doubt.is_some() { " likely" } else { "" };
        format!("{} {node}{doubt}", end.device)
    };
    let ends = site.targets.iter().flat_map(|target| &target.ends).map(end);
    ends.collect::<Vec<_>>().join(", ")
}

fn mounted(root: &mut MemoryRoot, lines: &str) {
    root.file("/proc/self/mountinfo", lines);
}

#[test]
fn volumes_come_down_to_all_their_drives() {
    let mut root = two_nodes();
    disk(&mut root, "sda", "17");
    disk(&mut root, "sdb", "98");
    root.folder("/sys/devices/pci0000:98/0000:98:00.0/ata1/host1/block/sdb/sdb1");
    volume(&mut root, "md0", &["sda", "sdb1"]);
    volume(&mut root, "dm-0", &["md0"]);
    root.file("/sys/devices/virtual/block/dm-0/dm/name", "vg--a-data\n");
    for name in ["md0", "dm-0", "vg--a-data", "/dev/vg-a/data", "/dev/mapper/vg--a-data"] {
        assert_eq!(found(named(&root, name)), "sda 0, sdb 1", "{name}");
    }
    assert_eq!(found(named(&root, "sdb1")), "sdb 1");
    let site = named(&root, "dm-0").unwrap();
    assert_eq!(site.targets[0].way, ["dm-0 (vg--a-data) lies over md0", "md0 lies over sda, sdb1"]);
}

#[test]
fn stacks_without_a_drive_say_why() {
    let mut root = two_nodes();
    volume(&mut root, "zram0", &[]);
    volume(&mut root, "nbd0", &[]);
    volume(&mut root, "dm-1", &["dm-2"]);
    volume(&mut root, "dm-2", &["dm-1"]);
    assert!(found(named(&root, "zram0")).ends_with("zram0 is kept in memory"));
    assert!(found(named(&root, "nbd0")).ends_with("served by a process over a socket"));
    assert!(found(named(&root, "dm-1")).ends_with("dm-2 lies over dm-1; the way to it ends"));
    assert_eq!(found(named(&root, "sdx")), "this machine has no device called \"sdx\"");
    for name in ["", ".", "..", "a/../b", "/dev/"] {
        assert!(named(&root, name).is_err(), "{name}");
    }
}

#[test]
fn a_stack_without_end_ends() {
    let mut root = two_nodes();
    for number in 0..5_000 {
        let below = format!("dm-{}", number + 1);
        volume(&mut root, &format!("dm-{number}"), &[&below]);
    }
    assert!(found(named(&root, "dm-0")).contains("more layers lie below it"));
}

#[test]
fn multipath_has_an_end_for_each_path() {
    let mut root = two_nodes();
    let subsystem = "devices/virtual/nvme-subsystem/nvme-subsys0";
    root.folder(&format!("/sys/{subsystem}/nvme0n1"))
        .symlink("/sys/class/block/nvme0n1", &format!("../../{subsystem}/nvme0n1"));
    for (controller, bus) in [("nvme0", "17"), ("nvme1", "98")] {
        let path = format!("/sys/devices/pci0000:{bus}/0000:{bus}:00.0/nvme/{controller}");
        root.folder(&path).symlink(
            &format!("/sys/{subsystem}/{controller}"),
            &format!("../../../pci0000:{bus}/0000:{bus}:00.0/nvme/{controller}"),
        );
    }
    assert_eq!(found(named(&root, "nvme0n1")), "nvme0n1 by nvme0 0, nvme0n1 by nvme1 1");
}

/// A drive over fabrics whose controller has an address.
fn fabrics(transport: &str, address: &str) -> MemoryRoot {
    let mut root = two_nodes();
    nic(&mut root, "eth0", "17");
    nic(&mut root, "eth20", "98");
    root.folder("/sys/devices/virtual/net/bond0/lower_eth20")
        .symlink("/sys/class/net/bond0", "../../devices/virtual/net/bond0")
        .file(
            "/proc/net/route",
            "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n\
             eth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\n\
             bond0\t0014A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\n",
        );
    let controller = "devices/virtual/nvme-fabrics/ctl/nvme3";
    root.file(&format!("/sys/{controller}/transport"), transport)
        .file(&format!("/sys/{controller}/address"), address)
        .folder(&format!("/sys/{controller}/nvme3n1"))
        .symlink("/sys/class/block/nvme3n1", &format!("../../{controller}/nvme3n1"))
        .folder("/sys/devices/pci0000:98/0000:98:00.0/host7/fc_host/host7")
        .symlink(
            "/sys/class/fc_host/host7",
            "../../devices/pci0000:98/0000:98:00.0/host7/fc_host/host7",
        )
        .file(
            "/sys/devices/pci0000:98/0000:98:00.0/host7/fc_host/host7/port_name",
            "0x10000090fa942779\n",
        );
    root
}

#[test]
fn a_drive_over_fabrics_is_near_the_nic_that_carries_it() {
    let host = "host_traddr=nn-0x20000090fa942779:pn-0x10000090fa942779";
    for (transport, address, wanted) in [
        ("tcp", "traddr=192.168.20.2,trsvcid=4420,host_iface=eth0", "eth0 0"),
        ("tcp", "traddr=192.168.20.2,trsvcid=4420", "eth20 1 likely"),
        ("rdma", "traddr=10.0.0.9,trsvcid=4420", "eth0 0 likely"),
        ("fc", host, "host7 1"),
    ] {
        assert_eq!(found(named(&fabrics(transport, address), "nvme3n1")), wanted, "{address}");
    }
    for (transport, address, why) in [
        ("loop", "", "served by this kernel itself"),
        ("tcp", "traddr=127.0.0.1", "127.0.0.1 is this machine itself"),
        ("tcp", "traddr=target.example", "no address that a route could be told of"),
        ("rdma", "traddr=fd00::1", "no route to fd00::1 is known"),
        ("tcp", "host_iface=eth9", "no interface called eth9"),
        ("fc", "traddr=x", "does not tell from where"),
    ] {
        let text = found(named(&fabrics(transport, address), "nvme3n1"));
        assert!(text.contains(why), "{transport} {address}: {text}");
    }
}

#[test]
fn iscsi_is_near_the_nic_that_carries_it() {
    let mut root = fabrics("loop", "");
    let session = "devices/platform/host3/session1";
    root.folder(&format!("/sys/{session}/target3:0:0/3:0:0:0/block/sdc"))
        .symlink("/sys/class/block/sdc", &format!("../../{session}/target3:0:0/3:0:0:0/block/sdc"))
        .file(
            &format!("/sys/{session}/connection1:0/iscsi_connection/connection1:0/address"),
            "192.168.20.9\n",
        );
    assert_eq!(found(named(&root, "sdc")), "eth20 1 likely");
    let asked = [Asked::Name("sdc".to_owned())];
    let redacted = found(site(&root, Addresses::Redacted, &asked, &[]));
    assert!(redacted.ends_with("no route can be told from them"), "{redacted}");
}

#[test]
fn paths_are_near_the_drives_below_their_file_system() {
    let mut root = two_nodes();
    nic(&mut root, "eth20", "98");
    disk(&mut root, "sda", "17");
    disk(&mut root, "sdb", "98");
    volume(&mut root, "loop0", &[]);
    let sda = "../../devices/pci0000:17/0000:17:00.0/ata1/host1/block/sda";
    root.symlink("/sys/dev/block/8:0", sda)
        .file("/sys/devices/virtual/block/loop0/loop/backing_file", "/big/image\n")
        .symlink("/sys/dev/block/7:0", "../../devices/virtual/block/loop0")
        .folder("/sys/fs/btrfs/1c2d/devices/sda")
        .folder("/sys/fs/btrfs/1c2d/devices/sdb")
        .folder("/sys/fs/btrfs/features")
        .file(
            "/proc/net/route",
            "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n\
             eth20\t0014A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\n",
        );
    mounted(
        &mut root,
        "22 1 8:0 / / rw shared:1 - ext4 /dev/sda rw\n\
         23 22 8:16 / /big rw shared:2 - xfs /dev/sdb rw\n\
         24 22 0:40 /@ /pool rw - btrfs /dev/sda rw,subvol=/@\n\
         25 22 0:41 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/big/u\\040p,workdir=/w\n\
         26 22 0:42 / /run rw - tmpfs tmpfs rw\n\
         27 22 0:43 / /home rw - nfs4 srv:/home rw,vers=4.2,addr=192.168.20.4\n\
         28 22 7:0 / /image rw - ext4 /dev/loop0 rw\n\
         29 22 0:44 / /tank rw - zfs tank/x rw\n\
         30 22 8:0 /srv /big/bound rw - ext4 /dev/sda rw\n\
         31 22 0:45 / /two rw - bcachefs /dev/sda:/dev/sdb rw\n\
         32 22 0:46 / /lost rw - overlay overlay rw,lowerdir=/l,upperdir=/lost/u,workdir=/w\n",
    );
    for (asked, wanted) in [
        ("/", "sda 0"),
        ("/bigger/x", "sda 0"),
        ("/big/x", "sdb 1"),
        ("/big/bound/x", "sda 0"),
        ("/pool/a", "sda 0, sdb 1"),
        ("/merged/a", "sdb 1"),
        ("/home/me", "eth20 1 likely"),
        ("/image", "sdb 1"),
        ("/two", "sda 0, sdb 1"),
    ] {
        assert_eq!(found(path(&root, asked)), wanted, "{asked}");
    }
    for (asked, why) in [
        ("/run/x", "tmpfs is kept in memory"),
        ("/tank", "`zpool status` does"),
        ("/lost", "outside of this container"),
    ] {
        let text = found(path(&root, asked));
        assert!(text.contains(why), "{asked}: {text}");
    }
}

#[test]
fn the_file_systems_own_word_comes_before_the_table() {
    let mut root = two_nodes();
    disk(&mut root, "sda", "17");
    disk(&mut root, "sdb", "98");
    mounted(
        &mut root,
        "23 1 8:0 / / rw - ext4 /dev/sda rw\n24 23 0:40 / /a rw - btrfs /dev/sda rw\n\
         25 23 0:41 / /a rw - btrfs /dev/sdb rw\n",
    );
    let asked = |number: &str, mount| Asked::Path {
        name: "/a".to_owned(),
        path: "/a".to_owned(),
        number: Some(number.to_owned()),
        mount,
    };
    let found = |number, mount| found(site(&root, Addresses::Kept, &[asked(number, mount)], &[]));
    assert_eq!(found("8:16", None), "sdb 1");
    // A number of no device: the mount tells, and without its id the last one of that place.
    assert_eq!(found("0:99", Some(24)), "sda 0");
    assert_eq!(found("0:99", None), "sdb 1");
}

#[test]
fn memory_has_the_node_of_its_region() {
    let mut root = two_nodes();
    let path = "devices/LNXSYSTM:00/ndbus0/region1/pfn1.0/block/pmem1";
    root.folder(&format!("/sys/{path}"))
        .symlink("/sys/class/block/pmem1", &format!("../../{path}"))
        .file("/sys/devices/LNXSYSTM:00/ndbus0/region1/numa_node", "1\n");
    let site = named(&root, "pmem1").unwrap();
    assert_eq!(site.targets[0].ends[0].node_from, NodeFrom::Parent);
    assert_eq!(found(Ok(site)), "pmem1 1");
}

#[test]
fn nodes_of_memory_are_those_that_the_process_may_use() {
    assert_eq!(memory_of_status("Mems_allowed_list:\t0-1\n"), CpuSet::from_list("0-1").ok());
    assert_eq!(memory_of_status("Mems_allowed:\t3\n"), None);
    let mut root = two_nodes();
    root.file("/proc/self/status", "Name:\tcat\n")
        .file("/proc/self/cgroup", "0::/job\n")
        .file("/proc/self/mountinfo", "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
        .file("/sys/fs/cgroup/job/cpuset.mems.effective", "1\n");
    let site = site(&root, Addresses::Kept, &[], &[]).unwrap();
    assert_eq!(site.memory_allowed, CpuSet::from_list("1").map_err(|_| machine::Why::Absent));
}

proptest! {
    #[test]
    fn any_table_of_mounts_is_taken(
        lines in "([0-9]{1,3} |/[a-z]{0,3} |- |(0|8):[0-9] |overlay |btrfs |nfs4 |upperdir=/[a-z]{0,2},|addr=|\n){0,60}",
        asked in "/[a-z/]{0,6}",
    ) {
        let mut root = two_nodes();
        disk(&mut root, "sda", "17");
        mounted(&mut root, &lines);
        let _ = path(&root, &asked);
        for line in lines.lines() {
            let _ = (mount::parse_mountinfo(line), mount::parse_mounts(line));
        }
    }

    #[test]
    fn any_name_is_a_device_or_none(name in "(dev|dm-[0-9]|nvme[0-9n]{0,3}|[./:0-9a-f]|\\PC){0,6}") {
        let root = fabrics("tcp", "traddr=192.168.20.2");
        let _ = named(&root, &name);
    }
}
