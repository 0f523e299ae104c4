// SPDX-License-Identifier: MIT OR Apache-2.0
//! What differs between two machines, device by device: a machine before and after, or two that
//! were bought as alike.
//!
//! Each machine is told as properties of devices, and the two lists are compared. What changes by
//! itself (temperatures, counts of interrupts, free memory) is no property.
//!
//! What is kept over boots asks it whether this is still the machine that it was made for.

use std::collections::BTreeMap;

use crate::{Drive, Fact, Function, Link, Machine, Nic, Node};

/// A property that differs; none where one machine has no such device or property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The device: `0000:3e:00.0`, `nvme0n1`, `eth0`, `node 1`, `machine`.
    pub device: String,
    /// What of it: `driver`, `link`, `mtu`; `present` for the device itself.
    pub property: &'static str,
    /// Value on the first machine.
    pub here: Option<String>,
    /// Value on the second.
    pub there: Option<String>,
}

impl Difference {
    /// Whether it moves what a placement rests on: CPUs, nodes, distances, which device is on which,
    /// and which device it is. A driver's version or an MTU does not.
    pub fn is_of_topology(&self) -> bool {
        let of_machine = ["CPUs online", "CPUs isolated", "threads a core", "processor", "product"];
        match self.property {
            "node" | "distances" | "CPUs" | "serial" | "function" | "functions" => true,
            // A drive that comes or goes moves no other.
            PRESENT => self.device.starts_with("node "),
            property => self.device == "machine" && of_machine.contains(&property),
        }
    }
}

impl Difference {
    /// Whether it is of CPUs that are online or not, which a setting may change (SMT).
    pub fn is_of_online_cpus(&self) -> bool {
        match self.property {
            "CPUs" => self.device.starts_with("node "),
            property => {
                self.device == "machine" && matches!(property, "CPUs online" | "threads a core")
            }
        }
    }
}

