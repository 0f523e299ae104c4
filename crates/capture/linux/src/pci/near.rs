// SPDX-License-Identifier: MIT OR Apache-2.0
//! One function and those above it, with no more read than its node takes.

use machine::{Function, Node, NodeFrom};
use root::{Dir, Root};
use units::PciAddress;

use super::{function, node, place};
use crate::Troubles;

/// The lowest function in the path of a device, then those above it as far as they were needed to
/// tell its node; nothing where no function is in the path.
pub(crate) fn chain(
    root: &dyn Root,
    path: &str,
    nodes: &[Node],
    troubles: &mut Troubles,
) -> Vec<Function> {
    let Some(address) = lowest(path) else { return Vec::new() };
    let (mut functions, mut own) = (Vec::new(), Vec::new());
    let mut next = Some(address);
    while let Some(address) = next.filter(|_| functions.len() < node::MAX_DEPTH) {
        let (function, told) = read(root, address, path);
        let is_told = told.as_ref().is_ok_and(|node| node::exists(*node, nodes));
        next = function.parent.filter(|_| !is_told);
        functions.push(function);
        own.push(told);
    }
    node::infer(root, &mut functions, &own, nodes, troubles);
    let is_by_elimination =
        functions.first().is_some_and(|function| function.node_from == NodeFrom::Only);
    // That one node is the only one that can be meant is for all functions to say.
    if is_by_elimination && nodes.len() > 1 {
        let all = super::read(root, nodes, troubles);
        return all.into_iter().filter(|function| function.address == address).collect();
    }
    functions
}

/// What tells interrupts of a function: its driver and their numbers.
pub(crate) fn add_interrupts(root: &dyn Root, function: &mut Function) {
    let seen = function::read(root, function.address, &mut Troubles::default()).function;
    function.driver = seen.driver;
    function.class = seen.class;
    function.irqs = seen.irqs;
}

fn read(
    root: &dyn Root,
    address: PciAddress,
    path: &str,
) -> (Function, machine::Fact<units::NodeId>) {
    let entry = format!("{}/{address}", place::DEVICES);
    let place = match root.link(&entry) {
        Ok(target) => place::parse(&target),
        Err(_) => place_in(path, &address.to_string())
            .unwrap_or_else(|| place::Place { path: entry, ..place::Place::default() }),
    };
    let mut function = Function::new(address);
    function.parent = place.parent.filter(|parent| *parent != address);
    function.root = place.root;
    let dir = Dir::new(root, place.path);
    function.local_cpus = node::local_cpus(&dir).unwrap_or_default();
    (function, dir.text("numa_node").and_then(|text| node::parse_node(&text)))
}

/// A tree that lacks the link may have told the place in the device's own path.
fn place_in(path: &str, address: &str) -> Option<place::Place> {
    let end = path.find(address)? + address.len();
    path.get(..end).filter(|path| path.starts_with("/sys/devices/")).map(place::parse)
}

fn lowest(path: &str) -> Option<PciAddress> {
    crate::net::function_in(path)
}
