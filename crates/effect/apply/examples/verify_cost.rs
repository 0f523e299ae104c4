// SPDX-License-Identifier: MIT OR Apache-2.0
//! A journal of many knobs of this machine, for `cargo xtask bench`: what `verify` of it costs is
//! held against `cat` of the same files.
//!
//! `verify_cost JOURNAL LIST`: a transaction that set each knob to what it holds, and their paths.

use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use journal::{Begin, Intent, Journal, Raw, Receipt, Record, Wait};
use setting::{Form, Outcome, Place};

/// As many as a large server has of knobs.
const KNOBS: usize = 10_000;

/// Folders with knobs.
const TOPS: [&str; 4] = ["/proc/sys", "/sys/devices", "/sys/kernel/slab", "/sys/module"];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [journal, list] = arguments.as_slice() else {
        return Err("verify_cost JOURNAL LIST".into());
    };
    let mut files = Vec::new();
    TOPS.iter().for_each(|top| collect(Path::new(top), &mut files));
    if files.is_empty() {
        return Err("this machine shows no knob".into());
    }
    let paths: Vec<&String> = files.iter().cycle().take(KNOBS).collect();
    let _ = fs::remove_file(journal);
    fill(&mut Journal::open(Path::new(journal), Wait::Refuse)?, &paths, files.len())?;
    let lines: String = paths.iter().map(|path| format!("{path}\n")).collect();
    fs::write(list, lines)?;
    Ok(())
}

/// Files that can be written, read, and read the same again.
fn collect(folder: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        if kind.is_dir() {
            collect(&path, files);
        } else if kind.is_file() && files.len() < KNOBS && is_knob(&path) {
            files.extend(path.to_str().map(str::to_owned));
        }
    }
}

fn is_knob(path: &Path) -> bool {
    let mode = fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
    let read = || fs::read_to_string(path).ok().filter(|text| text.len() < 4096);
    mode & 0o600 == 0o600 && read().is_some_and(|text| read() == Some(text))
}

/// A transaction that set each file to what it holds. Each counts as a place of its own.
fn fill(journal: &mut Journal, paths: &[&String], files: usize) -> Result<(), Box<dyn Error>> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
    let text = String::new;
    let begin = Begin {
        transaction: 0,
        boot,
        at: text(),
        version: text(),
        why: text(),
        owner: None,
        network: None,
        guard: None,
    };
    let mut intents = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        let before = Raw::new(fs::read(path.as_str())?);
        intents.push(Intent {
            setting: "knob".to_owned(),
            device: None,
            // Dots tell the same file apart, so that none is left out as seen.
            place: Place::File { path: spelled(path, index / files) },
            part: String::new(),
            path: (*path).clone(),
            form: Form::Text,
            to: before.trimmed().to_owned(),
            before,
            witnesses: Vec::new(),
        });
    }
    let transaction = journal.intend(begin, &intents)?;
    for (index, intent) in intents.into_iter().enumerate() {
        let after = Some(intent.before);
        let receipt =
            Receipt { outcome: Outcome::Applied, after, witnesses: Vec::new(), path: None };
        journal.append(Record::Receipt { transaction, index, receipt })?;
    }
    Ok(())
}

/// The same path in a spelling of its own for each round through the files.
fn spelled(path: &str, round: usize) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    format!("{folder}{}/{name}", "/.".repeat(round))
}
