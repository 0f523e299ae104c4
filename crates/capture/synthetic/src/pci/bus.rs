// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who gets which bus number: 16 buses a host bridge, 16 host bridges a domain.

use std::collections::BTreeMap;

use units::PciAddress;

/// Buses that a host bridge owns, its own included.
const BUSES: u8 = 16;
/// Devices on a bus (5 bits).
const DEVICES: u8 = 32;

/// Host bridges and switches, and what is still free below them.
#[derive(Debug, Default)]
pub(crate) struct Bridges {
    roots: Vec<Root>,
    switches: BTreeMap<String, Switch>,
}

#[derive(Debug)]
struct Root {
    node: u32,
    domain: u32,
    bus: u8,
    next_device: u8,
    /// Buses below it that are taken.
    taken: u8,
}

#[derive(Debug)]
struct Switch {
    /// Folder of the upstream port.
    path: String,
    domain: u32,
    /// The bus of the downstream ports.
    bus: u8,
    next_device: u8,
}

impl Bridges {
    /// A new host bridge for a node.
    pub(crate) fn add(&mut self, node: u32) -> usize {
        let index = self.roots.len();
        let in_domain = u8::try_from(index % usize::from(BUSES)).unwrap_or(0);
        self.roots.push(Root {
            node,
            domain: u32::try_from(index / usize::from(BUSES)).unwrap_or(0),
            bus: in_domain * BUSES,
            next_device: 1,
            taken: 1,
        });
        index
    }

    /// Folder of a host bridge and the address of its own function.
    pub(crate) fn root_place(&self, index: usize) -> (String, PciAddress) {
        let (domain, bus) = self.roots.get(index).map_or((0, 0), |root| (root.domain, root.bus));
        let address = PciAddress { domain, bus, device: 0, function: 0 };
        (format!("/sys/devices/pci{domain:04x}:{bus:02x}"), address)
    }

    /// The host bridge for a device that needs `buses` buses: the named one of the node, or that
    /// with the fewest taken.
    pub(crate) fn choose(&self, node: u32, named: Option<u32>, buses: u8) -> Option<usize> {
        let mut own = self.roots.iter().enumerate().filter(|(_, root)| root.node == node);
        let fits = |root: &Root| root.taken + buses <= BUSES && root.next_device < DEVICES;
        let named = named.and_then(|index| own.clone().nth(usize::try_from(index).ok()?));
        if let Some((index, _)) = named.filter(|(_, root)| fits(root)) {
            return Some(index);
        }
        own.by_ref()
            .filter(|(_, root)| fits(root))
            .min_by_key(|(index, root)| (root.taken, root.next_device, *index))
            .map(|(index, _)| index)
    }

    /// The next device number on a host bridge's own bus.
    pub(crate) fn on_root_bus(&mut self, index: usize) -> (String, PciAddress) {
        let (path, mut address) = self.root_place(index);
        if let Some(root) = self.roots.get_mut(index) {
            address.device = root.next_device;
            root.next_device += 1;
        }
        (path, address)
    }

    /// A root port with `buses` buses below it: its parent's folder, its address, its first bus.
    pub(crate) fn root_port(&mut self, index: usize, buses: u8) -> (String, PciAddress, u8) {
        let (path, address) = self.on_root_bus(index);
        let mut bus = address.bus;
        if let Some(root) = self.roots.get_mut(index) {
            bus = root.bus.saturating_add(root.taken);
            root.taken = root.taken.saturating_add(buses);
        }
        (path, address, bus)
    }

    pub(crate) fn has_switch(&self, name: &str) -> bool {
        self.switches.contains_key(name)
    }

    pub(crate) fn add_switch(&mut self, name: &str, path: String, domain: u32, bus: u8) {
        self.switches.insert(name.to_owned(), Switch { path, domain, bus, next_device: 0 });
    }

    /// The next downstream port of a switch: the upstream port's folder, its address, its bus.
    pub(crate) fn downstream(&mut self, name: &str) -> (String, PciAddress, u8) {
        let nothing = PciAddress { domain: 0, bus: 0, device: 0, function: 0 };
        let Some(switch) = self.switches.get_mut(name) else { return (String::new(), nothing, 0) };
        let device = switch.next_device;
        switch.next_device += 1;
        let address = PciAddress { domain: switch.domain, bus: switch.bus, device, function: 0 };
        (switch.path.clone(), address, switch.bus.saturating_add(device).saturating_add(1))
    }
}
