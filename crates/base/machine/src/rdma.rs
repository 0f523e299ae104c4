// SPDX-License-Identifier: MIT OR Apache-2.0
//! RDMA devices and their ports.

use units::{BitRate, NodeId, PciAddress};

use crate::Fact;

/// An RDMA device.
#[derive(Debug, Clone, PartialEq)]
pub struct RdmaDevice {
    /// `mlx5_0`, `rxe0`.
    pub name: String,
    /// PCI function (of the network device for soft RoCE).
    pub function: Option<PciAddress>,
    /// Its node.
    pub node: Option<NodeId>,
    /// Ports.
    pub ports: Vec<RdmaPort>,
}

/// A port of an RDMA device.
#[derive(Debug, Clone, PartialEq)]
pub struct RdmaPort {
    /// Number, from 1.
    pub number: u32,
    /// `4: ACTIVE`.
    pub state: String,
    /// `Ethernet` or `InfiniBand`.
    pub link_layer: String,
    /// Rate.
    pub rate: Fact<BitRate>,
    /// Network device that carries it.
    pub netdev: Option<String>,
    /// Non-zero GIDs: (index, GID, type); redacted in captures.
    pub gids: Vec<(u32, String, String)>,
    /// Active MTU in bytes, from the netdev where the verbs are not readable.
    pub mtu: Fact<u32>,
    /// Priorities with PFC on, where DCB tells.
    pub pfc: Fact<Vec<u8>>,
}
