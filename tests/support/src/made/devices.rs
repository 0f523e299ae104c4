// SPDX-License-Identifier: MIT OR Apache-2.0
//! PCI functions, drives, network ports and their interrupts.

use machine::{
    Ability, Aspm, AspmStates, Channels, ConfigSpace, Controller, Drive, DriveKind, Function, Irq,
    IrqSource, Link, LinkSide, Machine, Managed, Nic, NicKind, NodeFrom, Pause, PciClass, PortKind,
    RxQueue, TxQueue, Why,
};
use units::{BitRate, Bytes, Cpu, CpuSet, NodeId, PciAddress, Transfers};

/// Where a device of a rule's machine sits.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Its number among its kind, which gives name and bus.
    pub number: u8,
    /// Its node.
    pub node: u32,
}

/// The first function on a bus.
pub fn address(bus: u8) -> PciAddress {
    PciAddress { domain: 0, bus, device: 0, function: 0 }
}

/// One end of a link: tenths of GT/s and lanes.
pub fn side(speed: u16, width: u8) -> LinkSide {
    LinkSide { speed: Ok(Transfers(speed)), width: Ok(width) }
}

/// A link of a generation and width now, and at best for card and slot; without power saving.
pub fn link(now: (u8, u8), card: (u8, u8), slot: (u8, u8)) -> Link {
    let speed = |generation| Transfers::of_generation(generation).ok_or(Why::Absent);
    let side = |(generation, width)| LinkSide { speed: speed(generation), width: Ok(width) };
    Link {
        speed: speed(now.0),
        width: Ok(now.1),
        own: side(card),
        above: Some(side(slot)),
        port: Some(address(0x01)),
        aspm: Aspm {
            supported: Err(Why::Denied),
            enabled: Ok(AspmStates::default()),
            l1_substates: Err(Why::Denied),
            files: Vec::new(),
        },
    }
}

/// A config space in which nothing is to be mended.
fn config() -> ConfigSpace {
    ConfigSpace {
        mps: Ok(512),
        mps_supported: Ok(512),
        mrrs: Ok(4096),
        extended_tags: Ok(Ability { supported: true, enabled: true }),
        ten_bit_tags: Err(Why::Denied),
        relaxed_ordering: Ok(true),
        acs_redirect: Ok(None),
        aer: Ok(true),
        aer_totals: Err(Why::Absent),
    }
}

/// An endpoint with a driver and a Gen4 link of four lanes at its best.
pub fn function(at: PciAddress, (base, sub): (u8, u8), node: Option<u32>) -> Function {
    Function {
        root: format!("pci{:04x}:{:02x}", at.domain, at.bus & 0xe0),
        class: PciClass { base, sub, interface: 2 },
        vendor: 0x144d,
        device: 0xa824,
        driver: Some("nvme".to_owned()),
        node: node.map(NodeId),
        node_from: if node.is_some() { NodeFrom::Own } else { NodeFrom::Unknown },
        link: Some(link((4, 4), (4, 4), (4, 4))),
        config: config(),
        port: Some(PortKind::Endpoint),
        enabled: Some(true),
        ..Function::new(at)
    }
}

/// A port or bridge at `bus`, below `parent`.
pub fn bridge(bus: u8, port: PortKind, parent: Option<u8>) -> Function {
    Function {
        port: Some(port),
        parent: parent.map(address),
        driver: Some("pcieport".to_owned()),
        ..function(address(bus), (0x06, 0x04), Some(0))
    }
}

/// The NVMe drive `number` at a function, with `queues` queues.
pub fn drive(number: u32, function: &Function, queues: u32) -> Drive {
    Drive {
        name: format!("nvme{number}n1"),
        kind: DriveKind::Nvme,
        model: Ok("Example 15.36 TB".to_owned()),
        serial: Ok(format!("S{number:04}")),
        wwid: Err(Why::Absent),
        firmware: Err(Why::Absent),
        size: Ok(Bytes(15_360_950_534_144)),
        controllers: vec![Controller {
            name: format!("nvme{number}"),
            function: Some(function.address),
            node: function.node,
            driver: Some("nvme".to_owned()),
            queues,
            transport: "pcie".to_owned(),
            state: "live".to_owned(),
            address: None,
            link_power: None,
            link_rate: None,
            ana_state: None,
        }],
        hidden_by: None,
        queues: Vec::new(),
        rotational: Ok(false),
        logical_block: Ok(512),
        physical_block: Ok(4096),
        holders: Vec::new(),
        mounts: Vec::new(),
        temperature_mc: Err(Why::Absent),
        percentage_used: Err(Why::Absent),
        apst: Ok(Some(false)),
    }
}

