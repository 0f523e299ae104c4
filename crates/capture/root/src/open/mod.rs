// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opens a captured machine as people have them: a folder or an archive, the root of a machine or
//! something that holds one, or several.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::archive::{self, Limits};
use crate::{About, ArchiveOpenError, DirRoot, MemoryRoot, OpenError, Root, capture, said};

/// Folders between what is opened and a root below it.
const DEPTH: usize = 6;

/// Folders looked into; a file server's whole disk is no capture.
const FOLDERS: usize = 20_000;

/// A machine that was opened.
pub struct Opened {
    /// Its facts.
    pub root: Box<dyn Root>,
    /// Where below the folder or archive it lies; empty for the top.
    pub name: String,
    /// What the capture says of itself; nothing where it is a plain tree.
    pub about: Option<About>,
    /// Entries of the archive left out because their names are no UTF-8.
    pub skipped: u64,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Opens a folder or an archive. Where it holds several machines, `which` names one: its path in
/// there, or the end of it.
///
/// A root is a folder that holds `sys/devices`, `sys/class`, `proc/cpuinfo` or `proc/interrupts`.
/// Where it is no capture, what `ethtool` printed answers for it: in the files of a sosreport
/// (`sos_commands/networking/ethtool_-l_eth0` beside `sys`), or in the sections of a
/// `say/ethtool.txt` beside a root called `tree`.
///
/// # Errors
/// Nothing is there, the archive is refused, or there is no machine, or several and none named.
pub fn open(path: &Path, which: Option<&str>) -> Result<Opened, OpenError> {
    let io = |source| OpenError::Io { path: path.to_owned(), source };
    // A FIFO would be waited for, and a device has no end.
    let kind = path.metadata().map_err(io)?.file_type();
    if kind.is_dir() {
        return open_folder(path, which);
    }
    if !kind.is_file() {
        return Err(OpenError::Kind(path.to_owned()));
    }
    open_archive(File::open(path).map_err(io)?, path, which)
}

/// Opens an archive as it is read, from a pipe for instance; `path` is what errors call it.
///
/// # Errors
/// As [`open`]'s.
pub fn open_archive(
    input: impl Read,
    path: &Path,
    which: Option<&str>,
) -> Result<Opened, OpenError> {
    let archive = |source: ArchiveOpenError| OpenError::Archive { path: path.to_owned(), source };
    let unpacked =
        archive::read(input, &Limits::default()).map_err(|error| archive(error.into()))?;
    let skipped = unpacked.skipped;
    open_tree(unpacked.root, path, which, skipped)
}

fn open_folder(path: &Path, which: Option<&str>) -> Result<Opened, OpenError> {
    let root = DirRoot::open(path)?;
    if root.mode(&format!("/{}", capture::HEADER)).is_ok() {
        let tree = MemoryRoot::copy_of(path)
            .map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
        return open_tree(tree, path, which, 0);
    }
    if which.is_none() && (is_content_of_sys(&root) || is_content_of_proc(&root)) {
        // The folder is a /sys or a /proc itself.
        let above = path.canonicalize().ok().and_then(|path| Some(path.parent()?.to_owned()));
        let is_above = |above: &PathBuf| {
            ["sys/class", "proc/cpuinfo"].iter().any(|sign| above.join(sign).exists())
        };
        if let Some(above) = above.filter(is_above) {
            let root = with_answers(DirRoot::open(&above)?, &above);
            return Ok(Opened { root, name: String::new(), about: None, skipped: 0 });
        }
    }
    let name = choose(roots(&root), path, which)?;
    if !name.is_empty() {
        // It may be an unpacked capture.
        let below = open_folder(&path.join(&name), None)?;
        return Ok(Opened { name, ..below });
    }
    Ok(Opened { root: with_answers(root, path), name, about: None, skipped: 0 })
}

/// Adds what tools said, which lies in the root's folder or beside it.
fn with_answers(root: DirRoot, path: &Path) -> Box<dyn Root> {
    let path = path.canonicalize().unwrap_or_default();
    let above = path.parent().and_then(|above| DirRoot::open(above).ok());
    let name = path.file_name().and_then(|name| name.to_str());
    let answers = match (above, name) {
        (Some(above), Some(name)) => said::gather(&above, name),
        _ => said::gather(&root, ""),
    };
    said::over(Box::new(root), answers)
}

fn open_tree(
    tree: MemoryRoot,
    path: &Path,
    which: Option<&str>,
    skipped: u64,
) -> Result<Opened, OpenError> {
    let refused = |source: ArchiveOpenError| OpenError::Archive { path: path.to_owned(), source };
    let (tree, about) = capture::restore(tree).map_err(|error| refused(error.into()))?;
    if about.is_some() {
        // A capture is a machine even where nothing of it could be read.
        return Ok(Opened { root: Box::new(tree), name: String::new(), about, skipped });
    }
    let name = choose(roots(&tree), path, which)?;
    let answers = said::gather(&tree, &name);
    let below = tree.below(&name).map_err(|_| OpenError::NoRoot(path.to_owned()))?;
    let (below, about) = capture::restore(below).map_err(|error| refused(error.into()))?;
    let root: Box<dyn Root> = Box::new(below);
    // A capture holds all answers that there were.
    let root = if about.is_some() { root } else { said::over(root, answers) };
    Ok(Opened { root, name, about, skipped })
}

/// Roots in a tree, by where they lie; one alone where the top is one.
fn roots(root: &dyn Root) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    let mut looked = 0;
    for _ in 0..=DEPTH {
        let mut below = Vec::new();
        for folder in folders {
            looked += 1;
            if looked > FOLDERS {
                return found;
            }
            if is_root(root, &folder) {
                found.push(folder);
            } else {
                below.extend(subfolders(root, &folder));
            }
        }
        folders = below;
    }
    found.sort();
    found
}

