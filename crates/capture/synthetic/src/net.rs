// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network and RDMA devices, bonds and VLANs.

use units::{Cpu, CpuSet, PciAddress};

use crate::build::Build;
use crate::irq::Vector;
use crate::pci::{Attached, Card, attach};
use crate::text::{mask, noise};
use crate::{Bond, Lanes, Nic, Place, Spread, Vlan, ethtool, scsi};

/// Class of an Ethernet controller.
const ETHERNET: u32 = 0x02_0000;
const LANES: Lanes = Lanes { generation: 4, width: 16 };

pub(crate) fn write(build: &mut Build<'_>) {
    let description = build.description;
    write_loopback(build);
    for nic in &description.nic {
        write_nic(build, nic);
    }
    for bond in &description.bond {
        write_bond(build, bond);
    }
    for vlan in &description.vlan {
        write_vlan(build, vlan);
    }
}

fn write_nic(build: &mut Build<'_>, nic: &Nic) {
    let is_virtual = nic.driver == "virtio_net";
    let queues = nic.queues * if is_virtual { 2 } else { 1 } + 1;
    let card = Card {
        id: nic.id,
        class: ETHERNET,
        driver: if is_virtual { "virtio-pci" } else { &nic.driver },
        functions: u8::try_from(nic.names.len().clamp(1, 8)).unwrap_or(1),
        vectors: queues,
        lanes: LANES,
        virtual_functions: nic.virtual_functions,
    };
    let place = Place { on_root_bus: is_virtual || nic.at.on_root_bus, ..nic.at.clone() };
    let functions = attach(build, &place, &card);
    for (port, (name, function)) in (0..).zip(nic.names.iter().zip(functions)) {
        write_port(build, nic, name, port, &function);
    }
}

fn write_port(build: &mut Build<'_>, nic: &Nic, name: &str, port: u32, function: &Attached) {
    let device = match nic.driver.as_str() {
        "virtio_net" => scsi::virtio(build, function, "virtio_net"),
        _ => function.path.clone(),
    };
    let cpus = queue_cpus(build, nic, function);
    let vectors = vectors(nic, name, &device, function.address, &cpus, &build.topology.online);
    build.interrupt(function, vectors);
    let folder = format!("{device}/net/{name}");
    write_interface(build, &folder, name, nic.mtu, 1);
    write_carrier(build, &folder, nic);
    write_queues(build, &folder, nic, &cpus);
    build.tree.line(format!("{folder}/dev_port"), port);
    build.tree.line(format!("{folder}/phys_port_name"), format!("p{port}"));
    build.tree.link(format!("{folder}/device"), &device);
    ethtool::answer(&mut build.tree, nic, name, function.address);
    if let Some(first) = &nic.rdma {
        write_rdma(build, first, name, port, nic, function);
    }
}

/// The CPUs of each queue's interrupt.
fn queue_cpus(build: &Build<'_>, nic: &Nic, function: &Attached) -> Vec<CpuSet> {
    let set = match nic.irq_cpus.is_empty() {
        true => build.topology.near(function.told),
        false => nic.irq_cpus.clone(),
    };
    let each: Vec<Cpu> = set.iter().collect();
    let of_queue = |queue: usize| match nic.irq_spread {
        Spread::All => set.clone(),
        Spread::Single => {
            each.iter().cycle().nth(queue % each.len().max(1)).copied().into_iter().collect()
        }
    };
    (0..usize::try_from(nic.queues).unwrap_or(0)).map(of_queue).collect()
}

/// The interrupts of a port in the words of its driver.
fn vectors(
    nic: &Nic,
    name: &str,
    device: &str,
    address: PciAddress,
    cpus: &[CpuSet],
    online: &CpuSet,
) -> Vec<Vector> {
    let virtio = device.rsplit_once('/').map_or("", |(_, name)| name);
    let first = match nic.driver.as_str() {
        "mlx5_core" => Some(format!("mlx5_async0@pci:{address}")),
        "ice" => Some(format!("ice-{address}:misc")),
        "i40e" => Some(format!("i40e-{address}:misc")),
        "virtio_net" => Some(format!("{virtio}-config")),
        _ => None,
    };
    let queue_names = |queue: usize| match nic.driver.as_str() {
        "mlx5_core" => vec![format!("mlx5_comp{queue}@pci:{address}")],
        "ice" | "i40e" => vec![format!("{}-{name}-TxRx-{queue}", nic.driver)],
        "bnxt_en" => vec![format!("{name}-TxRx-{queue}")],
        "virtio_net" => {
            vec![format!("{virtio}-input.{queue}"), format!("{virtio}-output.{queue}")]
        }
        _ => vec![format!("{name}-rxtx-{queue}")],
    };
    let rest = cpus.iter().enumerate().flat_map(|(queue, set)| {
        queue_names(queue)
            .into_iter()
            .map(|action| Vector { hint: set.clone(), ..Vector::free(action, set.clone()) })
    });
    first.into_iter().map(|action| Vector::free(action, online.clone())).chain(rest).collect()
}

