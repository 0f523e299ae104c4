// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network devices, their queues and what ethtool tells of them.

use units::{BitRate, CpuSet, NodeId, PciAddress};

use crate::Fact;

/// A network device.
#[derive(Debug, Clone, PartialEq)]
pub struct Nic {
    /// Interface name.
    pub name: String,
    /// What it is.
    pub kind: NicKind,
    /// MAC address; redacted in captures.
    pub mac: Fact<String>,
    /// The PCI function behind it: for virtio the parent of the virtio device.
    pub function: Option<PciAddress>,
    /// The node of that function.
    pub node: Option<NodeId>,
    /// Driver.
    pub driver: Option<String>,
    /// Driver's firmware version, where told.
    pub firmware: Option<String>,
    /// Link speed; unknown when down or not told (-1).
    pub speed: Fact<BitRate>,
    /// `operstate`: `up`, `down`, `unknown`.
    pub state: String,
    /// MTU in bytes.
    pub mtu: Fact<u32>,
    /// Bond, bridge or team that it is a port of.
    pub master: Option<String>,
    /// Devices below it: a VLAN's parent, a bond's or bridge's ports.
    pub lower: Vec<String>,
    /// Devices above it.
    pub upper: Vec<String>,
    /// Virtual functions: (now, at most).
    pub virtual_functions: Option<(u32, u32)>,
    /// Receive queues by number.
    pub rx_queues: Vec<RxQueue>,
    /// Transmit queues by number.
    pub tx_queues: Vec<TxQueue>,
    /// Channels (`ethtool -l`).
    pub channels: Fact<Channels>,
    /// Rings (`ethtool -g`).
    pub rings: Fact<Rings>,
    /// Coalescing (`ethtool -c`).
    pub coalescing: Fact<Coalescing>,
    /// Pause frames: (receive, transmit) (`ethtool -a`).
    pub pause: Fact<(bool, bool)>,
    /// Features by kernel name (`ethtool -k`).
    pub features: Fact<Vec<Feature>>,
    /// `device/…/phys_port_name`, `dev_port`: tells ports of one card apart.
    pub port: Option<String>,
    /// Whether an address is configured on it, or a default route goes through it.
    pub in_use: bool,
}

/// What an interface carries that must not stop, even for a moment.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Carries {
    /// The session of a person who is logged in.
    Login,
    /// A default route.
    DefaultRoute,
    /// The file system at `/`.
    RootFileSystem,
    /// Storage: iSCSI, NVMe over Fabrics, NFS.
    Storage,
    /// The heartbeat of a cluster.
    Heartbeat,
}

/// What a network device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NicKind {
    /// A port of a card.
    Physical,
    /// A virtual function.
    VirtualFunction,
    /// virtio-net or another paravirtual device.
    Paravirtual,
    /// Bond or team.
    Bond,
    /// Bridge or Open vSwitch.
    Bridge,
    /// VLAN.
    Vlan,
    /// Loopback.
    Loopback,
    /// veth, tun, tap, macvlan, dummy, tunnel and the like.
    Virtual,
}

/// A receive queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RxQueue {
    /// Number.
    pub number: u32,
    /// `rps_cpus`.
    pub rps: Fact<CpuSet>,
    /// `rps_flow_cnt`.
    pub flow_count: Fact<u32>,
}

/// A transmit queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TxQueue {
    /// Number.
    pub number: u32,
    /// `xps_cpus`; absent on single-queue devices.
    pub xps: Fact<CpuSet>,
}

/// Channels: now and at most; none where the driver has no such kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Channels {
    /// Receive only: (now, at most).
    pub rx: Option<(u32, u32)>,
    /// Transmit only.
    pub tx: Option<(u32, u32)>,
    /// Other.
    pub other: Option<(u32, u32)>,
    /// Receive and transmit together.
    pub combined: Option<(u32, u32)>,
}

/// Ring sizes in descriptors: now and at most.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Rings {
    /// Receive: (now, at most).
    pub rx: Option<(u32, u32)>,
    /// Receive, mini.
    pub rx_mini: Option<(u32, u32)>,
    /// Receive, jumbo.
    pub rx_jumbo: Option<(u32, u32)>,
    /// Transmit.
    pub tx: Option<(u32, u32)>,
}

/// Interrupt coalescing.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Coalescing {
    /// Adaptive on receive.
    pub adaptive_rx: Option<bool>,
    /// Adaptive on transmit.
    pub adaptive_tx: Option<bool>,
    /// Microseconds after a received packet.
    pub rx_usecs: Option<u32>,
    /// Received frames.
    pub rx_frames: Option<u32>,
    /// Microseconds after a sent packet.
    pub tx_usecs: Option<u32>,
    /// Sent frames.
    pub tx_frames: Option<u32>,
}

/// An offload feature.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Feature {
    /// Kernel name: `rx-gro`, `tx-tcp-segmentation`, `rx-lro`, `rx-ntuple-filter`.
    pub name: String,
    /// On now.
    pub active: bool,
    /// Asked for.
    pub wanted: bool,
    /// Cannot be changed.
    pub fixed: bool,
}
