// SPDX-License-Identifier: MIT OR Apache-2.0
//! The part of a machine that a placement reads says what the whole machine says: every device of
//! every capture and every made-up machine, its function, node, CPUs, cores, caches and interrupts.

use std::collections::BTreeSet;

use machine::{Drive, End, Irq, Machine, NicKind, Site};
use nearside_linux::{Addresses, Asked, Part, site};
use root::{DirRoot, Root};
use support::{Capture, Failed, Need, failed, lab_captures, tree_captures, trial};
use units::NodeId;

fn main() {
    let mut trials = Vec::new();
    for capture in lab_captures().into_iter().chain(tree_captures()) {
        let title = format!("near::{}", capture.name);
        trials.push(trial(title, &[Need::Captures], move || every_root(&capture)));
    }
    for name in synthetic::names() {
        trials.push(trial(format!("near::synthetic::{name}"), &[], move || {
            let text = synthetic::named(name).ok_or_else(|| failed("no such machine"))?;
            let root = synthetic::parse(text).map_err(failed)?.build();
            same_as_whole(&root)
        }));
    }
    support::run(trials);
}

fn every_root(capture: &Capture) -> Result<(), Failed> {
    // Some archives hold fragments only, no root.
    for folder in capture.roots()? {
        let root = DirRoot::open(&folder).map_err(failed)?;
        same_as_whole(&root).map_err(|error| {
            failed(format!("{}: {}", folder.display(), error.message().unwrap_or_default()))
        })?;
    }
    Ok(())
}

fn same_as_whole(root: &dyn Root) -> Result<(), Failed> {
    let whole = nearside_linux::read(root);
    sets_are_the_same(root, &whole)?;
    functions_are_the_same(root, &whole)?;
    drives_are_where_they_are(root, &whole)?;
    nics_are_where_they_are(root, &whole)?;
    for rdma in whole.rdma.iter().filter(|rdma| rdma.function.is_some()) {
        let ends = ends(root, &rdma.name)?;
        same(&rdma.name, functions(&ends), rdma.function.into_iter().collect())?;
    }
    for gpu in whole.gpus.iter().filter(|gpu| gpu.name.starts_with("card")) {
        same(&gpu.name, functions(&ends(root, &gpu.name)?), [gpu.function].into())?;
    }
    Ok(())
}

fn named(names: impl Iterator<Item = String>) -> Vec<Asked> {
    names.map(Asked::Name).collect()
}

fn ends(root: &dyn Root, name: &str) -> Result<Vec<End>, Failed> {
    let asked = [Asked::Name(name.to_owned())];
    let site = site(root, Addresses::Kept, &asked, &[]).map_err(failed)?;
    Ok(site.targets.into_iter().flat_map(|target| target.ends).collect())
}

fn functions(ends: &[End]) -> BTreeSet<units::PciAddress> {
    ends.iter().filter_map(|end| end.function).collect()
}

fn sets_are_the_same(root: &dyn Root, whole: &Machine) -> Result<(), Failed> {
    let part: Site = site(root, Addresses::Kept, &[], &[Part::Cores]).map_err(failed)?;
    let (part, cpus) = (part.machine, &whole.cpus);
    same("online", &part.cpus.online, &cpus.online)?;
    same("allowed", &part.cpus.allowed, &cpus.allowed)?;
    same("isolated", &part.cpus.isolated, &cpus.isolated)?;
    for (node, other) in part.nodes.iter().zip(&whole.nodes) {
        let with_pages = machine::Node { huge_pages: other.huge_pages.clone(), ..node.clone() };
        same("node", &with_pages, other)?;
    }
    same("nodes", part.nodes.len(), whole.nodes.len())
}

