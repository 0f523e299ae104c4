// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPU sets, packages, dies, cores and threads.

mod asked;
pub(crate) mod cgroup;
pub(crate) mod cpuinfo;
mod kind;
mod threads;

use std::collections::BTreeMap;

use machine::{CommandLine, Cpus, Node, Smt, Thread, Why};
use root::{Dir, Question, Root, text};
use units::{Cpu, CpuSet, NodeId};

use crate::Troubles;
use crate::host::command_line;
use cpuinfo::Entry;

const FOLDER: &str = "/sys/devices/system/cpu";

pub(crate) fn read(root: &dyn Root, troubles: &mut Troubles) -> Cpus {
    let dir = Dir::new(root, FOLDER);
    let folders = numbered(&dir.list().unwrap_or_default(), "cpu");
    let cpuinfo = needed_cpuinfo(root, &dir, &folders);
    let online = online(&dir, &folders, &cpuinfo, troubles);
    let present = present(&dir, &folders, &online);
    let mut threads = threads::read(root, &present, &online, &cpuinfo);
    kind::mark(root, &mut threads);
    Cpus {
        offline: present.minus(&online),
        allowed: allowed(root, &online),
        isolated: kept(root, &dir, "isolated", asked::isolated).and(&present),
        nohz_full: kept(root, &dir, "nohz_full", asked::nohz_full).and(&present),
        smt: Smt {
            threads_per_core: threads_per_core(&threads),
            state: dir.text("smt/control").unwrap_or_default(),
        },
        threads,
        online,
    }
}

/// The sets that a placement needs; threads are read by [`read_threads`].
pub(crate) fn sets(root: &dyn Root, troubles: &mut Troubles) -> Cpus {
    let dir = Dir::new(root, FOLDER);
    let Some(online) = dir.parse::<CpuSet>("online").ok().filter(|set| !set.is_empty()) else {
        return read(root, troubles);
    };
    // The kernel keeps a living process' affinity within its cpuset, and a table of mounts is long
    // on a host of containers.
    let asked = root.ask(&Question::Affinity).ok();
    let asked = asked.and_then(|json| serde_json::from_str::<CpuSet>(&json).ok());
    let asked = asked.map(|set| set.and(&online)).filter(|set| !set.is_empty());
    Cpus {
        allowed: asked.unwrap_or_else(|| allowed(root, &online)),
        isolated: kept(root, &dir, "isolated", asked::isolated).and(&online),
        online,
        ..Cpus::default()
    }
}

/// CPUs that work is kept from: what the kernel does, else what it was asked for.
fn kept(root: &dyn Root, dir: &Dir<'_>, name: &str, asked: fn(&CommandLine) -> CpuSet) -> CpuSet {
    match dir.parse::<CpuSet>(name) {
        Err(Why::Absent) => text(root, "/proc/cmdline")
            .map(|line| asked(&command_line::parse(&line)))
            .unwrap_or_default(),
        set => set.unwrap_or_default(),
    }
}

/// Reads the threads of the online CPUs in `near`, and no others.
pub(crate) fn read_threads(root: &dyn Root, cpus: &mut Cpus, near: &CpuSet) {
    let dir = Dir::new(root, FOLDER);
    let online = cpus.online.and(near);
    let folders = numbered(&dir.list().unwrap_or_default(), "cpu");
    let cpuinfo = needed_cpuinfo(root, &dir, &folders);
    cpus.threads = threads::read(root, &online, &online, &cpuinfo);
    kind::mark(root, &mut cpus.threads);
    cpus.smt.threads_per_core = threads_per_core(&cpus.threads);
}

/// Nodes whose memory the own cpuset allows; nothing where no cpuset can be found.
pub(crate) fn memory_of_cpuset(root: &dyn Root) -> Option<CpuSet> {
    cgroup::nodes(root)
}

/// Tells each thread its node. Where firmware lets nodes overlap, the first one has it.
pub(crate) fn place_on_nodes(cpus: &mut Cpus, nodes: &[Node]) {
    let mut node_of: BTreeMap<Cpu, NodeId> = BTreeMap::new();
    for node in nodes {
        for cpu in node.cpus.iter() {
            node_of.entry(cpu).or_insert(node.id);
        }
    }
    for thread in &mut cpus.threads {
        thread.node = node_of.get(&thread.cpu).copied();
    }
}

