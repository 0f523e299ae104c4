// SPDX-License-Identifier: MIT OR Apache-2.0
//! `topology/1`: what a machine is made of and where everything is.

use std::collections::{BTreeMap, BTreeSet};

use machine::{DriveKind, Fact, LimitedBy, Machine, Managed, NodeFrom, Virtual};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, CpuSet, NodeId, PackageId};

use crate::ask;

/// The document `topology/1`. CPU sets are kernel list strings: `"0-3,8"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Topology {
    /// Name and version of this format: `topology/1`.
    pub schema: String,
    /// Maker, model, firmware, kernel.
    pub host: Host,
    /// CPU sets of the machine.
    pub cpus: CpuSets,
    /// Packages by id.
    pub packages: Vec<Package>,
    /// NUMA nodes by number, those without CPUs included.
    pub nodes: Vec<Node>,
    /// How CPU numbers run over the domains: `linear`, `round-robin`, `mixed`, `undecided`.
    pub numbering: String,
    /// Where second threads are: `adjacent`, `second-half`, `none`, `other`.
    pub siblings: String,
    /// Whether packages are split into nodes.
    pub sub_numa: SubNuma,
    /// Simultaneous multithreading.
    pub smt: Smt,
    /// Level 3 caches.
    pub l3: Vec<Cache>,
    /// PCI functions by address.
    pub functions: Vec<Function>,
    /// Drives by name.
    pub drives: Vec<Drive>,
    /// Network devices by name.
    pub nics: Vec<Nic>,
    /// GPUs and accelerators.
    pub gpus: Vec<Gpu>,
    /// Every interrupt that has a number; its device is null where none raises it.
    pub irqs: Vec<Interrupt>,
    /// PCI Express lanes by root complex.
    pub lanes: Vec<Lanes>,
    /// What could not be read.
    pub unknown: Vec<Unknown>,
}

/// Maker, model, firmware, kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Maker.
    pub vendor: Option<String>,
    /// Model.
    pub product: Option<String>,
    /// BIOS version and date.
    pub firmware: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Name of the hypervisor below; null on bare metal.
    pub r#virtual: Option<String>,
}

/// CPU sets, as kernel lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuSets {
    /// Online.
    pub online: String,
    /// Present and not online.
    pub offline: String,
    /// What the reading process may use.
    pub allowed: String,
    /// Kept from the scheduler.
    pub isolated: String,
}

/// A package, in counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Package {
    /// The kernel's number.
    pub id: u32,
    /// Dies, at least 1.
    pub dies: usize,
    /// NUMA nodes whose CPUs it holds.
    pub nodes: usize,
    /// Cores with a thread online in it.
    pub cores: usize,
    /// Threads online in it.
    pub threads: usize,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// The kernel's number.
    pub id: u32,
    /// Its package; null for nodes without CPUs, or with CPUs of several or unknown packages.
    pub package: Option<u32>,
    /// Its CPUs.
    pub cpus: String,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Distances to the online nodes, in ascending order of their numbers; 10 is itself.
    pub distances: Vec<u32>,
}

/// Whether packages are split into nodes, and by which setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubNuma {
    /// `none`, `snc`, `nps`, `l3`, `cod`, `unknown`.
    pub kind: String,
    /// Nodes with CPUs in a package.
    pub per_package: u32,
    /// What told so.
    pub why: String,
}

/// Simultaneous multithreading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Smt {
    /// The most threads a core has.
    pub threads_per_core: u32,
    /// `cpu/smt/control`; empty if unreadable.
    pub state: String,
}

/// A cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// CPUs that share it.
    pub cpus: String,
    /// Size in bytes.
    pub bytes: Option<u64>,
}

/// A PCI function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Function {
    /// `0000:3e:00.0`.
    pub address: String,
    /// Class, subclass and interface in hexadecimal: `010802`; null if unreadable, as the next two.
    pub class: Option<String>,
    /// Vendor id in hexadecimal: `144d`.
    pub vendor: Option<String>,
    /// Device id in hexadecimal.
    pub device: Option<String>,
    /// Names from pci.ids.
    pub names: FunctionNames,
    /// Bound driver.
    pub driver: Option<String>,
    /// Its NUMA node.
    pub node: Option<u32>,
    /// Where the node came from: `own`, `parent`, `local-cpus`, `proximity`, `only`, `unknown`.
    pub node_from: String,
    /// CPUs that the kernel calls local.
    pub local_cpus: String,
    /// Slot number or label.
    pub slot: Option<String>,
    /// Its link; null for functions without one.
    pub link: Option<Link>,
}

