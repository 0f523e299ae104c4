// SPDX-License-Identifier: MIT OR Apache-2.0
//! How CPUs are numbered and how packages are split into nodes, in the catalogue's words.

use std::collections::{BTreeMap, BTreeSet};

use machine::Machine;

use crate::place::Places;

/// The word for the order in which CPU numbers run over packages or nodes, and why.
pub(crate) fn numbering(machine: &Machine, places: &Places) -> (&'static str, String) {
    let (kind, domains) = domains(machine, places);
    let count = domains.iter().collect::<BTreeSet<_>>().len();
    if count < 2 {
        return ("undecided", format!("all cores lie on one {kind}"));
    }
    let mut runs = domains.clone();
    runs.dedup();
    if runs.len() == count {
        return ("linear", format!("each {kind} is one stretch of CPU numbers"));
    }
    let steps = domains.windows(2).filter(|pair| pair.first() != pair.last()).count();
    if steps + 1 == domains.len() {
        return ("round-robin", format!("successive cores step through the {count} {kind}s"));
    }
    ("mixed", format!("neither one stretch of CPU numbers a {kind} nor a step with each core"))
}

/// The domain of the first thread of each core, in CPU order: the node where packages are split,
/// else the package.
fn domains(machine: &Machine, places: &Places) -> (&'static str, Vec<u32>) {
    let split = places.nodes().len() > places.packages().len();
    let firsts = machine.cpus.threads.iter().filter(|thread| thread.online && thread.rank == 0);
    if split {
        ("node", firsts.filter_map(|thread| thread.node).map(|node| node.0).collect())
    } else {
        (
            "package",
            firsts.filter_map(|thread| thread.package.as_ref().ok()).map(|id| id.0).collect(),
        )
    }
}

/// The word for how the threads of one core are numbered, and why.
pub(crate) fn siblings(machine: &Machine) -> (&'static str, String) {
    let mut cores: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for thread in machine.cpus.threads.iter().filter(|thread| thread.online) {
        cores.entry(thread.core.0).or_default().push(thread.cpu.0);
    }
    let many: Vec<&Vec<u32>> = cores.values().filter(|cpus| cpus.len() > 1).collect();
    let Some(example) = many.first() else {
        return ("none", "no core has more than one thread".to_owned());
    };
    let example: Vec<String> = example.iter().map(ToString::to_string).collect();
    let reason = format!("one core is CPUs {}", example.join(" and "));
    if many.iter().all(|cpus| cpus.windows(2).all(|pair| gap(pair) == 1)) {
        return ("adjacent", reason);
    }
    let cores = u32::try_from(cores.len()).unwrap_or(u32::MAX);
    if many.iter().all(|cpus| cpus.windows(2).all(|pair| gap(pair) == cores)) {
        return ("second-half", reason);
    }
    ("other", reason)
}

fn gap(pair: &[u32]) -> u32 {
    match pair {
        [a, b] => b.saturating_sub(*a),
        _ => 0,
    }
}

/// The word for how packages are split into nodes, and why.
pub(crate) fn sub_numa(machine: &Machine, places: &Places) -> (String, String) {
    let (packages, nodes) = (places.packages().len(), places.nodes().len());
    if packages == 0 || nodes == 0 {
        return ("unknown".to_owned(), "packages or nodes could not be read".to_owned());
    }
    let reason = format!("{nodes} nodes with CPUs on {packages} packages");
    let per_package = nodes / packages;
    if per_package < 2 || nodes % packages != 0 {
        return ("off".to_owned(), reason);
    }
    let vendor = machine.host.cpu_vendor.as_deref().unwrap_or_default();
    let l3 = machine.caches.iter().filter(|cache| cache.level == 3).count();
    match vendor {
        "AuthenticAMD" if l3 == nodes && per_package > 4 => ("l3".to_owned(), reason),
        "AuthenticAMD" => (format!("nps-{per_package}"), reason),
        "GenuineIntel" => (format!("snc-{per_package}"), reason),
        _ => (format!("{per_package} nodes a package"), reason),
    }
}
