// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the device behind an interrupt.
//!
//! The kernel's own word comes first: `msi_irqs` of a function, then the address that newer chips
//! carry in their name (`PCI-MSIX-0000:3e:00.0`). Only then the action's name is believed, since
//! it keeps the interface name of the day when the driver was loaded.

use std::collections::BTreeMap;

use machine::{Function, IrqSource, Nic, NicKind};
use root::{Dir, Root};
use units::PciAddress;

use super::interrupts::Line;
use super::managed;
use super::name::{self, Name, Purpose};

/// Drivers that put their own name in front of the interface's.
const PREFIXES: &[&str] =
    &["i40e-", "ice-", "iavf-", "idpf-", "i40evf-", "ionic-", "hns3-", "fm10k-", "igb-", "mlx4-"];

/// Who could have raised an interrupt.
#[derive(Debug)]
pub(crate) struct Devices<'a> {
    functions: BTreeMap<PciAddress, &'a Function>,
    /// Function of a vector, by `msi_irqs`.
    messages: BTreeMap<u32, &'a Function>,
    /// Functions that name a pin in their `irq`, which several may share.
    pins: BTreeMap<u32, Vec<&'a Function>>,
    /// Names that a person would use, by function.
    names: BTreeMap<PciAddress, Vec<String>>,
    /// Function by name: `nvme0`, `virtio1`, `eth0`.
    by_name: BTreeMap<String, PciAddress>,
    /// Whether the machine's interfaces are known.
    has_nics: bool,
    /// Functions of virtio devices' names: their interrupts are called after them.
    virtio: BTreeMap<String, PciAddress>,
}

impl<'a> Devices<'a> {
    /// Gathers functions and the names of NVMe controllers, virtio devices and interfaces.
    pub(crate) fn gather(root: &dyn Root, functions: &'a [Function], nics: &[Nic]) -> Self {
        let mut devices = Self {
            functions: functions.iter().map(|function| (function.address, function)).collect(),
            messages: BTreeMap::new(),
            pins: BTreeMap::new(),
            names: BTreeMap::new(),
            by_name: BTreeMap::new(),
            has_nics: !nics.is_empty(),
            virtio: linked(root, "/sys/bus/virtio/devices").into_iter().collect(),
        };
        functions.iter().for_each(|function| devices.claim(root, function));
        nics.iter().filter(|nic| has_vectors(nic.kind)).for_each(|nic| {
            devices.name(&nic.name, nic.function);
        });
        for (name, address) in linked(root, "/sys/class/nvme") {
            devices.name(&name, Some(address));
        }
        devices
    }

    /// Notes the vectors or the pin of a function. One number alone may be either.
    fn claim(&mut self, root: &dyn Root, function: &'a Function) {
        let folder = || format!("/sys/bus/pci/devices/{}/msi_irqs", function.address);
        match function.irqs.as_slice() {
            [] => {}
            [one] => match root.list(&folder()) {
                Ok(vectors) if vectors.contains(&one.to_string()) => {
                    self.messages.insert(*one, function);
                }
                // Messages are on and this is none of them: the pin is not used.
                Ok(_) => {}
                Err(_) => self.pins.entry(*one).or_default().push(function),
            },
            vectors => self.messages.extend(vectors.iter().map(|irq| (*irq, function))),
        }
    }

    /// Numbers of all vectors that `msi_irqs` lists.
    pub(crate) fn vectors(&self) -> impl Iterator<Item = u32> {
        self.messages.keys().copied()
    }

    fn name(&mut self, name: &str, function: Option<PciAddress>) {
        if let Some(address) = function {
            self.names.entry(address).or_default().push(name.to_owned());
            self.by_name.insert(name.to_owned(), address);
        }
    }

    /// The driver of a function.
    pub(crate) fn driver(&self, address: PciAddress) -> Option<&str> {
        self.functions.get(&address)?.driver.as_deref()
    }

    /// The device behind a line; nothing for timers, IOMMUs and the like.
    pub(crate) fn source(&self, line: &Line) -> Option<IrqSource> {
        let names: Vec<Name<'_>> = line.actions.iter().map(|action| name::parse(action)).collect();
        let first = names.first();
        let (function, by_msi) = self.function(line, &names);
        let device = self.device(function, first)?;
        Some(IrqSource {
            function,
            device,
            queue: first.and_then(|name| name.queue),
            is_io: first.is_some_and(|name| self.is_io(function, name)),
            by_msi,
        })
    }

