// SPDX-License-Identifier: MIT OR Apache-2.0
//! Block devices: the folder that all kinds share, md and device-mapper on top, and mounts.

use std::fmt::Write;

use units::CpuSet;

use crate::build::Build;
use crate::text::choice;
use crate::{Dm, Md, Queue, Tree};

/// A block device that was written.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    pub(crate) name: String,
    /// Its folder below /sys/devices.
    pub(crate) path: String,
    /// Size in sectors of 512 bytes.
    pub(crate) sectors: u64,
    /// `259:0`.
    pub(crate) number: String,
}

/// Sectors of 512 bytes in a capacity of GB.
pub(crate) const fn sectors(gb: u64) -> u64 {
    gb.saturating_mul(1_000_000_000) / 512
}

/// Writes a disk: its folder, its queue, and the links in /sys/block and /sys/class/block.
pub(crate) fn write_disk(build: &mut Build<'_>, disk: Disk, queue: &Queue, queues: &[CpuSet]) {
    let tree = &mut build.tree;
    let path = &disk.path;
    tree.lines(
        path,
        [
            ("size", disk.sectors.to_string()),
            ("dev", disk.number.clone()),
            ("ro", "0".to_owned()),
            ("removable", "0".to_owned()),
            ("hidden", "0".to_owned()),
            ("range", "0".to_owned()),
            ("ext_range", "256".to_owned()),
            ("alignment_offset", "0".to_owned()),
            ("diskseq", "1".to_owned()),
        ],
    );
    let uevent = uevent(&disk);
    tree.text(format!("{path}/uevent"), uevent);
    let stat = "     482        0    16210      120       12        0       96        4        0      \
                 110      124        0        0        0        0        0        0\n";
    tree.text(format!("{path}/stat"), stat);
    tree.text(format!("{path}/inflight"), "       0        0\n");
    tree.folder(format!("{path}/holders"));
    tree.folder(format!("{path}/slaves"));
    tree.link(format!("{path}/subsystem"), "/sys/class/block");
    tree.link(format!("/sys/block/{}", disk.name), path);
    tree.link(format!("/sys/class/block/{}", disk.name), path);
    tree.link(format!("/sys/dev/block/{}", disk.number), path);
    write_queue(tree, &format!("{path}/queue"), queue);
    write_hardware_queues(tree, path, queue, queues);
    build.disks.push(disk);
}

fn uevent(disk: &Disk) -> String {
    let (major, minor) = disk.number.split_once(':').unwrap_or_default();
    format!("MAJOR={major}\nMINOR={minor}\nDEVNAME={}\nDEVTYPE=disk\nDISKSEQ=1\n", disk.name)
}

fn write_queue(tree: &mut Tree, folder: &str, queue: &Queue) {
    let [logical, physical] = queue.block_size;
    tree.lines(
        folder,
        [
            ("nomerges", queue.nomerges.to_string()),
            ("rq_affinity", queue.rq_affinity.to_string()),
            ("read_ahead_kb", queue.read_ahead_kb.to_string()),
            ("nr_requests", queue.nr_requests.to_string()),
            ("wbt_lat_usec", queue.wbt_lat_usec.to_string()),
            ("write_cache", queue.write_cache.clone()),
            ("rotational", queue.rotational.to_string()),
            ("add_random", queue.add_random.to_string()),
            ("iostats", queue.iostats.to_string()),
            ("io_poll", queue.io_poll.to_string()),
            ("logical_block_size", logical.to_string()),
            ("physical_block_size", physical.to_string()),
            ("hw_sector_size", logical.to_string()),
            ("minimum_io_size", physical.to_string()),
            ("optimal_io_size", "0".to_owned()),
            ("max_sectors_kb", "128".to_owned()),
            ("max_hw_sectors_kb", "128".to_owned()),
            ("fua", "0".to_owned()),
            ("zoned", "none".to_owned()),
        ],
    );
    // A blank stands after the last scheduler since 6.?; both shapes are in the field.
    let schedulers = choice(&["none", "mq-deadline", "kyber", "bfq"], &queue.scheduler);
    tree.line(format!("{folder}/scheduler"), schedulers);
}

/// `mq/N/cpu_list`: `0, 1, 2, 3`.
fn write_hardware_queues(tree: &mut Tree, path: &str, queue: &Queue, queues: &[CpuSet]) {
    for (index, cpus) in queues.iter().enumerate() {
        let folder = format!("{path}/mq/{index}");
        let list: Vec<String> = cpus.iter().map(|cpu| cpu.0.to_string()).collect();
        tree.line(format!("{folder}/cpu_list"), list.join(", "));
        tree.line(format!("{folder}/nr_tags"), queue.nr_requests);
        tree.line(format!("{folder}/nr_reserved_tags"), 0);
    }
}