/// Numbers of the names that are a prefix and a number: `cpu12`, not `cpufreq` nor `cpu012`.
pub(crate) fn numbered(names: &[String], prefix: &str) -> CpuSet {
    let number = |name: &String| {
        let digits = name.strip_prefix(prefix)?;
        let number: u32 = digits.parse().ok()?;
        (number.to_string() == digits).then_some(Cpu(number))
    };
    names.iter().filter_map(number).collect()
}

/// /proc/cpuinfo, where the topology files are not enough: a thousand CPUs write 1.5 MB of it.
fn needed_cpuinfo(root: &dyn Root, dir: &Dir<'_>, folders: &CpuSet) -> BTreeMap<Cpu, Entry> {
    let file = |cpu: Cpu| dir.parse::<i64>(&format!("cpu{cpu}/topology/physical_package_id"));
    let has_topology = folders.iter().take(64).any(|cpu| file(cpu).is_ok());
    if has_topology && dir.text("online").is_ok() {
        return BTreeMap::new();
    }
    let entries = cpuinfo::entries(root).unwrap_or_default();
    entries.into_iter().map(|entry| (entry.cpu, entry)).collect()
}

/// The online CPUs: the kernel's own list; without it, what /proc/cpuinfo names; without that,
/// the folders whose `online` is not 0.
fn online(
    dir: &Dir<'_>,
    folders: &CpuSet,
    cpuinfo: &BTreeMap<Cpu, Entry>,
    troubles: &mut Troubles,
) -> CpuSet {
    match dir.parse::<CpuSet>("online") {
        Ok(set) if !set.is_empty() => return set,
        Ok(_) => {}
        Err(why) => troubles.note("online CPUs", &why, &dir.join("online")),
    }
    if !cpuinfo.is_empty() {
        return cpuinfo.keys().copied().collect();
    }
    let is_off = |cpu: &Cpu| dir.text(&format!("cpu{cpu}/online")).is_ok_and(|text| text == "0");
    folders.iter().filter(|cpu| !is_off(cpu)).collect()
}

/// Present CPUs: the kernel's list, or folders; an online CPU is present whatever they say.
fn present(dir: &Dir<'_>, folders: &CpuSet, online: &CpuSet) -> CpuSet {
    let listed = dir.parse::<CpuSet>("present").ok().filter(|set| !set.is_empty());
    listed.unwrap_or_else(|| folders.clone()).or(online)
}

/// What this process may use. The scheduler's affinity already lies within the cpuset of a living
/// process; a copied tree often has the cpuset alone.
fn allowed(root: &dyn Root, online: &CpuSet) -> CpuSet {
    let sets = [affinity(root), cgroup::cpus(root)];
    sets.into_iter().flatten().fold(online.clone(), |allowed, set| {
        let both = allowed.and(&set);
        // An answer that forbids everything is a stale one: the reader itself was running.
        if both.is_empty() { allowed } else { both }
    })
}

fn affinity(root: &dyn Root) -> Option<CpuSet> {
    let answer = root
        .ask(&Question::Affinity)
        .and_then(|json| serde_json::from_str::<CpuSet>(&json).map_err(|_| Why::Unparsed(json)));
    answer.ok().or_else(|| status_allowed(&text(root, "/proc/self/status").ok()?))
}

/// `Cpus_allowed_list: 0-15` of /proc/self/status, or the mask above it in older kernels.
pub(crate) fn status_allowed(status: &str) -> Option<CpuSet> {
    let field = |name: &str| {
        let mut lines = status.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
    };
    let list = field("Cpus_allowed_list").and_then(|list| CpuSet::from_list(list).ok());
    list.or_else(|| CpuSet::from_mask(field("Cpus_allowed")?).ok())
}

fn threads_per_core(threads: &[Thread]) -> u32 {
    threads.iter().filter(|thread| thread.online).map(|thread| thread.rank + 1).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
