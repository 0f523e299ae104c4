// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every captured tree against lstopo, `lscpu --sysroot`, and what its README says is true of it.
//!
//! Differences that are no mistakes stand in [`DIFFERENCES`], each with its reason.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use machine::Machine;
use root::DirRoot;
use support::{Capture, Failed, Need, Trial, lab_captures, tree_captures, trial};
use units::CpuSet;

/// (root, what, reason): where an oracle is not followed.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    (
        "hwloc-64amd64-4s2n4ca2co/64amd64-4s2n4ca2co",
        "lstopo cores",
        "lstopo splits the two threads of a Bulldozer module into cores; kernel and lscpu do not",
    ),
    (
        "hwloc-nvidiagpunumanodes/nvidiagpunumanodes",
        "lstopo allowed",
        "cpuset.effective_cpus is 0-87, which binds; lstopo 2.9 reads cpuset.cpus, 0-175",
    ),
    (
        "lscpu-ppc64-POWER7/ppc64-POWER7",
        "lstopo packages",
        "physical_package_id is -1, which is unknown: lstopo takes core_siblings instead",
    ),
    ("lscpu-ppc64-POWER7/ppc64-POWER7", "lscpu packages", "as lstopo"),
    ("lscpu-s390-kvm/s390-kvm", "lstopo packages", "physical_package_id is -1, as above"),
    ("lscpu-s390-kvm/s390-kvm", "lscpu packages", "physical_package_id is -1, as above"),
    ("lscpu-s390-kvm/s390-kvm", "lstopo nodes", "the tree has no node folder; lstopo makes one up"),
];

/// What the README says: (root, packages, nodes, CPUs, numbering); 0 and "" where it says nothing.
const README: &[(&str, usize, usize, usize, &str)] = &[
    ("r740xd-gold6230-rt", 2, 2, 80, "round-robin"),
    ("r740xd-gold6130-nosmt", 2, 2, 32, "round-robin"),
    ("r640-gold6230-dangling", 2, 2, 80, "round-robin"),
    ("vm-kvm-q35-12vcpu", 0, 0, 12, ""),
    ("vm-gce-2vcpu", 0, 1, 2, ""),
    ("dell-2x-l5640", 2, 2, 24, ""),
    ("snc2-pmem-server-desktop/sysfs/server", 2, 6, 112, ""),
    ("hybrid-laptop/sample1", 1, 1, 16, "undecided"),
    ("hwloc-32em64t-2n8c+dax+nvme+mic+dimms/32em64t-2n8c+1mic", 2, 2, 16, ""),
    ("hwloc-40intel64-2g2n4c+pcilocality/40intel64-2g2n4c+pci", 4, 4, 40, "round-robin"),
    ("hwloc-32intel64-2p8co2t+8ve/32intel64-2p8co2t+8ve", 2, 2, 32, ""),
    ("hwloc-48amd64-4pa2n6c-sparse/48amd64-4d2n6c-sparse", 4, 8, 48, ""),
    ("hwloc-16amd64-8n2c/16amd64-8n2c", 8, 8, 16, ""),
    ("hwloc-16amd64-8n2c-cpusets/16amd64-8n2c-cpusets", 8, 8, 16, ""),
    ("hwloc-128arm-2pa2n8cluster4co/128arm-2pa2n8cluster4co", 2, 4, 128, ""),
    ("hwloc-memorysidecaches/memorysidecaches", 2, 4, 80, "round-robin"),
    ("hwloc-64amd64-4s2n4ca2co/64amd64-4s2n4ca2co", 4, 8, 64, ""),
    ("hwloc-nvidiagpunumanodes/nvidiagpunumanodes", 2, 8, 0, ""),
    ("hwloc-offline-cpu0-node0/offline-cpu0-node0", 2, 1, 0, ""),
    ("hwloc-20em64t-hybrid-1p6c2t+2ca4co1t/20em64t-hybrid-1p6c2t+2ca4co1t", 1, 1, 20, ""),
    ("vm-offline-cpus", 0, 0, 4, ""),
    ("snc2-linear", 2, 4, 16, "linear"),
    ("snc2-round-robin", 2, 4, 16, "round-robin"),
    ("nps4", 1, 4, 16, "linear"),
    ("r7725xd-twin", 2, 2, 8, "linear"),
    ("vtd-multiqueue", 0, 4, 8, "linear"),
];

