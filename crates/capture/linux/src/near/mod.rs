// SPDX-License-Identifier: MIT OR Apache-2.0
//! The part of a machine that a placement needs: the devices that somebody names, and what is
//! around them.
//!
//! ```text
//! /srv/data ── mount ── dm-3 ── nvme0n1p1 ── nvme0n1 ── 0000:17:00.0 ── node 0
//!                          └─── nvme1n1p1 ── nvme1n1 ── 0000:18:00.0 ── node 0
//! ```
//!
//! A command that is to start near a drive must not wait until a whole server has been read: only
//! the files on the way from the name to the node are asked. The answers are those of
//! [`read`](crate::read), which `tests/near.rs` holds against each other on every capture.

pub(crate) mod fabric;
mod find;
mod hardware;
pub(crate) mod mount;
mod network;
pub(crate) mod route;
mod storage;

use std::collections::BTreeMap;

use machine::{End, Fact, Function, Lost, Machine, Node, Site, Target};
use root::{Root, text};
use units::CpuSet;

use crate::{Troubles, cache, cpu, irq, node, pci};
use find::{Finder, Found};

/// What somebody named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// A device by a name of the kernel's or of LVM's, or by its PCI address.
    Name(String),
    /// A file below `/dev`, by its kind and its number (`259:1`).
    Node {
        /// As it was named.
        name: String,
        /// `block` or `char`, as in `/sys/dev`.
        kind: &'static str,
        /// Major and minor number.
        number: String,
    },
    /// A file or folder.
    Path {
        /// As it was named.
        name: String,
        /// From the root, without links.
        path: String,
        /// Its file system's number by `stat`, where it could be asked.
        number: Option<String>,
        /// Its mount by `statx`, where the kernel tells (5.8).
        mount: Option<u64>,
    },
}

/// What a placement asks for beyond CPU sets and nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Threads and L3 caches of the CPUs near the devices.
    Cores,
    /// The devices' interrupts.
    Interrupts,
}

/// Whether the addresses of the tree are those of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses {
    /// They are: routes lead where they did.
    Kept,
    /// A capture replaced each by another, so that an address is in no network of its own.
    Redacted,
}

/// Reads what is around the devices named.
///
/// # Errors
/// The first name that leads to no device.
pub fn site(
    root: &dyn Root,
    addresses: Addresses,
    asked: &[Asked],
    parts: &[Part],
) -> Result<Site, Lost> {
    let mut troubles = Troubles::default();
    let mut cpus = cpu::sets(root, &mut troubles);
    let nodes = node::near(root, &cpus, &mut troubles);
    let mut functions = BTreeMap::new();
    let mut targets = Vec::new();
    for asked in asked {
        let (found, way) = Finder::find(root, addresses, asked)?;
        let mut ends = Vec::new();
        for found in found {
            ends.push(end(root, found, &nodes, &mut functions, &mut troubles));
        }
        targets.push(Target { asked: asked.name().to_owned(), ends, way });
    }
    let mut caches = Vec::new();
    if parts.contains(&Part::Cores) {
        let near = near(&targets, &nodes).unwrap_or_else(|| cpus.online.clone());
        cpu::read_threads(root, &mut cpus, &near);
        cpu::place_on_nodes(&mut cpus, &nodes);
        caches = cache::read(root, &cpus);
    }
    let mut functions: Vec<Function> = functions.into_values().collect();
    let mut irqs = Vec::new();
    if parts.contains(&Part::Interrupts) {
        let ends: Vec<_> = targets.iter().flat_map(|target| &target.ends).collect();
        for function in &mut functions {
            if ends.iter().any(|end| end.function == Some(function.address)) {
                pci::add_interrupts(root, function);
            }
        }
        irqs = irq::of(root, &functions, &mut troubles);
    }
    let unknown = troubles.into_list();
    let memory_allowed = memory_allowed(root);
    let machine = Machine { cpus, nodes, functions, caches, irqs, unknown, ..Machine::default() };
    Ok(Site { machine, targets, memory_allowed })
}

/// Asks of every name what [`site`] would, for a recorder that is to answer it later.
pub fn ask_places<'n>(root: &dyn Root, names: impl Iterator<Item = &'n str>) {
    let mut troubles = Troubles::default();
    let cpus = cpu::sets(root, &mut troubles);
    let nodes = node::near(root, &cpus, &mut troubles);
    let mut functions = BTreeMap::new();
    for name in names {
        // A way that ended without a device was asked, too.
        let found = Finder::find(root, Addresses::Kept, &Asked::Name(name.to_owned()));
        for found in found.map(|(found, _)| found).unwrap_or_default() {
            end(root, found, &nodes, &mut functions, &mut troubles);
        }
    }
    let _ = memory_allowed(root);
}

impl Asked {
    /// As it was named.
    pub fn name(&self) -> &str {
        match self {
            Self::Name(name) | Self::Node { name, .. } | Self::Path { name, .. } => name,
        }
    }
}

/// The place of a device.
fn end(
    root: &dyn Root,
    found: Found,
    nodes: &[Node],
    functions: &mut BTreeMap<units::PciAddress, Function>,
    troubles: &mut Troubles,
) -> End {
    let chain = pci::chain(root, &found.path, nodes, troubles);
    let own = chain.first();
    let mut end = End {
        device: found.device,
        function: own.map(|function| function.address),
        node: own.and_then(|function| function.node),
        node_from: own.map(|function| function.node_from).unwrap_or_default(),
        local_cpus: own.map(|function| function.local_cpus.clone()).unwrap_or_default(),
        doubt: found.doubt,
    };
    if own.is_none()
        && let Some((node, from)) = hardware::node_of_folder(root, &found.path, nodes)
    {
        (end.node, end.node_from) = (Some(node), from);
    }
    for function in chain {
        functions.entry(function.address).or_insert(function);
    }
    end
}

/// The CPUs of the devices' nodes; none where a device's node is unknown or has no CPUs, since then
/// any CPU may turn out to be the nearest.
fn near(targets: &[Target], nodes: &[Node]) -> Option<CpuSet> {
    let ends = targets.iter().flat_map(|target| &target.ends);
    let mut near = CpuSet::new();
    for end in ends {
        let node = nodes.iter().find(|node| Some(node.id) == end.node);
        near = near.or(&node.filter(|node| !node.cpus.is_empty())?.cpus);
    }
    Some(near)
}

/// `Mems_allowed_list: 0-1` of /proc/self/status; in a copied tree the cpuset's nodes.
fn memory_allowed(root: &dyn Root) -> Fact<CpuSet> {
    let status = text(root, "/proc/self/status");
    let told = status.as_deref().ok().and_then(memory_of_status);
    told.or_else(|| cpu::memory_of_cpuset(root)).ok_or_else(|| status.err().unwrap_or_default())
}

pub(crate) fn memory_of_status(status: &str) -> Option<CpuSet> {
    let list = status.lines().find_map(|line| line.strip_prefix("Mems_allowed_list:"))?;
    CpuSet::from_list(list.trim()).ok().filter(|nodes| !nodes.is_empty())
}

#[cfg(test)]
mod tests;