/// Names from pci.ids; null where it has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionNames {
    /// Vendor.
    pub vendor: Option<String>,
    /// Device.
    pub device: Option<String>,
    /// Subsystem.
    pub subsystem: Option<String>,
    /// Class in words.
    pub class: Option<String>,
}

/// A link, now and at the best that its card can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// Speed now, GT/s a lane.
    pub speed_gts: Option<f64>,
    /// Width now, lanes.
    pub width: Option<u8>,
    /// The card's best speed, GT/s a lane.
    pub best_speed_gts: Option<f64>,
    /// The card's best width, lanes.
    pub best_width: Option<u8>,
    /// What keeps the link from more: `trained` (both ends can do more), `port` (the slot can do
    /// less than the card), `card` (the card can do less than the slot), `unseen` (below its best,
    /// the other end cannot be seen); null when both ends are alike and it runs at their best.
    pub limited_by: Option<String>,
}

/// A drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drive {
    /// Block device name.
    pub name: String,
    /// `nvme`, `nvme-fabrics`, `sata`, `sas`, `scsi`, `virtio`, `raid-volume`, `mmc`, `pmem`,
    /// `paravirtual`, `other`.
    pub kind: String,
    /// Model.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Capacity in bytes.
    pub bytes: Option<u64>,
    /// Paths to it.
    pub controllers: Vec<Controller>,
    /// What uses it: `md127`, `dm-0`.
    pub holders: Vec<String>,
}

/// A path to a drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Controller {
    /// `nvme0`, `host2`.
    pub name: String,
    /// Its PCI function.
    pub function: Option<String>,
    /// Its NUMA node.
    pub node: Option<u32>,
    /// I/O queues.
    pub queues: u32,
}

/// A network device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Nic {
    /// Interface name.
    pub name: String,
    /// Its PCI function.
    pub function: Option<String>,
    /// Its NUMA node.
    pub node: Option<u32>,
    /// Link speed in bits a second; null when down or not told.
    pub speed_bits: Option<u64>,
    /// MTU in bytes.
    pub mtu: Option<u32>,
    /// Receive queues.
    pub queues: usize,
    /// Bond, bridge or team that it is a port of.
    pub master: Option<String>,
}

/// A GPU or accelerator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gpu {
    /// `card0`, `nvidia0`, or its model.
    pub name: String,
    /// Its PCI function.
    pub function: String,
    /// Its NUMA node.
    pub node: Option<u32>,
}

/// An interrupt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interrupt {
    /// The kernel's number.
    pub irq: u32,
    /// The device that raises it.
    pub device: Option<String>,
    /// The queue it serves.
    pub queue: Option<u32>,
    /// CPUs it may go to.
    pub cpus: Option<String>,
    /// CPUs it goes to; follows `cpus` at the next interrupt only.
    pub effective_cpus: Option<String>,
    /// Whether the kernel places it by itself.
    pub managed: bool,
}

/// What hangs from a root complex and what it can ask at most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lanes {
    /// The root bus: `pci0000:17`.
    pub root: String,
    /// Its NUMA node; null where its devices tell none, or several.
    pub node: Option<u32>,
    /// Lanes of all devices together.
    pub lanes: u32,
    /// Bytes a second in one direction of all devices together.
    pub bytes_per_second: f64,
    /// Addresses of the devices.
    pub used_by: Vec<String>,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unknown {
    /// What.
    pub what: String,
    /// Why: `absent`, `permission denied`, `not supported`, or the text.
    pub why: String,
    /// The file or folder.
    pub path: String,
}

/// The document `topology/1` of a machine.
pub fn topology(machine: &Machine) -> Topology {
    let sub_numa = machine.sub_numa();
    Topology {
        schema: "topology/1".to_owned(),
        host: host(machine),
        cpus: cpu_sets(machine),
        packages: packages(machine),
        nodes: nodes(machine),
        numbering: machine.numbering().kind.to_string(),
        siblings: machine.siblings().to_string(),
        sub_numa: SubNuma {
            kind: sub_numa.kind.to_string(),
            per_package: sub_numa.per_package,
            why: sub_numa.why,
        },
        smt: Smt {
            threads_per_core: machine.cpus.smt.threads_per_core,
            state: machine.cpus.smt.state.clone(),
        },
        l3: l3(machine),
        functions: machine.functions.iter().map(function).collect(),
        drives: machine.drives.iter().map(drive).collect(),
        nics: machine.nics.iter().map(nic).collect(),
        gpus: machine.gpus.iter().map(gpu).collect(),
        irqs: machine.irqs.iter().map(interrupt).collect(),
        lanes: machine.lanes().into_iter().map(lanes).collect(),
        unknown: unknown(&machine.unknown),
    }
}