/// Properties by device and name.
#[derive(Debug, Default)]
struct Properties(BTreeMap<(String, &'static str), String>);

impl Machine {
    /// What differs between this machine and another, by device. What is unknown on one of them is
    /// a difference too, with the reason as its value.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let (mut here, mut there) = (properties(self).0, properties(other).0);
        let mut keys: Vec<(String, &'static str)> =
            here.keys().chain(there.keys()).cloned().collect();
        keys.sort_unstable();
        keys.dedup();
        let compare = |key: (String, &'static str)| {
            let (here, there) = (here.remove(&key), there.remove(&key));
            let (device, property) = key;
            (here != there).then_some(Difference { device, property, here, there })
        };
        let all: Vec<Difference> = keys.into_iter().filter_map(compare).collect();
        without_absent_devices(all)
    }
}

impl Machine {
    /// What of the topology differs from this machine on another one, its devices told by what they
    /// are: that a kernel has counted them anew is none.
    pub fn moved(&self, other: &Self) -> Vec<Difference> {
        let all = self.differences(&other.named_as(self));
        all.into_iter().filter(Difference::is_of_topology).collect()
    }

    /// This machine, its devices called as the same ones of another are.
    fn named_as(&self, before: &Self) -> Self {
        let mut renamed = self.clone();
        let old = |name: &str| {
            let identity = self.identity(name);
            let same = identity.and_then(|identity| before.called(&identity).map(str::to_owned));
            same.filter(|old| old != name)
        };
        let drives = renamed.drives.iter_mut().map(|drive| &mut drive.name);
        let names: Vec<&mut String> =
            drives.chain(renamed.nics.iter_mut().map(|nic| &mut nic.name)).collect();
        let given: Vec<String> = names.iter().filter_map(|name| old(name)).collect();
        for name in names {
            match old(name) {
                Some(old) => *name = old,
                // Its name belongs to another one, which has got a new name here.
                None if given.contains(name) => name.push_str(" (another)"),
                None => {}
            }
        }
        renamed
    }
}

/// A device that one machine lacks is one difference, not one for each of its properties.
fn without_absent_devices(all: Vec<Difference>) -> Vec<Difference> {
    let absent: Vec<String> = all
        .iter()
        .filter(|each| each.property == PRESENT)
        .map(|each| each.device.clone())
        .collect();
    let keep = |each: &Difference| each.property == PRESENT || !absent.contains(&each.device);
    all.into_iter().filter(keep).collect()
}

const PRESENT: &str = "present";

impl Properties {
    fn device(&mut self, device: &str) {
        self.add(device, PRESENT, "yes".to_owned());
    }

    fn add(&mut self, device: &str, property: &'static str, value: String) {
        self.0.insert((device.to_owned(), property), value);
    }

    fn fact<T: std::fmt::Display>(&mut self, device: &str, name: &'static str, fact: &Fact<T>) {
        self.add(device, name, text(fact));
    }

    fn maybe<T: std::fmt::Display>(&mut self, device: &str, name: &'static str, value: Option<T>) {
        self.add(device, name, value.map_or_else(|| "none".to_owned(), |value| value.to_string()));
    }
}

fn text<T: std::fmt::Display>(fact: &Fact<T>) -> String {
    fact.as_ref().map_or_else(ToString::to_string, ToString::to_string)
}

fn properties(machine: &Machine) -> Properties {
    let mut all = Properties::default();
    host(&mut all, machine);
    machine.nodes.iter().for_each(|node| of_node(&mut all, node));
    machine.functions.iter().for_each(|function| of_function(&mut all, function));
    machine.drives.iter().for_each(|drive| of_drive(&mut all, drive));
    machine.nics.iter().for_each(|nic| of_nic(&mut all, nic));
    all
}

fn host(all: &mut Properties, machine: &Machine) {
    let (name, host, cpus) = ("machine", &machine.host, &machine.cpus);
    all.fact(name, "product", &host.product);
    all.fact(name, "firmware", &host.firmware);
    all.fact(name, "kernel", &host.kernel);
    all.fact(name, "processor", &host.cpu_model);
    all.add(name, "command line", host.command_line.text.clone());
    all.add(name, "CPUs online", cpus.online.to_string());
    all.add(name, "CPUs isolated", cpus.isolated.to_string());
    all.add(name, "threads a core", cpus.smt.threads_per_core.to_string());
}

fn of_node(all: &mut Properties, node: &Node) {
    let name = format!("node {}", node.id);
    all.device(&name);
    all.add(&name, "CPUs", node.cpus.to_string());
    all.fact(&name, "memory", &node.memory);
    let distances: Vec<String> =
        node.distances.iter().map(|(id, distance)| format!("{id}:{distance}")).collect();
    all.add(&name, "distances", distances.join(" "));
}

fn of_function(all: &mut Properties, function: &Function) {
    let name = function.address.to_string();
    all.device(&name);
    let (vendor, device) = (function.vendor, function.device);
    all.add(&name, "ids", format!("{vendor:04x}:{device:04x}"));
    all.maybe(&name, "driver", function.driver.as_ref());
    all.maybe(&name, "node", function.node);
    all.maybe(&name, "slot", function.slot.as_ref());
    all.maybe(&name, "power control", function.runtime_pm.as_ref());
    all.maybe(&name, "link", function.link.as_ref().map(of_link));
    all.fact(&name, "max payload", &function.config.mps);
    all.fact(&name, "max read request", &function.config.mrrs);
    all.fact(&name, "relaxed ordering", &function.config.relaxed_ordering);
}

/// `32 GT/s x4, ASPM l1`.
fn of_link(link: &Link) -> String {
    let aspm = text(&link.aspm.enabled);
    format!("{} x{}, ASPM {aspm}", text(&link.speed), text(&link.width))
}

fn of_drive(all: &mut Properties, drive: &Drive) {
    let name = drive.name.as_str();
    all.device(name);
    all.fact(name, "model", &drive.model);
    all.fact(name, "serial", &drive.serial);
    all.fact(name, "firmware", &drive.firmware);
    all.fact(name, "size", &drive.size);
    all.fact(name, "logical block", &drive.logical_block);
    all.add(name, "queues", drive.queues.len().to_string());
    let way = |each: &crate::Controller| match each.function {
        Some(function) => function.to_string(),
        None => format!("{} {}", each.transport, each.name),
    };
    let ways: Vec<String> = drive.controllers.iter().map(way).collect();
    all.add(name, "reached through", ways.join(" "));
    let functions: Option<Vec<String>> = drive
        .controllers
        .iter()
        .map(|each| each.function.map(|function| function.to_string()))
        .collect();
    // A path over a network has none, and its controller is counted anew at each connection.
    if let Some(mut functions) = functions {
        functions.sort_unstable();
        all.add(name, "functions", functions.join(" "));
    }
}

fn of_nic(all: &mut Properties, nic: &Nic) {
    let name = nic.name.as_str();
    all.device(name);
    all.maybe(name, "function", nic.function);
    all.maybe(name, "driver", nic.driver.as_ref());
    all.maybe(name, "firmware", nic.firmware.as_ref());
    all.maybe(name, "master", nic.master.as_ref());
    all.fact(name, "speed", &nic.speed);
    all.fact(name, "mtu", &nic.mtu);
    all.add(name, "receive queues", nic.rx_queues.len().to_string());
    all.add(name, "transmit queues", nic.tx_queues.len().to_string());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Why;

    fn machine() -> Machine {
        let mut function = Function::new("3e:00.0".parse().unwrap());
        function.driver = Some("nvme".to_owned());
        Machine { functions: vec![function], ..Machine::default() }
    }

    #[test]
    fn a_machine_does_not_differ_from_itself() {
        assert_eq!(machine().differences(&machine()), []);
    }

    fn drive(name: &str, serial: &str, address: &str) -> Drive {
        let controller = crate::Controller {
            name: name.trim_end_matches("n1").to_owned(),
            function: Some(address.parse().unwrap()),
            node: None,
            driver: None,
            queues: 1,
            transport: "pcie".to_owned(),
            state: String::new(),
            address: None,
            link_power: None,
            link_rate: None,
            ana_state: None,
        };
        Drive {
            name: name.to_owned(),
            kind: crate::DriveKind::Nvme,
            model: Err(Why::Absent),
            serial: Ok(serial.to_owned()),
            wwid: Err(Why::Absent),
            firmware: Err(Why::Absent),
            size: Err(Why::Absent),
            controllers: vec![controller],
            hidden_by: None,
            queues: Vec::new(),
            rotational: Err(Why::Absent),
            logical_block: Err(Why::Absent),
            physical_block: Err(Why::Absent),
            holders: Vec::new(),
            mounts: Vec::new(),
            temperature_mc: Err(Why::Absent),
            percentage_used: Err(Why::Absent),
            apst: Err(Why::Absent),
        }
    }

    #[test]
    fn drives_that_swap_are_noticed_and_names_that_swap_are_none() {
        let with = |drives: Vec<Drive>| Machine { drives, ..Machine::default() };
        let then = with(vec![
            drive("nvme0n1", "AAA111", "3e:00.0"),
            drive("nvme1n1", "BBB222", "3f:00.0"),
        ]);
        let renamed = with(vec![
            drive("nvme0n1", "BBB222", "3f:00.0"),
            drive("nvme1n1", "AAA111", "3e:00.0"),
        ]);
        assert_eq!(then.moved(&renamed), []);
        assert_eq!(then.identity("/dev/nvme1n1").as_deref(), Some("serial:BBB222"));
        assert_eq!(renamed.called("serial:BBB222"), Some("nvme0n1"));
        let swapped = with(vec![
            drive("nvme0n1", "BBB222", "3e:00.0"),
            drive("nvme1n1", "AAA111", "3f:00.0"),
        ]);
        let told = then.moved(&swapped);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told.iter().all(|each| each.property == "functions"), "{told:?}");
        let replaced = with(vec![
            drive("nvme0n1", "CCC333", "3e:00.0"),
            drive("nvme1n1", "BBB222", "3f:00.0"),
        ]);
        assert_eq!(then.moved(&replaced).first().map(|each| each.property), Some("serial"));
        let twins = with(vec![
            drive("nvme0n1", "AAA111", "3e:00.0"),
            drive("nvme1n1", "AAA111", "3f:00.0"),
        ]);
        assert_eq!(twins.identity("nvme0n1"), None);
    }

    #[test]
    fn a_changed_property_and_a_missing_device_are_one_difference_each() {
        let (here, mut there) = (machine(), machine());
        there.functions[0].driver = Some("vfio-pci".to_owned());
        there.functions.push(Function::new("af:00.0".parse().unwrap()));
        let told: Vec<(String, &str, Option<String>, Option<String>)> = here
            .differences(&there)
            .into_iter()
            .map(|each| (each.device, each.property, each.here, each.there))
            .collect();
        let some = |text: &str| Some(text.to_owned());
        let wanted = [
            ("0000:3e:00.0".to_owned(), "driver", some("nvme"), some("vfio-pci")),
            ("0000:af:00.0".to_owned(), "present", None, some("yes")),
        ];
        assert_eq!(told, wanted);
    }
}
