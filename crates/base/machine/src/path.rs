// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way from one device to another: up to where they meet, and down again.

use std::collections::BTreeSet;

use units::{NodeId, PciAddress};

use crate::Machine;

/// The way from one device to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Functions from the first device upward, itself included, the meeting port not.
    pub up: Vec<PciAddress>,
    /// Where the two ways meet.
    pub meet: Meeting,
    /// Functions downward to the second device, itself included, the meeting port not.
    pub down: Vec<PciAddress>,
}

/// Where two ways meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meeting {
    /// At a port or bridge, or at the device itself when both are one.
    Port(PciAddress),
    /// In one root complex, by its root bus: `pci0000:17`.
    RootComplex(String),
    /// In one node, through the processor's own interconnect.
    Node(NodeId),
    /// Across nodes, with the distance that the firmware states for it.
    Nodes {
        /// Node of the first device.
        from: NodeId,
        /// Node of the second.
        to: NodeId,
        /// Distance from `from` to `to`, where known.
        distance: Option<u32>,
    },
    /// The node of one of them is unknown.
    Unknown,
}

impl Machine {
    /// The way from device `a` to device `b`, each named as [`Machine::near`] takes it; none when
    /// one of them is not known.
    pub fn path(&self, a: &str, b: &str) -> Option<Path> {
        let ((from, from_node), (to, to_node)) = (self.place_of(a)?, self.place_of(b)?);
        let mut up = from.map(|address| self.way_up(address)).unwrap_or_default();
        let mut down = to.map(|address| self.way_up(address)).unwrap_or_default();
        let above: BTreeSet<PciAddress> = down.iter().copied().collect();
        let common = up.iter().position(|address| above.contains(address));
        let meet = match common.and_then(|index| up.get(index).copied()) {
            Some(port) => {
                up.retain(|address| !self.is_at_or_above(port, *address));
                down.retain(|address| !self.is_at_or_above(port, *address));
                Meeting::Port(port)
            }
            None => self.meeting(from.zip(to), from_node.zip(to_node)),
        };
        down.reverse();
        Some(Path { up, meet, down })
    }

    /// The function and those above it, up to the root bus. A hostile tree may loop: no function
    /// is visited twice.
    pub fn way_up(&self, address: PciAddress) -> Vec<PciAddress> {
        let mut way = Vec::new();
        let mut seen = BTreeSet::new();
        let mut next = Some(address);
        while let Some(address) = next.filter(|address| seen.insert(*address)) {
            way.push(address);
            next = self.function(address).and_then(|function| function.parent);
        }
        way
    }

    fn is_at_or_above(&self, port: PciAddress, address: PciAddress) -> bool {
        self.way_up(port).contains(&address)
    }

    fn meeting(
        &self,
        functions: Option<(PciAddress, PciAddress)>,
        nodes: Option<(NodeId, NodeId)>,
    ) -> Meeting {
        let root = |address| self.function(address).map(|function| &function.root);
        let roots = functions.and_then(|(from, to)| root(from).zip(root(to)));
        if let Some((from, _)) = roots.filter(|(from, to)| from == to && !from.is_empty()) {
            return Meeting::RootComplex(from.clone());
        }
        match nodes {
            Some((from, to)) if from == to => Meeting::Node(from),
            Some((from, to)) => Meeting::Nodes { from, to, distance: self.distance(from, to) },
            None => Meeting::Unknown,
        }
    }

    /// The distance between two nodes as the firmware states it.
    pub fn distance(&self, from: NodeId, to: NodeId) -> Option<u32> {
        let node = self.nodes.iter().find(|node| node.id == from)?;
        node.distances.iter().find(|(id, _)| *id == to).map(|(_, distance)| *distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Function;

    fn function(address: &str, parent: Option<&str>, root: &str, node: u32) -> Function {
        let mut function = Function::new(address.parse().unwrap());
        function.parent = parent.map(|text| text.parse().unwrap());
        function.root = root.to_owned();
        function.node = Some(NodeId(node));
        function
    }

    fn machine() -> Machine {
        let functions = vec![
            function("17:00.0", None, "pci0000:17", 0),
            function("17:02.0", None, "pci0000:17", 0),
            function("18:00.0", Some("17:00.0"), "pci0000:17", 0),
            function("19:00.0", Some("18:00.0"), "pci0000:17", 0),
            function("19:01.0", Some("18:00.0"), "pci0000:17", 0),
            function("1a:00.0", Some("17:02.0"), "pci0000:17", 0),
            function("85:00.0", None, "pci0000:85", 1),
        ];
        Machine { functions, ..Machine::default() }
    }

    #[test]
    fn ways_meet_at_the_lowest_common_place() {
        let machine = machine();
        let meet = |a, b| machine.path(a, b).unwrap().meet;
        assert_eq!(meet("19:00.0", "19:01.0"), Meeting::Port("18:00.0".parse().unwrap()));
        assert_eq!(meet("19:00.0", "1a:00.0"), Meeting::RootComplex("pci0000:17".to_owned()));
        let (from, to) = (NodeId(0), NodeId(1));
        assert_eq!(meet("19:00.0", "85:00.0"), Meeting::Nodes { from, to, distance: None });
        assert_eq!(machine.path("19:00.0", "none"), None);
    }

    #[test]
    fn a_way_lists_what_lies_between() {
        let path = machine().path("19:00.0", "1a:00.0").unwrap();
        let text = |way: &[PciAddress]| way.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(text(&path.up), ["0000:19:00.0", "0000:18:00.0", "0000:17:00.0"]);
        assert_eq!(text(&path.down), ["0000:17:02.0", "0000:1a:00.0"]);
    }

    #[test]
    fn a_loop_of_parents_ends() {
        let functions = vec![
            function("17:00.0", Some("18:00.0"), "r", 0),
            function("18:00.0", Some("17:00.0"), "r", 0),
        ];
        let machine = Machine { functions, ..Machine::default() };
        assert_eq!(machine.way_up("17:00.0".parse().unwrap()).len(), 2);
        assert!(machine.path("17:00.0", "18:00.0").is_some());
    }
}
