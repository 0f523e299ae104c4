// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole machines, and ways to change them.

use machine::{
    Dimm, DriveKind, FrequencyPolicy, Function, Gpu, Machine, Service, Trouble, Virtual, Why,
};
use units::{Bytes, CpuSet, PciAddress};

use super::{
    Order, Place, Shape, add_drive, add_port, address, bare, drive, function, irq, link, port,
    server, set,
};

/// Two packages of one node and 16 CPUs each, eight drives and two ports spread evenly, all near.
pub fn healthy() -> Machine {
    let mut machine = bare(2, 1, 16, Order::Linear);
    for number in 0..8 {
        add_drive(&mut machine, Place { number, node: u32::from(number / 4) });
    }
    for (number, near) in [(0, set("0-15")), (1, set("16-31"))] {
        add_port(&mut machine, Place { number, node: u32::from(number) }, 100, &near);
    }
    machine
}

/// A machine with something to say on every question that is asked of one.
pub fn full() -> Machine {
    let mut machine = healthy();
    machine.gpus.push(Gpu {
        name: "card0".to_owned(),
        function: address(0x70),
        node: None,
        memory_node: None,
    });
    machine.functions.push(function(address(0x70), (0x03, 0x02), Some(0)));
    machine.power.policies.push(FrequencyPolicy {
        cpus: machine.cpus.online.clone(),
        driver: "intel_pstate".to_owned(),
        governor: "powersave".to_owned(),
        min_khz: Ok(800_000),
        max_khz: Ok(3_900_000),
        hardware_min_khz: Ok(800_000),
        hardware_max_khz: Ok(3_900_000),
    });
    machine
}