/// md arrays and device-mapper volumes, then what is mounted.
pub(crate) fn write_volumes(build: &mut Build<'_>) {
    let description = build.description;
    let mut mdstat =
        "Personalities : [raid0] [raid1] [raid6] [raid5] [raid4] [raid10] \n".to_owned();
    for (index, md) in description.md.iter().enumerate() {
        write_md(build, index, md);
        let members: Vec<String> =
            (0..).zip(&md.members).map(|(slot, name)| format!("{name}[{slot}]")).collect();
        let size = build.disks.last().map_or(0, |disk| disk.sectors / 2);
        let _ = writeln!(mdstat, "{} : active {} {}", md.name, md.level, members.join(" "));
        let _ = writeln!(mdstat, "      {size} blocks super 1.2 512k chunks\n      ");
    }
    mdstat.push_str("unused devices: <none>\n");
    build.tree.text("/proc/mdstat", mdstat);
    for (index, dm) in description.dm.iter().enumerate() {
        write_dm(build, index, dm);
    }
    write_mounts(build);
    write_partitions(build);
}

fn write_md(build: &mut Build<'_>, index: usize, md: &Md) {
    let sectors = stack(build, &md.name, &md.members);
    let path = format!("/sys/devices/virtual/block/{}", md.name);
    let disks = md.members.len();
    let level = md.level.clone();
    build.tree.lines(
        &format!("{path}/md"),
        [
            ("level", level),
            ("raid_disks", disks.to_string()),
            ("array_state", "clean".to_owned()),
            ("chunk_size", "524288".to_owned()),
            ("metadata_version", "1.2".to_owned()),
            ("degraded", "0".to_owned()),
        ],
    );
    for (slot, member) in md.members.iter().enumerate() {
        let folder = format!("{path}/md/dev-{member}");
        build.tree.lines(&folder, [("slot", slot.to_string()), ("state", "in_sync".to_owned())]);
    }
    let number = format!("9:{}", 127_usize.saturating_sub(index));
    let disk = Disk { name: md.name.clone(), path, sectors, number };
    write_disk(build, disk, &Queue::default(), &[]);
}

fn write_dm(build: &mut Build<'_>, index: usize, dm: &Dm) {
    let sectors = stack(build, &dm.name, &dm.members);
    let path = format!("/sys/devices/virtual/block/{}", dm.name);
    build.tree.lines(
        &format!("{path}/dm"),
        [("name", dm.label.clone()), ("uuid", dm.uuid.clone()), ("suspended", "0".to_owned())],
    );
    let disk = Disk { name: dm.name.clone(), path, sectors, number: format!("253:{index}") };
    write_disk(build, disk, &Queue::default(), &[]);
}

/// Links a volume and its members both ways; the sum of their sizes.
fn stack(build: &mut Build<'_>, name: &str, members: &[String]) -> u64 {
    let volume = format!("/sys/devices/virtual/block/{name}");
    let below: Vec<Disk> =
        build.disks.iter().filter(|disk| members.contains(&disk.name)).cloned().collect();
    for disk in &below {
        build.tree.link(format!("{}/holders/{name}", disk.path), &volume);
        build.tree.link(format!("{volume}/slaves/{}", disk.name), &disk.path);
    }
    below.iter().map(|disk| disk.sectors).sum()
}

/// `36 1 259:1 / /data rw,relatime shared:20 - xfs /dev/nvme0n1 rw,attr2`.
fn write_mounts(build: &mut Build<'_>) {
    let mut info = "1 0 0:2 / / rw - rootfs rootfs rw\n".to_owned();
    let mut mounts = "rootfs / rootfs rw 0 0\n".to_owned();
    for (id, (name, point)) in (36..).zip(&build.description.mount) {
        let number = build.disks.iter().find(|disk| disk.name == *name).map(|disk| &disk.number);
        let number = number.map_or("0:99", String::as_str);
        let _ = writeln!(
            info,
            "{id} 1 {number} / {point} rw,relatime shared:{id} - xfs /dev/{name} rw,attr2"
        );
        let _ = writeln!(mounts, "/dev/{name} {point} xfs rw,relatime,attr2 0 0");
    }
    build.tree.text("/proc/self/mountinfo", info);
    build.tree.text("/proc/self/mounts", mounts.clone());
    build.tree.text("/proc/mounts", mounts);
}

fn write_partitions(build: &mut Build<'_>) {
    let mut text = "major minor  #blocks  name\n\n".to_owned();
    for disk in &build.disks {
        let (major, minor) = disk.number.split_once(':').unwrap_or_default();
        let _ = writeln!(text, "{major:>4} {minor:>8} {:>10} {}", disk.sectors / 2, disk.name);
    }
    build.tree.text("/proc/partitions", text);
}
