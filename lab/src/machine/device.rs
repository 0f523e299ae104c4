// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drives, NICs and GPUs: groups in the file, devices one by one afterwards.

use std::fmt;

use serde::Deserialize;

/// Drives that differ in their ids only.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// Their ids, which are also their serial numbers in capitals.
    pub ids: Vec<String>,
    /// The node that they hang from.
    pub node: u16,
    /// Which of the node's root complexes, from 0.
    #[serde(default)]
    pub complex: u8,
    /// How they are attached.
    #[serde(default)]
    pub bus: DriveBus,
    /// I/O queues of an NVMe controller.
    #[serde(default = "queues")]
    pub queues: u16,
    /// Capacity in MiB.
    #[serde(default = "capacity")]
    pub capacity_mib: u64,
    /// Where the blocks are.
    #[serde(default)]
    pub backing: Backing,
    /// Time that each request takes where nothing is kept, in microseconds.
    #[serde(default)]
    pub latency_us: u32,
    /// The throttle: requests a second, reads and writes together.
    pub iops: Option<u32>,
    /// The model in Identify Controller, up to 40 characters.
    pub model: Option<String>,
    /// The firmware revision in Identify Controller, up to 8 characters.
    pub revision: Option<String>,
    /// The best that slot and drive can do; QEMU's own 2.5x1 where absent.
    pub link: Option<Link>,
    /// Whether it can be pulled while the guest runs.
    #[serde(default)]
    pub removable: bool,
}

/// How a drive is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DriveBus {
    /// A controller and a namespace.
    #[default]
    Nvme,
    /// A disk on an AHCI controller of its own.
    Sata,
}

/// Where a drive's blocks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backing {
    /// In a file that outlives the guest.
    #[default]
    File,
    /// Nowhere: writes are forgotten, reads give zeroes, any capacity costs nothing.
    Nothing,
}

/// Network interfaces that differ in their ids only.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// Their ids.
    pub ids: Vec<String>,
    /// The node that they hang from.
    pub node: u16,
    /// Which of the node's root complexes, from 0.
    #[serde(default)]
    pub complex: u8,
    /// The device that is emulated.
    pub model: NicModel,
    /// Queue pairs; more than one takes a `tap` with virtio.
    #[serde(default = "queue")]
    pub queues: u16,
    /// What is at the other end.
    #[serde(default)]
    pub wiring: Wiring,
    /// The best that slot and card can do; QEMU's own 2.5x1 where absent.
    pub link: Option<Link>,
}

/// The NIC that is emulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NicModel {
    /// virtio-net: queues can be changed with `ethtool -L`.
    Virtio,
    /// VMware's: a queue a CPU, up to eight.
    Vmxnet3,
    /// Intel's 82574: one queue, three vectors.
    E1000e,
}

/// What a NIC is joined to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wiring {
    /// A network of its own with nobody on it.
    #[default]
    Alone,
    /// A tap of the host, down; takes root.
    Tap,
    /// A [`crate::Wire`] to another guest.
    Wire,
}

/// Functions that look like GPUs: ids and class, no driver.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Their ids.
    pub ids: Vec<String>,
    /// The node that they hang from.
    pub node: u16,
    /// Which of the node's root complexes, from 0.
    #[serde(default)]
    pub complex: u8,
    /// PCI vendor, device, subsystem vendor and subsystem device.
    pub pci: [u16; 4],
    /// PCI class, subclass and programming interface, for example 0x030200.
    pub class: u32,
    /// The best that slot and card can do; QEMU's own 2.5x1 where absent.
    pub link: Option<Link>,
}

/// One device.
#[derive(Debug, Clone)]
pub struct Device {
    /// QEMU's id of it.
    pub id: String,
    /// The node that it hangs from.
    pub node: u16,
    /// Which of the node's root complexes.
    pub complex: u8,
    /// The best of its link; none where QEMU's registers are left alone.
    pub best_link: Option<Link>,
    /// What the link trained to.
    pub link: Option<Link>,
    /// What it is.
    pub kind: Kind,
}

/// What a device is.
#[derive(Debug, Clone)]
pub enum Kind {
    /// A drive.
    Drive(Drive),
    /// A network interface.
    Nic(Nic),
    /// A function that looks like a GPU.
    Gpu(Gpu),
}

macro_rules! devices {
    ($group:ident, $kind:ident) => {
        impl $group {
            pub(super) fn devices(&self) -> impl Iterator<Item = Device> + '_ {
                self.ids.iter().map(|id| Device {
                    id: id.clone(),
                    node: self.node,
                    complex: self.complex,
                    best_link: self.link,
                    link: None,
                    kind: Kind::$kind(self.clone()),
                })
            }
        }
    };
}

devices!(Drive, Drive);
devices!(Nic, Nic);
devices!(Gpu, Gpu);

impl Device {
    /// The drive's serial number.
    pub fn serial(&self) -> String {
        self.id.to_uppercase()
    }
}

/// A PCIe link: `"32x4"` is 32 GT/s and four lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Link {
    /// The rate's code in the link registers: 1 is 2.5 GT/s, 5 is 32 GT/s.
    pub code: u8,
    /// Lanes.
    pub width: u8,
}

/// Rates in GT/s; a rate's code is its place, from 1 (PCI Express 6.0, 7.5.3, Link Capabilities 2).
const RATES: [&str; 6] = ["2.5", "5", "8", "16", "32", "64"];
const WIDTHS: [u8; 6] = [1, 2, 4, 8, 16, 32];

impl TryFrom<String> for Link {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let refuse =
            || format!("no link {text:?}: a rate of 2.5, 5, 8, 16, 32 or 64, an x, and the lanes");
        let (rate, width) = text.split_once('x').ok_or_else(refuse)?;
        let place = RATES.iter().position(|known| *known == rate).ok_or_else(refuse)?;
        let width = width.parse().ok().filter(|width| WIDTHS.contains(width));
        let code = u8::try_from(place + 1).map_err(|_| refuse())?;
        Ok(Self { code, width: width.ok_or_else(refuse)? })
    }
}

impl Link {
    /// The rate in GT/s.
    pub fn rate_gts(self) -> f64 {
        RATES.get(usize::from(self.code) - 1).and_then(|rate| rate.parse().ok()).unwrap_or(0.0)
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rate_gts(), self.width)
    }
}

fn queue() -> u16 {
    1
}

fn queues() -> u16 {
    4
}

fn capacity() -> u64 {
    64
}
