// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network devices, their queues and what ethtool tells of them.

use std::collections::BTreeMap;

use units::{BitRate, CpuSet, NodeId, PciAddress};

use crate::{Fact, VirtualFunctions};

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
    /// Virtual functions; none without SR-IOV.
    pub virtual_functions: Option<VirtualFunctions>,
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
    /// Pause frames (`ethtool -a`).
    pub pause: Fact<Pause>,
    /// Features by kernel name (`ethtool -k`).
    pub features: Fact<Vec<Feature>>,
    /// How packets are spread over the receive queues (`ethtool -x`).
    pub receive_spread: Fact<ReceiveSpread>,
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

/// Whether pause frames are obeyed and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Obeyed when received.
    pub receive: bool,
    /// Sent when the queues are full.
    pub transmit: bool,
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

/// How receive-side scaling spreads packets over the receive queues.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct ReceiveSpread {
    /// Receive queues that it could spread over; none where the driver does not tell.
    pub queues: Option<u32>,
    /// The receive queue of each value of a packet's hash, 64 to 2048 of them as a rule.
    pub table: Vec<u32>,
}

impl ReceiveSpread {
    /// How many values of the hash each queue has, by queue; queues without any are left out.
    pub fn shares(&self) -> BTreeMap<u32, usize> {
        let mut shares = BTreeMap::new();
        for queue in &self.table {
            *shares.entry(*queue).or_insert(0) += 1;
        }
        shares
    }

    /// The number of queues, counted from 0, that it spreads over as evenly as its size allows;
    /// none where it is uneven, or leaves one of them out.
    pub fn even_over(&self) -> Option<u32> {
        let count = self.table.iter().max()?.checked_add(1)?;
        let shares = self.shares();
        let (most, least) = (shares.values().max()?, shares.values().min()?);
        let has_all = usize::try_from(count).is_ok_and(|count| shares.len() == count);
        (has_all && most - least <= 1).then_some(count)
    }

    /// Whether it is the kernel's own for its queues (`ethtool_rxfh_indir_default`,
    /// include/linux/ethtool.h): the queues in turn. Drivers make such a table anew when channels
    /// change; one that somebody set they keep, and the kernel then refuses fewer channels than it
    /// uses (`ethtool_check_max_channel`, net/ethtool/common.c).
    pub fn is_default(&self) -> bool {
        let Some(queues) = self.queues.filter(|queues| *queues > 0) else { return false };
        !self.table.is_empty() && (0..queues).cycle().zip(&self.table).all(|(own, is)| own == *is)
    }

    /// Queues that it can serve at most: a table has no more queues than entries.
    pub fn most(&self) -> u32 {
        u32::try_from(self.table.len()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_even_as_far_as_its_size_allows() {
        let spread = |table: &[u32]| ReceiveSpread { queues: Some(3), table: table.to_vec() };
        for (table, even, is_default) in [
            (&[0, 1, 2, 0, 1][..], Some(3), true),
            (&[2, 1, 0, 1, 2], Some(3), false),
            (&[0, 1, 0, 1, 0], Some(2), false),
            (&[0, 0, 0, 1, 2], None, false),
            (&[0, 2, 0, 2], None, false),
            (&[0, 0], Some(1), false),
            (&[u32::MAX], None, false),
            (&[], None, false),
        ] {
            let spread = spread(table);
            assert_eq!((spread.even_over(), spread.is_default()), (even, is_default), "{table:?}");
        }
        let untold = ReceiveSpread { queues: None, table: vec![0, 1] };
        assert_eq!((untold.even_over(), untold.is_default()), (Some(2), false));
    }
}
