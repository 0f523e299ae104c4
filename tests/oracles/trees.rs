// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trees of real machines: lstopo and lscpu run on each, and what the README says is true of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Capture, Failed, Need, Trial, failed, trial};

use crate::document::{self, Document, plain};
use crate::facts::{Excuse, differences, judge};
use crate::{lscpu, lstopo};

/// Differences that are no mistakes, by root.
const EXCUSES: &[Excuse] = &[];

/// (root, pointer into the document, value): the README's table.
const README: &[(&str, &str, &str)] = &[];

pub(crate) fn trials() -> Vec<Trial> {
    let needs = [Need::Captures, Need::Tool("lstopo-no-graphics"), Need::Tool("lscpu")];
    let check = |capture: Capture| {
        trial(format!("trees/{}", capture.name), &needs, move || check(&capture))
    };
    support::tree_captures().into_iter().map(check).collect()
}

fn check(capture: &Capture) -> Result<(), Failed> {
    let folder = capture.folder().map_err(failed)?;
    let mut roots = Vec::new();
    find_roots(&folder, &mut roots);
    let mut wrong = Vec::new();
    for root in roots {
        let below = root.strip_prefix(&folder).map_err(failed)?.display().to_string();
        let name = format!("{}/{below}", capture.name);
        let name = name.trim_end_matches('/');
        let document = document::topology(&["--from".as_ref(), root.as_os_str()])?;
        let mut found = readme(name, &document);
        found.extend(ask_lstopo(&root, &document)?);
        found.extend(ask_lscpu(&root, &document)?);
        wrong.extend(judge(name, found, EXCUSES).err().and_then(|error| error.message().map(str::to_owned)));
    }
    if wrong.is_empty() { Ok(()) } else { Err(failed(wrong.join("\n"))) }
}

/// Folders that hold a machine, as the README defines it.
fn find_roots(folder: &Path, roots: &mut Vec<PathBuf>) {
    const MARKS: [&str; 4] = ["sys/devices", "sys/class", "proc/cpuinfo", "proc/interrupts"];
    if MARKS.iter().any(|mark| folder.join(mark).exists()) {
        roots.push(folder.to_owned());
        return;
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.filter(is_folder).for_each(|entry| find_roots(&entry.path(), roots));
}

fn readme(name: &str, document: &Document) -> Vec<String> {
    let rows = README.iter().filter(|row| row.0 == name);
    let wrong = rows.filter(|(_, at, value)| value_at(document, at) != *value);
    wrong.map(|(_, at, value)| format!("README {at}: said {value}, the document {}", value_at(document, at))).collect()
}

/// `#nodes` counts a list, `functions 0000:3e:00.0 node` is a field, `/cpus/online` a pointer.
fn value_at(document: &Document, at: &str) -> String {
    let words: Vec<&str> = at.split(' ').collect();
    match words.as_slice() {
        ["functions", address, field] => {
            plain(&document.find("functions", "address", address)[*field])
        }
        ["functions", "-"] => {
            let functions = document.list("functions").iter();
            functions.filter(|function| function["node_from"] != "own").count().to_string()
        }
        [list] if list.starts_with('#') => document.list(&list[1..]).len().to_string(),
        _ => plain(document.at(at)),
    }
}

fn ask_lstopo(root: &Path, document: &Document) -> Result<Vec<String>, Failed> {
    if !root.join("sys/devices/system/cpu/cpu0").exists() {
        return Ok(Vec::new());
    }
    let objects = lstopo::run(root)?;
    let texts = differences("lstopo", &lstopo::said(&objects, document), &lstopo::ours(document));
    Ok(texts.into_iter().map(|text| format!("lstopo {text}")).collect())
}

/// What `lscpu --sysroot` says, where it can read the tree.
fn ask_lscpu(root: &Path, document: &Document) -> Result<Vec<String>, Failed> {
    let has = |file: &str| root.join(file).exists();
    if !has("proc/cpuinfo") || !has("sys/devices/system/cpu/possible") {
        return Ok(Vec::new());
    }
    let mut command = Command::new("lscpu");
    command.arg("--sysroot").arg(root).arg("-p=CPU,NODE,SOCKET,CORE").env("LC_ALL", "C");
    let output = command.output().map_err(failed)?;
    let rows = lscpu::rows(&String::from_utf8_lossy(&output.stdout));
    let texts = differences("lscpu", &lscpu::said(&rows), &lscpu::ours(document));
    Ok(texts.into_iter().map(|text| format!("lscpu {text}")).collect())
}
