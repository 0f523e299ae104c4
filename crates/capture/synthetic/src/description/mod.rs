// SPDX-License-Identifier: MIT OR Apache-2.0
//! The description of a machine, as its TOML file holds it.
//!
//! Only `about`, `[cpu]` and `[memory]` must be there; everything else has the default that a
//! server of today has after a plain installation.

mod cpu;
mod device;
mod lanes;
mod system;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use cpu::{Cpu, Dimms, L3, Memory, MemoryKind, MemoryOnly, Numbering, Siblings};
pub use device::{
    Ahci, Device, Gpu, IdlePower, Nic, Nvme, Place, Queue, Raid, Spread, Switch, VirtualDisk,
};
pub use lanes::Lanes;
pub use system::{Bond, Dm, Fault, FaultKind, Host, IdleState, Kernel, Md, Power, Uncore, Vlan};

use crate::Error;

/// A machine that does not exist.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Description {
    /// What is odd about the machine and where its figures come from.
    pub about: String,
    /// Vendor, model, firmware, hypervisor.
    #[serde(default)]
    pub host: Host,
    /// Kernel, command line, sysctls' neighbours.
    #[serde(default)]
    pub kernel: Kernel,
    /// Processors and their numbering.
    pub cpu: Cpu,
    /// Memory of the nodes that have CPUs.
    pub memory: Memory,
    /// Nodes without CPUs; their numbers follow those with CPUs.
    #[serde(default)]
    pub memory_only: Vec<MemoryOnly>,
    /// Memory modules, as SMBIOS lists them.
    #[serde(default)]
    pub dimms: Vec<Dimms>,
    /// Frequencies and idle states.
    #[serde(default)]
    pub power: Power,
    /// PCIe switches, by name.
    #[serde(default)]
    pub switch: Vec<Switch>,
    /// NVMe drives.
    #[serde(default)]
    pub nvme: Vec<Nvme>,
    /// RAID controllers with the drives that they hide.
    #[serde(default)]
    pub raid: Vec<Raid>,
    /// SATA controllers with their drives.
    #[serde(default)]
    pub ahci: Vec<Ahci>,
    /// virtio-blk disks.
    #[serde(default)]
    pub virtual_disk: Vec<VirtualDisk>,
    /// Network cards.
    #[serde(default)]
    pub nic: Vec<Nic>,
    /// GPUs.
    #[serde(default)]
    pub gpu: Vec<Gpu>,
    /// PCI functions of any other kind.
    #[serde(default)]
    pub device: Vec<Device>,
    /// Bonds.
    #[serde(default)]
    pub bond: Vec<Bond>,
    /// VLANs.
    #[serde(default)]
    pub vlan: Vec<Vlan>,
    /// md arrays.
    #[serde(default)]
    pub md: Vec<Md>,
    /// Device-mapper volumes.
    #[serde(default)]
    pub dm: Vec<Dm>,
    /// Mount point by block device name.
    #[serde(default)]
    pub mount: BTreeMap<String, String>,
    /// Names of running programs: `irqbalance`.
    #[serde(default)]
    pub services: Vec<String>,
    /// Values of sysctls that differ from the kernel's defaults: `"vm.swappiness" = "10"`.
    #[serde(default)]
    pub sysctl: BTreeMap<String, String>,
    /// Whole files by path, written last: what no other key can say.
    #[serde(default)]
    pub file: BTreeMap<String, String>,
    /// What is broken.
    #[serde(default)]
    pub fault: Vec<Fault>,
}

/// The most CPUs an x86 kernel is built for (`CONFIG_NR_CPUS` with `MAXSMP`).
const MAX_CPUS: u64 = 8192;

/// The most devices of a group, far above any server's.
const MAX_DEVICES: u64 = 1024;

/// The most memory of a node, MiB: a pebibyte.
const MAX_MIB: u64 = 1 << 30;

/// The highest frequency, MHz.
const MAX_MHZ: u64 = 100_000;

/// Devices below a switch: what the 16 buses of a host bridge leave.
const MAX_BELOW_SWITCH: u32 = 12;

