// SPDX-License-Identifier: MIT OR Apache-2.0
//! PCI devices: where they sit, and what they are.

use serde::Deserialize;
use units::CpuSet;

use super::Lanes;
use super::system::Ends;

/// Where a device sits and how it is linked.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Place {
    /// The node that it is wired to.
    pub node: u32,
    /// What `numa_node` says where that is not the truth: -1, or a wrong node.
    pub told: Option<i32>,
    /// The host bridge of that node, from 0; in turn where it is missing.
    pub root: Option<u32>,
    /// The switch it hangs from.
    pub switch: Option<String>,
    /// Whether it sits on the root bus itself, without port and link.
    pub on_root_bus: bool,
    /// The link now; what the weaker end can do where it is missing.
    pub link: Option<Lanes>,
    /// The best that the device can do.
    pub best: Option<Lanes>,
    /// The best that the port above can do; the device's where it is missing.
    pub port: Option<Lanes>,
    /// ASPM states on: `l0s`, `l1`, `l0s l1`; empty: none.
    pub aspm: String,
    /// Max payload size in use, bytes.
    pub mps: u16,
    /// Max read request size, bytes.
    pub mrrs: u16,
    /// Relaxed ordering off.
    pub strictly_ordered: bool,
    /// Extended tags off.
    pub short_tags: bool,
    /// ACS request redirect on in the port above.
    pub acs_redirect: bool,
    /// `power/control`.
    pub runtime_pm: String,
    /// Physical slot: a name in `/sys/bus/pci/slots`.
    pub slot: Option<String>,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            node: 0,
            told: None,
            root: None,
            switch: None,
            on_root_bus: false,
            link: None,
            best: None,
            port: None,
            aspm: String::new(),
            mps: 512,
            mrrs: 4096,
            strictly_ordered: false,
            short_tags: false,
            acs_redirect: false,
            runtime_pm: "on".to_owned(),
            slot: None,
        }
    }
}

impl Place {
    /// The link at both ends, `usual` where the description says nothing.
    pub(crate) fn ends(&self, usual: Lanes) -> Ends {
        let device = self.best.or(self.link).unwrap_or(usual);
        let port = self.port.unwrap_or(device);
        let weaker = Lanes {
            generation: device.generation.min(port.generation),
            width: device.width.min(port.width),
        };
        Ends { now: self.link.unwrap_or(weaker), device, port }
    }
}

/// A PCIe switch.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Switch {
    /// Its name, for `at.switch`.
    pub name: String,
    /// Where its upstream port sits.
    #[serde(default)]
    pub at: Place,
}

/// Knobs of a block device's queue.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", default)]
pub struct Queue {
    /// Chosen scheduler: `none`, `mq-deadline`.
    pub scheduler: String,
    /// `nomerges`.
    pub nomerges: u32,
    /// `rq_affinity`.
    pub rq_affinity: u32,
    /// `read_ahead_kb`.
    pub read_ahead_kb: u32,
    /// `nr_requests`.
    pub nr_requests: u32,
    /// `wbt_lat_usec`.
    pub wbt_lat_usec: u32,
    /// `write_cache`.
    pub write_cache: String,
    /// `rotational`.
    pub rotational: u32,
    /// `add_random`.
    pub add_random: u32,
    /// `iostats`.
    pub iostats: u32,
    /// `io_poll`.
    pub io_poll: u32,
    /// `logical_block_size` and `physical_block_size`.
    pub block_size: [u32; 2],
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            scheduler: "none".to_owned(),
            nomerges: 0,
            rq_affinity: 1,
            read_ahead_kb: 128,
            nr_requests: 1023,
            wbt_lat_usec: 2000,
            write_cache: "write through".to_owned(),
            rotational: 0,
            add_random: 0,
            iostats: 1,
            io_poll: 0,
            block_size: [512, 4096],
        }
    }
}

/// NVMe drives that are alike.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Nvme {
    /// How many.
    #[serde(default = "one")]
    pub count: u32,
    /// Model.
    pub model: String,
    /// Vendor and device id.
    #[serde(default = "micron")]
    pub id: [u16; 2],
    /// Text before the number in the serial.
    #[serde(default = "serial")]
    pub serial: String,
    /// Firmware revision.
    #[serde(default = "firmware")]
    pub firmware: String,
    /// Capacity, GB of 10^9 bytes.
    pub gb: u64,
    /// I/O queues.
    pub queues: u32,
    /// Autonomous power state transitions: `on`, `off`, or `none` where there are none.
    #[serde(default)]
    pub apst: IdlePower,
    /// Controllers of one namespace: 2 makes two paths, on the node and on the next one.
    #[serde(default = "one")]
    pub paths: u32,
    /// Temperature, millidegrees Celsius.
    #[serde(default = "cool")]
    pub temperature_mc: i64,
    /// Percentage used of the SMART log.
    #[serde(default)]
    pub used_percent: u8,
    /// Block queue.
    #[serde(default)]
    pub queue: Queue,
    /// Where they sit.
    #[serde(default)]
    pub at: Place,
}

/// Autonomous power state transitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdlePower {
    /// The drive has none.
    #[default]
    None,
    /// Supported, and off.
    Off,
    /// On.
    On,
}

