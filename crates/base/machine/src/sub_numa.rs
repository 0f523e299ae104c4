// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a package is split into NUMA nodes, by which firmware setting, and whether memory is
//! interleaved over packages instead.
//!
//! No file names the setting. What tells is the L3 against the node: SNC leaves one L3 over all
//! nodes of the package, cluster-on-die splits it, and on AMD's processors a node holds several
//! L3 domains (NPS) or is one of them (L3 as NUMA).

use std::collections::BTreeSet;
use std::fmt;

use units::CpuSet;

use crate::{Machine, Virtual};

/// How packages are split into nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubNuma {
    /// By which setting.
    pub kind: SubNumaKind,
    /// Nodes with CPUs in a package, the most of any; 0 where nodes or packages are unknown.
    pub per_package: u32,
    /// What was seen, in a sentence without a full stop.
    pub why: String,
}

/// Settings that split a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubNumaKind {
    /// One node a package, or fewer.
    None,
    /// Intel sub-NUMA clustering.
    Snc,
    /// AMD nodes per socket.
    Nps,
    /// AMD "ACPI SRAT L3 cache as NUMA domain".
    L3,
    /// Intel cluster on die (Haswell and Broadwell).
    Cod,
    /// Split, by none of these or it cannot be told.
    Unknown,
}

impl fmt::Display for SubNumaKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Snc => "snc",
            Self::Nps => "nps",
            Self::L3 => "l3",
            Self::Cod => "cod",
            Self::Unknown => "unknown",
        })
    }
}

/// Whether memory is interleaved over packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interleaving {
    /// What it comes to.
    pub state: InterleavingState,
    /// What was seen, in a sentence without a full stop.
    pub why: String,
}

/// Memory over packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InterleavingState {
    /// Several packages share one node though each has a memory controller.
    On,
    /// Each package has a node, or there is one package.
    Off,
    /// Several packages share one node because none has a memory controller (front-side bus).
    ByNature,
    /// It cannot be told.
    Unknown,
}

/// What a node is beside the L3 domains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    /// An L3 reaches over several nodes.
    Smaller,
    /// Each node is one L3 domain.
    Equal,
    /// A node holds several L3 domains.
    Larger,
    /// No L3, or no clear relation.
    Unclear,
}

impl Machine {
    /// Whether packages are split into nodes, and by which setting. Nodes of memory only do not
    /// count.
    pub fn sub_numa(&self) -> SubNuma {
        let packages = self.packages();
        let per_package = packages.iter().map(|package| package.nodes.len()).max().unwrap_or(0);
        let count = u32::try_from(per_package).unwrap_or(u32::MAX);
        let answer = |kind, why: &str| SubNuma { kind, per_package: count, why: why.to_owned() };
        let nodes = self.nodes_with_cpus().count();
        if nodes == 0 {
            return answer(SubNumaKind::Unknown, "the kernel shows no NUMA node with CPUs");
        }
        if packages.iter().any(|package| package.id.is_none()) && nodes > 1 {
            let why = "the kernel does not tell the packages of CPUs";
            return SubNuma { per_package: 0, ..answer(SubNumaKind::Unknown, why) };
        }
        if per_package <= 1 || nodes <= packages.len() {
            return answer(SubNumaKind::None, "no package is split into nodes");
        }
        let (kind, why) = self.kind_of_split(count);
        answer(kind, why)
    }

    /// Which setting splits packages that are known to be split.
    fn kind_of_split(&self, per_package: u32) -> (SubNumaKind, &'static str) {
        let beside = self.node_beside_l3();
        match (self.host.cpu_vendor.as_deref().ok(), beside) {
            (Some("GenuineIntel"), _) => self.intel_split(beside),
            (Some("AuthenticAMD" | "HygonGenuine"), _) => self.amd_split(beside, per_package),
            (Some(_), _) => (SubNumaKind::Unknown, "on a processor without a setting known for it"),
            (None, Beside::Smaller) => {
                (SubNumaKind::Snc, "an L3 reaches over several nodes, as only SNC leaves it")
            }
            (None, _) => (SubNumaKind::Unknown, "the processor is unknown"),
        }
    }

    fn intel_split(&self, beside: Beside) -> (SubNumaKind, &'static str) {
        // Haswell-EP, Broadwell-DE and -EP (arch/x86/include/asm/intel-family.h).
        let is_cod_era = matches!(self.host.cpu_family_model, Ok((6, 63 | 79 | 86)));
        match beside {
            _ if is_cod_era => (SubNumaKind::Cod, "on a Haswell or Broadwell processor"),
            Beside::Equal if self.host.cpu_family_model.is_err() => {
                (SubNumaKind::Cod, "each node is an L3 domain, as cluster on die splits it")
            }
            Beside::Smaller => (SubNumaKind::Snc, "an L3 reaches over several nodes"),
            _ => (SubNumaKind::Snc, "on an Intel processor later than cluster on die"),
        }
    }

