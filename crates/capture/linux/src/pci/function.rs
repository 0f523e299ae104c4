// SPDX-License-Identifier: MIT OR Apache-2.0
//! One function's folder.

use machine::{AerTotals, Fact, Function, VirtualFunctions, Why};
use root::{Dir, Root};
use units::{NodeId, PciAddress};

use super::config::{self, Config};
use super::files::Files;
use super::link::End;
use super::place::{self, Place};
use super::{identity, link, node};
use crate::Troubles;

/// A function as its own folder shows it, before others are looked at.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) function: Function,
    pub(super) own_node: Fact<NodeId>,
    pub(super) end: Option<End>,
    /// Whether the slot below it can be hot-plugged.
    pub(super) hot_plug: bool,
}

/// Reads one function. A link that leads nowhere still tells the address and the place.
pub(super) fn read(root: &dyn Root, address: PciAddress, troubles: &mut Troubles) -> Seen {
    let entry = format!("{}/{address}", place::DEVICES);
    let place = match root.link(&entry) {
        Ok(target) => place::parse(&target),
        // A plain folder, in trees that were put together by hand.
        Err(_) => Place { path: entry.clone(), ..Place::default() },
    };
    let mut function = Function::new(address);
    function.parent = place.parent.filter(|parent| *parent != address);
    function.root = place.root;
    let folder = Dir::new(root, place.path);
    let listed = Files::of(&folder).map(|files| (folder, files)).or_else(|_| {
        let entry = Dir::new(root, entry.clone());
        Files::of(&entry).map(|files| (entry, files))
    });
    match listed {
        Ok((dir, files)) => fill(&dir, &files, function, troubles),
        Err(why) => {
            let why = if why == Why::Absent { dangling() } else { why };
            troubles.note("what some PCI functions are", &why, &entry);
            Seen { function, own_node: Err(Why::Absent), end: None, hot_plug: false }
        }
    }
}

fn dangling() -> Why {
    Why::Failed("the link leads nowhere".to_owned())
}

fn fill(dir: &Dir<'_>, files: &Files, function: Function, troubles: &mut Troubles) -> Seen {
    let bytes = if files.has("config") { config_space(dir) } else { Ok(vec![]) };
    let bytes = troubles.keep("PCI config space", &dir.join("config"), bytes).unwrap_or_default();
    let config = Config::parse(&bytes);
    let mut function = function;
    identify(dir, files, &config, &mut function);
    function.config = config.registers();
    if function.config.mps == Err(Why::Denied) {
        let what = "PCI config space beyond 64 bytes";
        troubles.note(what, &Why::Denied, &dir.join("config"));
    }
    function.config.aer_totals = aer_totals(dir, files);
    function.port = config.port_kind().ok();
    let local = node::read_local_cpus(dir, files);
    let local = troubles.keep("CPUs local to a PCI function", &dir.join("local_cpulist"), local);
    function.local_cpus = local.unwrap_or_default();
    read_state(dir, files, &mut function);
    Seen {
        own_node: node::read_own(dir, files),
        end: link::read(dir, files, &config),
        hot_plug: config.hot_plug(),
        function,
    }
}

/// Configuration space as far as it holds something: the extended one is empty where it does not
/// begin with a capability. Reading it all costs 10 ms in a virtual machine, for nothing.
fn config_space(dir: &Dir<'_>) -> Fact<Vec<u8>> {
    let path = dir.join("config");
    let head = dir.root().head(&path, config::HEAD)?;
    if config::goes_on(&head) { dir.root().read(&path) } else { Ok(head) }
}

fn identify(dir: &Dir<'_>, files: &Files, config: &Config<'_>, function: &mut Function) {
    let identity = identity::read(dir, files, config);
    function.class = identity.class;
    function.vendor = identity.vendor;
    function.device = identity.device;
    function.subsystem_vendor = identity.subsystem_vendor;
    function.subsystem_device = identity.subsystem_device;
    function.driver = identity.driver;
    let file = || files.has("revision").then(|| dir.hex("revision").ok()).flatten();
    let file = || file().and_then(|revision| u8::try_from(revision).ok());
    function.revision = config.revision().or_else(file).unwrap_or(0);
}

/// What the kernel does with it: interrupts, power, virtual functions, isolation.
fn read_state(dir: &Dir<'_>, files: &Files, function: &mut Function) {
    let number = |name| files.text(dir, name).ok().and_then(|text| text.parse::<u32>().ok());
    let link = |name| if files.has(name) { dir.link_name(name).ok() } else { None };
    function.iommu_group = link("iommu_group").and_then(|name| name.parse().ok());
    function.physical_function = link("physfn").and_then(|name| name.parse().ok());
    let virtual_functions = number("sriov_totalvfs").zip(number("sriov_numvfs"));
    function.sriov = virtual_functions.map(|(most, now)| VirtualFunctions { now, most });
    function.slot = files.text(dir, "label").ok().filter(|label| !label.is_empty());
    function.runtime_pm =
        if files.has("power") { dir.sub("power").text("control").ok() } else { None };
    function.enabled = number("enable").map(|count| count > 0);
    function.irqs = irqs(dir, files);
}

/// Numbers in `msi_irqs`; the one of `irq` where that folder is missing, unless it is 0 (none).
fn irqs(dir: &Dir<'_>, files: &Files) -> Vec<u32> {
    if files.has("msi_irqs") {
        let names = dir.sub("msi_irqs").list().unwrap_or_default();
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        return numbers;
    }
    let line = files.text(dir, "irq").ok().and_then(|text| text.parse().ok());
    line.filter(|number| *number != 0).into_iter().collect()
}

/// Totals of `aer_dev_correctable`, `aer_dev_nonfatal` and `aer_dev_fatal`.
fn aer_totals(dir: &Dir<'_>, files: &Files) -> Fact<AerTotals> {
    let total = |name, key| files.text(dir, name).and_then(|text| parse_total(&text, key));
    Ok(AerTotals {
        correctable: total("aer_dev_correctable", "TOTAL_ERR_COR")?,
        non_fatal: total("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL")?,
        fatal: total("aer_dev_fatal", "TOTAL_ERR_FATAL")?,
    })
}

/// `TOTAL_ERR_COR 12`, the last line of an `aer_dev_*` file.
pub(crate) fn parse_total(text: &str, key: &str) -> Fact<u64> {
    let mut lines = text.lines().filter_map(|line| line.trim().rsplit_once(' '));
    let total = lines.find(|(name, _)| name.trim() == key).map(|(_, total)| total);
    total.and_then(|total| total.parse().ok()).ok_or_else(|| Why::unparsed(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_of_errors_are_read() {
        let text = "RxErr 0\nBadTLP 3\nTOTAL_ERR_COR 12\n";
        assert_eq!(parse_total(text, "TOTAL_ERR_COR"), Ok(12));
        assert!(parse_total("RxErr 0\n", "TOTAL_ERR_COR").is_err());
    }
}
