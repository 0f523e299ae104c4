// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs, cores, packages and nodes as lscpu and numactl print them.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::{Document, cpus, cpus_at, plain};
use crate::facts::Facts;

/// A row of `lscpu -e`, or of `lscpu -p`.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    cpu: u32,
    node: String,
    package: String,
    core: String,
}

/// Rows of a table whose columns are CPU, NODE, SOCKET, CORE.
///
/// ```text
/// CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE
///   0    0      0    0 0:0:0:0          yes
/// ```
pub(crate) fn rows(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let mut fields: Box<dyn Iterator<Item = &str>> = match line.contains(',') {
            true => Box::new(line.split(',')),
            false => Box::new(line.split_whitespace()),
        };
        let cpu = fields.next()?.parse().ok()?;
        let mut next = || fields.next().map(str::to_owned);
        Some(Row { cpu, node: next()?, package: next()?, core: next()? })
    };
    text.lines().filter_map(row).collect()
}

/// What the rows say of packages, cores, nodes and numbering. lscpu numbers cores and packages by
/// itself, so that packages are known by their counts.
pub(crate) fn said(rows: &[Row]) -> Facts {
    let mut facts = Facts::default();
    let online: BTreeSet<u32> = rows.iter().map(|row| row.cpu).collect();
    facts.say("online", format!("{online:?}"));
    let mut packages: BTreeMap<&str, (BTreeSet<&str>, usize, BTreeSet<&str>)> = BTreeMap::new();
    let mut nodes: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for row in rows {
        let package = packages.entry(&row.package).or_default();
        package.0.insert(&row.core);
        package.1 += 1;
        package.2.insert(&row.node);
        nodes.entry(&row.node).or_default().insert(row.cpu);
    }
    let counts = packages.values().map(|(cores, threads, _)| (cores.len(), *threads));
    let mut counts: Vec<_> = counts.collect();
    counts.sort_unstable();
    facts.say("packages", format!("{counts:?}"));
    for (node, cpus) in &nodes {
        facts.say(format!("node {node}"), format!("{cpus:?}"));
    }
    let is_split = packages.values().any(|(_, _, nodes)| nodes.len() > 1);
    facts.say("numbering", numbering(rows, is_split));
    facts.say("siblings", siblings(rows));
    facts
}

/// DESIGN.md section 3, once more: the first thread of each core in CPU order, and the domain each
/// belongs to.
fn numbering(rows: &[Row], is_split: bool) -> &'static str {
    let mut seen = BTreeSet::new();
    let firsts = rows.iter().filter(|row| seen.insert(&row.core));
    let domain = |row: &Row| if is_split { row.node.clone() } else { row.package.clone() };
    let domains: Vec<String> = firsts.map(domain).collect();
    let kinds: BTreeSet<&String> = domains.iter().collect();
    let steps = domains.windows(2).filter(|pair| pair[0] != pair[1]).count();
    match kinds.len() {
        0 | 1 => "undecided",
        // A core for each domain fits every pattern.
        count if count == domains.len() => "mixed",
        count if steps + 1 == count => "linear",
        _ if steps + 1 == domains.len() => "round-robin",
        _ => "mixed",
    }
}

fn siblings(rows: &[Row]) -> &'static str {
    let mut cores: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for row in rows {
        cores.entry(&row.core).or_default().push(row.cpu);
    }
    let half = u32::try_from(rows.len() / 2).unwrap_or(0);
    // Small cores of a hybrid processor have one thread.
    let several: Vec<&Vec<u32>> = cores.values().filter(|threads| threads.len() > 1).collect();
    let steps =
        |threads: &&Vec<u32>, by: u32| threads.windows(2).all(|pair| pair[1] == pair[0] + by);
    match several.len() {
        0 => "none",
        _ if several.iter().all(|threads| steps(threads, 1)) => "adjacent",
        _ if several.iter().all(|threads| steps(threads, half)) => "second-half",
        _ => "other",
    }
}

