// SPDX-License-Identifier: MIT OR Apache-2.0
//! GPUs and accelerators.

use units::{NodeId, PciAddress};

/// A GPU or accelerator.
#[derive(Debug, Clone, PartialEq)]
pub struct Gpu {
    /// `card0`, `nvidia0`, or the model when no driver is bound.
    pub name: String,
    /// Its PCI function.
    pub function: PciAddress,
    /// Its node.
    pub node: Option<NodeId>,
    /// The node that its own memory is, where the platform makes it one (POWER9, GH200).
    pub memory_node: Option<NodeId>,
}
