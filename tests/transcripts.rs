// SPDX-License-Identifier: MIT OR Apache-2.0
//! The transcripts in docs/transcripts are what the program prints of the captures today.
//!
//! Every console block there that reads a captured machine is run beside the archive that it names
//! and compared. `TRANSCRIPTS=overwrite cargo test --test transcripts` writes what is printed now;
//! read the difference before committing it. What was printed of a live machine is kept as it was.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Capture, Failed, Need, Trial, failed, trial};

/// What opens and what ends a block that is run.
const OPEN: &str = "```console\n$ nearside ";
const CLOSE: &str = "\n```";

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/transcripts");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    pages.sort();
    support::run(pages.into_iter().filter_map(page).collect())
}

/// A trial for a page that reads captures.
fn page(path: PathBuf) -> Option<Trial> {
    let text = fs::read_to_string(&path).ok().filter(|text| text.contains(OPEN))?;
    let name = path.file_stem()?.to_string_lossy().into_owned();
    Some(trial(name, &[Need::Captures], move || {
        let fresh = reprinted(&text)?;
        match (fresh == text, std::env::var_os("TRANSCRIPTS")) {
            (true, _) => Ok(()),
            (false, Some(wish)) if wish == "overwrite" => fs::write(&path, fresh).map_err(failed),
            (false, _) => Err(failed(difference(&text, &fresh))),
        }
    }))
}

/// The page with what its commands print today.
fn reprinted(page: &str) -> Result<String, Failed> {
    let mut parts = page.split(OPEN);
    let mut fresh = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (block, rest) = part.split_once(CLOSE).ok_or_else(|| failed("a block has no end"))?;
        let command = block.lines().next().unwrap_or_default();
        let printed = printed(command)?;
        fresh.push_str(&format!("{OPEN}{command}\n{}{CLOSE}{rest}", printed.trim_end()));
    }
    Ok(fresh)
}

/// What `nearside COMMAND` prints, run in the folder of the archive that `--from` names.
fn printed(command: &str) -> Result<String, Failed> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let from = words.windows(2).find_map(|pair| match pair {
        ["--from", archive] => Some(*archive),
        _ => None,
    });
    let from = from.ok_or_else(|| failed(format!("{command}: no --from")))?;
    let is_it = |capture: &Capture| capture.archive.file_name().is_some_and(|name| name == from);
    let capture = support::lab_captures().into_iter().chain(support::tree_captures()).find(is_it);
    let capture = capture.ok_or_else(|| failed(format!("{from} is no capture here")))?;
    let mut nearside = Command::new(env!("CARGO_BIN_EXE_nearside"));
    nearside.args(&words).env("LC_ALL", "C.UTF-8").env("NO_COLOR", "1").env_remove("COLUMNS");
    if let Some(folder) = capture.archive.parent() {
        nearside.current_dir(folder);
    }
    let output = nearside.output().map_err(failed)?;
    if !output.status.success() {
        return Err(failed(format!("{command}: {}", String::from_utf8_lossy(&output.stderr))));
    }
    String::from_utf8(output.stdout).map_err(failed)
}

/// The first lines that differ.
fn difference(old: &str, new: &str) -> String {
    let pairs = old.lines().zip(new.lines()).enumerate();
    let first = pairs.into_iter().find(|(_, (old, new))| old != new);
    let what = first.map_or_else(
        || "one is longer".to_owned(),
        |(number, (old, new))| format!("line {}:\n  kept:    {old}\n  printed: {new}", number + 1),
    );
    format!("{what}\nTRANSCRIPTS=overwrite writes what is printed now")
}
