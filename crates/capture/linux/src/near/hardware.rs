// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices that are neither drives nor interfaces: PCI functions, GPUs, RDMA devices, adapters.

use machine::{Node, NodeFrom};
use root::Root;
use units::{NodeId, PciAddress};

use super::find::{Finder, above, last};
use crate::block::disk::is_number;
use crate::net::function_in;
use crate::pci::parse_node;

const PCI: &str = "/sys/bus/pci/devices";
const INFINIBAND: &str = "/sys/class/infiniband";
const NVIDIA: &str = "/proc/driver/nvidia/gpus";
/// Folders of devices that a person may name: cards, accelerators, SCSI hosts, virtio devices.
const OTHERS: [&str; 4] =
    ["/sys/class/drm", "/sys/class/accel", "/sys/class/scsi_host", "/sys/bus/virtio/devices"];

impl Finder<'_> {
    /// A device by name; whether there is one.
    pub(super) fn hardware(&mut self, name: &str) -> bool {
        if self.rdma(name) || self.function(name) || self.nvidia(name) {
            return true;
        }
        let path = self.entry(&OTHERS, name);
        path.map(|path| self.end(name, path)).is_some()
    }

    fn function(&mut self, name: &str) -> bool {
        let Ok(address) = name.parse::<PciAddress>() else { return false };
        let path = self.entry(&[PCI], &address.to_string());
        path.map(|path| self.end(&address.to_string(), path)).is_some()
    }

    /// Soft RoCE and iWARP have no device: they are where the interface below them is.
    fn rdma(&mut self, name: &str) -> bool {
        let Some(path) = self.entry(&[INFINIBAND], name) else { return false };
        let device = || self.root.link(&format!("{INFINIBAND}/{name}/device")).ok();
        if function_in(&path).is_some() {
            self.end(name, path);
        } else if let Some(target) = device() {
            self.end(name, crate::pci::follow(&format!("{INFINIBAND}/{name}"), &target));
        } else if let Some(nic) = self.text(&format!("{INFINIBAND}/{name}/parent")) {
            self.step(format!("{name} is software over {nic}"));
            self.nic(&nic);
        } else {
            self.dead_end(format!("{name} is software, and does not name its interface"));
        }
        true
    }

    /// `nvidia3` is the GPU whose driver says `Device Minor: 3`.
    fn nvidia(&mut self, name: &str) -> bool {
        let Some(minor) = name.strip_prefix("nvidia").filter(|minor| is_number(minor)) else {
            return false;
        };
        let is_it = |address: &String| {
            let text = self.text(&format!("{NVIDIA}/{address}/information"));
            text.and_then(|text| crate::gpu::value(&text, "Device Minor:").map(str::to_owned))
                .is_some_and(|told| told == minor)
        };
        let address = self.list(NVIDIA).into_iter().find(is_it);
        let path = address.and_then(|address| self.entry(&[PCI], &address));
        path.map(|path| self.end(name, path)).is_some()
    }

    /// A character device's folder: `/dev/nvme0`, `/dev/dri/card1`, `/dev/infiniband/uverbs0`.
    pub(super) fn node_at(&mut self, path: &str) {
        let name = last(path).to_owned();
        if self.controller(&name) {
            return;
        }
        match function_in(path) {
            Some(_) => self.end(&name, path.to_owned()),
            None => self.dead_end(format!("{name} has no hardware that the kernel names")),
        }
    }

    /// The adapter whose Fibre Channel port has that name.
    pub(super) fn fibre_channel(&mut self, port: &str) {
        const HOSTS: &str = "/sys/class/fc_host";
        let has_port = |host: &String| {
            self.text(&format!("{HOSTS}/{host}/port_name")).is_some_and(|name| name == port)
        };
        let host = self.list(HOSTS).into_iter().find(has_port);
        let path = host.as_ref().and_then(|host| self.entry(&[HOSTS], host));
        match host.zip(path) {
            Some((host, path)) => self.end(&host, path),
            None => self.dead_end(format!("no adapter here has the port {port}")),
        }
    }
}

/// The node of a device without a PCI function: the first `numa_node` in its folder or above, as
/// persistent memory's regions and platform devices have it.
pub(super) fn node_of_folder(
    root: &dyn Root,
    path: &str,
    nodes: &[Node],
) -> Option<(NodeId, NodeFrom)> {
    let mut folder = path;
    while folder.starts_with("/sys/devices/") {
        let told = root::text(root, &format!("{folder}/numa_node"));
        let node = told.ok().and_then(|text| parse_node(&text).ok());
        if let Some(node) = node.filter(|node| nodes.iter().any(|each| each.id == *node)) {
            let from = if folder == path { NodeFrom::Own } else { NodeFrom::Parent };
            return Some((node, from));
        }
        folder = above(folder);
    }
    match nodes {
        [only] if !only.cpus.is_empty() => Some((only.id, NodeFrom::Only)),
        _ => None,
    }
}