    fn amd_split(&self, beside: Beside, per_package: u32) -> (SubNumaKind, &'static str) {
        match (&self.host.cpu_family_model, beside) {
            // Magny-Cours to Abu Dhabi: two dies in a G34 package (families 10h and 15h).
            (Ok((0x10 | 0x15, _)), _) => (
                SubNumaKind::Unknown,
                "one node for each die of an Opteron package, which no setting joins",
            ),
            (Ok((..=0x16, _)), _) => {
                (SubNumaKind::Unknown, "on a processor without a setting known for it")
            }
            // NPS goes to 4; as many L3 domains in a package as nodes are ambiguous up to there.
            (_, Beside::Equal) if per_package > 4 || per_package == 3 => {
                (SubNumaKind::L3, "each node is an L3 domain")
            }
            (_, Beside::Larger) => (SubNumaKind::Nps, "each node holds several L3 domains"),
            (_, Beside::Equal) => (
                SubNumaKind::Nps,
                "each node is an L3 domain, which L3 as NUMA domain would show too",
            ),
            (_, _) if per_package <= 4 => (SubNumaKind::Nps, "on an AMD processor"),
            (_, _) => (
                SubNumaKind::Unknown,
                "more nodes than the setting nodes per socket gives, and no L3 that tells",
            ),
        }
    }

    fn node_beside_l3(&self) -> Beside {
        let online = |cpus: &CpuSet| cpus.and(&self.cpus.online);
        let nodes: BTreeSet<CpuSet> =
            self.nodes_with_cpus().map(|node| online(&node.cpus)).collect();
        let domains: BTreeSet<CpuSet> = self.l3_domains().map(|l3| online(&l3.cpus)).collect();
        let is_in =
            |inner: &CpuSet, outer: &BTreeSet<CpuSet>| outer.iter().any(|o| inner.is_subset(o));
        match () {
            () if domains.is_empty() => Beside::Unclear,
            () if nodes == domains => Beside::Equal,
            () if nodes.iter().all(|node| is_in(node, &domains)) => Beside::Smaller,
            () if domains.iter().all(|domain| is_in(domain, &nodes)) => Beside::Larger,
            () => Beside::Unclear,
        }
    }

    /// Whether memory is interleaved over several packages, so that all show as one node.
    pub fn node_interleaving(&self) -> Interleaving {
        use InterleavingState::{ByNature, Off, On, Unknown};
        let packages = self.packages();
        let nodes = self.nodes_with_cpus().count();
        let many = packages.len();
        let numa_off = self.host.command_line.all("numa").any(|value| value == Some("off"));
        let (state, why) = match nodes {
            0 => (Unknown, "the kernel shows no NUMA node with CPUs".to_owned()),
            _ if packages.iter().any(|package| package.id.is_none()) => {
                (Unknown, "the kernel does not tell the packages of CPUs".to_owned())
            }
            _ if many == 1 => (Off, "one package".to_owned()),
            _ if nodes > 1 => (Off, format!("{many} packages and {nodes} nodes with CPUs")),
            // A node that is offline takes its CPUs along.
            _ if packages.iter().filter(|package| !package.nodes.is_empty()).count() < 2 => {
                (Unknown, format!("CPUs of {many} packages, and most of them in no node online"))
            }
            _ if numa_off => (Unknown, format!("{many} packages in one node, by numa=off")),
            _ if self.has_front_side_bus() => (
                ByNature,
                format!("{many} packages in one node: their memory is behind a front-side bus"),
            ),
            _ if self.host.virtual_machine != Virtual::No => {
                (Unknown, format!("{many} packages in one node, as the hypervisor made it"))
            }
            _ if self.host.cpu_vendor.is_err() => {
                (Unknown, format!("{many} packages in one node, of an unknown processor"))
            }
            _ => (On, format!("{many} packages in one node, each with a memory controller")),
        };
        Interleaving { state, why }
    }