/// A name for what lasts of a machine: the same machine in the same firmware state has the same. What
/// changes by itself is no part of it: interrupts, what is mounted or held, what could not be read, and
/// the state of links and interfaces; nor the kernel's release, which a record has beside it.
pub fn topology_hash(machine: &Machine) -> String {
    let mut lasting = topology(machine);
    (lasting.irqs, lasting.unknown) = (Vec::new(), Vec::new());
    (lasting.host.kernel, lasting.cpus.allowed) = (None, String::new());
    lasting.lanes.clear();
    lasting.drives.iter_mut().for_each(|drive| drive.holders.clear());
    lasting.nics.clear();
    lasting.functions.iter_mut().for_each(|function| function.link = None);
    let text = serde_json::to_string(&lasting).expect("it is plain JSON with text keys");
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

fn known<T: Clone>(fact: &Fact<T>) -> Option<T> {
    fact.as_ref().ok().cloned()
}

fn number(node: Option<NodeId>) -> Option<u32> {
    node.map(|id| id.0)
}

fn host(machine: &Machine) -> Host {
    let host = &machine.host;
    Host {
        vendor: known(&host.vendor),
        product: known(&host.product),
        firmware: known(&host.firmware),
        kernel: known(&host.kernel),
        r#virtual: match &host.virtual_machine {
            Virtual::No => None,
            Virtual::Yes { name, .. } => Some(name.clone()),
        },
    }
}

fn cpu_sets(machine: &Machine) -> CpuSets {
    let cpus = &machine.cpus;
    CpuSets {
        online: cpus.online.to_string(),
        offline: cpus.offline.to_string(),
        allowed: cpus.allowed.to_string(),
        isolated: cpus.isolated.to_string(),
    }
}

fn packages(machine: &Machine) -> Vec<Package> {
    let mut packages: BTreeMap<PackageId, Vec<&machine::Thread>> = BTreeMap::new();
    for thread in machine.cpus.threads.iter().filter(|thread| thread.online) {
        if let Ok(id) = thread.package {
            packages.entry(id).or_default().push(thread);
        }
    }
    let package = |(id, threads): (PackageId, Vec<&machine::Thread>)| Package {
        id: id.0,
        dies: distinct(threads.iter().filter_map(|thread| thread.die.as_ref().ok())).max(1),
        nodes: distinct(threads.iter().filter_map(|thread| thread.node)),
        cores: distinct(threads.iter().map(|thread| thread.core)),
        threads: threads.len(),
    };
    packages.into_iter().map(package).collect()
}

fn distinct<T: Ord>(items: impl Iterator<Item = T>) -> usize {
    items.collect::<BTreeSet<T>>().len()
}

fn nodes(machine: &Machine) -> Vec<Node> {
    let packages = ask::packages_of_nodes(machine);
    // One CPU of an unknown package may be in another one.
    let is_unsure = |id: NodeId| {
        let mut threads = machine.cpus.threads.iter().filter(|thread| thread.online);
        threads.any(|thread| thread.node == Some(id) && thread.package.is_err())
    };
    let node = |node: &machine::Node| Node {
        id: node.id.0,
        package: match packages.get(&node.id).map(Vec::as_slice) {
            Some([only]) if !is_unsure(node.id) => Some(only.0),
            _ => None,
        },
        cpus: node.cpus.to_string(),
        memory_bytes: known(&node.memory).map(|bytes| bytes.0),
        distances: node.distances.iter().map(|(_, distance)| *distance).collect(),
    };
    machine.nodes.iter().map(node).collect()
}

fn l3(machine: &Machine) -> Vec<Cache> {
    let caches = machine.caches.iter().filter(|cache| cache.level == 3);
    caches
        .map(|cache| Cache {
            cpus: CpuSet::to_string(&cache.cpus),
            bytes: known(&cache.size).map(|Bytes(bytes)| bytes),
        })
        .collect()
}

fn function(function: &machine::Function) -> Function {
    let class = function.class;
    // No vendor has number 0: what cannot be identified has no numbers rather than wrong ones.
    let known = |number: String| (function.vendor != 0).then_some(number);
    // A tree may hold the class alone.
    let code = format!("{:02x}{:02x}{:02x}", class.base, class.sub, class.interface);
    let has_class = function.vendor != 0 || code != "000000";
    let names = &function.names;
    Function {
        address: function.address.to_string(),
        class: has_class.then_some(code),
        vendor: known(format!("{:04x}", function.vendor)),
        device: known(format!("{:04x}", function.device)),
        names: FunctionNames {
            vendor: told(&names.vendor),
            device: told(&names.device),
            subsystem: told(&names.subsystem),
            class: told(&names.class),
        },
        driver: function.driver.clone(),
        node: number(function.node),
        node_from: node_from(function.node_from).to_owned(),
        local_cpus: function.local_cpus.to_string(),
        slot: function.slot.clone(),
        link: function.link.as_ref().map(link),
    }
}

