// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which node a function belongs to, and how that is known.
//!
//! `numa_node` is -1 where the firmware gives no proximity. That is unknown, never node 0, and
//! other signs are asked in the order of what they are worth: a bridge above, the CPUs that the
//! kernel calls local, the CPUs of the root bus (the host bridge's proximity in ACPI, `_PXM`), and
//! the machine itself when it has one node.

use std::collections::BTreeMap;

use machine::{Fact, Function, Node, NodeFrom, Why};
use root::{Dir, Root};
use units::{CpuSet, NodeId};

use super::files::Files;
use crate::Troubles;

/// The most nodes that a kernel can be built for (`CONFIG_NODES_SHIFT` is 10 at most).
const MAX_NODES: u32 = 1 << 10;
/// Deeper trees are made by no hardware: eight buses of switches already fill a domain's 256.
pub(super) const MAX_DEPTH: usize = 64;

/// The number in `numa_node`.
pub(super) fn read_own(dir: &Dir<'_>, files: &Files) -> Fact<NodeId> {
    files.text(dir, "numa_node").and_then(|text| parse_node(&text))
}

/// `1`; `-1` where the firmware tells nothing.
pub(crate) fn parse_node(text: &str) -> Fact<NodeId> {
    if text == "-1" {
        return Err(Why::NotSupported);
    }
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| text.parse().ok()).flatten();
    number.filter(|number| *number < MAX_NODES).map(NodeId).ok_or_else(|| Why::unparsed(text))
}

/// `local_cpulist`; `local_cpus`, a mask, where a tree lacks it.
pub(super) fn read_local_cpus(dir: &Dir<'_>, files: &Files) -> Fact<CpuSet> {
    if files.has("local_cpulist") {
        let text = dir.text("local_cpulist")?;
        return CpuSet::from_list(&text).map_err(|_| Why::unparsed(&text));
    }
    let text = files.text(dir, "local_cpus")?;
    CpuSet::from_mask(&text).map_err(|_| Why::unparsed(&text))
}

/// As [`read_local_cpus`], of a folder that was not listed.
pub(super) fn local_cpus(dir: &Dir<'_>) -> Fact<CpuSet> {
    match dir.text("local_cpulist") {
        Ok(text) => CpuSet::from_list(&text).map_err(|_| Why::unparsed(&text)),
        Err(Why::Absent) => {
            let text = dir.text("local_cpus")?;
            CpuSet::from_mask(&text).map_err(|_| Why::unparsed(&text))
        }
        Err(why) => Err(why),
    }
}

/// Whether the machine has the node, as far as its nodes are known.
pub(super) fn exists(node: NodeId, nodes: &[Node]) -> bool {
    nodes.is_empty() || nodes.iter().any(|each| each.id == node)
}

/// Fills the node of every function from `own` (of the same length) and the other signs.
pub(super) fn infer(
    root: &dyn Root,
    functions: &mut [Function],
    own: &[Fact<NodeId>],
    nodes: &[Node],
    troubles: &mut Troubles,
) {
    for (function, node) in functions.iter_mut().zip(own) {
        if let Some(node) = believed(function, node, nodes, troubles) {
            set(function, node, NodeFrom::Own);
        }
    }
    tell_silence(functions, own, nodes, troubles);
    let mut buses = BTreeMap::new();
    from_above(functions);
    // With one node the kernel calls all CPUs local, which tells nothing.
    if let Some(node) = only(nodes, functions) {
        let unknown = functions.iter_mut().filter(|function| function.node.is_none());
        return unknown.for_each(|function| set(function, node, NodeFrom::Only));
    }
    for function in functions.iter_mut().filter(|function| function.node.is_none()) {
        if let Some(node) = holder(nodes, &function.local_cpus) {
            set(function, node, NodeFrom::LocalCpus);
        } else if let Some(node) = of_root_bus(root, &function.root, nodes, &mut buses) {
            set(function, node, NodeFrom::Proximity);
        }
    }
    from_above(functions);
}

fn set(function: &mut Function, node: NodeId, from: NodeFrom) {
    function.node = Some(node);
    function.node_from = from;
}

/// A function's own node, unless the machine has no such node.
fn believed(
    function: &Function,
    own: &Fact<NodeId>,
    nodes: &[Node],
    troubles: &mut Troubles,
) -> Option<NodeId> {
    let path = || format!("{}/{}/numa_node", super::place::DEVICES, function.address);
    match own {
        Ok(node) if exists(*node, nodes) => Some(*node),
        Ok(node) => {
            let why = Why::Unparsed(node.to_string());
            troubles.note("PCI functions on a node that the machine has not", &why, &path());
            None
        }
        Err(Why::NotSupported) => None,
        Err(why) => {
            troubles.note("node of a PCI function", why, &path());
            None
        }
    }
}

