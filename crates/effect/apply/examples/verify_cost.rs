// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPU time of verifying many knobs against that of reading the same files with `cat`:
//! `cargo run --release -p nearside-apply --example verify_cost`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use journal::{Begin, Intent, Journal, MemoryMedium, Raw, Receipt, Record};
use nearside_apply::{Standing, verify};
use root::LiveRoot;
use setting::{Form, Outcome, Place};
use wait4::Wait4;

/// As many as a large server has of knobs.
const KNOBS: usize = 10_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut files = Vec::new();
    for folder in ["/proc/sys/vm", "/proc/sys/net/core", "/sys/devices/system/cpu", "/sys/block"] {
        collect(Path::new(folder), &mut files, 0);
    }
    let paths: Vec<&String> = files.iter().cycle().take(KNOBS).collect();
    let mut journal = Journal::on(Box::new(MemoryMedium::default()), Path::new("memory"))?;
    fill(&mut journal, &paths)?;
    let root = LiveRoot::open()?;
    let before = own_cpu_ns()?;
    let verified = verify(&root, journal.transactions())?;
    let ours = own_cpu_ns()? - before;
    let as_set = verified.iter().filter(|one| one.standing == Standing::AsSet).count();
    let mut cat =
        Command::new("cat").args(&paths).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let usage = cat.wait4()?.rusage;
    let theirs = (usage.utime + usage.stime).as_nanos();
    #[expect(clippy::print_stdout, reason = "an example that prints its figures")]
    {
        println!(
            "{} knobs, {as_set} as set: {} us; cat: {} us",
            verified.len(),
            ours / 1000,
            theirs / 1000
        );
    }
    Ok(())
}

/// Files that can be read and written, a few folders deep.
fn collect(folder: &Path, files: &mut Vec<String>, depth: u32) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && depth < 4 && !entry.path().ends_with("subsystem") {
            collect(&path, files, depth + 1);
        } else if fs::read_to_string(&path).is_ok_and(|text| text.len() < 4096) {
            files.extend(path.to_str().map(str::to_owned));
        }
    }
}

/// A transaction that set each file to what it holds. Each counts as a place of its own.
fn fill(journal: &mut Journal, paths: &[&String]) -> Result<(), Box<dyn std::error::Error>> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
    let text = String::new;
    let begin = Begin { transaction: 0, boot, at: text(), version: text(), why: text() };
    let transaction = journal.begin(begin)?;
    for (index, path) in paths.iter().enumerate() {
        let before = Raw::new(fs::read(path.as_str())?);
        let intent = Intent {
            setting: "knob".to_owned(),
            device: None,
            // Dots tell the same file apart, so that none is left out as seen.
            place: Place::File { path: spelled(path, index) },
            part: String::new(),
            path: (*path).clone(),
            form: Form::Text,
            to: before.trimmed().to_owned(),
            before,
            witnesses: Vec::new(),
        };
        journal.append(Record::Intend { transaction, index, intent: Box::new(intent) })?;
    }
    journal.append(Record::Ready { transaction })?;
    for (index, path) in paths.iter().enumerate() {
        let after = Some(Raw::new(fs::read(path.as_str())?));
        let receipt =
            Receipt { outcome: Outcome::Applied, after, witnesses: Vec::new(), path: None };
        journal.append(Record::Receipt { transaction, index, receipt })?;
    }
    Ok(())
}

/// The same path in a spelling of its own for each round through the files.
fn spelled(path: &str, index: usize) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    format!("{folder}{}/{name}", "/.".repeat(index / 500))
}

/// Nanoseconds that this thread was on a CPU.
fn own_cpu_ns() -> Result<u128, Box<dyn std::error::Error>> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().unwrap_or_default().parse()?)
}
