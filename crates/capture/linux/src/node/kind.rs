// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the memory of a node without CPUs is: persistent, CXL, high-bandwidth, or a GPU's.
//!
//! Nothing here is asked for a machine whose nodes all have CPUs.

use std::collections::BTreeMap;

use machine::{Node, NodeKind};
use root::{Dir, Root, text};
use units::NodeId;

use crate::cpu::cpuinfo;

/// Gives every node its kind.
pub(super) fn mark(root: &dyn Root, nodes: &mut [Node]) {
    if nodes.iter().all(|node| !node.cpus.is_empty()) {
        return;
    }
    let signs = Signs::read(root, nodes);
    for node in nodes.iter_mut().filter(|node| node.cpus.is_empty()) {
        node.kind = signs.kind(root, node);
    }
}

struct Signs {
    told: BTreeMap<NodeId, NodeKind>,
    /// /proc/cpuinfo names a Xeon Phi: its second kind of memory is on the package.
    is_xeon_phi: bool,
    is_power: bool,
    /// The best read bandwidth (MB/s, HMAT) that CPUs have of a node of their own.
    ordinary_bandwidth: Option<u32>,
}

impl Signs {
    fn read(root: &dyn Root, nodes: &[Node]) -> Self {
        let mut told = dax(root);
        told.extend(gpus(root).into_iter().map(|node| (node, NodeKind::Gpu)));
        let head = cpuinfo::head(root).unwrap_or_default();
        let value =
            |key| head.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
        let ordinary = nodes.iter().filter(|node| !node.cpus.is_empty());
        Self {
            told,
            // Knights Landing and Knights Mill (arch/x86/include/asm/intel-family.h).
            is_xeon_phi: value("cpu family") == Some("6")
                && matches!(value("model"), Some("87" | "133")),
            is_power: value("cpu").is_some_and(|cpu| cpu.starts_with("POWER9")),
            ordinary_bandwidth: ordinary.filter_map(|node| bandwidth(root, node.id)).max(),
        }
    }

    fn kind(&self, root: &dyn Root, node: &Node) -> NodeKind {
        let bandwidth = || bandwidth(root, node.id).zip(self.ordinary_bandwidth);
        let has_memory = node.memory.as_ref().is_ok_and(|bytes| bytes.0 > 0);
        match self.told.get(&node.id) {
            Some(kind) => *kind,
            // NVLink GPUs of POWER9 number their memory down from 255.
            None if self.is_power && node.id.0 >= 250 => NodeKind::Gpu,
            None if !has_memory => NodeKind::Empty,
            None if self.is_xeon_phi => NodeKind::HighBandwidth,
            None if bandwidth().is_some_and(|(own, ordinary)| own > ordinary) => {
                NodeKind::HighBandwidth
            }
            None => NodeKind::MemoryOnly,
        }
    }
}

/// Nodes that dax devices became: where the device sits says what it is made of.
fn dax(root: &dyn Root) -> BTreeMap<NodeId, NodeKind> {
    let dir = Dir::new(root, "/sys/bus/dax/devices");
    let names = dir.list().unwrap_or_default();
    let node = |name: &String| {
        let device = dir.sub(name);
        let node: u32 = device.parse("target_node").ok()?;
        let path = device.resolve().or_else(|_| root.link(&dir.join(name))).ok()?;
        Some((NodeId(node), kind_of_path(&path)?))
    };
    names.iter().filter_map(node).collect()
}

/// `/sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/ndbus0/region1/dax1.0` is persistent memory,
/// `.../root0/decoder0.0/region0/dax_region0/dax0.0` CXL. `hmem` is memory that the firmware set
/// aside for a purpose that it does not name.
fn kind_of_path(path: &str) -> Option<NodeKind> {
    let has = |word: &str| path.split('/').any(|part| part.starts_with(word));
    match () {
        () if has("ndbus") => Some(NodeKind::PersistentMemory),
        () if has("ACPI0017") || has("cxl") || has("decoder") => Some(NodeKind::Cxl),
        () => None,
    }
}

/// Nodes of GPU memory: `Node:      255` in /proc/driver/nvidia/gpus/*/numa_status.
fn gpus(root: &dyn Root) -> Vec<NodeId> {
    let dir = Dir::new(root, "/proc/driver/nvidia/gpus");
    let names = dir.list().unwrap_or_default();
    let status = |name: &String| text(root, &dir.join(&format!("{name}/numa_status"))).ok();
    names.iter().filter_map(|name| gpu_node(&status(name)?)).collect()
}

fn gpu_node(text: &str) -> Option<NodeId> {
    let line = text.lines().find_map(|line| line.strip_prefix("Node:"))?;
    line.trim().parse().ok().map(NodeId)
}

/// Read bandwidth from the nearest initiator, MB/s, from the HMAT (`access0/initiators`).
fn bandwidth(root: &dyn Root, node: NodeId) -> Option<u32> {
    let folder = format!("/sys/devices/system/node/node{node}/access0/initiators");
    Dir::new(root, folder).parse("read_bandwidth").ok().filter(|bandwidth| *bandwidth > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::{Cpus, Why};
    use root::MemoryRoot;

    fn two_nodes() -> MemoryRoot {
        let mut root = MemoryRoot::new();
        let folder = "/sys/devices/system/node";
        root.file(&format!("{folder}/online"), "0-1\n")
            .file(&format!("{folder}/node0/cpulist"), "0-3\n")
            .file(&format!("{folder}/node1/cpulist"), "\n")
            .file(&format!("{folder}/node1/meminfo"), "Node 1 MemTotal: 1024 kB\n");
        root
    }

    fn kind(root: &MemoryRoot) -> NodeKind {
        crate::node::read(root, &Cpus::default(), &mut crate::Troubles::default())[1].kind
    }

    #[test]
    fn each_sign_tells_its_kind() {
        assert_eq!(kind(&two_nodes()), NodeKind::MemoryOnly);
        for (device, expected) in [
            ("LNXSYSTM:00/ACPI0012:00/ndbus0/region1/dax1.0/dax1.0", NodeKind::PersistentMemory),
            ("platform/ACPI0017:00/root0/decoder0.0/region0/dax0.0", NodeKind::Cxl),
            ("platform/hmem.0/dax2.0", NodeKind::MemoryOnly),
        ] {
            let mut root = two_nodes();
            root.file(&format!("/sys/devices/{device}/target_node"), "1\n")
                .symlink("/sys/bus/dax/devices/dax1.0", &format!("../../../devices/{device}"));
            assert_eq!(kind(&root), expected, "{device}");
        }
        let mut gpu = two_nodes();
        gpu.file("/proc/driver/nvidia/gpus/0004:04:00.0/numa_status", "Node:      1\nStatus: x\n");
        assert_eq!(kind(&gpu), NodeKind::Gpu);
        let mut phi = two_nodes();
        phi.file("/proc/cpuinfo", "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 87\n");
        assert_eq!(kind(&phi), NodeKind::HighBandwidth);
        let mut fast = two_nodes();
        for (node, bandwidth) in [(0, "200000"), (1, "900000")] {
            let folder = format!("/sys/devices/system/node/node{node}/access0/initiators");
            fast.file(&format!("{folder}/read_bandwidth"), bandwidth);
        }
        assert_eq!(kind(&fast), NodeKind::HighBandwidth);
    }

    #[test]
    fn neither_cpus_nor_memory_is_empty() {
        let mut root = two_nodes();
        root.refuse("/sys/devices/system/node/node1/meminfo", Why::Denied);
        assert_eq!(kind(&root), NodeKind::Empty);
    }
}