/// A machine of several nodes whose firmware says nothing of any function is worth telling.
fn tell_silence(
    functions: &[Function],
    own: &[Fact<NodeId>],
    nodes: &[Node],
    troubles: &mut Troubles,
) {
    let several = nodes.iter().filter(|node| !node.cpus.is_empty()).count() > 1;
    let silent = own.contains(&Err(Why::NotSupported));
    if several && silent && own.iter().all(Result::is_err) {
        let first = functions.first().map(|function| function.address.to_string());
        let path = format!("{}/{}/numa_node", super::place::DEVICES, first.unwrap_or_default());
        troubles.note(
            "node of every PCI function: the firmware says -1",
            &Why::NotSupported,
            &path,
        );
    }
}

/// Functions without a node get that of the nearest function above that has one.
fn from_above(functions: &mut [Function]) {
    let known: BTreeMap<_, _> =
        functions.iter().map(|each| (each.address, (each.parent, each.node))).collect();
    for function in functions.iter_mut().filter(|function| function.node.is_none()) {
        let mut above = function.parent;
        for _ in 0..MAX_DEPTH {
            let Some((parent, node)) = above.and_then(|address| known.get(&address)) else { break };
            if let Some(node) = node {
                set(function, *node, NodeFrom::Parent);
                break;
            }
            above = *parent;
        }
    }
}

/// The node that alone holds all of `cpus`. Nodes that overlap (misleading firmware) hold nothing
/// alone.
fn holder(nodes: &[Node], cpus: &CpuSet) -> Option<NodeId> {
    let mut touched = nodes.iter().filter(|node| node.cpus.overlaps(cpus));
    let first = touched.next()?;
    (touched.next().is_none() && cpus.is_subset(&first.cpus)).then_some(first.id)
}

/// The node of a root bus by the CPUs that `pci_bus/DDDD:BB/cpulistaffinity` names.
fn of_root_bus(
    root: &dyn Root,
    bus: &str,
    nodes: &[Node],
    known: &mut BTreeMap<String, Option<NodeId>>,
) -> Option<NodeId> {
    if let Some(node) = known.get(bus) {
        return *node;
    }
    let number = bus.strip_prefix("pci")?;
    let text = root::text(root, &format!("/sys/class/pci_bus/{number}/cpulistaffinity"));
    let cpus = text.ok().and_then(|text| CpuSet::from_list(&text).ok());
    let node = cpus.and_then(|cpus| holder(nodes, &cpus));
    known.insert(bus.to_owned(), node);
    node
}