/// A network device without function and queues.
pub fn nic(name: &str, kind: NicKind) -> Nic {
    Nic {
        name: name.to_owned(),
        kind,
        mac: Err(Why::Absent),
        function: None,
        node: None,
        driver: Some("mlx5_core".to_owned()),
        firmware: None,
        speed: Err(Why::Absent),
        state: "up".to_owned(),
        mtu: Ok(1500),
        master: None,
        lower: Vec::new(),
        upper: Vec::new(),
        virtual_functions: None,
        rx_queues: Vec::new(),
        tx_queues: Vec::new(),
        channels: Err(Why::NotSupported),
        rings: Err(Why::NotSupported),
        coalescing: Err(Why::NotSupported),
        pause: Ok(Pause { receive: true, transmit: true }),
        features: Ok(Vec::new()),
        receive_spread: Err(Why::Absent),
        port: None,
        in_use: true,
    }
}

/// A port of a card at a function, with a queue for each of `cpus` that only this CPU uses.
pub fn port(name: &str, function: &Function, gigabits: u64, cpus: &CpuSet) -> Nic {
    let mut port = nic(name, NicKind::Physical);
    port.function = Some(function.address);
    port.node = function.node;
    port.speed = Ok(BitRate(gigabits * 1_000_000_000));
    for (number, cpu) in (0..).zip(cpus.iter()) {
        port.rx_queues.push(RxQueue { number, rps: Ok(CpuSet::new()), flow_count: Ok(0) });
        port.tx_queues.push(TxQueue { number, xps: Ok([cpu].into_iter().collect()) });
    }
    let count = u32::try_from(port.rx_queues.len()).unwrap_or(u32::MAX);
    port.channels = Ok(Channels { combined: Some((count, count)), ..Channels::default() });
    port
}

/// The interrupt of a device's queue, aimed at `cpus`, that a person may move.
pub fn irq(number: u32, device: &str, function: PciAddress, queue: u32, cpus: CpuSet) -> Irq {
    Irq {
        number,
        actions: vec![format!("{device}-{queue}")],
        chip: "PCI-MSI".to_owned(),
        source: Some(IrqSource {
            function: Some(function),
            device: device.to_owned(),
            queue: Some(queue),
            is_io: true,
            by_msi: true,
        }),
        affinity: Ok(cpus.clone()),
        effective: Ok(cpus),
        hint: CpuSet::new(),
        managed: Managed::No,
        counts: Vec::new(),
    }
}

/// The next free interrupt number.
fn next(machine: &Machine) -> u32 {
    100 + u32::try_from(machine.irqs.len()).unwrap_or(0)
}

/// Adds an NVMe drive with a managed vector for each CPU, below a port that is no part of the machine.
pub fn add_drive(machine: &mut Machine, at: Place) {
    let mut function = function(address(0x10 + at.number), (0x01, 0x08), Some(at.node));
    function.parent = Some(address(0x01));
    let online: Vec<Cpu> = machine.cpus.online.iter().collect();
    for (queue, cpu) in (1..).zip(&online) {
        let actions = vec![format!("nvme{}q{queue}", at.number)];
        let (device, cpus) = (function.address.to_string(), [*cpu].into_iter().collect());
        let irq = irq(next(machine), &device, function.address, queue, cpus);
        machine.irqs.push(Irq { managed: Managed::ByDriver, actions, ..irq });
    }
    let queues = u32::try_from(online.len()).unwrap_or(u32::MAX);
    machine.drives.push(drive(u32::from(at.number), &function, queues));
    machine.functions.push(function);
}

/// Adds the port `ethN` of `gigabits` with a movable interrupt on each of `cpus`.
pub fn add_port(machine: &mut Machine, at: Place, gigabits: u64, cpus: &CpuSet) {
    let name = format!("eth{}", at.number);
    let mut function = function(address(0x40 + at.number), (0x02, 0x00), Some(at.node));
    function.parent = Some(address(0x01));
    for (queue, cpu) in (0..).zip(cpus.iter()) {
        let cpus = [cpu].into_iter().collect();
        machine.irqs.push(irq(next(machine), &name, function.address, queue, cpus));
    }
    machine.nics.push(port(&name, &function, gigabits, cpus));
    machine.functions.push(function);
}