    /// The function, and whether `msi_irqs` told it.
    fn function(&self, line: &Line, names: &[Name<'_>]) -> (Option<PciAddress>, bool) {
        if let Some(function) = self.messages.get(&line.number) {
            return (Some(function.address), true);
        }
        let named = name::address(&line.chip)
            .or_else(|| self.by_hwirq(&line.chip))
            .or_else(|| names.iter().find_map(|name| name.address))
            .or_else(|| names.iter().find_map(|name| self.named(name.base)));
        let pin = || match self.pins.get(&line.number)?.as_slice() {
            [function] if line.number > 0 && function.driver.is_some() => Some(function.address),
            _ => None,
        };
        (named.or_else(|| pin().filter(|_| !names.is_empty())), false)
    }

    /// The function that a hardware number encodes, if the machine has it.
    fn by_hwirq(&self, chip: &str) -> Option<PciAddress> {
        let address = hwirq_address(chip)?;
        let is_known = self.functions.is_empty() || self.functions.contains_key(&address);
        is_known.then_some(address)
    }

    /// The function of a device's name. `eth1` is not `eth10`: names are equal or they are not.
    fn named(&self, base: &str) -> Option<PciAddress> {
        let find = |name: &str| self.by_name.get(name).or_else(|| self.virtio.get(name)).copied();
        find(base).or_else(|| find(without_prefix(base)))
    }

    /// What a person would call the device.
    fn device(&self, function: Option<PciAddress>, name: Option<&Name<'_>>) -> Option<String> {
        let base = name.map(|name| without_prefix(name.base)).unwrap_or_default();
        let Some(address) = function else {
            return name.filter(|name| is_telling(name)).map(|_| base.to_owned());
        };
        let names = self.names.get(&address).map_or(&[][..], Vec::as_slice);
        let named = names.iter().find(|known| *known == base);
        // An interface that was renamed keeps its old name in its actions.
        let only = match names {
            [only] => Some(only),
            _ => None,
        };
        if let Some(known) = named.or(only) {
            return Some(known.clone());
        }
        let is_virtio = self.virtio.get(base) == Some(&address) || is_numbered(base, "virtio");
        // A tree without /sys/class/net leaves the name in the action as the only one there is.
        let is_only = !self.has_nics && name.is_some_and(is_telling);
        let is_known = is_virtio || is_only || is_numbered(base, "nvme");
        Some(if is_known { base.to_owned() } else { address.to_string() })
    }

    /// Whether a vector carries completions or packets. A name without a word is believed to where
    /// the function's class has such traffic: `smartpqi`, `ahci[…]`, `eth0` of a one-vector NIC.
    fn is_io(&self, function: Option<PciAddress>, name: &Name<'_>) -> bool {
        let driver = function.and_then(|address| self.driver(address));
        match name.purpose {
            Purpose::Queue => !managed::is_in_front(driver, name),
            Purpose::Other => false,
            Purpose::Unclear => function
                .and_then(|address| self.functions.get(&address))
                .is_some_and(|function| matches!(function.class.base, 0x01 | 0x02)),
        }
    }
}

fn has_vectors(kind: NicKind) -> bool {
    matches!(kind, NicKind::Physical | NicKind::VirtualFunction | NicKind::Paravirtual)
}

/// Names in a folder of links, with the lowest PCI function in each link's target.
fn linked(root: &dyn Root, folder: &str) -> Vec<(String, PciAddress)> {
    let dir = Dir::new(root, folder);
    let names = dir.list().unwrap_or_default();
    let address = |name: &String| {
        let path = root.link(&dir.join(name)).or_else(|_| dir.sub(name).resolve()).ok()?;
        crate::net::function_in(&path)
    };
    names.into_iter().filter_map(|name| address(&name).map(|found| (name, found))).collect()
}

/// `PCI-MSI 475137-edge` is vector 1 of function 00:1d.0. Until Linux 6.2 the number of a message
/// was index | (bus, device, function) << 11 | domain << 27 (`pci_msi_domain_calc_hwirq`,
/// drivers/pci/msi/irqdomain.c); since then each function has a domain with its address as a name.
fn hwirq_address(chip: &str) -> Option<PciAddress> {
    let (name, rest) = chip.split_once(' ')?;
    if !matches!(name, "PCI-MSI" | "IR-PCI-MSI" | "ITS-MSI") {
        return None;
    }
    let hwirq: u64 = rest.split(['-', ' ']).next()?.parse().ok()?;
    let low = |value: u64| u8::try_from(value & 0xff).ok();
    let devfn = low(hwirq >> 11)?;
    Some(PciAddress {
        domain: u32::try_from(hwirq >> 27).ok()?,
        bus: low(hwirq >> 19)?,
        device: devfn >> 3,
        function: devfn & 7,
    })
}

fn without_prefix(base: &str) -> &str {
    PREFIXES.iter().find_map(|prefix| base.strip_prefix(prefix)).unwrap_or(base)
}

fn is_numbered(text: &str, word: &str) -> bool {
    let digits = text.strip_prefix(word).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a name alone, with no function known, is that of a device: a text without /sys.
fn is_telling(name: &Name<'_>) -> bool {
    let known = is_numbered(name.base, "nvme") || is_numbered(name.base, "virtio");
    let word = name.word.to_ascii_lowercase();
    known || (name.queue.is_some() && matches!(word.as_str(), "txrx" | "rxtx" | "rx" | "tx" | "fp"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_messages_hold_an_address() {
        let cases = [
            ("PCI-MSI 475137-edge", Some("0000:00:1d.0")),
            ("IR-PCI-MSI 512000-edge", Some("0000:00:1f.2")),
            ("PCI-MSI 101187584-edge", Some("0000:c1:00.0")),
            ("ITS-MSI 81920 Edge", Some("0000:00:05.0")),
            ("PCI-MSI 8796093022208-edge", Some("10000:00:00.0")),
            ("IO-APIC 16-fasteoi", None),
            ("PCI-MSI-edge", None),
            ("PCI-MSI x-edge", None),
        ];
        for (chip, address) in cases {
            let found = hwirq_address(chip).map(|address| address.to_string());
            assert_eq!(found.as_deref(), address, "{chip}");
        }
    }
}