/// (root, sub-NUMA kind, nodes a package, siblings): what follows from the README's words.
const KINDS: &[(&str, &str, u32, &str)] = &[
    ("r740xd-gold6230-rt", "none", 1, "second-half"),
    ("r740xd-gold6130-nosmt", "none", 1, "none"),
    ("snc2-pmem-server-desktop/sysfs/server", "snc", 2, "second-half"),
    ("snc2-pmem-server-desktop/sysfs/4-socket-server-nosnc", "none", 1, "second-half"),
    ("hwloc-memorysidecaches/memorysidecaches", "snc", 2, "second-half"),
    ("hwloc-128arm-2pa2n8cluster4co/128arm-2pa2n8cluster4co", "unknown", 2, "none"),
    ("hwloc-64amd64-4s2n4ca2co/64amd64-4s2n4ca2co", "unknown", 2, "adjacent"),
    ("snc2-linear", "snc", 2, "adjacent"),
    ("snc2-round-robin", "snc", 2, "second-half"),
    ("nps4", "nps", 4, "adjacent"),
    ("r7725xd-twin", "none", 1, "none"),
];

fn main() {
    let all: Vec<Capture> = tree_captures().into_iter().chain(lab_captures()).collect();
    let checks: [(&str, &[Need], Check); 3] = [
        ("readme", &[Need::Captures], |root, _, machine| {
            Ok(readme(root, machine).into_iter().chain(kinds(root, machine)).collect())
        }),
        ("lstopo", &[Need::Captures, Need::Tool("lstopo-no-graphics")], lstopo_agrees),
        ("lscpu", &[Need::Captures, Need::Tool("lscpu")], lscpu_agrees),
    ];
    let mut trials: Vec<Trial> = Vec::new();
    for (what, needs, check) in checks {
        if all.is_empty() {
            trials.push(trial(what, needs, || Ok(())));
        }
        trials.extend(all.iter().cloned().map(|capture| {
            trial(format!("{what}/{}", capture.name), needs, move || each_root(&capture, check))
        }));
    }
    trials.extend(all.into_iter().map(|capture| {
        let name = format!("rows/{}", capture.name);
        trial(name, &[Need::Captures], move || rows_are_there(&capture))
    }));
    support::run(trials)
}

/// Differences of a root, by its name and folder, from what is known or told of it.
type Check = fn(&str, &Path, &Machine) -> Result<Vec<String>, Failed>;

fn lstopo_agrees(_: &str, path: &Path, machine: &Machine) -> Result<Vec<String>, Failed> {
    let there = path.join("sys/devices/system/cpu/cpu0").exists();
    if there { lstopo(path, machine) } else { Ok(Vec::new()) }
}

fn lscpu_agrees(_: &str, path: &Path, machine: &Machine) -> Result<Vec<String>, Failed> {
    let there = path.join("proc/cpuinfo").exists();
    Ok(if there { lscpu(path, machine) } else { Vec::new() })
}

/// The roots of a capture, by name and folder.
fn named_roots(capture: &Capture) -> Result<Vec<(String, PathBuf)>, Failed> {
    let (folder, name) = (capture.folder()?, &capture.name);
    let mut found = Vec::new();
    for path in capture.roots()? {
        let below = path.strip_prefix(&folder)?.to_string_lossy().into_owned();
        let root = match below.as_str() {
            "" | "tree" => name.clone(),
            below => format!("{name}/{below}"),
        };
        found.push((root, path));
    }
    Ok(found)
}

/// Every row of the README's table about this capture speaks of a root that is in it.
fn rows_are_there(capture: &Capture) -> Result<(), Failed> {
    let roots = named_roots(capture)?;
    let own = |row: &&str| row.split('/').next() == Some(&capture.name);
    let mut rows = README.iter().map(|row| row.0).filter(own);
    match rows.find(|row| !roots.iter().any(|(root, _)| root == row)) {
        Some(row) => Err(format!("{row}: in the README table, not in the archive").into()),
        None => Ok(()),
    }
}

/// Checks every root of one capture and reports all differences together.
fn each_root(capture: &Capture, check: Check) -> Result<(), Failed> {
    let mut found = Vec::new();
    for (root, path) in named_roots(capture)? {
        let machine = nearside_linux::read(&DirRoot::open(&path)?);
        let mut differences = check(&root, &path, &machine)?;
        differences.retain(|text| {
            !DIFFERENCES.iter().any(|(at, what, _)| *at == root && text.starts_with(what))
        });
        found.extend(differences.into_iter().map(|text| format!("{root}: {text}")));
    }
    if found.is_empty() { Ok(()) } else { Err(found.join("\n").into()) }
}