fn is_root(root: &dyn Root, folder: &str) -> bool {
    const SIGNS: [&str; 4] = ["sys/devices", "sys/class", "proc/cpuinfo", "proc/interrupts"];
    let holds = |sign: &&str| root.mode(&join(folder, sign)).is_ok();
    SIGNS.iter().any(holds) || root.mode(&join(folder, capture::HEADER)).is_ok()
}

/// Folders that may hold a root. What is called `sys` or `proc` is part of one (`proc/sys`), and a
/// link would lead somewhere twice.
fn subfolders(root: &dyn Root, folder: &str) -> Vec<String> {
    let names = root.list(&join(folder, "")).unwrap_or_default();
    let may_hold = |name: &String| !matches!(name.as_str(), "sys" | "proc");
    let below = names
        .into_iter()
        .filter(may_hold)
        .map(|name| if folder.is_empty() { name } else { format!("{folder}/{name}") });
    below.filter(|path| root.link(&format!("/{path}")).is_err()).collect()
}

fn is_content_of_sys(root: &dyn Root) -> bool {
    ["/devices", "/class", "/bus"].iter().all(|name| root.list(name).is_ok())
}

fn is_content_of_proc(root: &dyn Root) -> bool {
    ["/cpuinfo", "/interrupts", "/cmdline"].iter().all(|name| root.mode(name).is_ok())
}

fn choose(roots: Vec<String>, path: &Path, which: Option<&str>) -> Result<String, OpenError> {
    let path = path.to_owned();
    let Some(which) = which else {
        return match roots.as_slice() {
            [] => Err(OpenError::NoRoot(path)),
            [one] => Ok(one.clone()),
            _ => Err(OpenError::Several { path, roots }),
        };
    };
    let wanted = which.trim_matches('/');
    let suffix = format!("/{wanted}");
    let fits = |root: &&String| **root == wanted || root.ends_with(&suffix);
    let fitting: Vec<&String> = roots.iter().filter(fits).collect();
    match (roots.iter().find(|root| **root == wanted), fitting.as_slice()) {
        (Some(exact), _) => Ok(exact.clone()),
        (None, [one]) => Ok((*one).clone()),
        (None, _) => Err(OpenError::NoSuch { path, which: which.to_owned(), roots }),
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { format!("/{name}") } else { format!("/{folder}/{name}") }
}

#[cfg(test)]
mod tests;
