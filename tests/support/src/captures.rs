// SPDX-License-Identifier: MIT OR Apache-2.0
//! The captures of real machines, unpacked once.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// An archive of a machine, or of several.
#[derive(Debug, Clone)]
pub struct Capture {
    /// Its name without `.tar.xz`.
    pub name: String,
    /// The archive.
    pub archive: PathBuf,
}

/// The folder of captures and notes: `NEARSIDE_SHARED`, or `../shared` beside the checkout.
pub fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("NEARSIDE_SHARED").map_or(beside, PathBuf::from);
    folder.join("captures").is_dir().then_some(folder)
}

/// The archives in `captures/KIND`, by name; nothing where the folder is absent.
pub fn captures(kind: &str) -> Vec<Capture> {
    let Some(folder) = shared().map(|shared| shared.join("captures").join(kind)) else {
        return Vec::new();
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<Capture> = entries.filter_map(|entry| capture(entry.path())).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn capture(archive: PathBuf) -> Option<Capture> {
    let name = archive.file_name()?.to_str()?.strip_suffix(".tar.xz")?.to_owned();
    Some(Capture { name, archive })
}

/// Virtual machines of the lab, each with `tree/` and what tools `say/` of it.
pub fn lab_captures() -> Vec<Capture> {
    captures("lab")
}

/// Roots of real machines.
pub fn tree_captures() -> Vec<Capture> {
    captures("trees")
}

/// One unpacking at a time in this process; across processes the rename decides.
static UNPACKING: Mutex<()> = Mutex::new(());

impl Capture {
    /// The folder that the archive is unpacked in, made on first use.
    ///
    /// # Errors
    /// The archive cannot be read or the folder cannot be written.
    pub fn folder(&self) -> io::Result<PathBuf> {
        let _one = UNPACKING.lock();
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/captures");
        let folder = target.join(&self.name);
        if folder.is_dir() {
            return Ok(folder);
        }
        fs::create_dir_all(&target)?;
        let fresh = tempfile::tempdir_in(&target)?;
        let archive = liblzma::read::XzDecoder::new(File::open(&self.archive)?);
        let mut archive = tar::Archive::new(archive);
        archive.set_preserve_permissions(true);
        archive.set_unpack_xattrs(false);
        unpack(&mut archive, fresh.path())?;
        match fs::rename(fresh.path(), &folder) {
            Err(error) if !folder.is_dir() => Err(error),
            _ => Ok(folder),
        }
    }

    /// Folders of the archive that hold a root, as the captures' README defines one; a root has no
    /// other inside.
    ///
    /// # Errors
    /// As [`Capture::folder`].
    pub fn roots(&self) -> io::Result<Vec<PathBuf>> {
        Ok(roots_below(&self.folder()?))
    }

    /// The machine of a lab capture.
    ///
    /// # Errors
    /// As [`Capture::folder`].
    pub fn tree(&self) -> io::Result<PathBuf> {
        Ok(self.folder()?.join("tree"))
    }

    /// What a tool said of a lab capture's machine: `say("lspci-vvv.txt")`.
    ///
    /// # Errors
    /// As [`Capture::folder`], or there is no such file.
    pub fn say(&self, file: &str) -> io::Result<String> {
        let bytes = fs::read(self.folder()?.join("say").join(file))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn roots_below(folder: &Path) -> Vec<PathBuf> {
    const SIGNS: [&str; 4] = ["sys/devices", "sys/class", "proc/cpuinfo", "proc/interrupts"];
    if SIGNS.iter().any(|sign| folder.join(sign).exists()) {
        return vec![folder.to_owned()];
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    folders.sort();
    folders.iter().flat_map(|folder| roots_below(folder)).collect()
}

/// Folders keep write permission while they are filled: captured ones are often read-only.
fn unpack<R: io::Read>(archive: &mut tar::Archive<R>, into: &Path) -> io::Result<()> {
    let mut folders = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.header().entry_type().is_dir() {
            folders.push(entry.path()?.into_owned());
            continue;
        }
        entry.unpack_in(into)?;
    }
    folders.iter().try_for_each(|folder| fs::create_dir_all(into.join(folder)))
}
