// SPDX-License-Identifier: MIT OR Apache-2.0
//! GPUs, and functions of any other kind.

use crate::build::Build;
use crate::irq::Vector;
use crate::pci::{Attached, Card, attach};
use crate::{Lanes, MemoryKind, Place};

const LANES: Lanes = Lanes { generation: 5, width: 16 };

pub(crate) fn write(build: &mut Build<'_>) {
    let description = build.description;
    let mut next = 0;
    for gpu in &description.gpu {
        for _ in 0..gpu.count {
            // Class 0x0302: 3D controller, which is what GPUs without a display are.
            let card = card(gpu.id, 0x03_0200, &gpu.driver, gpu.vectors);
            let function = attach_one(build, &gpu.at, &card, next);
            write_gpu(build, &function, &gpu.driver, next);
            next += 1;
        }
    }
    for device in &description.device {
        for index in 0..device.count {
            let card = card(device.id, device.class, &device.driver, device.vectors);
            attach_one(build, &device.at, &card, index);
        }
    }
}

const fn card(id: [u16; 2], class: u32, driver: &str, vectors: u32) -> Card<'_> {
    Card { id, class, driver, functions: 1, vectors, lanes: LANES, virtual_functions: [0, 0] }
}

fn attach_one(build: &mut Build<'_>, place: &Place, card: &Card<'_>, index: u32) -> Attached {
    let mut functions = attach(build, place, card);
    // A card of one function gives one.
    let function = functions.remove(0);
    let online = build.topology.online.clone();
    let name = if card.driver == "nvidia" { "nvidia" } else { card.driver };
    let vectors = (0..card.vectors)
        .map(|vector| Vector::free(format!("{name}{index}-{vector}"), online.clone()))
        .collect();
    build.interrupt(&function, vectors);
    function
}

fn write_gpu(build: &mut Build<'_>, function: &Attached, driver: &str, index: u32) {
    let tree = &mut build.tree;
    if !driver.is_empty() {
        let card = format!("{}/drm/card{index}", function.path);
        tree.line(format!("{card}/dev"), format!("226:{index}"));
        tree.link(format!("{card}/device"), &function.path);
        tree.link(format!("{card}/subsystem"), "/sys/class/drm");
        tree.link(format!("/sys/class/drm/card{index}"), &card);
    }
    if driver != "nvidia" {
        return;
    }
    let folder = format!("/proc/driver/nvidia/gpus/{}", function.address);
    let text = format!(
        "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 0\nBus Type: \t PCIe\nBus Location: \t {}\n\
         Device Minor: \t {index}\n",
        function.address
    );
    tree.text(format!("{folder}/information"), text);
    // The driver's own words for a GPU whose memory is a node.
    let first = build.description.cpu.node_count();
    let node = (first..)
        .zip(&build.description.memory_only)
        .filter(|(_, memory)| memory.kind == MemoryKind::Gpu)
        .nth(usize::try_from(index).unwrap_or(usize::MAX));
    if let Some((node, _)) = node {
        tree.text(
            format!("{folder}/numa_status"),
            format!("Node:                   {node}\nStatus:                 online\n"),
        );
    }
}