/// A name, or null for none.
fn told(name: &str) -> Option<String> {
    (!name.is_empty()).then(|| name.to_owned())
}

/// Where a node came from, in the words of the format.
pub(crate) fn node_from(from: NodeFrom) -> &'static str {
    match from {
        NodeFrom::Unknown => "unknown",
        NodeFrom::Own => "own",
        NodeFrom::Parent => "parent",
        NodeFrom::LocalCpus => "local-cpus",
        NodeFrom::Proximity => "proximity",
        NodeFrom::Only => "only",
    }
}

fn link(link: &machine::Link) -> Link {
    Link {
        speed_gts: known(&link.speed).map(units::Transfers::gts),
        width: known(&link.width),
        best_speed_gts: known(&link.own.speed).map(units::Transfers::gts),
        best_width: known(&link.own.width),
        limited_by: link.limited_by().map(|limit| limited_by(limit).to_owned()),
    }
}

fn limited_by(limit: LimitedBy) -> &'static str {
    match limit {
        LimitedBy::Trained => "trained",
        LimitedBy::Port => "port",
        LimitedBy::Card => "card",
        LimitedBy::Unseen => "unseen",
    }
}

fn drive(drive: &machine::Drive) -> Drive {
    let controller = |path: &machine::Controller| Controller {
        name: path.name.clone(),
        function: path.function.map(|address| address.to_string()),
        node: number(path.node),
        queues: path.queues,
    };
    Drive {
        name: drive.name.clone(),
        kind: drive_kind(drive.kind).to_owned(),
        model: known(&drive.model),
        serial: known(&drive.serial),
        bytes: known(&drive.size).map(|bytes| bytes.0),
        controllers: drive.controllers.iter().map(controller).collect(),
        holders: drive.holders.clone(),
    }
}

fn drive_kind(kind: DriveKind) -> &'static str {
    match kind {
        DriveKind::Nvme => "nvme",
        DriveKind::NvmeFabrics => "nvme-fabrics",
        DriveKind::Sata => "sata",
        DriveKind::Sas => "sas",
        DriveKind::Scsi => "scsi",
        DriveKind::Virtio => "virtio",
        DriveKind::RaidVolume => "raid-volume",
        DriveKind::Mmc => "mmc",
        DriveKind::Pmem => "pmem",
        DriveKind::Paravirtual => "paravirtual",
        DriveKind::Other => "other",
    }
}

fn nic(nic: &machine::Nic) -> Nic {
    Nic {
        name: nic.name.clone(),
        function: nic.function.map(|address| address.to_string()),
        node: number(nic.node),
        speed_bits: known(&nic.speed).map(|speed| speed.0),
        mtu: known(&nic.mtu),
        queues: nic.rx_queues.len(),
        master: nic.master.clone(),
    }
}

fn gpu(gpu: &machine::Gpu) -> Gpu {
    Gpu { name: gpu.name.clone(), function: gpu.function.to_string(), node: number(gpu.node) }
}

fn interrupt(irq: &machine::Irq) -> Interrupt {
    Interrupt {
        irq: irq.number,
        device: irq.source.as_ref().map(|source| source.device.clone()),
        queue: irq.source.as_ref().and_then(|source| source.queue),
        cpus: irq.affinity.as_ref().ok().map(ToString::to_string),
        effective_cpus: irq.effective.as_ref().ok().map(ToString::to_string),
        managed: irq.managed != Managed::No,
    }
}

fn lanes(root: machine::RootLanes) -> Lanes {
    let node = root.node();
    Lanes {
        root: root.root,
        node: number(node),
        lanes: root.lanes,
        bytes_per_second: root.rate.0.round(),
        used_by: root.used_by.iter().map(|part| part.function.to_string()).collect(),
    }
}

/// Troubles in the words of the format.
pub(crate) fn unknown(troubles: &[machine::Trouble]) -> Vec<Unknown> {
    let unknown = |trouble: &machine::Trouble| Unknown {
        what: trouble.what.clone(),
        why: trouble.why.to_string(),
        path: trouble.path.clone(),
    };
    troubles.iter().map(unknown).collect()
}
