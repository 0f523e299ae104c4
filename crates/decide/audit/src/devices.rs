// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which names people have for a PCI function, and which functions matter for I/O.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Drive, DriveKind, Fact, Function, Machine, Nic, NicKind, PortKind, Why};
use units::{BitRate, CpuSet, PciAddress};

/// From this line rate on, placement of a network port costs something that can be seen.
pub(crate) const FAST: BitRate = BitRate(10_000_000_000);

/// Functions by address, and the names of what they carry.
#[derive(Debug, Clone, Default)]
pub(crate) struct Devices<'a> {
    functions: BTreeMap<PciAddress, &'a Function>,
    names: BTreeMap<PciAddress, Vec<String>>,
}

impl<'a> Devices<'a> {
    /// Gathers the names that drives, NICs and GPUs give their functions.
    pub(crate) fn of(machine: &'a Machine) -> Self {
        let mut devices = Self::default();
        for function in &machine.functions {
            devices.functions.insert(function.address, function);
        }
        for drive in &machine.drives {
            for function in drive.controllers.iter().filter_map(|path| path.function) {
                devices.name(function, &drive.name);
            }
        }
        for nic in &machine.nics {
            if let Some(function) = nic.function {
                devices.name(function, &nic.name);
            }
        }
        for gpu in &machine.gpus {
            devices.name(gpu.function, &gpu.name);
        }
        devices
    }

    fn name(&mut self, function: PciAddress, name: &str) {
        let names = self.names.entry(function).or_default();
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }

    /// The function at `address`.
    pub(crate) fn function(&self, address: PciAddress) -> Option<&'a Function> {
        self.functions.get(&address).copied()
    }

    /// Names of what the function carries: drives, NICs, GPUs.
    pub(crate) fn names(&self, address: PciAddress) -> &[String] {
        self.names.get(&address).map_or(&[], Vec::as_slice)
    }

    /// The name that a person would use: of the drive or NIC where there is just one, else the
    /// function's address.
    pub(crate) fn label(&self, address: PciAddress) -> String {
        match self.names(address) {
            [one] => one.clone(),
            _ => address.to_string(),
        }
    }

    /// A device's name as a title shows it: functions by what they carry, CPU groups in plain words.
    pub(crate) fn shown(&self, name: &str) -> String {
        if let Ok(address) = name.parse::<PciAddress>() {
            return match (self.names(address), self.function(address).map(role)) {
                ([one], _) => one.clone(),
                (_, Some(Role::Nvme | Role::Storage)) => format!("controller {address}"),
                (_, Some(Role::Network)) => format!("port {address}"),
                (_, Some(Role::Gpu)) => format!("GPU {address}"),
                _ => address.to_string(),
            };
        }
        match name.strip_prefix("cpu ") {
            Some(cpus) if cpus.contains(['-', ',']) => format!("CPUs {cpus}"),
            Some(cpu) => format!("CPU {cpu}"),
            None => name.to_owned(),
        }
    }

    /// The functions above `address`, the nearest first.
    pub(crate) fn above(&self, address: PciAddress) -> impl Iterator<Item = &'a Function> + '_ {
        let mut next = self.function(address).and_then(|function| function.parent);
        // A tree of PCI buses is at most 256 deep; a damaged capture could tie a loop.
        (0..256).map_while(move |_| {
            let function = self.function(next?)?;
            next = function.parent;
            Some(function)
        })
    }
}

/// What a function is for, as far as rules care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// NVMe controller (class 01.08).
    Nvme,
    /// Another storage controller.
    Storage,
    /// Network or InfiniBand controller.
    Network,
    /// GPU or accelerator; board controllers' graphics are not.
    Gpu,
    /// Bridge.
    Bridge,
    /// Anything else.
    Other,
}

/// Vendors of the graphics in board management controllers: Matrox, ASPEED, Nuvoton, Huawei.
const BOARD_GRAPHICS: [u16; 4] = [0x102b, 0x1a03, 0x1050, 0x19e5];