impl Description {
    /// Refuses a machine that cannot be.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.cpu.check()?;
        if self.cpu.count() > MAX_CPUS {
            return Err(Error::impossible("cpu", format!("more than {MAX_CPUS} CPUs")));
        }
        self.check_sizes()?;
        self.memory.check(self.cpu.node_count())?;
        let nodes = self.node_count();
        if let Some(node) = self.places().map(|place| place.node).find(|node| *node >= nodes) {
            let message = format!("node {node} of a machine with {nodes} nodes");
            return Err(Error::impossible("at.node", message));
        }
        let known = |name: &str| self.switch.iter().any(|switch| switch.name == name);
        if let Some(name) = self.places().filter_map(|p| p.switch.as_deref()).find(|n| !known(n)) {
            return Err(Error::impossible("at.switch", format!("no [[switch]] is named {name:?}")));
        }
        if let Some(switch) = self.switch.iter().find(|s| self.users_of(&s.name) > MAX_BELOW_SWITCH)
        {
            let message = format!("more than {MAX_BELOW_SWITCH} devices below {:?}", switch.name);
            return Err(Error::impossible("switch", message));
        }
        self.fault.iter().try_for_each(Fault::check)
    }

    /// Refuses numbers that no machine has, before anything is multiplied or counted up to.
    fn check_sizes(&self) -> Result<(), Error> {
        let mut sizes: Vec<(&str, u64, u64)> = vec![
            ("host.roots-per-node", self.host.roots_per_node.into(), 64),
            ("power.base-mhz", self.power.base_mhz, MAX_MHZ),
            ("cpu.l3-kib", self.cpu.l3_kib.into(), 1 << 21),
            ("cpu.l2-kib", self.cpu.l2_kib.into(), 1 << 21),
            ("memory-only", u64::try_from(self.memory_only.len()).unwrap_or(u64::MAX), 256),
        ];
        sizes.extend(self.power.mhz.map(|mhz| ("power.mhz", mhz, MAX_MHZ)));
        sizes.extend(self.power.floor_mhz.map(|mhz| ("power.floor-mhz", mhz, MAX_MHZ)));
        if let Some(uncore) = &self.power.uncore {
            let [low, high] = uncore.initial_mhz;
            let all = [uncore.min_mhz, uncore.max_mhz, low, high];
            sizes.extend(all.map(|mhz| ("power.uncore", mhz, MAX_MHZ)));
        }
        let count = |key, count: u32| (key, u64::from(count), MAX_DEVICES);
        sizes.extend(self.memory.node_mib.iter().map(|mib| ("memory.node-mib", *mib, MAX_MIB)));
        sizes.extend(self.memory_only.iter().map(|node| ("memory-only.mib", node.mib, MAX_MIB)));
        sizes.extend(self.dimms.iter().map(|group| count("dimms.slots", group.slots)));
        for drives in &self.nvme {
            sizes.extend([count("nvme.count", drives.count), count("nvme.paths", drives.paths)]);
            sizes.push(("nvme.queues", drives.queues.into(), MAX_CPUS));
        }
        sizes.extend(self.nic.iter().map(|nic| ("nic.queues", nic.queues.into(), MAX_CPUS)));
        sizes.extend(self.raid.iter().map(|raid| count("raid.drives", raid.drives)));
        sizes.extend(self.raid.iter().map(|raid| ("raid.queues", raid.queues.into(), MAX_CPUS)));
        sizes.extend(self.ahci.iter().map(|ahci| count("ahci.ports", ahci.ports)));
        sizes.extend(self.virtual_disk.iter().map(|disk| count("virtual-disk.count", disk.count)));
        sizes.extend(self.virtual_disk.iter().map(|d| count("virtual-disk.queues", d.queues)));
        sizes.extend(self.gpu.iter().map(|gpu| count("gpu.count", gpu.count)));
        sizes.extend(self.gpu.iter().map(|gpu| count("gpu.vectors", gpu.vectors)));
        sizes.extend(self.device.iter().map(|device| count("device.count", device.count)));
        sizes.extend(self.device.iter().map(|device| count("device.vectors", device.vectors)));
        match sizes.into_iter().find(|(_, size, most)| size > most) {
            Some((key, size, most)) => {
                Err(Error::impossible(key, format!("{size} is more than {most}")))
            }
            None => Ok(()),
        }
    }

    /// Nodes, those without CPUs included.
    pub fn node_count(&self) -> u32 {
        let more = u32::try_from(self.memory_only.len()).unwrap_or(u32::MAX);
        self.cpu.node_count().saturating_add(more)
    }

    /// How many devices hang from a switch.
    pub(crate) fn users_of(&self, name: &str) -> u32 {
        let on = |place: &Place| place.switch.as_deref() == Some(name);
        let drives = self.nvme.iter().filter(|d| on(&d.at)).map(|d| d.count * d.paths);
        let gpus = self.gpu.iter().filter(|gpu| on(&gpu.at)).map(|gpu| gpu.count);
        let others = self.device.iter().filter(|d| on(&d.at)).map(|d| d.count);
        let nics = self.nic.iter().filter(|nic| on(&nic.at)).map(|_| 1);
        let raids = self.raid.iter().filter(|raid| on(&raid.at)).map(|_| 1);
        let satas = self.ahci.iter().filter(|ahci| on(&ahci.at)).map(|_| 1);
        drives.chain(gpus).chain(others).chain(nics).chain(raids).chain(satas).sum()
    }

    fn places(&self) -> impl Iterator<Item = &Place> {
        let switches = self.switch.iter().map(|switch| &switch.at);
        let drives = self.nvme.iter().map(|drive| &drive.at);
        let raids = self.raid.iter().map(|raid| &raid.at).chain(self.ahci.iter().map(|a| &a.at));
        let nics = self.nic.iter().map(|nic| &nic.at).chain(self.gpu.iter().map(|gpu| &gpu.at));
        let others = self.device.iter().map(|device| &device.at);
        let disks = self.virtual_disk.iter().map(|disk| &disk.at);
        switches.chain(drives).chain(raids).chain(nics).chain(others).chain(disks)
    }

    /// The same machine with cores and queues divided by `divisor`: for measuring whether a cost
    /// grows with the size. Interrupts and their columns both shrink.
    #[must_use]
    pub fn scaled(&self, divisor: u32) -> Self {
        let less = |count: u32| if count == 0 { 0 } else { (count / divisor.max(1)).max(1) };
        let mut small = self.clone();
        small.cpu.cores_per_node = less(small.cpu.cores_per_node);
        small.nvme.iter_mut().for_each(|drive| drive.queues = less(drive.queues));
        small.nic.iter_mut().for_each(|nic| nic.queues = less(nic.queues));
        small.raid.iter_mut().for_each(|raid| raid.queues = less(raid.queues));
        small
    }
}
