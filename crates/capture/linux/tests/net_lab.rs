// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network devices of the lab's machines against what `ip` and `ethtool` said there.

mod net_common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use machine::{Feature, Machine, Nic, Why};
use serde_json::Value;
use support::{Capture, Failed, Need, failed, lab_captures, trial};

use self::net_common::{read, same};

type Check = fn(&Capture, &Machine) -> Result<(), Failed>;

fn main() {
    let checks: [(&str, Check); 4] = [
        ("ip_link", ip_link),
        ("ethtool_driver", ethtool_driver),
        ("ethtool_answers", ethtool_answers),
        ("queue_masks", queue_masks),
    ];
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

/// Whatever way the capture is opened, what `ethtool` said beside the tree is what is read.
fn ethtool_answers(capture: &Capture, _: &Machine) -> Result<(), Failed> {
    let said = capture.say("ethtool.txt")?;
    for path in [capture.archive.clone(), capture.folder()?, capture.tree()?] {
        let machine = nearside_linux::read(&*root::open(&path, None)?.root);
        let mut compared: BTreeMap<&str, u32> = BTreeMap::new();
        for section in said.split("== ethtool ").skip(1) {
            let (heading, text) = section.split_once('\n').unwrap_or((section, ""));
            let (flag, name) = heading.split_once(' ').unwrap_or((heading, ""));
            let nic = nic(&machine, name)?;
            if nic.function.is_none() {
                continue;
            }
            as_said(nic, flag, text).map_err(|e| failed(format!("{heading}: {e:?}")))?;
            *compared.entry(flag).or_default() += 1;
        }
        same(
            "flags compared",
            compared.keys().copied().collect(),
            vec!["-c", "-g", "-i", "-k", "-l"],
        )?;
    }
    Ok(())
}

/// A section's numbers, taken by their place in the text.
fn as_said(nic: &Nic, flag: &str, text: &str) -> Result<(), Failed> {
    if text.trim() == "netlink error: Operation not supported" {
        let why = match flag {
            "-l" => nic.channels.as_ref().err(),
            "-g" => nic.rings.as_ref().err(),
            "-c" => nic.coalescing.as_ref().err(),
            _ => None,
        };
        return same(flag, why, Some(&Why::NotSupported));
    }
    match flag {
        "-l" => {
            let found = nic.channels.as_ref().map_err(failed_why)?;
            same(flag, [found.rx, found.tx, found.other, found.combined], columns(text)?)
        }
        "-g" => {
            let found = nic.rings.as_ref().map_err(failed_why)?;
            same(flag, [found.rx, found.rx_mini, found.rx_jumbo, found.tx], columns(text)?)
        }
        "-c" => {
            let found = nic.coalescing.as_ref().map_err(failed_why)?;
            let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
            let numbers = ["rx-usecs: ", "rx-frames: ", "tx-usecs: ", "tx-frames: "]
                .map(|key| line(key).and_then(|value| value.parse::<u32>().ok()));
            let read = [found.rx_usecs, found.rx_frames, found.tx_usecs, found.tx_frames];
            same(flag, read, numbers)?;
            let is_known = !text.contains("Adaptive RX: n/a  TX: n/a");
            same("adaptive", found.adaptive_rx.is_some() || found.adaptive_tx.is_some(), is_known)
        }
        "-k" => features_as_said(nic.features.as_ref().map_err(failed_why)?, text),
        // The driver's other lines are compared by `ethtool_driver`.
        "-i" => {
            let line = text.lines().find_map(|line| line.strip_prefix("firmware-version: "));
            same(flag, nic.firmware.as_deref().unwrap_or_default(), line.unwrap_or_default())
        }
        _ => Err(failed("an unknown flag")),
    }
}

fn failed_why(why: &Why) -> Failed {
    failed(format!("unknown: {why:?}"))
}

/// The first eight numbers of a text: four at most, then four now.
fn columns(text: &str) -> Result<[Option<(u32, u32)>; 4], Failed> {
    let number = |line: &str| match line.split_whitespace().next_back() {
        Some("n/a") => Some(None),
        Some(word) => word.parse::<u32>().ok().map(Some),
        None => None,
    };
    let numbers: Vec<Option<u32>> = text.lines().filter_map(number).take(8).collect();
    let [most @ .., _, _, _, _] = numbers.as_slice() else { return Err(failed("no numbers")) };
    let now = numbers.iter().skip(4);
    let pairs: Vec<_> = now.zip(most).map(|(now, most)| now.zip(*most)).collect();
    pairs.try_into().map_err(|_| failed("not eight numbers"))
}

/// Words of `ethtool` that are features of the kernel by another name (its common.c).
const WORDS: [(&str, &str); 8] = [
    ("rx-checksumming", "rx-checksum"),
    ("generic-segmentation-offload", "tx-generic-segmentation"),
    ("generic-receive-offload", "rx-gro"),
    ("large-receive-offload", "rx-lro"),
    ("rx-vlan-offload", "rx-vlan-hw-parse"),
    ("tx-vlan-offload", "tx-vlan-hw-insert"),
    ("ntuple-filters", "rx-ntuple-filter"),
    ("receive-hashing", "rx-hashing"),
];

/// Every line but a group's, in the order of the text. A group has indented lines below it.
fn features_as_said(found: &[Feature], text: &str) -> Result<(), Failed> {
    let lines: Vec<&str> = text.lines().skip(1).filter(|line| line.contains(": ")).collect();
    let is_group = |at: usize| {
        !lines[at].starts_with('\t') && lines.get(at + 1).is_some_and(|next| next.starts_with('\t'))
    };
    let said = (0..lines.len()).filter(|at| !is_group(*at)).map(|at| {
        let (word, state) = lines[at].trim().split_once(": ").unwrap_or_default();
        let name = WORDS.iter().find(|(known, _)| *known == word).map_or(word, |(_, name)| name);
        (name, state.starts_with("on"), state.ends_with("[fixed]"))
    });
    let found = found.iter().map(|f| (f.name.as_str(), f.active, f.fixed));
    same("features", found.collect::<Vec<_>>(), said.collect::<Vec<_>>())
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
