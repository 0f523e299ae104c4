// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a description to a tree: the order of the writers, and what they share.

use root::MemoryRoot;

use crate::irq::{Interrupts, Vector};
use crate::pci::{Attached, Bridges};
use crate::topology::Topology;
use crate::{
    Description, Tree, acpi, block, cache, cpu, dmi, fault, host, kernel, net, node, nvme, pci,
    power, scsi,
};

/// A machine under construction.
pub(crate) struct Build<'a> {
    pub(crate) description: &'a Description,
    pub(crate) topology: &'a Topology,
    pub(crate) tree: Tree,
    pub(crate) bridges: Bridges,
    pub(crate) interrupts: Interrupts,
    pub(crate) next_iommu_group: u32,
    pub(crate) next_scsi_host: u32,
    /// The next disk letter.
    pub(crate) next_disk: u32,
    pub(crate) next_nvme: u32,
    pub(crate) next_virtio: u32,
    /// The next minor number of an NVMe namespace or partition.
    pub(crate) next_minor: u32,
    pub(crate) next_interface: u32,
    /// Block devices by name: folder, 512-byte sectors, `major:minor`.
    pub(crate) disks: Vec<block::Disk>,
}

impl Build<'_> {
    /// Gives a function its interrupts.
    pub(crate) fn interrupt(&mut self, function: &Attached, vectors: Vec<Vector>) {
        self.interrupts.attach(&mut self.tree, self.description, function, vectors);
    }
}

impl Description {
    /// The machine as a tree of files, faults included. The same description always gives the
    /// same tree.
    pub fn tree(&self) -> Tree {
        let topology = Topology::new(self);
        let mut build = Build {
            description: self,
            topology: &topology,
            tree: Tree::default(),
            bridges: Bridges::default(),
            interrupts: Interrupts::new(&topology),
            next_iommu_group: 0,
            next_scsi_host: 0,
            next_disk: 0,
            next_nvme: 0,
            next_virtio: 0,
            next_minor: 0,
            next_interface: 1,
            disks: Vec::new(),
        };
        write_processors(&mut build);
        write_devices(&mut build);
        let Build { mut tree, interrupts, .. } = build;
        interrupts.write(&mut tree, self, &topology);
        for (path, text) in &self.file {
            tree.text(path, text.as_str());
        }
        fault::apply(&mut tree, &self.fault);
        tree
    }

    /// The machine as a root that readers can ask.
    pub fn build(&self) -> MemoryRoot {
        self.tree().into_root()
    }
}

fn write_processors(build: &mut Build<'_>) {
    let (tree, description, topology) = (&mut build.tree, build.description, build.topology);
    cpu::write(tree, description, topology);
    cache::write(tree, description, topology);
    node::write(tree, description, topology);
    acpi::write(tree, description, topology);
    dmi::write(tree, description);
    host::write(tree, description, topology);
    kernel::write(tree, description);
    power::write(tree, description, topology);
}

fn write_devices(build: &mut Build<'_>) {
    pci::write_roots(build);
    nvme::write(build);
    scsi::write(build);
    net::write(build);
    crate::gpu::write(build);
    block::write_volumes(build);
}