/// The one node that has CPUs. A node of which neither CPUs nor memory could be read may have some,
/// and so may one beside it whose CPUs a function calls local.
fn only(nodes: &[Node], functions: &[Function]) -> Option<NodeId> {
    let mut may_have = nodes.iter().filter(|node| !node.cpus.is_empty() || node.memory.is_err());
    let first = may_have.next().filter(|node| !node.cpus.is_empty())?;
    let is_all = functions.iter().all(|function| function.local_cpus.is_subset(&first.cpus));
    (may_have.next().is_none() && is_all).then_some(first.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;

    fn node(id: u32, cpus: &str) -> Node {
        Node::new(NodeId(id), CpuSet::from_list(cpus).unwrap())
    }

    fn function(address: &str, parent: Option<&str>, local: &str) -> Function {
        let mut function = Function::new(address.parse().unwrap());
        function.parent = parent.map(|text| text.parse().unwrap());
        function.local_cpus = CpuSet::from_list(local).unwrap();
        function.root = "pci0000:85".to_owned();
        function
    }

    const SILENT: Fact<NodeId> = Err(Why::NotSupported);

    fn inferred(
        root: &MemoryRoot,
        functions: Vec<Function>,
        own: &[Fact<NodeId>],
        nodes: &[Node],
    ) -> (Vec<(Option<u32>, NodeFrom)>, Vec<machine::Trouble>) {
        let (mut functions, mut troubles) = (functions, Troubles::default());
        infer(root, &mut functions, own, nodes, &mut troubles);
        let told = |each: &Function| (each.node.map(|node| node.0), each.node_from);
        (functions.iter().map(told).collect(), troubles.into_list())
    }

    #[test]
    fn a_node_that_cannot_be_read_leaves_no_only_one() {
        let read = |cpus| Node { memory: Ok(units::Bytes(1 << 30)), ..node(1, cpus) };
        let lone = |local| vec![function("85:00.0", None, local)];
        let told = |local, nodes: &[Node]| {
            inferred(&MemoryRoot::new(), lone(local), &[SILENT], nodes).0[0]
        };
        assert_eq!(told("", &[read("8-15")]), (Some(1), NodeFrom::Only));
        assert_eq!(told("", &[node(0, ""), read("8-15")]), (None, NodeFrom::Unknown));
        assert_eq!(told("0-7", &[read(""), read("8-15")]), (None, NodeFrom::Unknown));
    }

    #[test]
    fn minus_one_is_unknown_and_never_node_0() {
        assert_eq!(parse_node("-1"), SILENT);
        assert_eq!(parse_node("1"), Ok(NodeId(1)));
        for text in ["", "+1", "-2", "1024", "99999999999", "x"] {
            assert_eq!(parse_node(text), Err(Why::Unparsed(text.to_owned())));
        }
        let nodes = [node(0, "0-7"), node(1, "8-15")];
        let lone = vec![function("85:00.0", None, "0-15")];
        let (found, troubles) = inferred(&MemoryRoot::new(), lone, &[SILENT], &nodes);
        assert_eq!(found, [(None, NodeFrom::Unknown)]);
        assert_eq!(troubles.len(), 1, "{troubles:?}");
    }

    #[test]
    fn each_sign_is_used_in_its_turn() {
        let nodes = [node(0, "0-7"), node(1, "8-15")];
        let mut root = MemoryRoot::new();
        root.file("/sys/class/pci_bus/0000:c0/cpulistaffinity", "8-15\n");
        let mut by_bus = function("c0:00.0", None, "");
        by_bus.root = "pci0000:c0".to_owned();
        let functions = vec![
            function("85:00.0", None, "8-15"),
            function("86:00.0", Some("85:00.0"), ""),
            function("87:00.0", None, "0-3"),
            function("88:00.0", Some("87:00.0"), ""),
            by_bus,
        ];
        let own = [Ok(NodeId(1)), SILENT, SILENT, SILENT, SILENT];
        let (found, troubles) = inferred(&root, functions, &own, &nodes);
        let wanted = [
            (Some(1), NodeFrom::Own),
            (Some(1), NodeFrom::Parent),
            (Some(0), NodeFrom::LocalCpus),
            (Some(0), NodeFrom::Parent),
            (Some(1), NodeFrom::Proximity),
        ];
        assert_eq!(found, wanted);
        assert!(troubles.is_empty(), "{troubles:?}");
    }

    #[test]
    fn one_node_with_cpus_is_the_node() {
        let memory_only = Node { memory: Ok(units::Bytes(1 << 30)), ..node(2, "") };
        let nodes = [node(0, "0-7"), memory_only];
        let lone = vec![function("85:00.0", None, "0-7")];
        let (found, _) = inferred(&MemoryRoot::new(), lone, &[SILENT], &nodes);
        assert_eq!(found, [(Some(0), NodeFrom::Only)]);
    }

    #[test]
    fn misleading_firmware_yields_no_node() {
        let overlapping = [node(0, "0-7"), node(1, "4-15")];
        let lone = vec![function("85:00.0", None, "4-7")];
        let (found, _) = inferred(&MemoryRoot::new(), lone, &[SILENT], &overlapping);
        assert_eq!(found, [(None, NodeFrom::Unknown)]);
        let nodes = [node(0, "0-7"), node(1, "8-15")];
        let absent = vec![function("85:00.0", None, "")];
        let (found, troubles) = inferred(&MemoryRoot::new(), absent, &[Ok(NodeId(7))], &nodes);
        assert_eq!(found, [(None, NodeFrom::Unknown)]);
        assert_eq!(troubles.len(), 1, "{troubles:?}");
    }

    #[test]
    fn parents_in_a_loop_end() {
        let nodes = [node(0, "0-7"), node(1, "8-15")];
        let functions = vec![
            function("85:00.0", Some("86:00.0"), ""),
            function("86:00.0", Some("85:00.0"), ""),
        ];
        let (found, _) = inferred(&MemoryRoot::new(), functions, &[SILENT, SILENT], &nodes);
        assert_eq!(found[0], (None, NodeFrom::Unknown));
    }
}
