// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mutated trees: machines whose files are cut, padded, gone, refused, full of noise or looped are
//! read, audited and drawn in this process; nothing panics and no number is wrong.
//!
//! `NEARSIDE_MUTATIONS` says how many there are in all (200 unless told); a seed is a mutation, so
//! that `NEARSIDE_MUTATION_SEED=N` tries that one again, on every machine chosen by name. What
//! "wrong" means is in `rules` (true of every machine) and `scope` (true compared with the same
//! machine unharmed).

mod harm;
mod pipeline;
mod rules;
mod schema;
mod scope;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use catalogue::Catalogue;
use root::Root;
use support::{Failed, Need, Trial, failed, trial};

use harm::{Asked, Harm};
use pipeline::Said;

/// Machines small enough to be read thousands of times.
const MACHINES: [&str; 7] = [
    "cxl-memory",
    "epyc-7551",
    "faulty",
    "r770-factory",
    "r770-snc-linear",
    "sick-two-socket",
    "virtual-machine",
];

/// The captures among `trees` that hold one machine each and differ most from each other.
const TREES: [&str; 6] = [
    "dell-2x-l5640",
    "hwloc-32em64t-2n8c+dax+nvme+mic+dimms",
    "hwloc-48amd64-4pa2n6c-sparse",
    "hwloc-offline-cpu0-node0",
    "vm-kvm-q35-12vcpu",
    "vm-offline-cpus",
];

/// No mutation may make reading a machine cost more memory than this: a healthy one costs a tenth.
const MOST_RESIDENT_KIB: u64 = 512 << 10;

fn main() {
    let lab = support::lab_captures();
    let trees: Vec<_> = support::tree_captures()
        .into_iter()
        .filter(|capture| TREES.contains(&capture.name.as_str()))
        .collect();
    // Reading a captured machine takes ten times as long as a made-up one: they get a tenth each.
    let captures = lab.len() + trees.len();
    let share = mutations().div_ceil((MACHINES.len() * 10 + captures) as u64);
    let mut trials: Vec<Trial> = MACHINES
        .into_iter()
        .map(|name| trial(format!("synthetic/{name}"), &[], move || made_up(name, share * 10)))
        .collect();
    for capture in lab.into_iter().chain(trees) {
        let (name, archive) = (format!("captures/{}", capture.name), capture.archive.clone());
        trials.push(trial(name, &[Need::Captures], move || captured(archive, share)));
    }
    if captures == 0 {
        trials.push(trial("captures", &[Need::Captures], || Ok(())));
    }
    support::run(trials)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn mutations() -> u64 {
    number("NEARSIDE_MUTATIONS").unwrap_or(200)
}

fn made_up(name: &str, count: u64) -> Result<(), Failed> {
    let text = synthetic::named(name).ok_or_else(|| failed("no such machine"))?;
    let root = synthetic::parse(text).map_err(failed)?.build();
    mutate(name, &root, count)
}

fn captured(archive: PathBuf, count: u64) -> Result<(), Failed> {
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    // A lab capture holds its machine in `tree`.
    let opened = root::open(&archive, None).or_else(|_| root::open(&archive, Some("tree")));
    mutate(&name, &*opened.map_err(failed)?.root, count)
}

/// The whole pipeline over so many mutations of a machine.
fn mutate(name: &str, root: &dyn Root, count: u64) -> Result<(), Failed> {
    let catalogue = Catalogue::built_in();
    let asked = Asked::new(root);
    let healthy = pipeline::run(&asked, &catalogue);
    rules::hold(&healthy).map_err(|wrong| failed(format!("{name}, unharmed: {wrong}")))?;
    let paths = asked.into_paths();
    let seeds = match number("NEARSIDE_MUTATION_SEED") {
        Some(seed) => vec![seed],
        None => (0..count).map(|index| seed(name, index)).collect(),
    };
    let mut wrongs = Vec::new();
    for seed in &seeds {
        let harm = Harm::new(*seed, &paths);
        if let Err(wrong) = one(root, &catalogue, &healthy, &harm) {
            wrongs.push(format!("seed {seed}: {wrong}\n  faults:{harm}"));
        }
    }
    report(&wrongs, seeds.len())
}

/// Each machine has mutations of its own, so that many machines are not one mutation many times.
fn seed(name: &str, index: u64) -> u64 {
    let start = name.bytes().fold(17_u64, |sum, byte| sum * 31 % 1009 + u64::from(byte));
    start * 1_000_000 + index
}

fn report(wrongs: &[String], tried: usize) -> Result<(), Failed> {
    if wrongs.is_empty() {
        return Ok(());
    }
    let shown: Vec<&str> = wrongs.iter().take(10).map(String::as_str).collect();
    Err(failed(format!(
        "{} of {tried} mutations went wrong\n{}\nto try one again: NEARSIDE_MUTATION_SEED=SEED \
         cargo test -p nearside --test mutations -- NAME",
        wrongs.len(),
        shown.join("\n")
    )))
}

fn one(root: &dyn Root, catalogue: &Catalogue, healthy: &Said, harm: &Harm) -> Result<(), String> {
    let harmed = harm.put_into(root);
    let said = catch_unwind(AssertUnwindSafe(|| pipeline::run(&harmed, catalogue)));
    let said = said.map_err(|panic| format!("panicked: {}", words(&*panic)))?;
    rules::hold(&said)?;
    scope::hold(root, healthy, &said, harm)?;
    match peak() {
        Some(kib) if kib > MOST_RESIDENT_KIB => Err(format!("took {kib} KiB of memory")),
        _ => Ok(()),
    }
}

fn words(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text")
}

/// The most memory this process has had, in KiB: `VmHWM:     12345 kB`.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
