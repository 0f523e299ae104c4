// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbering on the lscpu texts of 197 servers, and processor order in the raw ACPI tables of four.
//!
//! An lscpu text names no package, core or sibling of a CPU, so that the adapter here has to build
//! them from its counts: packages own equal runs of nodes, and where a core has two threads the
//! second ones are the second half of the CPU numbers, unless the nodes then have unequal numbers
//! of cores.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use machine::{Machine, Node, NumberingKind, Thread, Why};
use root::MemoryRoot;
use support::{Failed, Need, Trial, shared, trial};
use units::{Cpu, CpuSet, NodeId, PackageId};

/// Rows of INDEX.csv that are not followed, with the reason.
const DIFFERENCES: &[(&str, &str)] = &[(
    "Intel_Xeon_Xeon_Phi_7210",
    "its second node has memory only: one domain with CPUs leaves the numbering undecided",
)];

fn main() {
    let Some(text) = shared().map(|shared| shared.join("captures/text")) else {
        support::run(vec![trial("texts", &[Need::Captures], || Ok(()))]);
    };
    support::run(trials(&text))
}

fn trials(text: &Path) -> Vec<Trial> {
    let (lscpu, acpi) = (text.join("lscpu"), text.join("acpi"));
    let needs = [Need::Captures];
    let mut trials = vec![trial("lscpu/INDEX.csv", &needs, move || check_index(&lscpu))];
    for row in rows(&acpi.join("EXPECTED.csv")).unwrap_or_default() {
        let (name, acpi) = (format!("acpi/{}", row["machine"]), acpi.clone());
        trials.push(trial(name, &needs, move || check_acpi(&acpi, &row)));
    }
    trials
}

type Row = BTreeMap<String, String>;

fn rows(path: &Path) -> Result<Vec<Row>, Failed> {
    let text = std::fs::read_to_string(path)?;
    let mut lines = text.lines();
    let names = fields(lines.next().unwrap_or_default());
    let row = |line| names.iter().cloned().zip(fields(line)).collect();
    Ok(lines.map(row).collect())
}

