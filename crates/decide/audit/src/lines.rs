// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of evidence that several rules and facts rest on.

use setting::{Evidence, Part, Span};
use units::{NodeId, PciAddress};

/// The extended capability for access control (`PCI_EXT_CAP_ID_ACS`).
const ACS: u16 = 0x0d;

/// The CPUs of a node.
pub(crate) fn node_cpus(node: NodeId) -> Evidence {
    let folder = format!("/sys/devices/system/node/node{node}");
    Evidence::file(format!("{folder}/cpulist")).or(format!("{folder}/cpumap"))
}

/// The line of a node's meminfo that tells its memory.
pub(crate) fn node_memory(node: NodeId) -> Evidence {
    Evidence::line(format!("/sys/devices/system/node/node{node}/meminfo"), "MemTotal")
}

/// The package of a CPU.
pub(crate) fn package(cpu: units::Cpu) -> Evidence {
    Evidence::file(format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"))
}

/// Where the first CPUs are, which shows how they are numbered: nodes where there are several,
/// else packages.
pub(crate) fn numbering(machine: &machine::Machine) -> Vec<Evidence> {
    let nodes: Vec<NodeId> =
        machine.nodes.iter().filter(|node| !node.cpus.is_empty()).map(|node| node.id).collect();
    match nodes.len() {
        2.. => nodes.into_iter().take(8).map(node_cpus).collect(),
        _ => packages(machine),
    }
}

/// The first CPU of each package.
pub(crate) fn packages(machine: &machine::Machine) -> Vec<Evidence> {
    let mut firsts = std::collections::BTreeMap::new();
    for thread in machine.cpus.threads.iter().filter(|thread| thread.online) {
        if let Ok(package) = thread.package {
            firsts.entry(package).or_insert(thread.cpu);
        }
    }
    firsts.into_values().take(8).map(package).collect()
}

/// A file of an interrupt, `smp_affinity` or `effective_affinity`: as a list, else as a mask.
pub(crate) fn irq(number: u32, file: &str) -> Evidence {
    let mask = format!("/proc/irq/{number}/{file}");
    Evidence::file(format!("{mask}_list")).or(mask)
}

/// A file of a PCI function.
pub(crate) fn function(address: PciAddress, file: &str) -> Evidence {
    Evidence::file(format!("/sys/bus/pci/devices/{address}/{file}"))
}

/// A function's place in the tree of buses.
pub(crate) fn place(address: PciAddress) -> Evidence {
    Evidence::new(format!("/sys/bus/pci/devices/{address}"), Part::Target)
}

/// The CPUs that the kernel calls local to a function.
pub(crate) fn local_cpus(address: PciAddress) -> Evidence {
    function(address, "local_cpulist").or(format!("/sys/bus/pci/devices/{address}/local_cpus"))
}

/// A register of a function's PCI Express capability, by its offset and length there.
pub(crate) fn express(address: PciAddress, at: u16, length: u16) -> Evidence {
    let part = Part::Express(Span::new(at, length));
    Evidence::new(format!("/sys/bus/pci/devices/{address}/config"), part)
}

/// Whether a function's link was read from its registers, which know better than the kernel's files
/// (a speed newer than the kernel is `Unknown` there), and not from those files.
pub(crate) fn has_registers(function: &machine::Function) -> bool {
    function.link.as_ref().is_some_and(|link| link.aspm.supported.is_ok())
}

/// What a link runs at: link status (`PCI_EXP_LNKSTA`), else the kernel's files; the kind of
/// function (`PCI_EXP_FLAGS`) where there is no link.
pub(crate) fn link_now(function: &machine::Function) -> Vec<Evidence> {
    let at = function.address;
    let Some(link) = &function.link else { return vec![express(at, 0x02, 2)] };
    if !has_registers(function) {
        return ["speed", "width"]
            .map(|what| self::function(at, &format!("current_link_{what}")))
            .to_vec();
    }
    let register = express(at, 0x12, 2);
    vec![match (&link.speed, &link.width) {
        (Ok(speed), Ok(width)) => register.meaning(format!("LnkSta {speed} x{width}")),
        _ => register,
    }]
}

/// Whether a line is of bytes that nobody can read by looking.
pub(crate) fn is_register(line: &Evidence) -> bool {
    matches!(line.part, Part::Express(_) | Part::Extended(..))
}

/// A port's ACS control register (`PCI_ACS_CTRL`).
pub(crate) fn acs(address: PciAddress) -> Evidence {
    let part = Part::Extended(ACS, Span::new(6, 2));
    Evidence::new(format!("/sys/bus/pci/devices/{address}/config"), part)
}

/// The structure of a memory module in the firmware's table.
pub(crate) fn module(dimm: &machine::Dimm) -> Evidence {
    let part = Part::Module(dimm.locator.clone(), dimm.bank.clone());
    Evidence::new("/sys/firmware/dmi/tables/DMI", part)
}

/// The kernel's command line, from an option on where it is long.
pub(crate) fn command_line(option: &str) -> Evidence {
    Evidence::line("/proc/cmdline", option)
}

/// Where a service is seen to run, or not to.
pub(crate) fn service(machine: &machine::Machine, name: &str) -> Option<Evidence> {
    let service = machine.host.services.iter().find(|service| service.name == name)?;
    let path = service.seen.clone()?;
    Some(match path.ends_with("/comm") {
        true => Evidence::file(path),
        false => Evidence::new(path, Part::Name(format!("{name}.service"))),
    })
}

/// A file of a network port.
pub(crate) fn port(name: &str, file: &str) -> Evidence {
    Evidence::file(format!("/sys/class/net/{name}/{file}"))
}

/// A feature of a port, out of all that `ethtool -k` lists.
pub(crate) fn feature(feature: &str, name: &str) -> Evidence {
    Evidence::new(format!("ethtool -k {name}"), Part::Item(feature.to_owned()))
}

/// What a port answers to `ethtool FLAG`.
pub(crate) fn ethtool(flag: &str, name: &str) -> Evidence {
    Evidence::new(format!("ethtool {flag} {name}"), Part::Answer)
}
