// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines made by hand for the tests of this crate: a healthy one, and ways to spoil it.

use machine::{
    Aspm, Channels, ConfigSpace, Controller, Cpus, Dimm, Drive, DriveKind, Fact, FrequencyPolicy,
    Function, Gpu, Host, Irq, IrqSource, Link, LinkSide, Machine, Managed, Names, Nic, NicKind,
    Node, NodeFrom, PciClass, PortKind, RxQueue, Service, Smt, Thread, TxQueue, Virtual, Why,
};
use units::{BitRate, Bytes, Cpu, CpuSet, NodeId, PackageId, PciAddress, Transfers};

/// How the CPUs of a machine are numbered.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    Linear,
    RoundRobin,
}

/// `packages` of `nodes` each, `cores` a node, one thread a core.
pub(crate) fn bare(packages: u32, nodes: u32, cores: u32, order: Order) -> Machine {
    let all = packages * nodes;
    let mut machine = Machine { host: host(), ..Machine::default() };
    let mut sets = vec![CpuSet::new(); usize::try_from(all).unwrap()];
    for cpu in 0..all * cores {
        let node = match order {
            Order::Linear => cpu / cores,
            Order::RoundRobin => cpu % all,
        };
        sets[usize::try_from(node).unwrap()].insert(Cpu(cpu));
        machine.cpus.threads.push(thread(cpu, node / nodes, node));
        machine.cpus.online.insert(Cpu(cpu));
    }
    machine.cpus.allowed = machine.cpus.online.clone();
    machine.cpus.smt = Smt { threads_per_core: 1, state: "notsupported".to_owned() };
    for (id, cpus) in (0..).zip(sets) {
        machine.nodes.push(node(id, cpus, 64 << 30));
    }
    machine
}

/// Two packages of one node and 16 CPUs each, eight drives and two ports spread evenly, all near.
pub(crate) fn healthy() -> Machine {
    let mut machine = bare(2, 1, 16, Order::Linear);
    for number in 0..8_u8 {
        add_drive(&mut machine, number, u32::from(number / 4));
    }
    for number in 0..2_u8 {
        let near = machine.nodes[usize::from(number)].cpus.clone();
        add_nic(&mut machine, number, u32::from(number), 100, &near);
    }
    machine.host.cpu_model = Ok("Example server processor".to_owned());
    machine
}

/// A machine with something to say on every fact.
pub(crate) fn full() -> Machine {
    let mut machine = healthy();
    machine.gpus.push(Gpu {
        name: "card0".into(),
        function: address(0x70),
        node: None,
        memory_node: None,
    });
    machine.functions.push(function(0x70, (0x03, 0x02), Some(0)));
    machine.power.policies.push(FrequencyPolicy {
        cpus: machine.cpus.online.clone(),
        driver: "intel_pstate".into(),
        governor: "powersave".into(),
        min_khz: Ok(800_000),
        max_khz: Ok(3_900_000),
        hardware_min_khz: Ok(800_000),
        hardware_max_khz: Ok(3_900_000),
        epp: Ok("balance_performance".into()),
    });
    machine
}

pub(crate) fn host() -> Host {
    Host {
        vendor: Ok("Example Inc.".into()),
        cpu_vendor: Ok("GenuineIntel".into()),
        cpu_family_model: Ok((6, 143)),
        cpu_flags: ["monitor", "vmx", "x2apic"].map(str::to_owned).to_vec(),
        ..Host::default()
    }
}

pub(crate) fn thread(cpu: u32, package: u32, node: u32) -> Thread {
    Thread {
        package: Ok(PackageId(package)),
        die: Ok(0),
        node: Some(NodeId(node)),
        ..Thread::new(Cpu(cpu))
    }
}

pub(crate) fn node(id: u32, cpus: CpuSet, bytes: u64) -> Node {
    Node { memory: Ok(Bytes(bytes)), memory_free: Ok(Bytes(bytes)), ..Node::new(NodeId(id), cpus) }
}