/// What every interface has: `type` is 1 for Ethernet and 772 for the loopback (ARPHRD_*).
fn write_interface(build: &mut Build<'_>, folder: &str, name: &str, mtu: u32, kind: u32) {
    let index = build.next_interface;
    build.next_interface += 1;
    let address = if kind == 1 { mac(name) } else { "00:00:00:00:00:00".to_owned() };
    let flags = if kind == 1 { "0x1003" } else { "0x9" };
    let tree = &mut build.tree;
    tree.lines(
        folder,
        [
            ("address", address),
            ("ifindex", index.to_string()),
            ("iflink", index.to_string()),
            ("mtu", mtu.to_string()),
            ("type", kind.to_string()),
            ("flags", flags.to_owned()),
            ("tx_queue_len", "1000".to_owned()),
            ("gro_flush_timeout", "0".to_owned()),
            ("napi_defer_hard_irqs", "0".to_owned()),
            ("threaded", "0".to_owned()),
            ("addr_assign_type", "0".to_owned()),
        ],
    );
    tree.text(format!("{folder}/uevent"), format!("INTERFACE={name}\nIFINDEX={index}\n"));
    for counter in ["rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "rx_dropped", "rx_errors"] {
        tree.line(format!("{folder}/statistics/{counter}"), 0);
    }
    tree.link(format!("{folder}/subsystem"), "/sys/class/net");
    tree.link(format!("/sys/class/net/{name}"), folder);
}

/// A locally administered address that depends on the name alone.
fn mac(name: &str) -> String {
    let bytes = noise(crate::text::seed(name)).to_be_bytes();
    let [a, b, c, d, e, ..] = bytes;
    format!("02:{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}")
}

fn write_carrier(build: &mut Build<'_>, folder: &str, nic: &Nic) {
    let tree = &mut build.tree;
    tree.line(format!("{folder}/operstate"), if nic.down { "down" } else { "up" });
    tree.line(format!("{folder}/carrier"), u32::from(!nic.down));
    // virtio does not know its speed: -1, and `unknown`.
    let (speed, duplex) = match nic.down || nic.driver == "virtio_net" {
        true => ("-1".to_owned(), "unknown"),
        false => (nic.mbps.to_string(), "full"),
    };
    tree.line(format!("{folder}/speed"), speed);
    tree.line(format!("{folder}/duplex"), duplex);
}

fn write_queues(build: &mut Build<'_>, folder: &str, nic: &Nic, cpus: &[CpuSet]) {
    let bits = build.topology.bits;
    let tree = &mut build.tree;
    let shift = usize::try_from(nic.xps_shift).unwrap_or(0);
    let users = cpus.iter().cycle().skip(shift % cpus.len().max(1));
    for (queue, users) in users.take(cpus.len()).enumerate() {
        let rx = format!("{folder}/queues/rx-{queue}");
        tree.line(format!("{rx}/rps_cpus"), mask(&nic.rps, bits));
        tree.line(format!("{rx}/rps_flow_cnt"), nic.rps_flows);
        let tx = format!("{folder}/queues/tx-{queue}");
        let none = CpuSet::new();
        tree.line(format!("{tx}/xps_cpus"), mask(if nic.xps { users } else { &none }, bits));
        tree.line(format!("{tx}/traffic_class"), 0);
        tree.line(format!("{tx}/tx_maxrate"), 0);
    }
}

fn write_loopback(build: &mut Build<'_>) {
    let folder = "/sys/devices/virtual/net/lo";
    write_interface(build, folder, "lo", 65_536, 772);
    build.tree.line(format!("{folder}/operstate"), "unknown");
    build.tree.line(format!("{folder}/carrier"), 1);
    build
        .tree
        .line(format!("{folder}/queues/rx-0/rps_cpus"), mask(&CpuSet::new(), build.topology.bits));
    build.tree.line(format!("{folder}/queues/rx-0/rps_flow_cnt"), 0);
    build.tree.folder(format!("{folder}/queues/tx-0"));
}

