// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network devices of the lab's machines against what `ip` and `ethtool` said there.

mod net_common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use machine::{Machine, Nic};
use serde_json::Value;
use support::{Capture, Failed, Need, failed, lab_captures, trial};

use self::net_common::{read, same};

type Check = fn(&Capture, &Machine) -> Result<(), Failed>;

fn main() {
    let checks: [(&str, Check); 3] =
        [("ip_link", ip_link), ("ethtool_driver", ethtool_driver), ("queue_masks", queue_masks)];
    let mut trials = Vec::new();
    for (name, check) in checks {
        for capture in lab_captures() {
            let title = format!("net_lab::{name}::{}", capture.name);
            trials.push(trial(title, &[Need::Captures], move || {
                check(&capture, &read(&capture.tree()?)?)
            }));
        }
        if lab_captures().is_empty() {
            trials.push(trial(format!("net_lab::{name}"), &[Need::Captures], || Ok(())));
        }
    }
    support::run(trials);
}

fn nic<'a>(machine: &'a Machine, name: &str) -> Result<&'a Nic, Failed> {
    machine.nics.iter().find(|nic| nic.name == name).ok_or_else(|| failed(format!("no {name}")))
}

/// `ip -d -j link`: names, MTU, state, address, number of queues, parent.
fn ip_link(capture: &Capture, machine: &Machine) -> Result<(), Failed> {
    let links: Vec<Value> = serde_json::from_str(&capture.say("ip-link.json")?)?;
    let mut names: Vec<&str> = links.iter().filter_map(|link| link["ifname"].as_str()).collect();
    names.sort_unstable();
    same("names", machine.nics.iter().map(|nic| nic.name.as_str()).collect::<Vec<_>>(), names)?;
    for link in &links {
        let nic = nic(machine, link["ifname"].as_str().unwrap_or_default())?;
        same("mtu", nic.mtu.clone().ok().map(u64::from), link["mtu"].as_u64())?;
        same("state", Some(nic.state.to_uppercase().as_str()), link["operstate"].as_str())?;
        same("address", nic.mac.as_deref().ok(), link["address"].as_str())?;
        let queues = |count: usize| u64::try_from(count).ok();
        let most = |key: &str| link[key].as_u64();
        // `ip` tells the queues that were made; those in sysfs are the ones in use.
        let fits = queues(nic.rx_queues.len()) <= most("num_rx_queues")
            && queues(nic.tx_queues.len()) <= most("num_tx_queues")
            && !nic.tx_queues.is_empty();
        same(&format!("{} queues within {link}", nic.name), fits, true)?;
        if link["parentbus"] == "pci" {
            let function = nic.function.map(|function| function.to_string());
            same("function", function.as_deref(), link["parentdev"].as_str())?;
        }
    }
    Ok(())
}

/// `ethtool -i`: the driver, and the PCI function (for virtio, too).
fn ethtool_driver(capture: &Capture, machine: &Machine) -> Result<(), Failed> {
    let said = capture.say("ethtool.txt")?;
    let mut compared = 0;
    for section in said.split("== ethtool -i ").skip(1) {
        let (name, rest) = section.split_once('\n').unwrap_or((section, ""));
        let rest = rest.split("== ").next().unwrap_or_default();
        let value = |key: &str| rest.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let (Some(driver), Some(bus)) = (value("driver:"), value("bus-info:")) else { continue };
        let nic = nic(machine, name.trim())?;
        same("driver", nic.driver.as_deref(), Some(driver))?;
        let node = capture.tree()?.join(format!("sys/bus/pci/devices/{bus}/numa_node"));
        let node = fs::read_to_string(node)?.trim().parse::<u32>().ok();
        same("node", nic.node.map(|node| node.0), node)?;
        same("bus-info", nic.function.map(|f| f.to_string()).as_deref(), Some(bus))?;
        compared += 1;
    }
    same("some driver was compared", compared > 0, true)
}

/// RPS and XPS masks against the files' own hexadecimal digits.
fn queue_masks(capture: &Capture, machine: &Machine) -> Result<(), Failed> {
    let tree = capture.tree()?;
    let mut compared = 0;
    for nic in &machine.nics {
        let queues = fs::canonicalize(tree.join("sys/class/net").join(&nic.name).join("queues"))?;
        let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
        for queue in &nic.rx_queues {
            let mask = queue.rps.as_ref().ok().map(|cpus| cpus.to_mask(0));
            found.insert(format!("rx-{}/rps_cpus", queue.number), mask);
        }
        for queue in &nic.tx_queues {
            let mask = queue.xps.as_ref().ok().map(|cpus| cpus.to_mask(0));
            found.insert(format!("tx-{}/xps_cpus", queue.number), mask);
        }
        same("queues", found.len(), fs::read_dir(&queues)?.count())?;
        for (file, mask) in found {
            same(&file, mask.map(|mask| digits(&mask)), raw(&queues.join(&file)))?;
            compared += 1;
        }
    }
    same("some queue was compared", compared > 0, true)
}

fn raw(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| digits(text.trim()))
}

/// A mask without commas and leading zeros.
fn digits(mask: &str) -> String {
    mask.replace(',', "").trim_start_matches('0').to_owned()
}
