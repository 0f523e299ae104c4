// SPDX-License-Identifier: MIT OR Apache-2.0
//! PCI functions and their nodes against lstopo, on every root of every captured tree.

#![expect(clippy::print_stdout, reason = "how much was compared belongs in a test's output")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use machine::{Function, Machine, NodeFrom};
use root::DirRoot;
use support::{Capture, Failed, Need, Trial, failed, lab_captures, tree_captures, trial};

/// What is known to be true of a captured machine.
type Truth = fn(&Machine) -> Result<(), Failed>;

const TRUTHS: [(&str, Truth); 6] = [
    ("r740xd-gold6230-rt", |machine| {
        places(machine, &[("0000:3e:00.0", 0, NodeFrom::Own), ("0000:86:00.0", 1, NodeFrom::Own)])
    }),
    ("r740xd-gold6130-nosmt", |machine| places(machine, &[("0000:af:00.0", 1, NodeFrom::Own)])),
    ("r640-gold6230-dangling", dangling),
    ("hwloc-32em64t-2n8c+dax+nvme+mic+dimms", |machine| {
        count(machine, "not by their own file", 93, |each| each.node_from != NodeFrom::Own)?;
        places(machine, &[("0000:00:02.0", 0, NodeFrom::LocalCpus)])
    }),
    ("hwloc-40intel64-2g2n4c+pcilocality", |machine| {
        count(machine, "without a node", 36, |each| each.node.is_none())
    }),
    ("vm-kvm-q35-12vcpu", |machine| {
        // All say -1, and all CPUs are local to all of them.
        count(machine, "on the only node", 25, |each| each.node_from == NodeFrom::Only)
    }),
];

/// 25 of 304 links lead nowhere; the bridges above the NVMe drives in 86 to 89 are on node 1.
fn dangling(machine: &Machine) -> Result<(), Failed> {
    count(machine, "in all", 304, |_| true)?;
    count(machine, "without a folder", 25, |each| !each.is_readable())?;
    let below = ["0000:86:00.0", "0000:87:00.0", "0000:88:00.0", "0000:89:00.0"];
    places(machine, &below.map(|address| (address, 1, NodeFrom::Parent)))
}

fn count(
    machine: &Machine,
    what: &str,
    wanted: usize,
    is: fn(&Function) -> bool,
) -> Result<(), Failed> {
    let found = machine.functions.iter().filter(|function| is(function)).count();
    if found == wanted { Ok(()) } else { Err(format!("{found} functions {what}").into()) }
}

fn places(machine: &Machine, wanted: &[(&str, u32, NodeFrom)]) -> Result<(), Failed> {
    for (address, node, from) in wanted {
        let near = machine.near(address).ok_or_else(|| format!("{address} is missing"))?;
        let found = (near.node.map(|node| node.0), near.node_from);
        if found != (Some(*node), *from) {
            return Err(format!("{address}: {found:?}").into());
        }
    }
    Ok(())
}

fn check_truth(name: &str, truth: Truth) -> Result<(), Failed> {
    let capture = tree_captures().into_iter().find(|capture| capture.name == name);
    let capture = capture.ok_or("the capture is not in the folder")?;
    let root = roots(&capture)?.into_iter().next().ok_or("no root")?;
    truth(&nearside_linux::read(&DirRoot::open(&root).map_err(failed)?))
}

fn main() {
    let needs = [Need::Captures, Need::Tool("lstopo-no-graphics")];
    let lab = lab_captures().into_iter();
    let mut trials: Vec<Trial> = tree_captures()
        .into_iter()
        .chain(lab)
        .map(|capture| {
            let name = capture.name.clone();
            trial(name, &needs, move || compare_capture(&capture))
        })
        .collect();
    trials.extend(TRUTHS.map(|(name, truth)| {
        trial(format!("truth/{name}"), &[Need::Captures], move || check_truth(name, truth))
    }));
    support::run(trials)
}

/// Roots with PCI functions.
fn roots(capture: &Capture) -> Result<Vec<PathBuf>, Failed> {
    let mut roots = capture.roots()?;
    roots.retain(|root| root.join("sys/bus/pci/devices").is_dir());
    Ok(roots)
}