/// The same facts of the document.
pub(crate) fn ours(document: &Document) -> Facts {
    let mut facts = Facts::default();
    facts.say("online", format!("{:?}", cpus_at(document.at("/cpus/online"))));
    let count = |package: &serde_json::Value, name: &str| package[name].as_u64().unwrap_or(0);
    let packages = document.list("packages").iter();
    let mut counts: Vec<_> = packages.map(|p| (count(p, "cores"), count(p, "threads"))).collect();
    counts.sort_unstable();
    facts.say("packages", format!("{counts:?}"));
    let online = cpus_at(document.at("/cpus/online"));
    for node in document.list("nodes").iter().filter(|node| node["cpus"] != "") {
        let cpus: BTreeSet<u32> = cpus_at(&node["cpus"]).intersection(&online).copied().collect();
        facts.say(format!("node {}", node["id"]), format!("{cpus:?}"));
    }
    facts.say("numbering", plain(document.at("/numbering")));
    facts.say("siblings", plain(document.at("/siblings")));
    facts
}

/// The summary of `lscpu`: counts, and `L3 cache: 32 MiB (2 instances)`.
pub(crate) fn summary_said(text: &str) -> Facts {
    let mut facts = Facts::default();
    for (name, about) in [
        ("CPU(s)", "CPUs"),
        ("Thread(s) per core", "threads a core"),
        ("Socket(s)", "packages"),
        ("NUMA node(s)", "nodes"),
        ("L3 cache", "L3"),
    ] {
        let pairs = text.lines().filter_map(|line| line.split_once(':'));
        if let Some((_, value)) = pairs.into_iter().find(|(key, _)| key.trim() == name) {
            facts.say(about, value.trim());
        }
    }
    facts
}

/// The same of the document.
pub(crate) fn summary_ours(document: &Document) -> Facts {
    let mut facts = Facts::default();
    let online = cpus_at(document.at("/cpus/online"));
    let offline = cpus_at(document.at("/cpus/offline"));
    facts.say("CPUs", online.len() + offline.len());
    facts.say("threads a core", document.at("/smt/threads_per_core"));
    facts.say("packages", document.list("packages").len());
    facts.say("nodes", document.list("nodes").len());
    let l3 = document.list("l3");
    let bytes: u64 = l3.iter().filter_map(|cache| cache["bytes"].as_u64()).sum();
    facts.say("L3", format!("{} MiB ({} instances)", bytes >> 20, l3.len()));
    facts
}

/// `numactl -H`:
///
/// ```text
/// node 0 cpus: 0 1 2 3
/// node 0 size: 961 MB
/// node distances:
/// node   0   1
///   0:  10  32
/// ```
pub(crate) fn numactl_said(text: &str) -> Facts {
    let mut facts = Facts::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["node", id, "cpus:", list @ ..] => {
                facts.say(format!("node {id} cpus"), format!("{:?}", cpus(&list.join(","))));
            }
            ["node", id, "size:", mib, "MB"] => facts.say(format!("node {id} MiB"), mib),
            [id, distances @ ..] if id.ends_with(':') && id != &"available:" => {
                let id = id.trim_end_matches(':');
                facts.say(format!("node {id} distances"), distances.join(" "));
            }
            _ => {}
        }
    }
    facts
}

/// The same of the document.
pub(crate) fn numactl_ours(document: &Document) -> Facts {
    let mut facts = Facts::default();
    for node in document.list("nodes") {
        let mut say =
            |what: &str, text: String| facts.say(format!("node {} {what}", node["id"]), text);
        say("cpus", format!("{:?}", cpus_at(&node["cpus"])));
        say("MiB", node["memory_bytes"].as_u64().map_or(0, |bytes| bytes >> 20).to_string());
        let distances = node["distances"].as_array().into_iter().flatten().map(plain);
        say("distances", distances.collect::<Vec<_>>().join(" "));
    }
    facts
}
