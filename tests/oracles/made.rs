// SPDX-License-Identifier: MIT OR Apache-2.0
//! Synthetic machines: the document against the description that the machine was made from.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use support::{Failed, Trial, failed, trial};
use synthetic::Description;

use crate::document::{self, Document, cpus_at, plain};
use crate::facts::{Excuse, Facts, differences, judge};

/// Differences that are no mistakes.
const EXCUSES: &[Excuse] = &[];

/// (machine, pointer into the document, value): what the descriptions' stories say, in the words of
/// the document. Lanes of the R7725xd: 24 drives x4, 4 cards x16, the boot device x2, a 10G card x8.
const STORIES: [(&str, &str, &str); 12] = [
    ("r770-factory", "/numbering", "round-robin"),
    ("r770-factory", "/sub_numa/kind", "none"),
    ("r770-snc-linear", "/numbering", "linear"),
    ("r770-snc-linear", "/sub_numa/kind", "snc"),
    ("r770-snc-linear", "/sub_numa/per_package", "2"),
    ("epyc-7551", "/numbering", "round-robin"),
    ("epyc-7551", "/sub_numa/per_package", "4"),
    ("r7725xd", "/numbering", "linear"),
    ("r7725xd", "/sub_numa/kind", "none"),
    ("eight-socket", "/smt/threads_per_core", "2"),
    ("eight-socket", "/numbering", "linear"),
    ("virtual-machine", "/host/virtual", "kvm"),
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = synthetic::names()
        .filter(|name| *name != "faulty")
        .map(|name| trial(format!("made/{name}"), &[], move || check(name)))
        .collect();
    trials.push(trial("made/r7725xd lanes", &[], lanes));
    trials
}

fn check(name: &str) -> Result<(), Failed> {
    // All of its interrupts are 58 MB of text.
    let divisor = if name == "thousand-cpus" { 16 } else { 1 };
    let text = synthetic::named(name).ok_or_else(|| failed("no such machine"))?;
    let description = synthetic::parse(text).map_err(failed)?.scaled(divisor);
    let document = document::topology(&["--from", &format!("synthetic:{name}@1/{divisor}")])?;
    let mut found = differences("the description", &said(&description), &ours(&document));
    for (_, at, value) in STORIES.iter().filter(|story| story.0 == name) {
        let seen = plain(document.at(at));
        if seen != *value {
            found.push(format!("{at}: the story says {value}, the document {seen}"));
        }
    }
    judge(name, found, EXCUSES)
}

/// What a description says, by counts.
fn said(description: &Description) -> Facts {
    let mut facts = Facts::default();
    let cpu = &description.cpu;
    let cores = cpu.nodes_per_package * cpu.cores_per_node;
    facts.say("packages", cpu.packages);
    for package in 0..cpu.packages {
        let text = format!(
            "{} nodes, {cores} cores, {} threads",
            cpu.nodes_per_package,
            cores * cpu.threads
        );
        facts.say(format!("package {package}"), text);
    }
    facts.say("nodes", description.node_count());
    for node in 0..description.node_count() {
        let is_own = node < cpu.node_count();
        facts.say(
            format!("node {node} cpus"),
            if is_own { cpu.cores_per_node * cpu.threads } else { 0 },
        );
    }
    facts.say("gpus", description.gpu.iter().map(|gpu| gpu.count).sum::<u32>());
    let nvme = description.nvme.iter();
    let mut on_node: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for drives in nvme.clone().filter(|drives| drives.at.told.is_none() && drives.paths == 1) {
        *on_node.entry((drives.at.node, drives.queues)).or_default() += drives.count;
    }
    for ((node, queues), count) in on_node {
        facts.say(format!("drives of node {node} with {queues} queues"), count);
    }
    facts.say("NVMe drives", nvme.map(|drives| drives.count).sum::<u32>());
    for nic in &description.nic {
        for name in &nic.names {
            facts.say(format!("{name} mtu"), nic.mtu);
            facts.say(format!("{name} queues"), nic.queues);
            facts.say(format!("{name} interrupts of queues"), nic.queues);
        }
    }
    facts
}

/// The same of the document.
fn ours(document: &Document) -> Facts {
    let mut facts = Facts::default();
    let packages = document.list("packages");
    facts.say("packages", packages.len());
    for package in packages {
        let text = format!(
            "{} nodes, {} cores, {} threads",
            package["nodes"], package["cores"], package["threads"]
        );
        facts.say(format!("package {}", package["id"]), text);
    }
    facts.say("nodes", document.list("nodes").len());
    for node in document.list("nodes") {
        facts.say(format!("node {} cpus", node["id"]), cpus_at(&node["cpus"]).len());
    }
    facts.say("gpus", document.list("gpus").len());
    drives(document, &mut facts);
    for nic in document.list("nics").iter().filter(|nic| !nic["function"].is_null()) {
        let name = plain(&nic["name"]);
        facts.say(format!("{name} mtu"), plain(&nic["mtu"]));
        facts.say(format!("{name} queues"), plain(&nic["queues"]));
        facts.say(format!("{name} interrupts of queues"), queues_of(document, &name));
    }
    facts
}

fn drives(document: &Document, facts: &mut Facts) {
    let drives: Vec<&Value> =
        document.list("drives").iter().filter(|drive| drive["kind"] == "nvme").collect();
    facts.say("NVMe drives", drives.len());
    let mut on_node: BTreeMap<(String, usize), u32> = BTreeMap::new();
    for drive in drives {
        let [path] = drive["controllers"].as_array().map_or(&[][..], Vec::as_slice) else {
            continue;
        };
        let function = document.find("functions", "address", &plain(&path["function"]));
        if function["node_from"] != "own" {
            continue;
        }
        // The queues are counted by their interrupts: a document must agree with itself.
        let queues = queues_of(document, &plain(&path["name"]));
        *on_node.entry((plain(&path["node"]), queues)).or_default() += 1;
    }
    for ((node, queues), count) in on_node {
        facts.say(format!("drives of node {node} with {queues} queues"), count);
    }
}

/// Queues of a device that interrupts serve; virtio has one to receive and one to send.
fn queues_of(document: &Document, device: &str) -> usize {
    let irqs = document.list("irqs").iter();
    let queues = irqs.filter(|irq| irq["device"] == device).filter_map(|irq| irq["queue"].as_u64());
    queues.collect::<BTreeSet<u64>>().len()
}

fn lanes() -> Result<(), Failed> {
    let document = document::topology(&["--from", "synthetic:r7725xd"])?;
    let mut by_class: BTreeMap<String, u64> = BTreeMap::new();
    for root in document.list("lanes") {
        let used = root["used_by"].as_array().into_iter().flatten();
        let mut sum = 0;
        for address in used {
            let function = document.find("functions", "address", &plain(address));
            let width = function["link"]["best_width"].as_u64().unwrap_or(0);
            let class = plain(&function["class"]);
            *by_class
                .entry(format!("{} x{width}", class.get(..2).unwrap_or_default()))
                .or_default() += width;
            sum += width;
        }
        if root["lanes"].as_u64() != Some(sum) {
            return Err(failed(format!("{root}: its devices have {sum} lanes")));
        }
    }
    let expected = [("01 x2", 2), ("01 x4", 96), ("02 x16", 64), ("02 x8", 8)];
    let expected: BTreeMap<String, u64> =
        expected.into_iter().map(|(class, lanes)| (class.to_owned(), lanes)).collect();
    if by_class == expected { Ok(()) } else { Err(failed(format!("{by_class:?}"))) }
}
