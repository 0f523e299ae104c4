// SPDX-License-Identifier: MIT OR Apache-2.0
//! The PCI tree: host bridges of each node, root ports, switches, and the functions below them.
//!
//! ```text
//! pci0000:00 ─ 00:00.0 host bridge
//!            ├ 00:01.0 root port ─ 01:00.0 function
//!            └ 00:02.0 root port ─ 02:00.0 upstream ─ 03:00.0 downstream ─ 04:00.0 function
//! ```

mod bus;
mod function;

use units::PciAddress;

pub(crate) use bus::Bridges;

use crate::build::Build;
use crate::config_space::{Express, PortType, Registers};
use crate::{Lanes, Place};
use function::Written;

/// What is to be attached.
#[derive(Debug, Clone)]
pub(crate) struct Card<'a> {
    pub(crate) id: [u16; 2],
    /// Class, subclass and interface in 24 bits.
    pub(crate) class: u32,
    /// Empty: none.
    pub(crate) driver: &'a str,
    pub(crate) functions: u8,
    /// Vectors of a function.
    pub(crate) vectors: u32,
    /// The link that such a card usually has.
    pub(crate) lanes: Lanes,
    pub(crate) virtual_functions: [u32; 2],
}

/// A function that was attached.
#[derive(Debug, Clone)]
pub(crate) struct Attached {
    /// Its folder below /sys/devices.
    pub(crate) path: String,
    pub(crate) address: PciAddress,
    /// What `numa_node` says.
    pub(crate) told: i32,
}

/// Class of a PCI-to-PCI bridge, and of a host bridge.
const BRIDGE: u32 = 0x06_0400;
const HOST_BRIDGE: u32 = 0x06_0000;

/// Bus, device and function in the 16 bits of a requester id, the domain above them.
pub(crate) fn requester(address: PciAddress) -> u32 {
    let function = u32::from(address.device) << 3 | u32::from(address.function);
    address.domain << 16 | u32::from(address.bus) << 8 | function
}

/// Makes the host bridges of all nodes, so that bus numbers do not depend on what is attached.
pub(crate) fn write_roots(build: &mut Build<'_>) {
    let host = &build.description.host;
    for node in 0..build.description.cpu.node_count() {
        for _ in 0..host.roots_per_node.max(1) {
            add_root(build, node);
        }
    }
}

fn add_root(build: &mut Build<'_>, node: u32) -> usize {
    let index = build.bridges.add(node);
    let (path, address) = build.bridges.root_place(index);
    let told = told(build, &Place { node, ..Place::default() });
    build.tree.text(format!("{path}/uevent"), "");
    let bus = format!("{:04x}:{:02x}", address.domain, address.bus);
    let near = build.topology.near(told);
    let affinity = format!("{path}/pci_bus/{bus}");
    build.tree.line(format!("{affinity}/cpulistaffinity"), &near);
    let mask = crate::text::mask(&near, build.topology.bits);
    build.tree.line(format!("{affinity}/cpuaffinity"), mask);
    let id = host_bridge_id(build);
    function::write(
        build,
        &Written {
            path: &format!("{path}/{address}"),
            address,
            registers: &plain(id, HOST_BRIDGE),
            place: &Place::default(),
            told,
            driver: "",
        },
    );
    index
}

/// Intel's and AMD's host bridges of the processors meant (ids of pci.ids): AMD's first family is
/// 17h (23), the others are taken for Turin.
fn host_bridge_id(build: &Build<'_>) -> [u16; 2] {
    let cpu = &build.description.cpu;
    match (build.description.host.hypervisor.as_deref(), cpu.vendor.as_str(), cpu.id) {
        (Some(_), _, _) => [0x8086, 0x29c0],
        (None, "AuthenticAMD", [23, ..]) => [0x1022, 0x1450],
        (None, "AuthenticAMD", _) => [0x1022, 0x153a],
        (None, _, _) => [0x8086, 0x09a2],
    }
}

/// Root ports: the bridges of those processors.
fn port_id(build: &Build<'_>) -> [u16; 2] {
    match (build.description.cpu.vendor.as_str(), build.description.cpu.id) {
        ("AuthenticAMD", [23, ..]) => [0x1022, 0x1453],
        ("AuthenticAMD", _) => [0x1022, 0x153e],
        _ => [0x8086, 0x352a],
    }
}

const fn plain(id: [u16; 2], class: u32) -> Registers {
    Registers {
        id,
        subsystem: [0, 0],
        class,
        revision: 0,
        multifunction: false,
        buses: None,
        express: None,
        vectors: 0,
        virtual_functions: None,
    }
}

/// What `numa_node` says of a device at a place.
fn told(build: &Build<'_>, place: &Place) -> i32 {
    let silent = build.description.host.silent_about_nodes;
    let truth = i32::try_from(place.node).unwrap_or(-1);
    if silent { -1 } else { place.told.unwrap_or(truth) }
}

