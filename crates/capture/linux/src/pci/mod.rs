// SPDX-License-Identifier: MIT OR Apache-2.0
//! The PCI tree: `/sys/bus/pci/devices`, each function's folder, and its configuration space.
//!
//! Functions are read one by one ([`function`]); what needs others (the other end of a link, the
//! node of a bridge above, names of slots) is filled in when all are there.

pub(crate) mod config;
mod files;
pub(crate) mod function;
pub(crate) mod identity;
pub(crate) mod link;
mod names;
mod near;
pub(crate) mod node;
pub(crate) mod place;
pub(crate) mod slot;

use std::collections::BTreeMap;

use machine::{Function, LinkSide, Node, PortKind};
use root::Root;
use units::PciAddress;

pub(crate) use files::Files;
pub(crate) use near::{add_interrupts, chain};
pub(crate) use node::parse_node;
pub(crate) use place::follow;

use crate::{Troubles, parallel};
use function::Seen;

/// Reads every function that has a link in `/sys/bus/pci/devices`, by address.
pub(crate) fn read(root: &dyn Root, nodes: &[Node], troubles: &mut Troubles) -> Vec<Function> {
    let listed = root.list(place::DEVICES);
    let listed = troubles.keep("PCI functions", place::DEVICES, listed).unwrap_or_default();
    let mut addresses: Vec<PciAddress> =
        listed.iter().filter_map(|name| name.parse().ok()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let read = parallel::map(addresses, |address| {
        let mut troubles = Troubles::default();
        (function::read(root, address, &mut troubles), troubles)
    });
    let (mut seen, met): (Vec<Seen>, Vec<Troubles>) = read.into_iter().unzip();
    met.into_iter().for_each(|met| troubles.add(met));
    guess_ports(&mut seen);
    join_links(&mut seen);
    let (mut functions, own): (Vec<Function>, Vec<_>) =
        seen.into_iter().map(|seen| (seen.function, seen.own_node)).unzip();
    node::infer(root, &mut functions, &own, nodes, troubles);
    slot::read(root, &mut functions);
    slot::name_from_firmware(&mut functions, &crate::dmi::slots(root));
    for function in &mut functions {
        function.names = names::of(function);
    }
    functions
}

/// Bridges whose configuration space may not be read have no kind. A switch is an upstream port
/// with downstream ports on its inner bus, so that kinds alternate with depth.
fn guess_ports(seen: &mut [Seen]) {
    let above: BTreeMap<PciAddress, (Option<PciAddress>, String)> = seen
        .iter()
        .map(|seen| &seen.function)
        .map(|function| (function.address, (function.parent, function.root.clone())))
        .collect();
    for seen in seen.iter_mut().filter(|seen| seen.end.is_some()) {
        let function = &mut seen.function;
        if function.port.is_none() && function.is_port() {
            function.port = Some(match depth(&above, function.address) {
                0 => PortKind::Root,
                odd if odd % 2 == 1 => PortKind::Upstream,
                _ => PortKind::Downstream,
            });
        }
    }
}

/// How many functions lie between a function and its root bus. A domain of VMD's begins anew.
fn depth(above: &BTreeMap<PciAddress, (Option<PciAddress>, String)>, address: PciAddress) -> usize {
    let parent = |address: &PciAddress| {
        let (parent, root) = above.get(address)?;
        let parent = (*parent)?;
        above.get(&parent).is_some_and(|(_, upper)| upper == root).then_some(parent)
    };
    std::iter::successors(parent(&address), parent).take(256).count()
}

/// Brings both ends of every link together.
fn join_links(seen: &mut [Seen]) {
    let ports: BTreeMap<PciAddress, (LinkSide, bool)> = seen
        .iter()
        .filter(|seen| seen.function.is_upper_end())
        .filter_map(|seen| {
            let end = seen.end.as_ref()?;
            Some((seen.function.address, (end.best.clone(), seen.hot_plug)))
        })
        .collect();
    for seen in seen {
        let upper = seen.function.is_upper_end();
        let port = seen.function.parent.filter(|_| !upper);
        let port = port.and_then(|address| Some((address, ports.get(&address)?)));
        seen.function.hot_plug = port.is_some_and(|(_, (_, hot_plug))| *hot_plug);
        let above = port.map(|(address, (side, _))| (address, side.clone()));
        seen.function.link = seen.end.take().map(|end| end.into_link(above));
    }
}

#[cfg(test)]
mod tests;