pub(crate) fn address(bus: u8) -> PciAddress {
    PciAddress { domain: 0, bus, device: 0, function: 0 }
}

pub(crate) fn side(speed: u16, width: u8) -> LinkSide {
    LinkSide { speed: Ok(Transfers(speed)), width: Ok(width) }
}

/// A link of 16 GT/s and four lanes at its best.
pub(crate) fn link() -> Link {
    Link {
        speed: Ok(Transfers(160)),
        width: Ok(4),
        own: side(160, 4),
        above: Some(side(160, 4)),
        port: Some(address(0x01)),
        aspm: Aspm {
            supported: Err(Why::Denied),
            enabled: Ok(machine::AspmStates::default()),
            l1_substates: Err(Why::Denied),
            files: Vec::new(),
        },
    }
}

pub(crate) fn config() -> ConfigSpace {
    ConfigSpace {
        mps: Ok(512),
        mps_supported: Ok(512),
        mrrs: Ok(4096),
        extended_tags: Ok(machine::Ability { supported: true, enabled: true }),
        ten_bit_tags: Err(Why::Denied),
        relaxed_ordering: Ok(true),
        acs_redirect: Ok(None),
        aer: Ok(true),
        aer_totals: Err(Why::Absent),
    }
}

/// An endpoint with a driver, below a root port of its own that is no part of the machine.
pub(crate) fn function(bus: u8, (base, sub): (u8, u8), node: Option<u32>) -> Function {
    Function {
        address: address(bus),
        parent: Some(address(0x01)),
        root: "pci0000:00".into(),
        class: PciClass { base, sub, interface: 0 },
        vendor: 0x144d,
        device: 0xa824,
        subsystem_vendor: 0,
        subsystem_device: 0,
        revision: 0,
        names: Names::default(),
        driver: Some("driver".into()),
        node: node.map(NodeId),
        node_from: if node.is_some() { NodeFrom::Own } else { NodeFrom::Unknown },
        local_cpus: CpuSet::new(),
        link: Some(link()),
        config: config(),
        port: Some(PortKind::Endpoint),
        iommu_group: None,
        sriov: None,
        physical_function: None,
        slot: None,
        runtime_pm: None,
        irqs: Vec::new(),
        enabled: None,
        hot_plug: false,
    }
}

/// A port or bridge at `bus`, below `parent`.
pub(crate) fn bridge(bus: u8, port: PortKind, parent: Option<u8>) -> Function {
    let mut function = function(bus, (0x06, 0x04), Some(0));
    function.port = Some(port);
    function.parent = parent.map(address);
    function.driver = Some("pcieport".into());
    function
}

/// An NVMe drive on `node` with a managed vector for each CPU.
pub(crate) fn add_drive(machine: &mut Machine, number: u8, node: u32) {
    let bus = 0x10 + number;
    machine.functions.push(function(bus, (0x01, 0x08), Some(node)));
    let online: Vec<Cpu> = machine.cpus.online.iter().collect();
    for (queue, cpu) in (1..).zip(&online) {
        let name = format!("nvme{number}q{queue}");
        let irq = irq(machine, &name, bus, Some(queue), [*cpu].into_iter().collect());
        machine.irqs.push(Irq { managed: Managed::ByDriver, ..irq });
    }
    let queues = u32::try_from(online.len()).unwrap();
    machine.drives.push(drive(number, bus, node, queues));
}

