// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines made by hand for the tests of drawings: plain values, no files.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy cannot tell from others")]

use machine::{
    Aspm, Cache, CacheKind, ConfigSpace, Controller, CoreKind, Cpus, Drive, DriveKind, Function,
    Gpu, Irq, IrqSource, Link, LinkSide, Machine, Managed, Names, Nic, NicKind, Node, NodeFrom,
    NodeKind, PciClass, PortKind, RxQueue, Smt, Thread, TxQueue, Why,
};
use units::{BitRate, Bytes, Cpu, CpuSet, NodeId, PackageId, PciAddress, Transfers};

fn absent<T>() -> machine::Fact<T> {
    Err(Why::Absent)
}

/// What a two-socket server looks like: `packages` x `nodes` x `cores` x `threads`, numbered
/// linearly, siblings in the second half.
pub(crate) fn server(packages: u32, nodes: u32, cores: u32, threads: u32) -> Machine {
    let mut machine = Machine::default();
    machine.host.vendor = Ok("Example Inc.".to_owned());
    machine.host.product = Ok("Server 24".to_owned());
    machine.host.firmware = Ok("1.4.2 (03/02/2026)".to_owned());
    machine.host.kernel = Ok("6.12.0".to_owned());
    machine.host.cpu_model = Ok("Example 9000 64-Core Processor".to_owned());
    let total = packages * nodes * cores;
    for cpu in 0..total * threads {
        let core = cpu % total;
        let node = core / cores;
        machine.cpus.threads.push(Thread {
            cpu: Cpu(cpu),
            online: true,
            package: Ok(PackageId(node / nodes)),
            die: Ok(0),
            cluster: absent(),
            core: Cpu(core),
            rank: cpu / total,
            node: Some(NodeId(node)),
            kind: CoreKind::Uniform,
        });
    }
    machine.cpus.smt = Smt { threads_per_core: threads, state: "on".to_owned() };
    machine.cpus.online = machine.cpus.threads.iter().map(|thread| thread.cpu).collect();
    machine.cpus.allowed = machine.cpus.online.clone();
    for node in 0..packages * nodes {
        add_node(&mut machine, node, packages * nodes, nodes);
    }
    machine
}

fn add_node(machine: &mut Machine, id: u32, all: u32, per_package: u32) {
    let cpus: CpuSet = machine
        .cpus
        .threads
        .iter()
        .filter(|thread| thread.node == Some(NodeId(id)))
        .map(|thread| thread.cpu)
        .collect();
    let distance = |other: u32| match other {
        other if other == id => 10,
        other if other / per_package == id / per_package => 12,
        _ => 21,
    };
    machine.caches.push(Cache {
        level: 3,
        kind: CacheKind::Unified,
        size: Ok(Bytes(32 << 20)),
        cpus: cpus.clone(),
    });
    machine.nodes.push(Node {
        id: NodeId(id),
        cpus,
        memory: Ok(Bytes(96 << 30)),
        memory_free: Ok(Bytes(81 << 30)),
        distances: (0..all).map(|other| (NodeId(other), distance(other))).collect(),
        kind: NodeKind::Ordinary,
        huge_pages: Vec::new(),
    });
}

/// A link of a generation and width now, and at best for card and slot.
pub(crate) fn link(now: (u8, u8), card: (u8, u8), slot: (u8, u8)) -> Link {
    let speed = |generation| Ok(Transfers::of_generation(generation).unwrap());
    let side = |(generation, width)| LinkSide { speed: speed(generation), width: Ok(width) };
    Link {
        speed: speed(now.0),
        width: Ok(now.1),
        own: side(card),
        above: Some(side(slot)),
        port: None,
        aspm: Aspm {
            supported: absent(),
            enabled: absent(),
            l1_substates: absent(),
            files: Vec::new(),
        },
    }
}

/// A function of a class at `address` on `node`.
pub(crate) fn function(
    address: &str,
    class: (u8, u8),
    node: Option<u32>,
    link: Option<Link>,
) -> Function {
    let address: PciAddress = address.parse().unwrap();
    Function {
        address,
        parent: None,
        root: format!("pci{:04x}:{:02x}", address.domain, address.bus & 0xe0),
        class: PciClass { base: class.0, sub: class.1, interface: 2 },
        vendor: 0x1344,
        device: 0x51c3,
        subsystem_vendor: 0,
        subsystem_device: 0,
        revision: 0,
        names: Names {
            vendor: "Micron Technology Inc".to_owned(),
            device: "9550 PRO NVMe SSD".to_owned(),
            subsystem: String::new(),
            class: "Non-Volatile memory controller".to_owned(),
        },
        driver: Some("nvme".to_owned()),
        node: node.map(NodeId),
        node_from: if node.is_some() { NodeFrom::Own } else { NodeFrom::Unknown },
        local_cpus: CpuSet::default(),
        link,
        config: ConfigSpace {
            mps: absent(),
            mps_supported: absent(),
            mrrs: absent(),
            extended_tags: absent(),
            ten_bit_tags: absent(),
            relaxed_ordering: absent(),
            acs_redirect: absent(),
            aer: absent(),
            aer_totals: absent(),
        },
        port: Some(PortKind::Endpoint),
        iommu_group: None,
        sriov: None,
        physical_function: None,
        slot: None,
        runtime_pm: None,
        irqs: Vec::new(),
        enabled: Some(true),
        hot_plug: false,
    }
}

