// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a value is written, and which device it belongs to.

use serde::{Deserialize, Serialize};
use units::PciAddress;

/// A device as it is found again when its name or number has changed: after a reset, a driver
/// reload, a hot-plug, or in another order at the next boot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Device {
    /// What it was called when the change was planned: `nvme0n1`, `eth0`, `0000:3e:00.0`,
    /// `cpu 5`, `host2`.
    pub name: String,
    /// What it is.
    pub kind: DeviceKind,
    /// Its PCI function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<PciAddress>,
    /// What no other device of its kind has: a drive's world-wide name or serial, a NIC's permanent
    /// address. None where the kernel tells none; its function must do then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Which of the devices of its function it is: `p0` or `0` of a port (`phys_port_name`,
    /// `dev_port`), `2:0:1:0` of a SCSI disk, `1` of an NVMe namespace; of a network
    /// device without a function and an address of its own, its number in which boot
    /// (`ifindex 7 of boot ...`). None where that is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
}

/// What a device is, and so where it is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A CPU; its number is what it is.
    Cpu,
    /// A NUMA node; its number is what it is.
    Node,
    /// A PCI function; its address is what it is.
    Function,
    /// A block device, by serial and function.
    Drive,
    /// A network device, by permanent address and function.
    Nic,
    /// A SATA or SAS host, by function; where each port of a function is a host, by its port there.
    ScsiHost,
}

/// Where a value is written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", tag = "kind")]
pub enum Place {
    /// A file of the kernel. `{device}` stands for the device's name as it is now, for the number
    /// alone where it is a CPU or a node, and one `*` for file or folder names that are looked up
    /// when the change is made.
    File {
        /// `/sys/block/{device}/queue/scheduler`.
        path: String,
    },
    /// The CPUs of an interrupt, found by its device and queue: its number changes when channels
    /// do. The value is a CPU list, `smp_affinity_list`.
    Interrupt {
        /// Queue as the driver numbers it; none for admin, config and event vectors.
        queue: Option<u32>,
        /// Which of the vectors without a queue, in the order of their numbers, or of those that
        /// share one.
        ordinal: u32,
    },
    /// What ethtool sets of a NIC. Only the words named in a value are set and compared.
    Ethtool {
        /// Which value.
        what: Ethtool,
    },
    /// The largest read request of a PCI function (PCI Express Device Control bits 14:12). Bytes.
    MaxReadRequest,
    /// A bound on the latency of idle states for all CPUs, kept while a process holds
    /// `/dev/cpu_dma_latency` open. Microseconds.
    IdleLatency,
    /// Whether a service runs: `running` or `stopped`.
    Service {
        /// Its systemd unit.
        unit: String,
    },
    /// Interrupts that irqbalance leaves alone, in the distribution's own file. Numbers with spaces
    /// between them; a PCI function among them stands for the numbers that its queues have then.
    BannedInterrupts,
}

/// What ethtool sets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ethtool {
    /// `ethtool -L`: queues. `combined=8`, or `rx=8 tx=8`.
    Channels,
    /// `ethtool -G`: descriptors. `rx=1024 tx=1024`.
    Rings,
    /// `ethtool -C`: interrupt moderation. `adaptive-rx=off rx-usecs=80`.
    Coalescing,
    /// `ethtool -K`: features. `gro=on lro=off`.
    Features,
    /// `ethtool -A`: pause frames. `autoneg=off rx=on tx=on`.
    Pause,
    /// `ethtool -X`: queues that receive-side scaling spreads over, evenly. A number.
    ReceiveSpread,
}

/// The files that zero each other (mm/page-writeback.c): restored by writing the one that counts.
pub fn counterpart(path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/')?;
    let other = match name {
        "dirty_bytes" => "dirty_ratio",
        "dirty_ratio" => "dirty_bytes",
        "dirty_background_bytes" => "dirty_background_ratio",
        "dirty_background_ratio" => "dirty_background_bytes",
        _ => return None,
    };
    (folder == "/proc/sys/vm").then(|| format!("{folder}/{other}"))
}

impl Place {
    /// Whether it is a register that a kernel started by another one (kexec) may find as it was left:
    /// the largest read request, and the MSRs of energy bias and uncore.
    pub fn outlives_kexec(&self) -> bool {
        let is_register = |path: &str| {
            path.contains("energy_perf_bias") || path.contains("/intel_uncore_frequency/")
        };
        match self {
            Self::MaxReadRequest => true,
            Self::File { path } => is_register(path),
            _ => false,
        }
    }

    /// Whether what is written outlives a reboot. Only then is it undone after one.
    pub fn outlives_boot(&self) -> bool {
        matches!(self, Self::BannedInterrupts)
    }
}