/// Puts a card in its place: a root port or a switch's port above it, then its functions.
pub(crate) fn attach(build: &mut Build<'_>, place: &Place, card: &Card<'_>) -> Vec<Attached> {
    let (parent, first) = if place.on_root_bus {
        let root = root_for(build, place, 0);
        build.bridges.on_root_bus(root)
    } else {
        below_port(build, place, card)
    };
    let told = told(build, place);
    (0..card.functions.max(1))
        .map(|function| {
            let address = PciAddress { function, ..first };
            let path = format!("{parent}/{address}");
            let registers = card_registers(place, card);
            let written = Written {
                path: &path,
                address,
                registers: &registers,
                place,
                told,
                driver: card.driver,
            };
            function::write(build, &written);
            function::write_virtual(build, &written, card.virtual_functions);
            Attached { path, address, told }
        })
        .collect()
}

fn card_registers(place: &Place, card: &Card<'_>) -> Registers {
    let ends = place.ends(card.lanes);
    let kind = PortType::Endpoint;
    let express = (!place.on_root_bus).then(|| express(place, kind, ends.now, ends.device));
    let [now, most] = card.virtual_functions.map(|count| u16::try_from(count).unwrap_or(u16::MAX));
    Registers {
        subsystem: [card.id[0], 0x0001],
        multifunction: card.functions > 1,
        express,
        vectors: u16::try_from(card.vectors.min(2048)).unwrap_or(0),
        virtual_functions: (most > 0).then_some([now, most]),
        ..plain(card.id, card.class)
    }
}

fn express(place: &Place, kind: PortType, now: Lanes, best: Lanes) -> Express {
    Express {
        kind,
        now,
        best,
        aspm: [place.aspm.contains("l0s"), place.aspm.contains("l1")],
        mps: place.mps,
        mrrs: place.mrrs,
        relaxed_ordering: !place.strictly_ordered,
        extended_tags: !place.short_tags,
        acs_redirect: place.acs_redirect,
        hot_plug: place.slot.is_some(),
    }
}

/// The root that a place names, or the emptiest of its node; a new one where all are full.
fn root_for(build: &mut Build<'_>, place: &Place, buses: u8) -> usize {
    match build.bridges.choose(place.node, place.root, buses) {
        Some(root) => root,
        None => add_root(build, place.node),
    }
}

/// Makes the port above a card; its folder, and the address of the card's first function.
fn below_port(build: &mut Build<'_>, place: &Place, card: &Card<'_>) -> (String, PciAddress) {
    let ends = place.ends(card.lanes);
    let (parent, port, bus, kind) = match place.switch.as_deref() {
        Some(name) => {
            ensure_switch(build, name);
            let (parent, port, bus) = build.bridges.downstream(name);
            (parent, port, bus, PortType::Downstream)
        }
        None => {
            let root = root_for(build, place, 1);
            let (parent, port, bus) = build.bridges.root_port(root, 1);
            (parent, port, bus, PortType::RootPort)
        }
    };
    let path = format!("{parent}/{port}");
    let buses = [port.bus, bus, bus];
    write_port(build, &path, port, place, express(place, kind, ends.now, ends.port), buses);
    (path, PciAddress { domain: port.domain, bus, device: 0, function: 0 })
}

fn write_port(
    build: &mut Build<'_>,
    path: &str,
    address: PciAddress,
    place: &Place,
    express: Express,
    buses: [u8; 3],
) {
    let registers = Registers {
        buses: Some(buses),
        express: Some(express),
        vectors: 0,
        ..plain(port_id(build), BRIDGE)
    };
    // A port says what its host bridge says: wrong answers are the devices' own.
    let told = told(build, &Place { told: None, ..place.clone() });
    let port = Place { slot: None, runtime_pm: "auto".to_owned(), ..place.clone() };
    let driver = "pcieport";
    let written = Written { path, address, registers: &registers, place: &port, told, driver };
    function::write(build, &written);
    build.tree.line(format!("{path}/secondary_bus_number"), buses[1]);
    build.tree.line(format!("{path}/subordinate_bus_number"), buses[2]);
    if express.kind == PortType::RootPort {
        let vector =
            crate::irq::Vector::free("PCIe PME, aerdrv".to_owned(), build.topology.online.clone());
        let attached = Attached { path: path.to_owned(), address, told };
        build.interrupt(&attached, vec![vector]);
    }
    if let Some(slot) = &place.slot {
        function::write_slot(build, slot, buses[1], address.domain, express);
    }
}

fn ensure_switch(build: &mut Build<'_>, name: &str) {
    if build.bridges.has_switch(name) {
        return;
    }
    let description = build.description;
    let Some(switch) = description.switch.iter().find(|switch| switch.name == name) else { return };
    let usual = Lanes { generation: 5, width: 16 };
    let ends = switch.at.ends(usual);
    // The switch's own two buses, and one for each device below it.
    let buses = u8::try_from(description.users_of(name)).unwrap_or(12).saturating_add(2);
    let root = root_for(build, &switch.at, buses);
    let (parent, port, bus) = build.bridges.root_port(root, buses);
    let last = bus.saturating_add(buses - 1);
    let path = format!("{parent}/{port}");
    let above = express(&switch.at, PortType::RootPort, ends.now, ends.port);
    write_port(build, &path, port, &switch.at, above, [port.bus, bus, last]);
    let upstream = PciAddress { domain: port.domain, bus, device: 0, function: 0 };
    let path = format!("{path}/{upstream}");
    let below = express(&switch.at, PortType::Upstream, ends.now, ends.device);
    write_port(build, &path, upstream, &switch.at, below, [bus, bus + 1, last]);
    build.bridges.add_switch(name, path, port.domain, bus + 1);
}
