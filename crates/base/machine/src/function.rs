// SPDX-License-Identifier: MIT OR Apache-2.0
//! PCI functions: what they are, and what hangs below them.

use units::{CpuSet, NodeId, PciAddress};

use crate::{Fact, Link, Why};

/// One PCI function.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// Where it is.
    pub address: PciAddress,
    /// The function above it in the tree (a bridge or port); none on a root bus.
    pub parent: Option<PciAddress>,
    /// The root bus it hangs from, as the sysfs folder names it: `pci0000:17`.
    pub root: String,
    /// Class, subclass, programming interface.
    pub class: PciClass,
    /// Vendor id; 0 where unreadable (a link that leads nowhere), as no vendor has it.
    pub vendor: u16,
    /// Device id.
    pub device: u16,
    /// Subsystem vendor id.
    pub subsystem_vendor: u16,
    /// Subsystem device id.
    pub subsystem_device: u16,
    /// Revision.
    pub revision: u8,
    /// Names from pci.ids.
    pub names: Names,
    /// Bound driver.
    pub driver: Option<String>,
    /// Its node, after inference.
    pub node: Option<NodeId>,
    /// Where `node` came from.
    pub node_from: NodeFrom,
    /// `local_cpulist`, as the kernel gives it.
    pub local_cpus: CpuSet,
    /// Link, for PCI Express functions that have one (not root-complex integrated endpoints).
    pub link: Option<Link>,
    /// Registers from config space, as far as it could be read.
    pub config: ConfigSpace,
    /// Kind of port, from the PCI Express capability or the class.
    pub port: Option<PortKind>,
    /// IOMMU group number.
    pub iommu_group: Option<u32>,
    /// SR-IOV; none without the capability.
    pub sriov: Option<VirtualFunctions>,
    /// For a virtual function: its physical function.
    pub physical_function: Option<PciAddress>,
    /// Physical slot number or label from `/sys/bus/pci/slots`, `label` or SMBIOS type 9.
    pub slot: Option<String>,
    /// `power/control`: `on` or `auto`.
    pub runtime_pm: Option<String>,
    /// Interrupt numbers from `msi_irqs`, or the one of `irq` where that folder is missing.
    pub irqs: Vec<u32>,
    /// `enable` of sysfs; none where missing.
    pub enabled: Option<bool>,
    /// Whether the slot can be hot-plugged (slot capability of the port above).
    pub hot_plug: bool,
}

/// A PCI class code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct PciClass {
    /// Base class, `0x01` storage, `0x02` network, `0x03` display, `0x06` bridge, `0x12` accelerator.
    pub base: u8,
    /// Subclass.
    pub sub: u8,
    /// Programming interface.
    pub interface: u8,
}

/// Names from pci.ids; hexadecimal ids where it has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    /// Vendor.
    pub vendor: String,
    /// Device.
    pub device: String,
    /// Subsystem, empty when unknown.
    pub subsystem: String,
    /// Class in words.
    pub class: String,
}

/// Where a function's node came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NodeFrom {
    /// Nothing told.
    #[default]
    Unknown,
    /// The function's own `numa_node`.
    Own,
    /// `numa_node` of a bridge above it.
    Parent,
    /// `local_cpulist` lies within one node that shares its CPUs with no other.
    LocalCpus,
    /// ACPI proximity of the host bridge (`firmware_node`, generic initiator).
    Proximity,
    /// The machine has one node.
    Only,
}

/// What config space tells beyond sysfs files. Without root only 64 bytes are readable, and all of
/// it is unknown with [`crate::Why::Denied`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigSpace {
    /// Max payload size in use, bytes.
    pub mps: Fact<u16>,
    /// Max payload size supported, bytes.
    pub mps_supported: Fact<u16>,
    /// Max read request size in use, bytes.
    pub mrrs: Fact<u16>,
    /// Extended tags (8 bit).
    pub extended_tags: Fact<Ability>,
    /// 10-bit tags as requester.
    pub ten_bit_tags: Fact<Ability>,
    /// Relaxed ordering enabled.
    pub relaxed_ordering: Fact<bool>,
    /// What ACS sends up to the root; none without the capability.
    pub acs_redirect: Fact<Option<AcsRedirect>>,
    /// AER capability present.
    pub aer: Fact<bool>,
    /// Errors counted, from sysfs `aer_dev_*`.
    pub aer_totals: Fact<AerTotals>,
}

