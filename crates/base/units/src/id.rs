// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel ids as types of their own, so that a CPU is never passed for a node.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// A logical CPU by the kernel's number (`/sys/devices/system/cpu/cpuN`).
    Cpu(u32)
}
id! {
    /// A NUMA node by the kernel's number (`/sys/devices/system/node/nodeN`). Numbers may have gaps.
    NodeId(u32)
}
id! {
    /// A package by `topology/physical_package_id`. Some firmware gives large numbers (36, 8442).
    PackageId(u32)
}
