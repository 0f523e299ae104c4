// SPDX-License-Identifier: MIT OR Apache-2.0
//! GPUs and accelerators. The graphics of a management controller is none worth listing.

use machine::{Fact, Function, Gpu, Node};
use root::{Dir, Root, text};
use units::NodeId;

/// PCI classes (base, sub): VGA, 3D, other display, processing accelerator.
const CLASSES: [(u8, u8); 4] = [(0x03, 0x00), (0x03, 0x02), (0x03, 0x80), (0x12, 0x00)];

/// Vendors whose display functions draw a console and compute nothing: management controllers
/// (ASPEED, Matrox, XGI, Huawei) and virtual machines' screens (Cirrus, Bochs, Red Hat's QXL and
/// virtio, VMware, Hyper-V, VirtualBox, Amazon).
const SCREENS: [u16; 12] = [
    0x1a03, 0x102b, 0x18ca, 0x19e5, 0x1013, 0x1234, 0x1b36, 0x1af4, 0x15ad, 0x1414, 0x80ee, 0x1d0f,
];

pub(crate) fn read(root: &dyn Root, functions: &[Function], nodes: &[Node]) -> Vec<Gpu> {
    let gpu = |function: &&Function| is_gpu(root, function);
    functions.iter().filter(gpu).map(|function| describe(root, function, nodes)).collect()
}

/// A virtual function is a share of a GPU that is already listed.
fn is_gpu(root: &dyn Root, function: &Function) -> bool {
    let class = (function.class.base, function.class.sub);
    let is_display = class.0 == 0x03;
    // Huawei's and Amazon's accelerators are real; only their screens are not. A vendor of 0 is a
    // function whose ids could not be read; NVIDIA's driver may still list it.
    let nvidia = || root.list(&format!("/proc/driver/nvidia/gpus/{}", function.address)).is_ok();
    let is_screen = is_display && SCREENS.contains(&function.vendor);
    let is_share = function.physical_function.is_some();
    CLASSES.contains(&class) && !is_screen && !is_share && (function.vendor != 0 || nvidia())
}

fn describe(root: &dyn Root, function: &Function, nodes: &[Node]) -> Gpu {
    let address = function.address.to_string();
    let name = card(root, &address).or_else(|| minor(root, &address));
    let model = || match function.names.device.as_str() {
        "" => address.clone(),
        device => device.to_owned(),
    };
    Gpu {
        name: name.unwrap_or_else(model),
        function: function.address,
        node: function.node,
        memory_node: memory_node(root, &address, nodes),
    }
}

/// `card1` in the function's `drm` folder, or `accel0` in `accel`.
fn card(root: &dyn Root, address: &str) -> Option<String> {
    let dir = Dir::new(root, format!("/sys/bus/pci/devices/{address}"));
    let first = |folder: &str, prefix: &str| {
        let names = dir.sub(folder).list().unwrap_or_default();
        names.into_iter().find(|name| name.starts_with(prefix))
    };
    first("drm", "card").or_else(|| first("accel", "accel"))
}

/// `Device Minor:     3` of NVIDIA's driver, which shows no card where its DRM part is off.
fn minor(root: &dyn Root, address: &str) -> Option<String> {
    let text = text(root, &format!("/proc/driver/nvidia/gpus/{address}/information")).ok()?;
    let minor = value(&text, "Device Minor:")?.parse::<u32>().ok()?;
    Some(format!("nvidia{minor}"))
}

/// The node that the GPU's memory became, by NVIDIA's driver on POWER9 and Grace:
///
/// ```text
/// Node:      250
/// Status:    online
/// ```
fn memory_node(root: &dyn Root, address: &str, nodes: &[Node]) -> Option<NodeId> {
    let status: Fact<String> =
        text(root, &format!("/proc/driver/nvidia/gpus/{address}/numa_status"));
    let node = value(&status.ok()?, "Node:")?.parse().map(NodeId).ok()?;
    nodes.iter().any(|known| known.id == node).then_some(node)
}

pub(crate) fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.trim().strip_prefix(key)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    use machine::PciClass;
    use root::MemoryRoot;

    fn function(address: &str, class: (u8, u8), vendor: u16) -> Function {
        let class = PciClass { base: class.0, sub: class.1, interface: 0 };
        Function { class, vendor, ..Function::new(address.parse().unwrap()) }
    }

    #[test]
    fn a_console_is_no_gpu() {
        let mut share = function("0000:41:00.4", (0x03, 0x02), 0x10de);
        share.physical_function = "0000:41:00.0".parse().ok();
        let mut named = function("0000:42:00.0", (0x12, 0x00), 0x1da3);
        named.names.device = "Gaudi2".to_owned();
        let functions = [
            function("0000:03:00.0", (0x03, 0x00), 0x1a03),
            function("0000:04:00.0", (0x03, 0x00), 0x102b),
            function("0000:40:00.0", (0x03, 0x80), 0x1002),
            function("0000:41:00.0", (0x03, 0x02), 0x10de),
            share,
            named,
            function("0000:43:00.0", (0x02, 0x00), 0x10de),
        ];
        let mut root = MemoryRoot::new();
        root.folder("/sys/bus/pci/devices/0000:40:00.0/drm/card2")
            .folder("/sys/bus/pci/devices/0000:40:00.0/drm/renderD128")
            .file(
                "/proc/driver/nvidia/gpus/0000:41:00.0/information",
                "Model: \t\t NVIDIA H200\nDevice Minor: \t 3\n",
            );
        let found = read(&root, &functions, &[]);
        let names: Vec<&str> = found.iter().map(|gpu| gpu.name.as_str()).collect();
        assert_eq!(names, ["card2", "nvidia3", "Gaudi2"]);
    }

    #[test]
    fn memory_of_a_gpu_is_a_node_only_where_that_node_exists() {
        let mut root = MemoryRoot::new();
        root.file(
            "/proc/driver/nvidia/gpus/0004:05:00.0/numa_status",
            "Node:      250\nStatus:    online\n",
        );
        let functions = [function("0004:05:00.0", (0x03, 0x02), 0x10de)];
        let node = Node::new(NodeId(250), units::CpuSet::new());
        assert_eq!(read(&root, &functions, &[node])[0].memory_node, Some(NodeId(250)));
        assert_eq!(read(&root, &functions, &[])[0].memory_node, None);
    }
}