fn drive(number: u8, bus: u8, node: u32, queues: u32) -> Drive {
    Drive {
        name: format!("nvme{number}n1"),
        kind: DriveKind::Nvme,
        model: Ok("Example 3.2 TB".into()),
        serial: Err(Why::Absent),
        wwid: Err(Why::Absent),
        firmware: Err(Why::Absent),
        size: Ok(Bytes(3_200_000_000_000)),
        controllers: vec![Controller {
            name: format!("nvme{number}"),
            function: Some(address(bus)),
            node: Some(NodeId(node)),
            driver: Some("nvme".into()),
            queues,
            transport: "pcie".into(),
            state: "live".into(),
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

/// A port of `gbits` on `node`, with a movable interrupt on each of `cpus`, one CPU a queue.
pub(crate) fn add_nic(machine: &mut Machine, number: u8, node: u32, gbits: u64, cpus: &CpuSet) {
    let bus = 0x40 + number;
    let name = format!("eth{number}");
    machine.functions.push(function(bus, (0x02, 0x00), Some(node)));
    let mut nic = nic(&name, NicKind::Physical);
    nic.function = Some(address(bus));
    nic.node = Some(NodeId(node));
    nic.speed = Ok(BitRate(gbits * 1_000_000_000));
    let mut count = 0;
    for (queue, cpu) in (0..).zip(cpus.iter()) {
        let set: CpuSet = [cpu].into_iter().collect();
        let action = format!("{name}-{queue}");
        let mut irq = irq(machine, &action, bus, Some(queue), set.clone());
        if let Some(source) = &mut irq.source {
            source.device = name.clone();
        }
        machine.irqs.push(irq);
        nic.rx_queues.push(RxQueue { number: queue, rps: Ok(CpuSet::new()), flow_count: Ok(0) });
        nic.tx_queues.push(TxQueue { number: queue, xps: Ok(set) });
        count += 1;
    }
    nic.channels = Ok(Channels { combined: Some((count, count)), ..Channels::default() });
    machine.nics.push(nic);
}

pub(crate) fn nic(name: &str, kind: NicKind) -> Nic {
    Nic {
        name: name.to_owned(),
        kind,
        mac: Err(Why::Absent),
        function: None,
        node: None,
        driver: Some("mlx5_core".into()),
        firmware: None,
        speed: Err(Why::Absent),
        state: "up".into(),
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
        pause: Ok(machine::Pause { receive: true, transmit: true }),
        features: Ok(Vec::new()),
        port: None,
        in_use: true,
    }
}

/// The next free interrupt number, aimed at `cpus`.
pub(crate) fn irq(
    machine: &Machine,
    action: &str,
    bus: u8,
    queue: Option<u32>,
    cpus: CpuSet,
) -> Irq {
    Irq {
        number: 100 + u32::try_from(machine.irqs.len()).unwrap(),
        actions: vec![action.to_owned()],
        chip: "PCI-MSI".into(),
        source: Some(IrqSource {
            function: Some(address(bus)),
            device: address(bus).to_string(),
            queue,
            is_io: true,
            by_msi: true,
        }),
        affinity: Ok(cpus.clone()),
        effective: Ok(cpus),
        hint: CpuSet::new(),
        node: None,
        managed: Managed::No,
        counts: Vec::new(),
    }
}

pub(crate) fn guest(machine: &mut Machine) {
    machine.host.virtual_machine = Virtual::Yes { name: "kvm".into(), sign: "test".into() };
}

pub(crate) fn service(name: &str) -> Service {
    Service {
        name: name.into(),
        running: Ok(true),
        seen: Some("/proc/7/comm".to_owned()),
        enabled: Err(Why::Absent),
        configuration: None,
    }
}

pub(crate) fn option(machine: &mut Machine, key: &str, value: Option<&str>) {
    let line = &mut machine.host.command_line;
    line.options.push((key.to_owned(), value.map(str::to_owned)));
    let text = value.map_or_else(|| key.to_owned(), |value| format!("{key}={value}"));
    line.text = format!("{} {text}", line.text).trim().to_owned();
}

pub(crate) fn dimm(bank: &str, gib: u64, rated: u32, configured: u32) -> Dimm {
    Dimm {
        locator: bank.to_owned(),
        bank: bank.to_owned(),
        size: Bytes(gib << 30),
        rated_mts: Ok(rated),
        configured_mts: Ok(configured),
        kind: "DDR5".into(),
    }
}

pub(crate) fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

pub(crate) fn no_cpus() -> Cpus {
    Cpus::default()
}

pub(crate) fn unknown<T>() -> Fact<T> {
    Err(Why::Absent)
}