    /// Processors whose memory controller is in the chipset: all of Intel's family 15, and family
    /// 6 before Nehalem (model 26; 28 and 39 are Atoms, 29 is Dunnington).
    pub fn has_front_side_bus(&self) -> bool {
        let is_intel = self.host.cpu_vendor.as_deref() == Ok("GenuineIntel");
        is_intel && matches!(self.host.cpu_family_model, Ok((15, _) | (6, 0..=25 | 29)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, CacheKind, Node, Thread};
    use units::{Bytes, Cpu, NodeId, PackageId};

    /// A machine of 16 CPUs, split evenly into packages, nodes and L3 domains.
    fn machine(packages: u32, nodes: u32, l3s: u32) -> Machine {
        let mut machine = Machine::default();
        let part = |cpu: u32, parts: u32| cpu * parts / 16;
        machine.cpus.online = (0..16).map(Cpu).collect();
        machine.cpus.threads = (0..16)
            .map(|cpu| Thread {
                package: Ok(PackageId(part(cpu, packages))),
                node: Some(NodeId(part(cpu, nodes))),
                ..Thread::new(Cpu(cpu))
            })
            .collect();
        let group =
            |parts, index| (0..16).filter(|cpu| part(*cpu, parts) == index).map(Cpu).collect();
        machine.nodes = (0..nodes).map(|id| Node::new(NodeId(id), group(nodes, id))).collect();
        let l3 = |index| Cache {
            level: 3,
            kind: CacheKind::Unified,
            size: Ok(Bytes(1)),
            cpus: group(l3s, index),
        };
        machine.caches = (0..l3s).map(l3).collect();
        machine
    }

    fn of(mut machine: Machine, vendor: &str, family_model: (u32, u32)) -> Machine {
        machine.host.cpu_vendor = Ok(vendor.to_owned());
        machine.host.cpu_family_model = Ok(family_model);
        machine
    }

    #[test]
    fn the_l3_and_the_processor_tell_the_setting() {
        use SubNumaKind::{Cod, L3, Nps, Snc, Unknown};
        let intel = "GenuineIntel";
        let amd = "AuthenticAMD";
        for (machine, expected) in [
            (of(machine(2, 4, 2), intel, (6, 143)), Snc),
            (of(machine(2, 4, 4), intel, (6, 79)), Cod),
            (of(machine(2, 4, 2), intel, (6, 63)), Cod),
            (machine(2, 4, 2), Snc),
            (machine(2, 4, 4), Unknown),
            (of(machine(1, 4, 8), amd, (25, 17)), Nps),
            (of(machine(1, 2, 2), amd, (25, 1)), Nps),
            (of(machine(1, 8, 8), amd, (25, 1)), L3),
            (of(machine(2, 4, 4), amd, (21, 1)), Unknown),
            (of(machine(2, 4, 4), "0x48", (8, 1)), Unknown),
        ] {
            let answer = machine.sub_numa();
            assert_eq!(answer.kind, expected, "{}", answer.why);
        }
    }

    #[test]
    fn one_node_a_package_is_no_split() {
        let mut plain = machine(2, 2, 2);
        plain.nodes.push(Node::new(NodeId(9), CpuSet::new()));
        assert_eq!((plain.sub_numa().kind, plain.sub_numa().per_package), (SubNumaKind::None, 1));
        assert_eq!(machine(2, 1, 2).sub_numa().kind, SubNumaKind::None);
        assert_eq!(Machine::default().sub_numa().kind, SubNumaKind::Unknown);
    }

    #[test]
    fn interleaving_is_told_from_a_front_side_bus() {
        use InterleavingState::{ByNature, Off, On, Unknown};
        let intel = "GenuineIntel";
        for (machine, expected) in [
            (of(machine(2, 1, 2), intel, (6, 79)), On),
            (of(machine(2, 1, 2), intel, (6, 23)), ByNature),
            (of(machine(2, 1, 2), intel, (15, 4)), ByNature),
            (of(machine(2, 1, 2), "AuthenticAMD", (16, 8)), On),
            (of(machine(2, 2, 2), intel, (6, 79)), Off),
            (machine(1, 1, 1), Off),
            (machine(2, 1, 2), Unknown),
            (Machine::default(), Unknown),
        ] {
            let answer = machine.node_interleaving();
            assert_eq!(answer.state, expected, "{}", answer.why);
        }
        let mut offline = of(machine(2, 1, 2), intel, (6, 63));
        offline.cpus.threads[..8].iter_mut().for_each(|thread| thread.node = None);
        assert_eq!(offline.node_interleaving().state, Unknown);
        let mut guest = of(machine(2, 1, 2), intel, (6, 85));
        guest.host.virtual_machine = Virtual::Yes { name: "kvm".into(), sign: "flag".into() };
        assert_eq!(guest.node_interleaving().state, Unknown);
    }
}