/// Fields of a CSV line; commas in quotes are text.
fn fields(line: &str) -> Vec<String> {
    let mut quoted = false;
    let split = line.split(|c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    split.map(|field| field.trim_matches('"').to_owned()).collect()
}

fn check_index(folder: &Path) -> Result<(), Failed> {
    let rows = rows(&folder.join("INDEX.csv"))?;
    assert_eq!(rows.len(), 197);
    let mut wrong = Vec::new();
    for row in rows {
        let file = &row["file"];
        let text = std::fs::read_to_string(folder.join(file))?;
        let (machine, seen) = (from_lscpu(&text), from_lscpu(&text).numbering());
        let expected = match row["numbering"].as_str() {
            "" => NumberingKind::Undecided.to_string(),
            said => said.to_owned(),
        };
        let is_listed = DIFFERENCES.iter().any(|(start, _)| file.starts_with(start));
        if seen.kind.to_string() != expected && !is_listed {
            wrong.push(format!("{file}: said {expected}, seen {seen:?}"));
        }
        wrong.extend(check_nature(file, &row, &machine));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Two packages in one node: interleaved, unless the processor has no memory controller.
fn check_nature(file: &str, row: &Row, machine: &Machine) -> Option<String> {
    let many = row["sockets"].parse().unwrap_or(0) > 1;
    let seen = many.then(|| (row["numa_nodes"].as_str(), machine.has_front_side_bus()))?;
    let front_side_bus = ["_15-2-", "_15-4-", "_6-15-", "_6-23-", "_6-29-"];
    let is_one = file.starts_with("Intel") && front_side_bus.iter().any(|mark| file.contains(mark));
    let has_nodes = !matches!(seen.0, "" | "1");
    (seen.1 != is_one || (has_nodes && is_one))
        .then(|| format!("{file}: front-side bus {}", seen.1))
}

/// The CPU part of a machine as far as an lscpu text tells it.
fn from_lscpu(text: &str) -> Machine {
    let field = |name: &str| {
        let mut lines = text.lines();
        lines.find_map(|l| l.split_once(':').filter(|(key, _)| *key == name)).map(|(_, v)| v.trim())
    };
    let number = |name| field(name).and_then(|text| text.parse::<u32>().ok());
    let list = |name| field(name).map(|text| CpuSet::from_list(text).unwrap()).unwrap_or_default();
    let mut machine = Machine::default();
    machine.cpus.online = list("On-line CPU(s) list");
    machine.cpus.offline = list("Off-line CPU(s) list");
    machine.host.cpu_vendor = field("Vendor ID").map(str::to_owned).ok_or(Why::Absent);
    let family_model = number("CPU family").zip(number("Model"));
    machine.host.cpu_family_model = family_model.ok_or(Why::Absent);
    machine.nodes = nodes(text);
    let sockets = number("Socket(s)").unwrap_or(1).max(1);
    let half = match number("Thread(s) per core") {
        Some(2..) => number("CPU(s)").map(|cpus| cpus / 2),
        _ => None,
    };
    let all = machine.cpus.online.or(&machine.cpus.offline);
    machine.cpus.threads = all.iter().map(|cpu| thread(&machine, cpu, sockets, half)).collect();
    if half.is_some() && is_uneven(&machine) {
        machine.cpus.threads = all.iter().map(|cpu| thread(&machine, cpu, sockets, None)).collect();
    }
    machine
}

/// `NUMA node0 CPU(s):   0-7,16-23`
fn nodes(text: &str) -> Vec<Node> {
    let node = |line: &str| {
        let (id, cpus) = line.strip_prefix("NUMA node")?.split_once(" CPU(s):")?;
        Some(Node::new(NodeId(id.parse().ok()?), CpuSet::from_list(cpus).ok()?))
    };
    text.lines().filter_map(node).collect()
}

fn thread(machine: &Machine, cpu: Cpu, sockets: u32, half: Option<u32>) -> Thread {
    let count = u32::try_from(machine.nodes.len()).unwrap();
    let node = machine.nodes.iter().find(|node| node.cpus.contains(cpu)).map(|node| node.id);
    let package = match count / sockets {
        0 if sockets == 1 => Ok(PackageId(0)),
        0 => Err(Why::Absent),
        per_package => node.map(|node| PackageId(node.0 / per_package)).ok_or(Why::Absent),
    };
    let second = half.is_some_and(|half| cpu.0 >= half);
    Thread {
        online: machine.cpus.online.contains(cpu),
        package,
        core: Cpu(cpu.0 - if second { half.unwrap_or(0) } else { 0 }),
        rank: u32::from(second),
        node,
        ..Thread::new(cpu)
    }
}

/// Whether the first threads are spread unevenly: then they are not the first half.
fn is_uneven(machine: &Machine) -> bool {
    let mut cores: BTreeMap<_, (u32, u32)> = BTreeMap::new();
    for thread in &machine.cpus.threads {
        let counts = cores.entry(thread.node).or_default();
        if thread.rank == 0 { counts.0 += 1 } else { counts.1 += 1 }
    }
    cores.values().any(|(first, second)| first != second)
}

fn check_acpi(folder: &Path, row: &Row) -> Result<(), Failed> {
    let mut root = MemoryRoot::new();
    for entry in std::fs::read_dir(folder.join(&row["machine"]))? {
        let path = entry?.path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        root.file(&format!("/sys/firmware/acpi/tables/{name}"), std::fs::read(path)?);
    }
    let acpi = nearside_linux::read(&root).acpi;
    let domain_of: BTreeMap<u32, u32> = acpi.srat_cpus.unwrap().into_iter().collect();
    let madt = acpi.madt.unwrap();
    assert_eq!(madt.len().to_string(), row["enabled_cpus"]);
    // Threads of a core differ in the last bit of their APIC ids; only the first one counts.
    let mut seen = BTreeSet::new();
    let cores = madt.iter().filter(|id| seen.insert(*id >> 1));
    let order: Vec<u32> = cores.map(|id| domain_of[id]).collect();
    assert_eq!(pattern(&order), row["madt_domain_order"]);
    let mut domains = order;
    domains.sort_unstable();
    domains.dedup();
    assert_eq!(words(&domains), row["domains"]);
    assert_eq!(slit_words(acpi.slit.ok(), domains.len()), row["slit"]);
    let aspm = if acpi.fadt_no_aspm.unwrap() { "yes" } else { "no" };
    assert_eq!(aspm, row["fadt_no_aspm"]);
    Ok(())
}

fn words<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// The order of domains in the words of EXPECTED.csv.
fn pattern(order: &[u32]) -> String {
    let mut runs: Vec<(u32, usize)> = Vec::new();
    for domain in order {
        match runs.last_mut() {
            Some((last, length)) if last == domain => *length += 1,
            _ => runs.push((*domain, 1)),
        }
    }
    match &runs[..] {
        [(domain, _)] => format!("{domain} only (undecided)"),
        runs if runs.iter().all(|(_, length)| *length == 1) => {
            let mut domains = order.to_vec();
            domains.sort_unstable();
            domains.dedup();
            format!("{} (round robin)", words(&order[..domains.len() * 2]))
        }
        runs => {
            let runs: Vec<_> = runs.iter().map(|(d, n)| format!("{d} x{n}")).collect();
            format!("{} (linear)", runs.join(" then "))
        }
    }
}

fn slit_words(slit: Option<Vec<Vec<u8>>>, domains: usize) -> String {
    let Some(rows) = slit else { return "none".to_owned() };
    if rows.len() == domains {
        return rows.iter().map(|row| words(row)).collect::<Vec<_>>().join(" / ");
    }
    let mut kinds: Vec<u8> = rows.iter().flatten().copied().collect();
    kinds.sort_unstable();
    kinds.dedup();
    let kinds: Vec<_> = kinds.iter().map(u8::to_string).collect();
    format!("{0}x{0} for {domains} domains: {1}", rows.len(), kinds.join("/"))
}