/// A server with 24 drives (two links degraded), two NICs with interrupts, one on the far node, and
/// a GPU.
pub fn storage_server() -> Machine {
    let order = Order::Linear;
    let mut machine = server(Shape { packages: 2, nodes: 1, cores: 64, threads: 2, order });
    for number in 0..24 {
        add_bay(&mut machine, number);
    }
    for (number, at, node) in [(0, "0000:60:00.0", 0), (1, "0000:e0:00.0", 1)] {
        add_card(&mut machine, number, parsed(at), node);
    }
    let mut gpu = function(parsed("0000:f1:00.0"), (3, 2), Some(1));
    gpu.link = Some(link((5, 16), (5, 16), (5, 16)));
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

fn parsed(at: &str) -> PciAddress {
    at.parse().expect("a test writes an address")
}

/// Twelve bays a package: the fourth trained at half width, the eighteenth has a Gen3 slot.
fn add_bay(machine: &mut Machine, number: u32) {
    let node = number / 12;
    let now = match number {
        3 => (5, 2),
        17 => (3, 4),
        _ => (5, 4),
    };
    let slot = if number == 17 { (3, 4) } else { (5, 4) };
    let at = format!("0000:{:02x}:00.0", 0x10 + node * 0x80 + number % 12);
    let mut bay = function(parsed(&at), (1, 8), Some(node));
    bay.link = Some(link(now, (5, 4), slot));
    bay.slot = Some(number.to_string());
    named(&mut bay, "Micron Technology Inc", "9550 PRO NVMe SSD");
    bay.names.class = "Non-Volatile memory controller".to_owned();
    let mut drive = drive(number, &bay, 64);
    drive.model = Ok("Micron_9550_MTFDLAL15T3TGA".to_owned());
    machine.drives.push(drive);
    machine.functions.push(bay);
}

/// A 400G card whose eight interrupts all lie on node 0.
fn add_card(machine: &mut Machine, number: u32, at: PciAddress, node: u32) {
    let mut card = function(at, (2, 0), Some(node));
    card.link = Some(link((5, 16), (5, 16), (5, 16)));
    card.driver = Some("mlx5_core".to_owned());
    named(&mut card, "Mellanox Technologies", "MT2910 Family [ConnectX-7]");
    let mut nic = port(&format!("eth{number}"), &card, 400, &set("0-7"));
    nic.mtu = Ok(9000);
    for queue in 0..8 {
        let cpus: CpuSet = [units::Cpu(queue * 2)].into_iter().collect();
        let mut irq = irq(200 + number * 8 + queue, &nic.name, at, queue, cpus);
        irq.counts = vec![(queue * 2, 1000 + u64::from(queue))];
        machine.irqs.push(irq);
    }
    machine.nics.push(nic);
    machine.functions.push(card);
}

fn named(function: &mut Function, vendor: &str, device: &str) {
    function.names.vendor = vendor.to_owned();
    function.names.device = device.to_owned();
}

/// A small virtual machine: one node, one virtio disk, nothing known of its config space.
pub fn guest() -> Machine {
    let mut machine = bare(1, 1, 2, Order::Linear);
    machine.host.vendor = Ok("QEMU".to_owned());
    machine.host.product = Ok("Standard PC (Q35 + ICH9, 2009)".to_owned());
    into_guest(&mut machine);
    let mut function = function(address(0x01), (1, 0), Some(0));
    function.link = None;
    let mut disk = drive(0, &function, 64);
    disk.name = "vda".to_owned();
    disk.kind = DriveKind::Virtio;
    disk.model = Err(Why::Absent);
    machine.drives.push(disk);
    machine.functions.push(function);
    machine.unknown.push(Trouble {
        what: "PCI config space beyond 64 bytes".to_owned(),
        why: Why::Denied,
        path: "/sys/bus/pci/devices/0000:01:00.0/config".to_owned(),
    });
    machine
}

/// The machine, with a hypervisor below.
pub fn into_guest(machine: &mut Machine) {
    let sign = "dmi sys_vendor QEMU".to_owned();
    machine.host.virtual_machine = Virtual::Yes { name: "kvm".to_owned(), sign };
}

/// A machine whose names try to break the drawing.
pub fn hostile() -> Machine {
    let mut machine = storage_server();
    machine.host.product = Ok("\u{1b}[2J\u{1b}]0;owned\u{7} 記憶装置 \u{202e}evil".repeat(9));
    if let [first, second, ..] = machine.drives.as_mut_slice() {
        first.name = "nvme\n0\u{1b}[31mn1".to_owned();
        second.model = Ok("</text><script>alert(1)</script>&\"'".repeat(5));
    }
    if let Some(nic) = machine.nics.first_mut() {
        nic.name = "│┐└ 記".repeat(30);
        nic.driver = Some("x".repeat(300));
    }
    machine.cpus.threads.truncate(200);
    machine
}

/// CPU sets that make every mark of a drawing appear.
pub fn mixed_cpus() -> Machine {
    let order = Order::Linear;
    let mut machine = server(Shape { packages: 2, nodes: 2, cores: 8, threads: 2, order });
    let cpus = &mut machine.cpus;
    cpus.offline = set("6,33,38");
    cpus.online = cpus.online.minus(&cpus.offline);
    cpus.isolated = set("8-11,40-43");
    cpus.allowed = set("0-23,32-55");
    for thread in &mut cpus.threads {
        thread.online = !cpus.offline.contains(thread.cpu);
    }
    machine
}

/// A service that runs.
pub fn service(name: &str) -> Service {
    Service {
        name: name.to_owned(),
        running: Ok(true),
        seen: Some(format!("/sys/fs/cgroup/system.slice/{name}.service")),
        enabled: Err(Why::Absent),
        configuration: None,
    }
}

/// Adds an option to the kernel's command line.
pub fn option(machine: &mut Machine, key: &str, value: Option<&str>) {
    let line = &mut machine.host.command_line;
    line.options.push((key.to_owned(), value.map(str::to_owned)));
    let text = value.map_or_else(|| key.to_owned(), |value| format!("{key}={value}"));
    line.text = format!("{} {text}", line.text).trim().to_owned();
}

/// A memory module of `gib` GiB, MT/s rated and configured.
pub fn dimm(bank: &str, gib: u64, rated: u32, configured: u32) -> Dimm {
    Dimm {
        locator: bank.to_owned(),
        bank: bank.to_owned(),
        size: Bytes(gib << 30),
        rated_mts: Ok(rated),
        configured_mts: Ok(configured),
        kind: "DDR5".to_owned(),
    }
}
