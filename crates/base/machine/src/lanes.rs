// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lanes and bandwidth that the devices below each root complex can ask for.

use std::collections::{BTreeMap, BTreeSet};

use units::{ByteRate, NodeId, PciAddress};

use crate::{Function, Machine, PciClass};

/// What hangs from one root complex, and what it can ask at most.
#[derive(Debug, Clone, PartialEq)]
pub struct RootLanes {
    /// The root bus: `pci0000:17`.
    pub root: String,
    /// The nodes that its devices tell, ascending: one, unless firmware is at odds with itself.
    pub nodes: BTreeSet<NodeId>,
    /// Lanes of all devices together, each at the best of both ends of its link.
    pub lanes: u32,
    /// Bytes a second in one direction of all devices together.
    pub rate: ByteRate,
    /// Lanes by PCIe generation.
    pub by_generation: BTreeMap<u8, u32>,
    /// Each device's part, by address.
    pub used_by: Vec<LaneUse>,
}

/// One device's part of a root complex's lanes.
#[derive(Debug, Clone, PartialEq)]
pub struct LaneUse {
    /// First function of the device: the functions of one card share a link.
    pub function: PciAddress,
    /// Lanes at the best of both ends.
    pub lanes: u8,
    /// PCIe generation at the best of both ends.
    pub generation: Option<u8>,
    /// Bytes a second in one direction.
    pub rate: ByteRate,
    /// Part of the root complex's sum, 0 to 1.
    pub share: f64,
}

impl RootLanes {
    /// Its node, unless its devices tell none or several.
    pub fn node(&self) -> Option<NodeId> {
        self.nodes.first().copied().filter(|_| self.nodes.len() == 1)
    }
}

impl Machine {
    /// Lanes by root complex, in the order of their names. Devices whose link is unknown ask for
    /// nothing here, those below a port that could not be read among them: it may have fewer lanes
    /// than they. Root complexes without a device that has a link are left out. Ports and switches
    /// are ways, not users: only what hangs at the end of a link counts.
    pub fn lanes(&self) -> Vec<RootLanes> {
        let read = self.functions.iter().filter(|one| one.class != PciClass::default());
        let read: BTreeSet<PciAddress> = read.map(|one| one.address).collect();
        let is_end = |function: &&Function| {
            !function.is_port() && function.parent.is_none_or(|parent| read.contains(&parent))
        };
        let mut seen = BTreeSet::new();
        let mut roots: BTreeMap<&str, Vec<(&Function, LaneUse)>> = BTreeMap::new();
        for function in self.functions.iter().filter(is_end) {
            let card = card_of(function);
            let Some(part) = lane_use(function).filter(|_| seen.insert(card)) else { continue };
            roots.entry(&function.root).or_default().push((function, part));
        }
        roots.into_iter().map(|(root, parts)| sum(root, parts)).collect()
    }
}

/// Functions of one card: those on one bus below one port. Below a root bus, which has no link of
/// its own, the device number tells cards apart.
fn card_of(function: &Function) -> (u32, u8, Option<u8>) {
    let PciAddress { domain, bus, device, .. } = function.address;
    (domain, bus, function.parent.is_none().then_some(device))
}

fn lane_use(function: &Function) -> Option<LaneUse> {
    let link = function.link.as_ref()?;
    let best = link.best();
    Some(LaneUse {
        function: function.address,
        lanes: best.width.ok()?,
        generation: best.speed.clone().ok()?.generation(),
        rate: link.rate_best().ok()?,
        share: 0.0,
    })
}

fn sum(root: &str, parts: Vec<(&Function, LaneUse)>) -> RootLanes {
    let nodes = parts.iter().filter_map(|(function, _)| function.node).collect();
    let mut used_by: Vec<LaneUse> = parts.into_iter().map(|(_, part)| part).collect();
    let rate: f64 = used_by.iter().map(|part| part.rate.0).sum();
    let mut by_generation = BTreeMap::new();
    for part in &mut used_by {
        part.share = if rate > 0.0 { part.rate.0 / rate } else { 0.0 };
        if let Some(generation) = part.generation {
            *by_generation.entry(generation).or_default() += u32::from(part.lanes);
        }
    }
    let lanes = used_by.iter().map(|part| u32::from(part.lanes)).sum();
    RootLanes { root: root.to_owned(), nodes, lanes, rate: ByteRate(rate), by_generation, used_by }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Aspm, Link, LinkSide, PortKind};
    use units::Transfers;

    fn endpoint(address: &str, parent: Option<&str>, speed: u16, width: u8) -> Function {
        let own = LinkSide { speed: Ok(Transfers(speed)), width: Ok(width) };
        let link = Link {
            speed: own.speed.clone(),
            width: own.width.clone(),
            own,
            above: None,
            port: None,
            aspm: Aspm::default(),
        };
        let mut function = Function::new(address.parse().unwrap());
        function.root = "pci0000:17".to_owned();
        function.parent = parent.map(|text| text.parse().unwrap());
        function.node = Some(NodeId(0));
        function.link = Some(link);
        function
    }

    fn port(address: &str, width: u8) -> Function {
        let class = PciClass { base: 0x06, sub: 0x04, interface: 0 };
        Function { class, port: Some(PortKind::Root), ..endpoint(address, None, 320, width) }
    }

    #[test]
    fn below_a_port_that_is_not_seen_nothing_is_asked() {
        let below = || endpoint("18:00.0", Some("17:00.0"), 160, 16);
        let lanes = |functions| Machine { functions, ..Machine::default() }.lanes();
        assert_eq!(lanes(vec![below()]), []);
        let silent =
            Function { port: None, link: None, class: PciClass::default(), ..port("17:00.0", 8) };
        assert_eq!(lanes(vec![silent, below()]), []);
        assert_eq!(lanes(vec![port("17:00.0", 16), below()])[0].lanes, 16);
    }

    #[test]
    fn cards_are_counted_once_and_ports_never() {
        let functions = vec![
            port("17:00.0", 16),
            port("17:02.0", 4),
            endpoint("18:00.0", Some("17:00.0"), 160, 16),
            endpoint("18:00.1", Some("17:00.0"), 160, 16),
            endpoint("19:00.0", Some("17:02.0"), 320, 4),
        ];
        let lanes = Machine { functions, ..Machine::default() }.lanes();
        assert_eq!(lanes.len(), 1);
        let [root] = &lanes[..] else { panic!("{lanes:?}") };
        assert_eq!((root.lanes, root.node()), (20, Some(NodeId(0))));
        assert_eq!(root.by_generation, BTreeMap::from([(4, 16), (5, 4)]));
        let shares: Vec<f64> = root.used_by.iter().map(|part| part.share).collect();
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!((shares[0] - 2.0 / 3.0).abs() < 1e-9, "{shares:?}");
    }

    #[test]
    fn devices_that_disagree_leave_no_node_and_silent_ones_do_not_count() {
        let mut functions =
            vec![endpoint("17:00.0", None, 320, 4), endpoint("17:01.0", None, 320, 4)];
        let root = |functions: &[Function]| {
            let machine = Machine { functions: functions.to_vec(), ..Machine::default() };
            machine.lanes().remove(0)
        };
        functions[1].node = None;
        assert_eq!(root(&functions).node(), Some(NodeId(0)));
        functions[1].node = Some(NodeId(1));
        assert_eq!(root(&functions).node(), None);
        assert_eq!(root(&functions).nodes, BTreeSet::from([NodeId(0), NodeId(1)]));
    }
}
