// SPDX-License-Identifier: MIT OR Apache-2.0
//! Host, kernel, power, volumes, virtual interfaces and faults.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Lanes;
use crate::Error;

/// What DMI tells of the machine.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Host {
    /// `sys_vendor`.
    pub vendor: String,
    /// `product_name`.
    pub product: String,
    /// `bios_version`.
    pub firmware: String,
    /// `bios_date`, month first.
    pub firmware_date: String,
    /// `kvm`, `vmware`, ...: the machine is a guest of it.
    pub hypervisor: Option<String>,
    /// Name of the container runtime that this process is in.
    pub container: Option<String>,
    /// FADT: the firmware tells the kernel to leave ASPM alone.
    pub forbids_aspm: bool,
    /// An IOMMU is there and used: `intel`, `amd`.
    pub iommu: Option<String>,
    /// Host bridges of a node.
    pub roots_per_node: u32,
    /// The firmware names no node for any PCI device (`numa_node` -1 everywhere).
    pub silent_about_nodes: bool,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            vendor: "Dell Inc.".to_owned(),
            product: "PowerEdge R770".to_owned(),
            firmware: "1.2.6".to_owned(),
            firmware_date: "05/13/2025".to_owned(),
            hypervisor: None,
            container: None,
            forbids_aspm: false,
            iommu: None,
            roots_per_node: 4,
            silent_about_nodes: false,
        }
    }
}

/// The kernel.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Kernel {
    /// `uname -r`.
    pub release: String,
    /// The command line after `BOOT_IMAGE=... root=...`.
    pub command_line: String,
    /// `transparent_hugepage/enabled`.
    pub thp: String,
    /// `pcie_aspm/parameters/policy`.
    pub aspm_policy: String,
    /// `vulnerabilities/*` that differ from `Not affected`.
    pub vulnerabilities: BTreeMap<String, String>,
    /// Parameters of modules: `"nvme.poll_queues" = "0"`.
    pub module: BTreeMap<String, String>,
}

impl Default for Kernel {
    fn default() -> Self {
        Self {
            release: "6.12.41+deb13-amd64".to_owned(),
            command_line: "ro quiet".to_owned(),
            thp: "always".to_owned(),
            aspm_policy: "default".to_owned(),
            vulnerabilities: BTreeMap::new(),
            module: BTreeMap::new(),
        }
    }
}

/// Frequencies and idle states.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Power {
    /// `scaling_driver`: `intel_pstate`, `amd-pstate-epp`, `acpi-cpufreq`; empty: no cpufreq.
    pub driver: String,
    /// `scaling_governor`.
    pub governor: String,
    /// Lowest and highest frequency of the hardware, MHz.
    pub mhz: [u64; 2],
    /// Base frequency, MHz.
    pub base_mhz: u64,
    /// `scaling_min_freq` where it is not the hardware's, MHz.
    pub floor_mhz: Option<u64>,
    /// Whether turbo is on.
    pub turbo: bool,
    /// `energy_performance_preference`; empty: none.
    pub epp: String,
    /// `energy_perf_bias`; 0 on Intel's processors where it is missing, and none on others.
    pub epb: Option<u32>,
    /// `cpuidle/current_driver`.
    pub idle_driver: String,
    /// Idle states after POLL.
    pub idle: Vec<IdleState>,
    /// Uncore domains; none where it is missing.
    pub uncore: Option<Uncore>,
    /// `pm_qos_resume_latency_us` of every CPU.
    pub resume_latency: String,
}

impl Default for Power {
    fn default() -> Self {
        Self {
            driver: "intel_pstate".to_owned(),
            governor: "performance".to_owned(),
            mhz: [800, 3900],
            base_mhz: 2400,
            floor_mhz: None,
            turbo: true,
            epp: "performance".to_owned(),
            epb: None,
            idle_driver: "intel_idle".to_owned(),
            idle: Vec::new(),
            uncore: None,
            resume_latency: "0".to_owned(),
        }
    }
}

/// An idle state.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct IdleState {
    /// `C1`, `C1E`, `C6`.
    pub name: String,
    /// Exit latency, us.
    pub latency_us: u32,
    /// Target residency, us.
    pub residency_us: u32,
    /// Whether it is disabled.
    #[serde(default)]
    pub disabled: bool,
}

/// Uncore domains, one a die, and their frequencies in MHz.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Uncore {
    /// Lowest now.
    pub min_mhz: u64,
    /// Highest now.
    pub max_mhz: u64,
    /// Lowest and highest at boot.
    pub initial_mhz: [u64; 2],
}

/// A bond of network ports.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Bond {
    /// `bond0`.
    pub name: String,
    /// Interfaces in it; their own MTU is theirs.
    pub ports: Vec<String>,
    /// Its MTU.
    pub mtu: u32,
    /// `802.3ad 4`: the mode and its number.
    #[serde(default = "lacp")]
    pub mode: String,
}

/// A VLAN.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Vlan {
    /// `bond0.100`.
    pub name: String,
    /// The interface below it.
    pub on: String,
    /// Its number.
    pub id: u16,
    /// Its MTU.
    pub mtu: u32,
}

/// An md array.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Md {
    /// `md127`.
    pub name: String,
    /// `raid0`.
    pub level: String,
    /// Names of the drives in it.
    pub members: Vec<String>,
}

/// A device-mapper volume.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Dm {
    /// `dm-0`.
    pub name: String,
    /// `vg0-data`.
    pub label: String,
    /// `LVM-...`, `CRYPT-LUKS2-...`, `mpath-...`.
    pub uuid: String,
    /// Names of the devices below it.
    pub members: Vec<String>,
}

/// Something broken, put on the finished tree.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fault {
    /// Paths it hits; `*` stands for any text within one part: `/sys/class/net/*/mtu`.
    pub path: String,
    /// What is wrong with them.
    pub kind: FaultKind,
    /// `cut`: bytes that stay; `nul-padded` and `random`: bytes in all; `mode`: permission bits.
    #[serde(default)]
    pub value: Option<u32>,
    /// Seed of `random`.
    #[serde(default)]
    pub seed: u64,
}

/// What is wrong with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// It is not there, nor anything below it.
    Missing,
    /// It may not be read.
    Denied,
    /// Reading it fails.
    Eio,
    /// Its end is missing.
    Cut,
    /// NUL bytes follow its text, as after a copy that trusted the size.
    NulPadded,
    /// Random bytes stand in its place.
    Random,
    /// It is a link to itself.
    LinkLoop,
    /// It is a link to nothing.
    Dangling,
    /// Its permission bits are others.
    Mode,
}

/// The most bytes that a fault may put in a file.
const MAX_FAULT_BYTES: u32 = 1 << 24;

impl Fault {
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !self.path.starts_with('/') {
            return Err(Error::impossible("fault.path", format!("{:?} is not below /", self.path)));
        }
        if self.value.is_some_and(|value| value > MAX_FAULT_BYTES) {
            return Err(Error::impossible("fault.value", "more than 16 Mi"));
        }
        Ok(())
    }
}

/// A link at its two ends, for the places that need both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) now: Lanes,
    pub(crate) device: Lanes,
    pub(crate) port: Lanes,
}

fn lacp() -> String {
    "802.3ad 4".to_owned()
}