fn compare_capture(capture: &Capture) -> Result<(), Failed> {
    let mut problems = Vec::new();
    for root in roots(capture)? {
        let output = Command::new("lstopo-no-graphics")
            .env("HWLOC_COMPONENTS", "-x86")
            .arg("-i")
            .arg(&root)
            .args(["--if", "fsroot", "--whole-io", "--of", "xml"])
            .output()?;
        if !output.status.success() {
            // A tree without CPU folders is nothing that lstopo reads.
            println!("lstopo reads no {}", root.display());
            continue;
        }
        let told = parse(&String::from_utf8_lossy(&output.stdout));
        let machine = nearside_linux::read(&DirRoot::open(&root).map_err(failed)?);
        problems.extend(compare(&root, &machine, &told)?);
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
}

/// What lstopo says of a function.
#[derive(Debug, Default, Clone)]
struct Told {
    /// Nodes of the object that it hangs from.
    nodes: Vec<u32>,
    /// `0108 [8086:0953]`.
    kind: String,
    /// Gigabytes a second of the link now; 0 when unknown.
    link: f64,
}

fn compare(
    root: &Path,
    machine: &Machine,
    told: &BTreeMap<String, Told>,
) -> Result<Vec<String>, Failed> {
    let mut problems = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for function in &machine.functions {
        let address = function.address.to_string();
        let folder = root.join("sys/bus/pci/devices").join(&address);
        let verdict = match told.get(&address) {
            None => left_out(&folder, function),
            Some(told) => place(&folder, machine, function, told),
        };
        match verdict {
            Ok(reason) => *counts.entry(reason).or_default() += 1,
            Err(problem) => problems.push(format!("{address}: {problem}")),
        }
    }
    let ours =
        |address: &&String| machine.functions.iter().any(|f| f.address.to_string() == **address);
    let lacking = told.keys().filter(|address| !ours(address));
    problems.extend(lacking.map(|address| format!("{address}: only lstopo has it")));
    println!("{}: {counts:?}", root.display());
    if machine.functions.is_empty() { Err("no function was read".into()) } else { Ok(problems) }
}

type Verdict = Result<&'static str, String>;

/// Why lstopo may lack a function.
fn left_out(folder: &Path, function: &Function) -> Verdict {
    // Byte 0x19 is the number of the bus below: hwloc drops bridges that lead nowhere.
    let config = std::fs::read(folder.join("config")).unwrap_or_default();
    let below = config.get(0x19).copied();
    match below {
        _ if !function.is_readable() => Ok("left out: no folder"),
        Some(below) if function.is_port() && below <= function.address.bus => {
            Ok("left out: a bridge to no bus")
        }
        _ => Err("lstopo has no such function".to_owned()),
    }
}

/// What a function is and where. lstopo reads `local_cpus` and places whole root buses; where that
/// tells nothing, it places them on the whole machine, and the kernel's own `numa_node` is the
/// oracle.
fn place(folder: &Path, machine: &Machine, function: &Function, told: &Told) -> Verdict {
    let kind = format!(
        "{:02x}{:02x} [{:04x}:{:04x}]",
        function.class.base, function.class.sub, function.vendor, function.device
    );
    // A tree may have `modalias` and none of the files that lstopo reads.
    if !told.kind.starts_with(&kind) && !told.kind.starts_with("0000 [0000:0000]") {
        return Err(format!("kind: ours {kind}, lstopo's {}", told.kind));
    }
    let rate = function.link.as_ref().and_then(|link| link.rate_now().ok());
    // hwloc counts 2.5 GT/s as 250 MB/s, 8 GT/s as 984.6 MB/s and so on, as we do.
    if rate.is_some_and(|rate| told.link > 0.0 && (rate.0 / 1e9 / told.link - 1.0).abs() > 0.001) {
        return Err(format!("link: ours {rate:?}, lstopo's {} GB/s", told.link));
    }
    let with_cpus = |node: &&machine::Node| !node.cpus.is_empty();
    let nodes = machine.nodes.iter().filter(with_cpus).map(|node| node.id.0);
    let (here, all): (Vec<u32>, Vec<u32>) =
        (nodes.clone().filter(|node| told.nodes.contains(node)).collect(), nodes.collect());
    let theirs = if let [one] = &here[..] { Some(*one) } else { None };
    let ours = function.node.map(|node| node.0);
    if ours == theirs {
        return Ok("same");
    }
    let problem = format!("node: ours {ours:?} ({:?}), lstopo's {here:?}", function.node_from);
    if here != all {
        return Err(problem);
    }
    let own = std::fs::read_to_string(folder.join("numa_node")).unwrap_or_default();
    match function.node_from {
        NodeFrom::Own if own.trim().parse() == Ok(ours.unwrap_or(u32::MAX)) => {
            Ok("lstopo has no place, numa_node has ours")
        }
        NodeFrom::Parent if !folder.exists() => {
            Ok("lstopo has no place, the bridge above has ours")
        }
        _ => Err(problem),
    }
}

/// Functions in lstopo's XML, each with the nodes of the nearest object above that has a node set.
fn parse(xml: &str) -> BTreeMap<String, Told> {
    let mut functions = BTreeMap::new();
    let mut above: Vec<Option<Vec<u32>>> = Vec::new();
    for tag in xml.split('<').filter(|tag| tag.starts_with("object ") || tag.starts_with("/object"))
    {
        if tag.starts_with('/') {
            above.pop();
            continue;
        }
        let nodes = attribute(tag, "nodeset").map(mask);
        if let Some(address) = attribute(tag, "pci_busid") {
            let kind = attribute(tag, "pci_type").unwrap_or_default().to_owned();
            let link = attribute(tag, "pci_link_speed").and_then(|text| text.parse().ok());
            let link = link.unwrap_or(0.0);
            let nodes = above.iter().rev().flatten().next().cloned().unwrap_or_default();
            functions.insert(address.to_owned(), Told { nodes, kind, link });
        }
        if !tag.trim_end().ends_with("/>") {
            above.push(nodes);
        }
    }
    functions
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split('"').next()
}

/// `0x00000003`, `0x1,,0x00000001`: words of 32 bits, the highest first.
fn mask(text: &str) -> Vec<u32> {
    let words = text
        .rsplit(',')
        .map(|word| u32::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(0));
    let bits = words.zip(0..).flat_map(|(word, index)| {
        (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| index * 32 + bit)
    });
    bits.collect()
}
