// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drives, the controllers that reach them, and what is stacked on them.

use units::{Bytes, CpuSet, NodeId, PciAddress};

use crate::Fact;

/// A drive: one namespace, disk or LUN that a person would count.
#[derive(Debug, Clone, PartialEq)]
pub struct Drive {
    /// Block device name: `nvme0n1`, `sda`, `vda`.
    pub name: String,
    /// How it is attached.
    pub kind: DriveKind,
    /// Model.
    pub model: Fact<String>,
    /// Serial number; redacted in captures.
    pub serial: Fact<String>,
    /// World-wide id; redacted in captures.
    pub wwid: Fact<String>,
    /// Firmware revision.
    pub firmware: Fact<String>,
    /// Capacity.
    pub size: Fact<Bytes>,
    /// Paths to it: several with multipath.
    pub controllers: Vec<Controller>,
    /// Set when the drive sits behind a RAID or HBA controller that hides what it is.
    pub hidden_by: Option<HiddenBy>,
    /// Block-layer hardware queues: `/sys/block/X/mq`.
    pub queues: Vec<Queue>,
    /// `queue/rotational`.
    pub rotational: Fact<bool>,
    /// Logical and physical block size in bytes.
    pub logical_block: Fact<u32>,
    /// Physical block size in bytes.
    pub physical_block: Fact<u32>,
    /// Names of volumes and partitions' holders that use it: `md127`, `dm-0`.
    pub holders: Vec<String>,
    /// Where it is mounted (itself or a partition), by mount point.
    pub mounts: Vec<String>,
    /// Temperature in millidegrees Celsius, from hwmon or the SMART log.
    pub temperature_mc: Fact<i64>,
    /// NVMe percentage used (0 to 255), from the SMART log.
    pub percentage_used: Fact<u8>,
    /// NVMe autonomous power state transitions: `Ok(None)` not supported, else whether enabled.
    pub apst: Fact<Option<bool>>,
}

/// How a drive is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DriveKind {
    /// NVMe over PCI Express.
    Nvme,
    /// NVMe over fabrics (TCP, RDMA, FC, loop).
    NvmeFabrics,
    /// SATA.
    Sata,
    /// SAS.
    Sas,
    /// SCSI of another transport (iSCSI, FC, UAS, virtual).
    Scsi,
    /// virtio-blk.
    Virtio,
    /// A logical drive of a RAID controller.
    RaidVolume,
    /// MMC or SD.
    Mmc,
    /// Persistent memory.
    Pmem,
    /// Xen, Hyper-V, VMware or cloud paravirtual disk.
    Paravirtual,
    /// Anything else with a device behind it.
    Other,
}

/// A path to a drive.
#[derive(Debug, Clone, PartialEq)]
pub struct Controller {
    /// `nvme0`, `host2`, `virtio1`.
    pub name: String,
    /// The PCI function it is, where there is one.
    pub function: Option<PciAddress>,
    /// The node of that function (or of the fabric's interface).
    pub node: Option<NodeId>,
    /// Driver of the function: `nvme`, `ahci`, `megaraid_sas`.
    pub driver: Option<String>,
    /// I/O queues: NVMe `queue_count` less the admin queue; `mq` entries otherwise.
    pub queues: u32,
    /// `pcie`, `tcp`, `rdma`, `fc`, `loop`, `sata`, `sas`, `scsi`, `virtio`.
    pub transport: String,
    /// NVMe state: `live`, `connecting`; empty otherwise.
    pub state: String,
    /// Fabrics address; redacted in captures.
    pub address: Option<String>,
    /// SATA or SAS link power policy of the host: `med_power_with_dipm`.
    pub link_power: Option<String>,
    /// Link rate as the transport names it: `6.0 Gbit`.
    pub link_rate: Option<String>,
    /// ANA state of an NVMe path: `optimized`.
    pub ana_state: Option<String>,
}

/// A controller that shows drives as something else than they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenBy {
    /// `megaraid_sas`, `mpi3mr`, `smartpqi`, `mpt3sas`, `hpsa`, `aacraid`, or `vmd`.
    pub driver: String,
    /// Its PCI function.
    pub function: PciAddress,
    /// What is likely behind, in words: `NVMe drive shown as SCSI disk`.
    pub likely: String,
}

/// A hardware queue of a block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// Number in `mq/`.
    pub number: u32,
    /// `cpu_list`: the CPUs that submit to it. May be empty (isolated CPUs).
    pub cpus: CpuSet,
}

/// A device made of others.
#[derive(Debug, Clone, PartialEq)]
pub struct Volume {
    /// `md127`, `dm-0`.
    pub name: String,
    /// Person's name: `/dev/md/data`, `vg-lv`.
    pub label: Option<String>,
    /// What makes it.
    pub kind: VolumeKind,
    /// md level (`raid0`) or dm target type where told.
    pub level: Option<String>,
    /// Members: names of drives, partitions or volumes.
    pub members: Vec<String>,
    /// Capacity.
    pub size: Fact<Bytes>,
    /// Where it is mounted.
    pub mounts: Vec<String>,
}

/// What makes a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeKind {
    /// Linux md.
    Md,
    /// LVM logical volume.
    Lvm,
    /// dm-crypt.
    Crypt,
    /// dm-multipath.
    Multipath,
    /// Another device-mapper target.
    Dm,
    /// bcache.
    Bcache,
    /// Loop device with a backing file.
    Loop,
    /// Other.
    Other,
}