fn write_bond(build: &mut Build<'_>, bond: &Bond) {
    let folder = format!("/sys/devices/virtual/net/{}", bond.name);
    write_interface(build, &folder, &bond.name, bond.mtu, 1);
    build.tree.line(format!("{folder}/operstate"), "up");
    let speed: u32 = build
        .description
        .nic
        .iter()
        .flat_map(|nic| nic.names.iter().map(move |name| (name, nic.mbps)))
        .filter(|(name, _)| bond.ports.contains(name))
        .map(|(_, mbps)| mbps)
        .sum();
    build.tree.line(format!("{folder}/speed"), speed);
    build.tree.line(format!("{folder}/bonding/slaves"), bond.ports.join(" "));
    build.tree.line(format!("{folder}/bonding/mode"), &bond.mode);
    build.tree.line("/sys/class/net/bonding_masters", &bond.name);
    for port in &bond.ports {
        if let Some(lower) = interface(build, port) {
            build.tree.link(format!("{lower}/master"), &folder);
            stack(build, &folder, &bond.name, &lower, port);
        }
    }
}

fn write_vlan(build: &mut Build<'_>, vlan: &Vlan) {
    let folder = format!("/sys/devices/virtual/net/{}", vlan.name);
    write_interface(build, &folder, &vlan.name, vlan.mtu, 1);
    build.tree.line(format!("{folder}/operstate"), "up");
    let uevent = format!("DEVTYPE=vlan\nINTERFACE={}\nIFINDEX=99\n", vlan.name);
    build.tree.text(format!("{folder}/uevent"), uevent);
    // `eth0.100  VID: 100	 REORDER_HDR: 1  dev->priv_flags: 1021` (net/8021q/vlanproc.c).
    let text = format!(
        "{}  VID: {}\t REORDER_HDR: 1  dev->priv_flags: 1021\nDevice: {}\n",
        vlan.name, vlan.id, vlan.on
    );
    build.tree.text(format!("/proc/net/vlan/{}", vlan.name), text);
    if let Some(lower) = interface(build, &vlan.on) {
        stack(build, &folder, &vlan.name, &lower, &vlan.on);
    }
}

/// `lower_X` above and `upper_Y` below.
fn stack(build: &mut Build<'_>, upper: &str, upper_name: &str, lower: &str, lower_name: &str) {
    build.tree.link(format!("{upper}/lower_{lower_name}"), lower);
    build.tree.link(format!("{lower}/upper_{upper_name}"), upper);
}

/// The folder of an interface that was written.
fn interface(build: &Build<'_>, name: &str) -> Option<String> {
    let link = format!("/sys/class/net/{name}");
    match build.tree.entries.get(&link)? {
        crate::Entry::Link(text) => Some(format!("/sys/{}", text.trim_start_matches("../"))),
        _ => None,
    }
}

/// `mlx5_3` after `mlx5_0`: the number at the end counts up over the machine's ports.
fn write_rdma(
    build: &mut Build<'_>,
    first: &str,
    netdev: &str,
    port: u32,
    nic: &Nic,
    function: &Attached,
) {
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let number: u32 = first.trim_start_matches(stem).parse().unwrap_or(0);
    let name = format!("{stem}{}", number + port);
    let folder = format!("{}/infiniband/{name}", function.path);
    let gigabits = nic.mbps / 1000;
    let tree = &mut build.tree;
    let place = format!("{folder}/ports/1");
    let (state, phys) = match nic.down {
        true => ("1: DOWN", "3: Disabled"),
        false => ("4: ACTIVE", "5: LinkUp"),
    };
    tree.lines(
        &place,
        [
            ("state", state.to_owned()),
            ("phys_state", phys.to_owned()),
            ("link_layer", "Ethernet".to_owned()),
            ("rate", format!("{gigabits} Gb/sec (4X)")),
        ],
    );
    let gid = format!(
        "fe80:0000:0000:0000:{:04x}:00ff:fe00:0001",
        noise(crate::text::seed(netdev)) & 0xffff
    );
    for (index, kind) in [(0, "IB/RoCE v1"), (1, "RoCE v2")] {
        tree.line(format!("{place}/gids/{index}"), &gid);
        tree.line(format!("{place}/gid_attrs/types/{index}"), kind);
        tree.line(format!("{place}/gid_attrs/ndevs/{index}"), netdev);
    }
    tree.line(format!("{folder}/node_type"), "1: CA");
    tree.link(format!("{folder}/device"), &function.path);
    tree.link(format!("{folder}/subsystem"), "/sys/class/infiniband");
    tree.link(format!("/sys/class/infiniband/{name}"), &folder);
}