/// A RAID controller and the drives that it shows as SCSI disks.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Raid {
    /// `megaraid_sas`, `mpi3mr`, `smartpqi`, `mpt3sas`.
    pub driver: String,
    /// Vendor and device id.
    pub id: [u16; 2],
    /// Drives.
    pub drives: u32,
    /// SCSI vendor, 8 characters at most.
    pub vendor: String,
    /// SCSI model, 16 characters at most.
    pub model: String,
    /// Capacity of a drive, GB.
    pub gb: u64,
    /// Reply queues.
    pub queues: u32,
    /// Block queue.
    #[serde(default)]
    pub queue: Queue,
    /// Where it sits.
    #[serde(default)]
    pub at: Place,
}

/// A SATA controller.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ahci {
    /// Ports.
    #[serde(default = "six")]
    pub ports: u32,
    /// Drives, on the first ports.
    pub drives: u32,
    /// Model.
    pub model: String,
    /// Capacity of a drive, GB.
    pub gb: u64,
    /// `link_power_management_policy`.
    #[serde(default = "full_power")]
    pub link_power: String,
    /// Block queue.
    #[serde(default)]
    pub queue: Queue,
    /// Where it sits.
    #[serde(default)]
    pub at: Place,
}

/// virtio-blk disks.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct VirtualDisk {
    /// How many.
    #[serde(default = "one")]
    pub count: u32,
    /// Capacity, GB.
    pub gb: u64,
    /// Queues.
    pub queues: u32,
    /// Block queue.
    #[serde(default)]
    pub queue: Queue,
    /// Where they sit.
    #[serde(default)]
    pub at: Place,
}

/// A network card.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Nic {
    /// Names of its ports' interfaces.
    pub names: Vec<String>,
    /// `mlx5_core`, `ice`, `i40e`, `bnxt_en`, `virtio_net`.
    pub driver: String,
    /// Vendor and device id.
    pub id: [u16; 2],
    /// Speed of a port, Mb/s.
    pub mbps: u32,
    /// Queues of a port.
    pub queues: u32,
    /// The most queues a port could have; `queues` where it is missing.
    #[serde(default)]
    pub max_queues: Option<u32>,
    /// MTU.
    #[serde(default = "ethernet")]
    pub mtu: u32,
    /// Whether the ports have no link.
    #[serde(default)]
    pub down: bool,
    /// CPUs for the interrupts, in turn; those of its node where it is empty.
    #[serde(default)]
    pub irq_cpus: CpuSet,
    /// How the interrupts use those CPUs.
    #[serde(default)]
    pub irq_spread: Spread,
    /// `rps_cpus` of every queue.
    #[serde(default)]
    pub rps: CpuSet,
    /// `rps_flow_cnt` of every queue.
    #[serde(default)]
    pub rps_flows: u32,
    /// `xps_cpus` of every queue is what its interrupt uses; else empty.
    #[serde(default = "yes")]
    pub xps: bool,
    /// How many queues further on the interrupt is that `xps_cpus` follows: 0 is a queue's own.
    #[serde(default)]
    pub xps_shift: u32,
    /// RDMA devices: name of the first; the others count up.
    #[serde(default)]
    pub rdma: Option<String>,
    /// Virtual functions now and at most.
    #[serde(default)]
    pub virtual_functions: [u32; 2],
    /// Rings now and at most.
    #[serde(default = "rings")]
    pub rings: [u32; 2],
    /// Weights of the receive queues in the table that spreads packets over them; all the same where
    /// it is empty.
    #[serde(default)]
    pub receive_weights: Vec<u32>,
    /// Adaptive coalescing.
    #[serde(default = "yes")]
    pub adaptive: bool,
    /// Where it sits.
    #[serde(default)]
    pub at: Place,
}

/// How interrupts use a set of CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// One CPU each, in turn.
    #[default]
    Single,
    /// All CPUs of the set each: what nobody has pinned.
    All,
}

/// GPUs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Gpu {
    /// How many.
    #[serde(default = "one")]
    pub count: u32,
    /// Vendor and device id.
    #[serde(default = "h100")]
    pub id: [u16; 2],
    /// `nvidia`, `amdgpu`, or empty.
    #[serde(default = "nvidia")]
    pub driver: String,
    /// Interrupts.
    #[serde(default = "six")]
    pub vectors: u32,
    /// Where they sit.
    #[serde(default)]
    pub at: Place,
}

/// Any other PCI functions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Device {
    /// How many.
    #[serde(default = "one")]
    pub count: u32,
    /// Class, subclass and interface: `0x020700`.
    pub class: u32,
    /// Vendor and device id.
    pub id: [u16; 2],
    /// Driver; empty: none.
    #[serde(default)]
    pub driver: String,
    /// Interrupts.
    #[serde(default)]
    pub vectors: u32,
    /// Where they sit.
    #[serde(default)]
    pub at: Place,
}

const fn one() -> u32 {
    1
}

const fn six() -> u32 {
    6
}

const fn yes() -> bool {
    true
}

const fn ethernet() -> u32 {
    1500
}

const fn cool() -> i64 {
    38_000
}

const fn rings() -> [u32; 2] {
    [1024, 8192]
}

const fn micron() -> [u16; 2] {
    [0x1344, 0x51c5]
}

const fn h100() -> [u16; 2] {
    [0x10de, 0x2330]
}

fn nvidia() -> String {
    "nvidia".to_owned()
}

fn serial() -> String {
    "SYN".to_owned()
}

fn firmware() -> String {
    "E2MU200".to_owned()
}

fn full_power() -> String {
    "max_performance".to_owned()
}