/// What a program prints.
fn output(command: &mut Command) -> Result<String, Failed> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn readme(root: &str, machine: &Machine) -> Vec<String> {
    let Some((_, packages, nodes, cpus, numbering)) = README.iter().find(|row| row.0 == root)
    else {
        return Vec::new();
    };
    let mut differences = Vec::new();
    for (what, said, seen) in [
        ("packages", *packages, machine.packages().len()),
        ("nodes", *nodes, machine.nodes.len()),
        ("CPUs", *cpus, machine.cpus.threads.len()),
    ] {
        if said != 0 && said != seen {
            differences.push(format!("README {what}: said {said}, seen {seen}"));
        }
    }
    let seen = machine.numbering();
    if !numbering.is_empty() && *numbering != seen.kind.to_string() {
        differences.push(format!("README numbering: said {numbering}, seen {seen:?}"));
    }
    differences
}

fn kinds(root: &str, machine: &Machine) -> Option<String> {
    let (_, kind, per_package, siblings) = KINDS.iter().find(|row| row.0 == root)?;
    let seen = machine.sub_numa();
    let is_same = seen.kind.to_string() == *kind
        && seen.per_package == *per_package
        && machine.siblings().to_string() == *siblings;
    (!is_same).then(|| format!("kinds: {seen:?}, siblings {}", machine.siblings()))
}

/// One `<object ...>` of lstopo's XML.
struct Object<'a>(&'a str);

impl<'a> Object<'a> {
    fn attribute(&self, name: &str) -> Option<&'a str> {
        let (_, rest) = self.0.split_once(&format!(" {name}=\""))?;
        rest.split('"').next()
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.attribute(name)?.parse().ok()
    }

    /// `0x00000001,0x00000003`, highest word first.
    fn cpus(&self) -> CpuSet {
        self.cpus_of("cpuset")
    }

    fn cpus_of(&self, name: &str) -> CpuSet {
        CpuSet::from_mask(&self.attribute(name).unwrap_or("0").replace("0x", "")).unwrap()
    }
}

type Facts = BTreeMap<&'static str, BTreeSet<String>>;

fn lstopo(path: &Path, machine: &Machine) -> Result<Vec<String>, Failed> {
    let mut command = Command::new("lstopo-no-graphics");
    command.env("HWLOC_COMPONENTS", "-x86").env_remove("HWLOC_FSROOT");
    // Without this, GPU memory nodes of POWER9 are hidden.
    command.env("HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES", "1").arg("-i").arg(path).args([
        "--if",
        "fsroot",
        "--whole-io",
        "--disallowed",
    ]);
    let xml = output(command.args(["--of", "xml"]))?;
    let mut said = Facts::new();
    let mut all = CpuSet::new();
    let mut modules = 0;
    for object in xml.lines().map(str::trim).filter(|line| line.starts_with("<object ")).map(Object)
    {
        let cpus = object.cpus();
        let index = object.number("os_index");
        let (what, text) = match object.attribute("type").unwrap_or_default() {
            "Package" => ("packages", format!("{index:?} {cpus}")),
            "Core" => ("cores", cpus.to_string()),
            "NUMANode" => {
                let memory = object.number("local_memory").unwrap_or(0);
                let own = index.filter(|index| has_cpus(machine, *index));
                // lstopo hangs nodes of memory only at the CPUs that are nearest.
                let cpus = own.map(|_| cpus).unwrap_or_default();
                ("nodes", format!("{index:?} {cpus} {memory:?}"))
            }
            "L3Cache" => ("L3", format!("{cpus} {:?}", object.number("cache_size"))),
            "L2Cache" => ("L2", format!("{cpus} {:?}", object.number("cache_size"))),
            "Misc" if object.attribute("subtype") == Some("MemoryModule") => {
                modules += 1;
                continue;
            }
            "PU" => ("CPUs", format!("{index:?}")),
            "Machine" => {
                all = cpus;
                ("allowed", object.cpus_of("allowed_cpuset").and(&all).to_string())
            }
            _ => continue,
        };
        said.entry(what).or_default().insert(text);
    }
    let mut differences = compare("lstopo", &said, &ours(machine, &all));
    // lstopo names modules by the kernel's entries alone, and leaves empty slots out.
    let filled = machine.dimms.iter().filter(|dimm| dimm.size.0 > 0).count();
    if path.join("sys/firmware/dmi/entries").exists() && modules != filled {
        differences.push(format!("lstopo memory modules: {modules}, ours {filled}"));
    }
    Ok(differences)
}