/// All functions at once: their node, how it is known, their CPUs; and the interrupts of each.
fn functions_are_the_same(root: &dyn Root, whole: &Machine) -> Result<(), Failed> {
    let asked = named(whole.functions.iter().map(|function| function.address.to_string()));
    let part =
        site(root, Addresses::Kept, &asked, &[Part::Interrupts, Part::Cores]).map_err(failed)?;
    same("functions", part.targets.len(), whole.functions.len())?;
    for (target, function) in part.targets.iter().zip(&whole.functions) {
        let [end] = target.ends.as_slice() else { return Err(failed(&target.asked)) };
        let of = |node, from, cpus| (node, from, cpus);
        same(
            &target.asked,
            of(end.node, end.node_from, &end.local_cpus),
            of(function.node, function.node_from, &function.local_cpus),
        )?;
    }
    interrupts_are_the_same(&part, whole)?;
    for thread in &part.machine.cpus.threads {
        let other = whole.cpus.threads.iter().find(|other| other.cpu == thread.cpu);
        let place = |thread: &machine::Thread| (thread.core, thread.kind, thread.node);
        same("thread", Some(place(thread)), other.map(place))?;
    }
    let near = part.machine.cpus.threads.iter().map(|thread| thread.cpu).collect();
    let domains = |machine: &Machine| -> Vec<units::CpuSet> {
        let shares = machine.l3_domains().map(|cache| cache.cpus.and(&near));
        shares.filter(|cpus| !cpus.is_empty()).collect()
    };
    same("L3 domains", domains(&part.machine), domains(whole))
}

/// Counts and CPUs of interrupts that `msi_irqs` gives to a function; what else a name tells takes
/// the whole machine.
fn interrupts_are_the_same(part: &Site, whole: &Machine) -> Result<(), Failed> {
    let by_message = |irq: &&Irq| irq.source.as_ref().is_some_and(|source| source.by_msi);
    let facts = |irq: &Irq| {
        let function = irq.source.as_ref().and_then(|source| source.function);
        (irq.number, function, irq.effective.clone(), irq.counts.clone(), irq.managed)
    };
    let of = |machine: &Machine| -> Vec<_> {
        machine.irqs.iter().filter(by_message).map(facts).collect()
    };
    same("interrupts", of(&part.machine), of(whole))
}

fn drives_are_where_they_are(root: &dyn Root, whole: &Machine) -> Result<(), Failed> {
    let local = |drive: &&Drive| {
        let has_place = |each: &machine::Controller| each.function.is_some() || each.node.is_some();
        !drive.controllers.is_empty() && drive.controllers.iter().all(has_place)
    };
    for drive in whole.drives.iter().filter(local) {
        let ends = ends(root, &drive.name)?;
        let nodes: BTreeSet<Option<NodeId>> = ends.iter().map(|end| end.node).collect();
        let of = |each: &machine::Controller| each.node;
        same(&drive.name, nodes, drive.controllers.iter().map(of).collect())?;
        let wanted = drive.controllers.iter().filter_map(|each| each.function).collect();
        same(&drive.name, functions(&ends), wanted)?;
    }
    Ok(())
}

fn nics_are_where_they_are(root: &dyn Root, whole: &Machine) -> Result<(), Failed> {
    for nic in &whole.nics {
        let asked = [Asked::Name(nic.name.clone())];
        let found = site(root, Addresses::Kept, &asked, &[]);
        let mut wanted = BTreeSet::new();
        cards(whole, &nic.name, &mut BTreeSet::new(), &mut wanted);
        match found {
            Err(lost) if wanted.is_empty() => {
                // Nothing is below it, and the words say so.
                let text = lost.to_string();
                same(&text, nic.kind != NicKind::Physical && text.contains(": "), true)?;
            }
            Err(lost) => return Err(failed(format!("{lost}, and {wanted:?} are below"))),
            Ok(site) => {
                let ends: Vec<End> = site.targets.into_iter().flat_map(|each| each.ends).collect();
                let nodes = ends.iter().map(|end| end.node).collect();
                same(&nic.name, nodes, wanted)?;
            }
        }
    }
    Ok(())
}

/// Nodes of the cards below an interface, by the whole machine's own lists.
fn cards(
    machine: &Machine,
    name: &str,
    seen: &mut BTreeSet<String>,
    nodes: &mut BTreeSet<Option<NodeId>>,
) {
    let Some(nic) = machine.nics.iter().find(|nic| nic.name == name) else { return };
    if !seen.insert(name.to_owned()) {
        return;
    }
    if nic.function.is_some() || nic.node.is_some() {
        nodes.insert(nic.node);
        return;
    }
    nic.lower.iter().for_each(|lower| cards(machine, lower, seen, nodes));
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), Failed> {
    if found == wanted { Ok(()) } else { Err(failed(format!("{what}: {found:?}, not {wanted:?}"))) }
}