/// An NVMe drive at a function.
pub(crate) fn drive(number: u32, function: &Function, model: &str) -> Drive {
    Drive {
        name: format!("nvme{number}n1"),
        kind: DriveKind::Nvme,
        model: Ok(model.to_owned()),
        serial: Ok(format!("S{number:04}")),
        wwid: absent(),
        firmware: absent(),
        size: Ok(Bytes(15_360_950_534_144)),
        controllers: vec![Controller {
            name: format!("nvme{number}"),
            function: Some(function.address),
            node: function.node,
            driver: Some("nvme".to_owned()),
            queues: 64,
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
        temperature_mc: absent(),
        percentage_used: absent(),
        apst: absent(),
    }
}

/// A port of a card, with `queues` queues.
pub(crate) fn nic(name: &str, function: &Function, gigabits: u64, queues: u32) -> Nic {
    Nic {
        name: name.to_owned(),
        kind: NicKind::Physical,
        mac: absent(),
        function: Some(function.address),
        node: function.node,
        driver: Some("mlx5_core".to_owned()),
        firmware: None,
        speed: Ok(BitRate(gigabits * 1_000_000_000)),
        state: "up".to_owned(),
        mtu: Ok(9000),
        master: None,
        lower: Vec::new(),
        upper: Vec::new(),
        virtual_functions: None,
        rx_queues: (0..queues)
            .map(|number| RxQueue { number, rps: Ok(CpuSet::default()), flow_count: Ok(0) })
            .collect(),
        tx_queues: (0..queues)
            .map(|number| TxQueue { number, xps: Ok([Cpu(number)].into_iter().collect()) })
            .collect(),
        channels: absent(),
        rings: absent(),
        coalescing: absent(),
        pause: absent(),
        features: absent(),
        port: None,
        in_use: true,
    }
}

/// An interrupt of a queue.
pub(crate) fn irq(number: u32, device: &str, function: PciAddress, queue: u32, cpu: u32) -> Irq {
    let cpus: CpuSet = [Cpu(cpu)].into_iter().collect();
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
        hint: CpuSet::default(),
        node: None,
        managed: Managed::No,
        counts: vec![(cpu, 1000 + u64::from(queue))],
    }
}

/// A server with 24 drives (two links degraded), two NICs with interrupts, one on the far node, and
/// a GPU.
pub(crate) fn storage_server() -> Machine {
    let mut machine = server(2, 1, 64, 2);
    for number in 0..24_u32 {
        let node = number / 12;
        let now = match number {
            3 => (5, 2),
            17 => (3, 4),
            _ => (5, 4),
        };
        let address = format!("0000:{:02x}:00.0", 0x10 + node * 0x80 + number % 12);
        let slot = if number == 17 { (3, 4) } else { (5, 4) };
        let mut function = function(&address, (1, 8), Some(node), Some(link(now, (5, 4), slot)));
        function.slot = Some(number.to_string());
        machine.drives.push(drive(number, &function, "Micron_9550_MTFDLAL15T3TGA"));
        machine.functions.push(function);
    }
    for (number, address, node) in [(0, "0000:60:00.0", 0), (1, "0000:e0:00.0", 1)] {
        let mut function =
            function(address, (2, 0), Some(node), Some(link((5, 16), (5, 16), (5, 16))));
        function.driver = Some("mlx5_core".to_owned());
        function.names.vendor = "Mellanox Technologies".to_owned();
        function.names.device = "MT2910 Family [ConnectX-7]".to_owned();
        let nic = nic(&format!("eth{number}"), &function, 400, 8);
        for queue in 0..8 {
            let irq = irq(200 + number * 8 + queue, &nic.name, function.address, queue, queue * 2);
            machine.irqs.push(irq);
        }
        machine.nics.push(nic);
        machine.functions.push(function);
    }
    let mut gpu = function("0000:f1:00.0", (3, 2), Some(1), Some(link((5, 16), (5, 16), (5, 16))));
    gpu.names.vendor = "NVIDIA Corporation".to_owned();
    gpu.names.device = "GH100 [H100 SXM5 80GB]".to_owned();
    gpu.driver = Some("nvidia".to_owned());
    machine.gpus.push(Gpu {
        name: "nvidia0".to_owned(),
        function: gpu.address,
        node: gpu.node,
        memory_node: None,
    });
    machine.functions.push(gpu);
    machine.functions.sort_by_key(|function| function.address);
    machine.drives.sort_by(|a, b| a.name.cmp(&b.name));
    machine
}

/// A small virtual machine: one node, one virtio disk, one NIC, nothing known of the PCI nodes.
pub(crate) fn guest() -> Machine {
    let mut machine = server(1, 1, 2, 1);
    machine.host.vendor = Ok("QEMU".to_owned());
    machine.host.product = Ok("Standard PC (Q35 + ICH9, 2009)".to_owned());
    machine.host.virtual_machine =
        machine::Virtual::Yes { name: "kvm".to_owned(), sign: "dmi sys_vendor QEMU".to_owned() };
    let function = function("0000:01:00.0", (1, 0), Some(0), None);
    let mut disk = drive(0, &function, "");
    disk.name = "vda".to_owned();
    disk.kind = DriveKind::Virtio;
    disk.model = absent();
    machine.drives.push(disk);
    machine.functions.push(function);
    machine.unknown.push(machine::Trouble {
        what: "PCI config space beyond 64 bytes".to_owned(),
        why: Why::Denied,
        path: "/sys/bus/pci/devices/0000:01:00.0/config".to_owned(),
    });
    machine
}

/// A machine whose names try to break the drawing.
pub(crate) fn hostile() -> Machine {
    let mut machine = storage_server();
    machine.host.product = Ok("\u{1b}[2J\u{1b}]0;owned\u{7} 記憶装置 \u{202e}evil".repeat(9));
    machine.drives[0].name = "nvme\n0\u{1b}[31mn1".to_owned();
    machine.drives[1].model = Ok("</text><script>alert(1)</script>&\"'".repeat(5));
    machine.nics[0].name = "│┐└ 記".repeat(30);
    machine.nics[0].driver = Some("x".repeat(300));
    machine.cpus.threads.truncate(200);
    machine
}

/// CPU sets that make every mark appear.
pub(crate) fn mixed_cpus() -> Machine {
    let mut machine = server(2, 2, 8, 2);
    let set = |list: &str| CpuSet::from_list(list).unwrap();
    let Cpus { online, offline, allowed, isolated, threads, .. } = &mut machine.cpus;
    *offline = set("6,33,38");
    *online = online.minus(offline);
    *isolated = set("8-11,40-43");
    *allowed = set("0-23,32-55");
    for thread in threads {
        thread.online = !offline.contains(thread.cpu);
    }
    machine
}

/// Findings as the audit makes them: one of each severity.
pub(crate) fn findings() -> Vec<setting::Finding> {
    let finding = |id: &str, severity, title: &str, ratio| setting::Finding {
        id: id.to_owned(),
        device: Some("eth1".to_owned()),
        devices: vec!["eth1".to_owned()],
        severity,
        confidence: setting::Confidence::Likely,
        title: title.to_owned(),
        observed: "0,2,4,6,8,10,12,14".to_owned(),
        wanted: "64-71".to_owned(),
        because: "every packet's descriptor crosses the link between the packages".to_owned(),
        evidence: vec![
            setting::Evidence::quoted("/proc/irq/208/smp_affinity_list", "0\n"),
            setting::Evidence::quoted("/sys/class/net/eth1/device/numa_node", "1\n"),
        ],
        effect: setting::FindingEffect {
            text: "50 to 90 Gb/s on an EPYC 7551 when its interrupts moved to the NIC's node"
                .to_owned(),
            source: "EPYC NIC study".to_owned(),
            basis: setting::Basis::Measured,
            ratio,
        },
        cost: "other work on those cores is interrupted".to_owned(),
        owner: setting::Owner::Os,
        change: Some(setting::Change {
            from: "0,2,4,6,8,10,12,14".to_owned(),
            to: "64-71".to_owned(),
            reboot: setting::Reboot::None,
            by_hand: (0..8)
                .map(|n| format!("echo {} > /proc/irq/{}/smp_affinity_list", 64 + n, 208 + n))
                .collect(),
        }),
    };
    use setting::Severity::{High, Low, Medium, Note};
    vec![
        finding(
            "nic-irq-placement",
            High,
            "eth1: all 8 interrupts run on node 0, the NIC is on node 1",
            Some(1.8),
        ),
        finding(
            "pcie-link",
            Medium,
            "nvme3n1 runs at Gen5 x2 of x4: card and slot could do twice as much, so seat it again or look at the backplane's cable",
            None,
        ),
        finding("cpufreq-governor", Low, "CPU 0-255: the governor is powersave", None),
        finding("numa-balancing", Note, "NUMA balancing is on", None),
    ]
}
