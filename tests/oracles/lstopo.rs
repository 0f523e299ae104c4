// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine as hwloc's `lstopo --of xml` sees it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use support::{Failed, failed};

use crate::document::{Document, cpus_at, plain};
use crate::facts::Facts;

type Cpus = BTreeSet<u32>;

/// An `<object>`: its attributes, and the CPUs of the nearest object above that has any.
#[derive(Debug)]
pub(crate) struct Object {
    kind: String,
    index: String,
    cpus: Option<Cpus>,
    above: Cpus,
    attributes: String,
}

impl Object {
    fn attribute(&self, name: &str) -> Option<&str> {
        attribute(&self.attributes, name)
    }
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split('"').next()
}

/// CPUs of `0x00000001,0x00000003`, the highest word first; `0xf...f` is an endless set.
fn mask(text: &str) -> Cpus {
    let words: Vec<&str> = text.split(',').collect();
    let word = |(at, word): (usize, &&str)| {
        let bits = u32::from_str_radix(word.trim_start_matches("0x"), 16).unwrap_or(0);
        let first = u32::try_from(at * 32).unwrap_or(0);
        (0..32).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| first + bit)
    };
    words.iter().rev().enumerate().flat_map(word).collect()
}

/// Objects of lstopo's XML, which has one tag a line.
pub(crate) fn parse(xml: &str) -> Vec<Object> {
    let mut open: Vec<Cpus> = Vec::new();
    let mut objects = Vec::new();
    for line in xml.lines().map(str::trim) {
        if line.starts_with("</object") {
            open.pop();
        }
        if !line.starts_with("<object ") {
            continue;
        }
        let above = open.last().cloned().unwrap_or_default();
        let cpus = attribute(line, "complete_cpuset").map(mask);
        if !line.ends_with("/>") {
            open.push(cpus.clone().filter(|cpus| !cpus.is_empty()).unwrap_or(above.clone()));
        }
        let text = |name| attribute(line, name).unwrap_or_default().to_owned();
        let (kind, index) = (text("type"), text("os_index"));
        objects.push(Object { kind, index, cpus, above, attributes: line.to_owned() });
    }
    objects
}

/// lstopo's answer on a tree.
pub(crate) fn run(tree: &Path) -> Result<Vec<Object>, Failed> {
    let mut command = Command::new("lstopo-no-graphics");
    // The CPUs of the machine that runs the test are not asked; GPU memory of POWER9 is shown.
    command.env("HWLOC_COMPONENTS", "-x86").env("HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES", "1");
    command.env_remove("HWLOC_FSROOT").arg("-i").arg(tree).args(["--if", "fsroot"]);
    let output = command.args(["--whole-io", "--disallowed", "--of", "xml"]).output();
    let output = output.map_err(failed)?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr)));
    }
    Ok(parse(&String::from_utf8_lossy(&output.stdout)))
}

fn online(objects: &[Object]) -> Cpus {
    let threads = objects.iter().filter(|object| object.kind == "PU");
    threads.filter_map(|thread| thread.index.parse().ok()).collect()
}

/// What lstopo says. It hangs a node without CPUs at those that are nearest to it: which nodes
/// have none, it does not tell.
pub(crate) fn said(objects: &[Object], document: &Document) -> Facts {
    let mut facts = Facts::default();
    let online = online(objects);
    let own = |object: &Object| {
        object.cpus.iter().flatten().filter(|c| online.contains(c)).copied().collect::<Cpus>()
    };
    facts.say("online", format!("{online:?}"));
    let with_cpus: Vec<&Object> = objects
        .iter()
        .filter(|object| object.kind == "NUMANode")
        .filter(|node| has_cpus(document, &node.index))
        .collect();
    for object in objects {
        match object.kind.as_str() {
            "Package" => {
                facts.say(format!("package {}", object.index), cores_in(objects, &own(object)));
            }
            "NUMANode" => {
                let bytes = object.attribute("local_memory").unwrap_or("-");
                facts.say(format!("node {} bytes", object.index), bytes);
                if has_cpus(document, &object.index) {
                    facts.say(format!("node {} cpus", object.index), format!("{:?}", own(object)));
                }
            }
            "L3Cache" => {
                let bytes = object.attribute("cache_size").unwrap_or("-");
                facts.say(format!("L3 {:?}", own(object)), bytes);
            }
            "PCIDev" | "Bridge" => function(object, &with_cpus, &mut facts),
            _ => {}
        }
    }
    facts
}

fn has_cpus(document: &Document, node: &str) -> bool {
    document.list("nodes").iter().any(|ours| plain(&ours["id"]) == node && ours["cpus"] != "")
}

fn cores_in(objects: &[Object], cpus: &Cpus) -> String {
    let is_in = |core: &&Object| {
        core.kind == "Core" && core.cpus.as_ref().is_some_and(|own| !own.is_disjoint(cpus))
    };
    format!("{} cores, {} threads", objects.iter().filter(is_in).count(), cpus.len())
}

/// `pci_busid="0000:21:00.0" pci_type="0108 [1b36:0010] [1af4:1100] 02"`
fn function(object: &Object, nodes: &[&Object], facts: &mut Facts) {
    let Some(address) = object.attribute("pci_busid") else { return };
    let kind = object.attribute("pci_type").unwrap_or_default();
    let kind = kind.split(" [").take(2).collect::<Vec<_>>().join(" ");
    // What lstopo cannot read is zeros to it.
    let known =
        |text: &str| if text.trim_matches(['0', ':']).is_empty() { "?" } else { text }.to_owned();
    facts.say(format!("{address} class"), known(kind.get(..4).unwrap_or_default()));
    facts.say(
        format!("{address} ids"),
        known(kind.get(5..).unwrap_or_default().trim_end_matches(']')),
    );
    let touches =
        |node: &&&Object| node.cpus.as_ref().is_some_and(|own| !own.is_disjoint(&object.above));
    let local: Vec<&str> = nodes.iter().filter(touches).map(|node| node.index.as_str()).collect();
    let is_told = local.len() < nodes.len() || nodes.len() == 1;
    facts.say(format!("{address} node"), if is_told { local.join(" ") } else { "-".to_owned() });
}

/// The same facts of the document.
pub(crate) fn ours(document: &Document) -> Facts {
    let mut facts = Facts::default();
    let online = cpus_at(document.at("/cpus/online"));
    facts.say("online", format!("{online:?}"));
    for package in document.list("packages") {
        let text = format!("{} cores, {} threads", package["cores"], package["threads"]);
        facts.say(format!("package {}", package["id"]), text);
    }
    for node in document.list("nodes") {
        facts.say(format!("node {} bytes", node["id"]), plain(&node["memory_bytes"]));
        let cpus: Cpus = cpus_at(&node["cpus"]).intersection(&online).copied().collect();
        if node["cpus"] != "" {
            facts.say(format!("node {} cpus", node["id"]), format!("{cpus:?}"));
        }
    }
    for cache in document.list("l3") {
        let cpus: Cpus = cpus_at(&cache["cpus"]).intersection(&online).copied().collect();
        facts.say(format!("L3 {cpus:?}"), cache["bytes"].as_u64().unwrap_or(0));
    }
    for function in document.list("functions") {
        let address = plain(&function["address"]);
        let class = plain(&function["class"]);
        let ids = format!("{}:{}", plain(&function["vendor"]), plain(&function["device"]));
        facts.say(format!("{address} class"), class.get(..4).unwrap_or_default());
        facts.say(format!("{address} ids"), ids);
        facts.say(format!("{address} node"), plain(&function["node"]));
    }
    facts
}