/// The role of a function, by its class code (PCI Code and ID Assignment Specification).
pub(crate) fn role(function: &Function) -> Role {
    match (function.class.base, function.class.sub) {
        (0x01, 0x08) => Role::Nvme,
        (0x01, _) => Role::Storage,
        (0x02, _) => Role::Network,
        (0x03, _) if BOARD_GRAPHICS.contains(&function.vendor) => Role::Other,
        (0x03 | 0x12, _) => Role::Gpu,
        (0x06, _) => Role::Bridge,
        _ => Role::Other,
    }
}

/// Whether a driver of storage, network or graphics holds the function.
pub(crate) fn is_held(function: &Function) -> bool {
    function.driver.is_some()
        && matches!(role(function), Role::Nvme | Role::Storage | Role::Network | Role::Gpu)
}

/// Whether the function sits inside the root complex and has no link of its own.
pub(crate) fn is_integrated(function: &Function) -> bool {
    matches!(function.port, Some(PortKind::Integrated | PortKind::EventCollector))
        || (function.parent.is_none() && function.link.is_none())
}

/// Whether a network device is a port of a card or a virtual machine's own.
pub(crate) fn is_port(nic: &Nic) -> bool {
    matches!(nic.kind, NicKind::Physical | NicKind::VirtualFunction | NicKind::Paravirtual)
}

/// Whether a link is up, as far as told.
pub(crate) fn is_up(nic: &Nic) -> bool {
    nic.state == "up" || (nic.state == "unknown" && nic.speed.is_ok())
}

/// Ports of network cards whose link is up, virtual functions left out.
pub(crate) fn working_ports(machine: &Machine) -> impl Iterator<Item = &Nic> + Clone {
    machine.nics.iter().filter(|nic| nic.kind == NicKind::Physical && is_up(nic))
}

/// Whether a network device is known to run at 10 Gb/s or more.
pub(crate) fn is_fast(nic: &Nic) -> bool {
    nic.speed.as_ref().is_ok_and(|speed| *speed >= FAST)
}

/// The CPU sets of a port's queues that could be read; why not, where none could.
pub(crate) fn known_sets<'a>(
    sets: impl Iterator<Item = &'a Fact<CpuSet>> + Clone,
) -> Fact<Vec<&'a CpuSet>> {
    let known: Vec<&CpuSet> = sets.clone().filter_map(|set| set.as_ref().ok()).collect();
    match (known.is_empty(), sets.filter_map(|set| set.as_ref().err()).next()) {
        (false, _) => Ok(known),
        (true, why) => Err(why.cloned().unwrap_or(Why::Absent)),
    }
}

/// Whether a drive is NVMe on PCI Express.
pub(crate) fn is_nvme(drive: &Drive) -> bool {
    drive.kind == DriveKind::Nvme
}

/// Whether the system lives on the drive: its place matters little for I/O.
pub(crate) fn is_system(drive: &Drive) -> bool {
    drive.mounts.iter().any(|mount| {
        mount == "/" || mount == "/usr" || mount == "[SWAP]" || mount.starts_with("/boot")
    })
}

/// Every name of the device called `name`: block device, controllers, PCI function, interfaces.
pub(crate) fn aliases(machine: &Machine, name: &str) -> BTreeSet<String> {
    let address = name.parse::<PciAddress>().ok();
    let mut names = BTreeSet::from([name.to_owned()]);
    names.extend(address.map(|address| address.to_string()));
    for drive in &machine.drives {
        let paths = || drive.controllers.iter();
        let reaches = |path: &machine::Controller| {
            path.name == name || (address.is_some() && path.function == address)
        };
        if drive.name == name || paths().any(reaches) {
            names.insert(drive.name.clone());
            names.extend(paths().map(|path| path.name.clone()));
            names.extend(paths().filter_map(|path| path.function).map(|at| at.to_string()));
        }
    }
    for nic in &machine.nics {
        if nic.name == name || (address.is_some() && nic.function == address) {
            names.insert(nic.name.clone());
            names.extend(nic.function.map(|at| at.to_string()));
        }
    }
    for gpu in &machine.gpus {
        if gpu.name == name || Some(gpu.function) == address {
            names.extend([gpu.name.clone(), gpu.function.to_string()]);
        }
    }
    names
}