/// Something that a function can do or not, and whether it is switched on. The two registers are
/// the device's own: one that is on and not supported is a device that lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ability {
    /// By the capability register.
    pub supported: bool,
    /// By the control register.
    pub enabled: bool,
}

/// What a port with access control (ACS) sends up to the root instead of to its neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcsRedirect {
    /// Requests (`PCI_ACS_RR`).
    pub requests: bool,
    /// Completions (`PCI_ACS_CR`).
    pub completions: bool,
}

/// Virtual functions of a function or port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VirtualFunctions {
    /// How many there are now: `sriov_numvfs`.
    pub now: u32,
    /// How many there can be: `sriov_totalvfs`.
    pub most: u32,
}

/// Errors of a function that AER counted since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AerTotals {
    /// Mended by the link itself.
    pub correctable: u64,
    /// Lost a transaction.
    pub non_fatal: u64,
    /// Lost the link.
    pub fatal: u64,
}

impl AcsRedirect {
    /// Whether anything is redirected.
    pub fn any(self) -> bool {
        self.requests || self.completions
    }
}

/// What a PCI Express function is, by its capability (bits 7:4 of the Express capabilities register).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortKind {
    /// Endpoint.
    Endpoint,
    /// Legacy endpoint.
    LegacyEndpoint,
    /// Root port.
    Root,
    /// Switch upstream port.
    Upstream,
    /// Switch downstream port.
    Downstream,
    /// Bridge to conventional PCI.
    Bridge,
    /// Root-complex integrated endpoint: no link.
    Integrated,
    /// Root-complex event collector.
    EventCollector,
}

impl Function {
    /// A function of which nothing but the address is known.
    pub fn new(address: PciAddress) -> Self {
        Self {
            address,
            parent: None,
            root: String::new(),
            class: PciClass::default(),
            vendor: 0,
            device: 0,
            subsystem_vendor: 0,
            subsystem_device: 0,
            revision: 0,
            names: Names::default(),
            driver: None,
            node: None,
            node_from: NodeFrom::Unknown,
            local_cpus: CpuSet::new(),
            link: None,
            config: ConfigSpace::unknown(&Why::Absent),
            port: None,
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

    /// Whether its identity could be read. A link in `/sys/bus/pci/devices` may lead nowhere: then
    /// only the address and its place in the tree are known. No vendor has the id 0.
    pub fn is_readable(&self) -> bool {
        self.vendor != 0
    }

    /// Whether other functions hang below it: a bridge or port by class, or by its capability.
    pub fn is_port(&self) -> bool {
        let by_capability = self.port.is_some_and(|port| {
            use PortKind::{Bridge, Downstream, Root, Upstream};
            matches!(port, Root | Upstream | Downstream | Bridge)
        });
        by_capability || (self.class.base == 0x06 && self.class.sub == 0x04)
    }

    /// Whether it is the upper end of its link: a root port or a switch's downstream port.
    pub fn is_upper_end(&self) -> bool {
        matches!(self.port, Some(PortKind::Root | PortKind::Downstream))
    }
}

impl ConfigSpace {
    /// All of it unknown for one reason.
    pub fn unknown(why: &Why) -> Self {
        Self {
            mps: Err(why.clone()),
            mps_supported: Err(why.clone()),
            mrrs: Err(why.clone()),
            extended_tags: Err(why.clone()),
            ten_bit_tags: Err(why.clone()),
            relaxed_ordering: Err(why.clone()),
            acs_redirect: Err(why.clone()),
            aer: Err(why.clone()),
            aer_totals: Err(Why::Absent),
        }
    }
}
