// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver behind the reading verbs: root to machine, machine and catalogue to audit.

use std::fs;
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

/// Audits what was read.
pub(crate) fn audit(read: &Read, catalogue: &Catalogue, goal: Goal) -> Audit {
    let Read { machine, observations } = read;
    audit::audit(&Subject { machine, observations, catalogue, goal })
}

/// The catalogue: built in, then the folders of the system and of the user, then `--catalogue`.
pub(crate) fn catalogue(named: Option<&Path>) -> Result<Catalogue, Expected> {
    let mut files = Vec::new();
    for folder in own_folders().iter().map(PathBuf::as_path).filter(|folder| folder.is_dir()) {
        files.extend(entries(folder)?);
    }
    if let Some(folder) = named {
        files.extend(entries(folder)?);
    }
    if files.is_empty() {
        return Ok(Catalogue::built_in());
    }
    Catalogue::with_folder(files).map_err(|complaints| {
        Expected::usage(
            complaints.to_string(),
            "mend the entry, or take its file out of the folder",
        )
    })
}

fn own_folders() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".config"));
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or(home);
    let own = config.into_iter().map(|config| config.join("nearside/catalogue"));
    std::iter::once(PathBuf::from("/etc/nearside/catalogue")).chain(own).collect()
}

/// (file, text) of each TOML file of a folder, sorted by name.
fn entries(folder: &Path) -> Result<Vec<(String, String)>, Expected> {
    texts(folder).map_err(|error| {
        let what = format!("cannot read the catalogue folder {}: {error}", folder.display());
        Expected::precondition(what, "name a folder of TOML files, one a setting")
    })
}

fn texts(folder: &Path) -> std::io::Result<Vec<(String, String)>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let text = |path: PathBuf| Ok((path.display().to_string(), fs::read_to_string(&path)?));
    paths.into_iter().map(text).collect()
}
