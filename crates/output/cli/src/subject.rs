// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver behind the reading verbs: root to machine, machine and catalogue to audit.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use audit::{Audit, Subject};
use catalogue::Catalogue;
use machine::Machine;
use root::Root;
use setting::{Goal, Observation};

use crate::expected::Expected;

/// A machine as read, and what was observed of the catalogue's settings.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) machine: Machine,
    pub(crate) observations: Vec<Observation>,
}

/// Asks a root all that the verbs need.
pub(crate) fn read(root: &dyn Root, catalogue: &Catalogue) -> Read {
    let machine = linux::read(root);
    let observations = linux::observe(root, &machine, catalogue.settings());
    Read { machine, observations }
}

/// Audits what was read from a root.
pub(crate) fn audit(read: &Read, catalogue: &Catalogue, goal: Goal) -> Audit {
    let Read { machine, observations } = read;
    audit::audit(&Subject { machine, observations, catalogue, goal })
}

/// Quotes what an audit rests on from the root that was read.
pub(crate) fn quote(root: &dyn Root, audit: &mut Audit) {
    let settings = audit.settings.iter_mut().flat_map(|observation| &mut observation.evidence);
    let findings = audit.findings.iter_mut().flat_map(|finding| &mut finding.evidence);
    linux::quote(root, settings.chain(findings));
}

/// The catalogue: built in, then the folders of the system and of the user, then `--catalogue`.
pub(crate) fn catalogue(named: Option<&Path>) -> Result<Catalogue, Expected> {
    let mut files = Vec::new();
    let own = own_folders().into_iter().filter(|folder| folder.is_dir());
    for folder in own.chain(named.map(Path::to_owned)) {
        files.extend(entries(&folder)?);
        let lists = LISTS.iter().map(|name| folder.join(name)).filter(|list| list.is_dir());
        for list in lists {
            files.extend(entries(&list)?);
        }
    }
    if files.is_empty() {
        return Ok(Catalogue::built_in());
    }
    Catalogue::with_folder(files).map_err(|complaints| {
        // Each complaint has its own help.
        Expected::usage(complaints.to_string(), "")
    })
}

/// What is said of a setting that there is not, with the names that may be meant.
pub(crate) fn no_setting(catalogue: &Catalogue, name: &str) -> Expected {
    let all = "`nearside explain --list` names them all";
    let help = match catalogue.nearest(name).as_slice() {
        [] => all.to_owned(),
        near => format!("did you mean {}? {all}", near.join(", ")),
    };
    Expected::usage(format!("no setting is called {name:?}"), help)
}

fn own_folders() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".config"));
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or(home);
    let own = config.into_iter().map(|config| config.join("nearside/catalogue"));
    std::iter::once(PathBuf::from("/etc/nearside/catalogue")).chain(own).collect()
}

/// Folders in a catalogue folder that hold no entries: names of vendors, options of the kernel.
const LISTS: [&str; 2] = ["vendors", "command-line"];

/// The longest text that a person names, an entry or a profile; the built-in entries have up to 4 KiB.
const MOST: u64 = 1 << 20;

/// (file, text) of each TOML file in a folder and in its groups, sorted by name.
fn entries(folder: &Path) -> Result<Vec<(String, String)>, Expected> {
    let mut paths = Vec::new();
    gather(folder, DEPTH, &mut paths).map_err(|error| {
        let what = format!("cannot read the catalogue folder {}: {error}", folder.display());
        Expected::precondition(what, "name a folder of TOML files, one a setting")
    })?;
    paths.sort();
    paths.into_iter().map(|path| Ok((path.display().to_string(), entry(&path)?))).collect()
}

/// How deep groups may lie in a catalogue folder, so that a loop of links ends.
const DEPTH: u32 = 4;

fn gather(folder: &Path, depth: u32, paths: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for item in fs::read_dir(folder)? {
        let path = item?.path();
        let is_list = LISTS.iter().any(|list| path.ends_with(list));
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        } else if path.is_dir() && !is_list && depth > 0 {
            gather(&path, depth - 1, paths)?;
        }
    }
    Ok(())
}

fn entry(path: &Path) -> Result<String, Expected> {
    let file = path.display();
    let bytes = read_plain(path, MOST).map_err(|error| {
        let what = format!("cannot read the catalogue entry {file}: {error}");
        Expected::precondition(what, "mend it, or take it out of the folder")
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = 1 + valid.iter().filter(|&&byte| byte == b'\n').count();
        let column = 1 + valid.iter().rev().take_while(|&&byte| byte != b'\n').count();
        let what = format!("{file}:{line}:{column}: a byte here is no UTF-8");
        Expected::usage(what, "save the file as UTF-8, or take it out of the folder")
    })
}

/// The text of a plain file that a person names.
pub(crate) fn read_text(path: &Path) -> std::io::Result<String> {
    String::from_utf8(read_plain(path, MOST)?)
        .map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error.utf8_error()))
}

/// The bytes of a plain file that is not longer than `most`: a FIFO would be waited for, and a
/// device has no end.
pub(crate) fn read_plain(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let there = path.metadata()?;
    if !there.is_file() {
        return Err(std::io::Error::other("it is no plain file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(std::io::Error::other(format!("it is longer than {most} bytes")));
    }
    Ok(bytes)
}
