// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where each CPU sits: package, die, cluster, core.
//!
//! Packages, dies and clusters are asked of one CPU each, whose list of companions answers for the
//! others, and cores of their first thread: a machine of 1,024 CPUs answers in about 1,000 reads
//! instead of 4,000.

use std::collections::BTreeMap;

use machine::{CoreKind, Fact, Thread, Why};
use root::{Dir, Root};
use units::{Cpu, CpuSet, PackageId};

use super::cpuinfo::Entry;

const FOLDER: &str = "/sys/devices/system/cpu";

/// Threads of all `present` CPUs, ascending.
pub(super) fn read(
    root: &dyn Root,
    present: &CpuSet,
    online: &CpuSet,
    cpuinfo: &BTreeMap<Cpu, Entry>,
) -> Vec<Thread> {
    let places = Places { root, present, cpuinfo };
    let topology = places.first_with_topology(online);
    let package =
        places.ids(topology, online, "physical_package_id", &["package_cpus", "core_siblings"]);
    let die = places.ids(topology, online, "die_id", &["die_cpus"]);
    let cluster = places.ids(topology, online, "cluster_id", &["cluster_cpus"]);
    let cores = places.cores(topology, online, &package);
    let id =
        |ids: &BTreeMap<Cpu, Fact<u32>>, cpu| ids.get(&cpu).cloned().unwrap_or(Err(Why::Absent));
    let thread = |cpu| Thread {
        cpu,
        online: online.contains(cpu),
        package: id(&package, cpu).map(PackageId),
        die: id(&die, cpu),
        cluster: id(&cluster, cpu),
        core: cores.get(&cpu).copied().unwrap_or(cpu),
        rank: 0,
        node: None,
        kind: CoreKind::Uniform,
    };
    let mut threads: Vec<_> = present.iter().map(thread).collect();
    rank(&mut threads);
    threads
}

/// Numbers the threads of each core.
fn rank(threads: &mut [Thread]) {
    let mut seen: BTreeMap<Cpu, u32> = BTreeMap::new();
    for thread in threads {
        let next = seen.entry(thread.core).or_default();
        thread.rank = *next;
        *next += 1;
    }
}

struct Places<'a> {
    root: &'a dyn Root,
    present: &'a CpuSet,
    cpuinfo: &'a BTreeMap<Cpu, Entry>,
}

impl Places<'_> {
    fn topology(&self, cpu: Cpu) -> Dir<'_> {
        Dir::new(self.root, format!("{FOLDER}/cpu{cpu}/topology"))
    }

    /// The first online CPU with a topology folder: what it lacks, the kernel does not write.
    fn first_with_topology(&self, online: &CpuSet) -> Option<Cpu> {
        online.iter().find(|cpu| self.topology(*cpu).list().is_ok())
    }

    /// An id of every online CPU, by one question for each group of companions.
    fn ids(
        &self,
        first: Option<Cpu>,
        online: &CpuSet,
        file: &str,
        lists: &[&str],
    ) -> BTreeMap<Cpu, Fact<u32>> {
        let mut ids = BTreeMap::new();
        let mut refused = Vec::new();
        let asked = first.is_some_and(|cpu| self.topology(cpu).text(file) != Err(Why::Absent));
        for cpu in online.iter() {
            if !ids.contains_key(&cpu) {
                let answer = if asked { id(&self.topology(cpu), file) } else { Err(Why::Absent) };
                let fallback = self.cpuinfo.get(&cpu).and_then(|entry| entry.package);
                let answer = match (file, fallback) {
                    ("physical_package_id", Some(package)) => answer.or(Ok(package.0)),
                    _ => answer,
                };
                if answer.is_err() {
                    refused.push((cpu, answer));
                    continue;
                }
                for companion in self.group(cpu, lists).iter().chain([cpu]) {
                    ids.entry(companion).or_insert_with(|| answer.clone());
                }
            }
        }
        // Only now: the list of a later companion may have told it.
        for (cpu, answer) in refused {
            ids.entry(cpu).or_insert(answer);
        }
        ids
    }

    /// The present CPUs that a list names together with `cpu`. A list that leaves `cpu` itself out
    /// is not believed.
    fn group(&self, cpu: Cpu, names: &[&str]) -> CpuSet {
        let topology = self.topology(cpu);
        let list = |name: &&str| topology.parse::<CpuSet>(&format!("{name}_list")).ok();
        let mask = |name: &&str| CpuSet::from_mask(&topology.text(name).ok()?).ok();
        let found = names.iter().find_map(list).or_else(|| names.iter().find_map(mask));
        found.filter(|set| set.contains(cpu)).map(|set| set.and(self.present)).unwrap_or_default()
    }

    /// The core of every online CPU, named by its first thread. `core_cpus_list` came with kernel
    /// 5.3 and took the place of `thread_siblings_list`; without either, the core's id within its
    /// package tells.
    fn cores(
        &self,
        first: Option<Cpu>,
        online: &CpuSet,
        package: &BTreeMap<Cpu, Fact<u32>>,
    ) -> BTreeMap<Cpu, Cpu> {
        let old = ["thread_siblings", "core_cpus"];
        let new = ["core_cpus", "thread_siblings"];
        let is_old =
            first.is_some_and(|cpu| self.topology(cpu).text("core_cpus_list") == Err(Why::Absent));
        let names = if is_old { old } else { new };
        let mut cores: BTreeMap<Cpu, Cpu> = BTreeMap::new();
        for cpu in online.iter() {
            if cores.contains_key(&cpu) {
                continue;
            }
            let group = if first.is_some() { self.group(cpu, &names) } else { CpuSet::new() };
            // An offline CPU of an old list must not give a core its name.
            let group = group.and(online);
            let Some(core) = group.iter().find(|member| !cores.contains_key(member)) else {
                continue;
            };
            for member in group.iter() {
                cores.entry(member).or_insert(core);
            }
        }
        self.cores_by_id(online, package, &mut cores);
        cores
    }

    /// The cores of CPUs that no list named, not even that of a sibling.
    fn cores_by_id(
        &self,
        online: &CpuSet,
        package: &BTreeMap<Cpu, Fact<u32>>,
        cores: &mut BTreeMap<Cpu, Cpu>,
    ) {
        let mut by_id: BTreeMap<(u32, u32), Cpu> = BTreeMap::new();
        for cpu in online.iter() {
            if cores.contains_key(&cpu) {
                continue;
            }
            let package = package.get(&cpu).and_then(|package| package.as_ref().ok());
            let id = package.and_then(|package| Some((*package, self.core_id(cpu)?)));
            let core = id.map_or(cpu, |id| *by_id.entry(id).or_insert(cpu));
            cores.insert(cpu, core);
        }
    }

    fn core_id(&self, cpu: Cpu) -> Option<u32> {
        let entry = self.cpuinfo.get(&cpu).and_then(|entry| entry.core);
        entry.or_else(|| id(&self.topology(cpu), "core_id").ok())
    }
}

/// An id of a topology folder; -1 is the kernel's word for "not known".
fn id(topology: &Dir<'_>, file: &str) -> Fact<u32> {
    match topology.parse::<i64>(file)? {
        -1 => Err(Why::NotSupported),
        // The kernel prints some firmware's 16-bit -1 unsigned (die_id 65535 on ARM and RISC-V).
        65535 if file != "physical_package_id" => Err(Why::NotSupported),
        value => u32::try_from(value).map_err(|_| Why::Unparsed(value.to_string())),
    }
}