fn has_cpus(machine: &Machine, index: u64) -> bool {
    machine.nodes_with_cpus().any(|node| u64::from(node.id.0) == index)
}

/// The same facts from the model, as lstopo counts: online CPUs that have files.
fn ours(machine: &Machine, all: &CpuSet) -> Facts {
    let mut facts = Facts::new();
    let mut add = |what, text| facts.entry(what).or_default().insert(text);
    add("allowed", machine.cpus.allowed.to_string());
    for package in machine.packages() {
        add("packages", format!("{:?} {}", package.id.map(|id| u64::from(id.0)), package.cpus));
    }
    let mut cores: BTreeMap<_, CpuSet> = BTreeMap::new();
    for thread in machine.cpus.threads.iter().filter(|thread| thread.online) {
        cores.entry(thread.core).or_default().insert(thread.cpu);
        add("CPUs", format!("{:?}", Some(u64::from(thread.cpu.0))));
    }
    for cpus in cores.values() {
        add("cores", cpus.to_string());
    }
    for node in &machine.nodes {
        let memory = node.memory.as_ref().map_or(0, |bytes| bytes.0);
        let id = Some(u64::from(node.id.0));
        add("nodes", format!("{id:?} {} {memory:?}", node.cpus.and(all)));
    }
    for cache in machine.caches.iter().filter(|cache| cache.kind != machine::CacheKind::Instruction)
    {
        let text = format!("{} {:?}", cache.cpus, Some(cache.size.as_ref().map_or(0, |b| b.0)));
        match cache.level {
            2 => add("L2", text),
            3 => add("L3", text),
            _ => false,
        };
    }
    facts
}

fn compare(oracle: &str, said: &Facts, seen: &Facts) -> Vec<String> {
    let names: BTreeSet<_> = said.keys().chain(seen.keys()).collect();
    let empty = BTreeSet::new();
    let mut differences = Vec::new();
    for name in names {
        let (said, seen) = (said.get(*name).unwrap_or(&empty), seen.get(*name).unwrap_or(&empty));
        let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| {
            a.difference(b).take(6).cloned().collect::<Vec<_>>().join("; ")
        };
        if said != seen {
            let (a, b) = (only(said, seen), only(seen, said));
            differences.push(format!("{oracle} {name}: it alone [{a}], we alone [{b}]"));
        }
    }
    differences
}

/// Groups of `lscpu -p`: its core and socket numbers are its own, so that only who is together
/// with whom is compared; node numbers too are its own, ascending.
fn lscpu(path: &Path, machine: &Machine) -> Vec<String> {
    let mut command = Command::new("lscpu");
    command.arg("--sysroot").arg(path).arg("-p=CPU,CORE,SOCKET,NODE").env("LC_ALL", "C");
    let Ok(text) = output(&mut command) else { return Vec::new() };
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|l| l.split(',').collect())
        .collect();
    let mut said = Facts::new();
    for (column, what) in [(1, "cores"), (2, "packages"), (3, "nodes")] {
        let mut groups: BTreeMap<&str, CpuSet> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.get(column).is_some_and(|text| !text.is_empty())) {
            groups.entry(row[column]).or_default().insert(units::Cpu(row[0].parse().unwrap()));
        }
        said.insert(what, groups.values().map(ToString::to_string).collect());
    }
    let mut seen = Facts::new();
    let mut groups: BTreeMap<(&'static str, u32), CpuSet> = BTreeMap::new();
    for thread in machine.cpus.threads.iter().filter(|thread| thread.online) {
        let mut add = |what, id| groups.entry((what, id)).or_default().insert(thread.cpu);
        add("cores", thread.core.0);
        if let Ok(package) = &thread.package {
            add("packages", package.0);
        }
        if let Some(node) = thread.node {
            add("nodes", node.0);
        }
    }
    for ((what, _), cpus) in groups {
        seen.entry(what).or_default().insert(cpus.to_string());
    }
    seen.entry("nodes").or_default();
    seen.entry("packages").or_default();
    compare("lscpu", &said, &seen)
}
