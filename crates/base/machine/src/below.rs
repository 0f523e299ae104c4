// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hardware below what is made of other devices: volumes, partitions, bonds, VLANs, bridges.

use std::collections::BTreeSet;

use units::{NodeId, PciAddress};

use crate::{Drive, Machine, Nic, NodeFrom, Volume};

/// A drive or NIC that something lies over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Below {
    /// Its name.
    pub device: String,
    /// Its PCI function; of a drive with several paths, of the first whose node is known.
    pub function: Option<PciAddress>,
    /// Its node.
    pub node: Option<NodeId>,
}

impl Machine {
    /// The drives or NICs below a volume (`dm-0`, `md127`, `vg0/data`, `/dev/mapper/vg0-data`), a
    /// partition, or a link without hardware of its own, by name; nothing where it is none of them.
    pub fn below(&self, name: &str) -> Vec<Below> {
        let name = name.strip_prefix("/dev/").unwrap_or(name);
        let mut found = match self.volume(name) {
            Some(volume) => self.below_volume(volume),
            None if self.drives.iter().any(|drive| drive.name == name) => Vec::new(),
            None => self.partitioned(name).map(below_drive).collect(),
        };
        found.extend(self.below_link(name));
        found.sort_by(|a, b| a.device.cmp(&b.device));
        found
    }

    /// A volume by its name or its label.
    fn volume(&self, name: &str) -> Option<&Volume> {
        let name = name.strip_prefix("mapper/").or(name.strip_prefix("md/")).unwrap_or(name);
        // `vg0/data` is `vg0-data` to device-mapper, and a hyphen of a name is two there (lvm(8)).
        let mapped = name.split_once('/').map(|(group, volume)| {
            format!("{}-{}", group.replace('-', "--"), volume.replace('-', "--"))
        });
        let is_label = |label: &String| {
            let label = label.strip_prefix("/dev/md/").unwrap_or(label);
            label == name || mapped.as_deref() == Some(label)
        };
        let mut volumes = self.volumes.iter();
        volumes.find(|volume| volume.name == name || volume.label.as_ref().is_some_and(is_label))
    }

    fn below_volume(&self, volume: &Volume) -> Vec<Below> {
        let mut drives: Vec<&Drive> = Vec::new();
        let mut seen = BTreeSet::from([volume.name.as_str()]);
        let mut waiting: Vec<&str> = volume.members.iter().map(String::as_str).collect();
        while let Some(name) = waiting.pop() {
            if !seen.insert(name) {
                continue;
            }
            match self.volumes.iter().find(|other| other.name == name) {
                Some(below) => waiting.extend(below.members.iter().map(String::as_str)),
                None => drives.extend(self.partitioned(name)),
            }
        }
        drives.sort_by(|a, b| a.name.cmp(&b.name));
        drives.dedup_by(|a, b| a.name == b.name);
        drives.into_iter().map(below_drive).collect()
    }

    /// The drive that `name` is, or is a partition of.
    fn partitioned<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Drive> {
        self.drives.iter().filter(move |drive| is_part_of(name, &drive.name))
    }

    fn below_link(&self, name: &str) -> Vec<Below> {
        let called = |name: &str| self.nics.iter().find(|nic| nic.name == name);
        let has_hardware = |nic: &Nic| nic.function.is_some() || nic.node.is_some();
        let mut found = Vec::new();
        let mut seen = BTreeSet::from([name]);
        let top = called(name).filter(|nic| !has_hardware(nic));
        let mut waiting: Vec<&str> =
            top.into_iter().flat_map(|nic| &nic.lower).map(String::as_str).collect();
        while let Some(name) = waiting.pop() {
            let Some(nic) = called(name).filter(|_| seen.insert(name)) else { continue };
            if has_hardware(nic) {
                let (function, node) = (nic.function, nic.node);
                found.push(Below { device: nic.name.clone(), function, node });
            } else {
                waiting.extend(nic.lower.iter().map(String::as_str));
            }
        }
        found
    }
}

/// The one node of all of them; none where they are on several, or that of one is not known.
pub(crate) fn common_node(below: &[Below]) -> Option<NodeId> {
    let first = below.first()?.node;
    first.filter(|_| below.iter().all(|one| one.node == first))
}

/// Where a node that all of them have came from.
pub(crate) fn node_from(machine: &Machine, below: &[Below]) -> NodeFrom {
    let first = below.iter().find_map(|one| machine.function(one.function?));
    first.map(|function| function.node_from).unwrap_or_default()
}

/// A drive with several paths is where its first path with a known node is.
pub(crate) fn below_drive(drive: &Drive) -> Below {
    let known = drive.controllers.iter().find(|each| each.node.is_some());
    let first = known.or(drive.controllers.first());
    let (function, node) = first.map_or((None, None), |each| (each.function, each.node));
    Below { device: drive.name.clone(), function, node }
}

/// Whether `name` is the drive or one of its partitions: `nvme0n1p2`, `sda1`.
fn is_part_of(name: &str, drive: &str) -> bool {
    let digits = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    match name.strip_prefix(drive) {
        Some("") => true,
        Some(rest) if drive.ends_with(|c: char| c.is_ascii_digit()) => {
            rest.strip_prefix('p').is_some_and(digits)
        }
        Some(rest) => digits(rest),
        None => false,
    }
}
