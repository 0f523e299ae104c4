// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured: devices, files, all drives of a node, or a file that is made for it.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use linux::Addresses;
use machine::Drive;
use record::Target;
use units::Bytes;

use super::ground::Ground;
use super::load;
use crate::expected::Expected;
use crate::verbs::exec::named;

/// Targets, and what is behind them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chosen {
    pub(crate) targets: Vec<Target>,
    /// The drive of each; none where it is none of this machine's, or are several.
    pub(crate) drives: Vec<Option<String>>,
    /// Whether all of them are files.
    pub(crate) is_files: bool,
    /// The length of the shortest.
    pub(crate) least_bytes: Option<u64>,
    /// What can and cannot be said of what is measured.
    pub(crate) said: Vec<String>,
}

/// The largest file that is made without being asked for, and the smallest that says anything.
const MOST: u64 = 1 << 30;
const LEAST: u64 = 64 << 20;

/// What becomes of targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// They are read.
    Read,
    /// What is on them changes.
    Change,
}

/// Finds what was named.
pub(crate) fn choose(
    ground: &Ground,
    named: &[String],
    size: Option<&str>,
    purpose: Use,
) -> Result<Chosen, Expected> {
    let size = size.map(|size| load::size("size", size)).transpose()?;
    let mut chosen = Chosen { is_files: true, ..Chosen::default() };
    if named.is_empty() {
        chosen.add_made(ground, own_file()?, size)?;
    }
    for name in named {
        match name.strip_prefix("node:") {
            Some(node) => chosen.add_node(ground, node)?,
            None => chosen.add(ground, name, size, purpose)?,
        }
    }
    Ok(chosen)
}

/// Targets of a sweep, and the files that were made for it.
pub(crate) struct Laid {
    pub(crate) chosen: Chosen,
    /// Taken away with this.
    pub(crate) files: Vec<engine::Made>,
}

impl Chosen {
    /// Makes files once for many runs, where these only read: what writes has a fresh one each time.
    pub(crate) fn lay_out(&self, ground: &Ground, purpose: Use) -> Result<Laid, Expected> {
        let (mut chosen, mut files) = (self.clone(), Vec::new());
        for target in chosen.targets.iter_mut().filter(|_| purpose == Use::Read) {
            if let Some(bytes) = target.make_bytes.take() {
                let path = Path::new(&target.path);
                files.push(engine::Made::lay_out(path, bytes, 0, &ground.stop)?);
            }
        }
        Ok(Laid { chosen, files })
    }

    /// Its first targets; all where no number is told.
    pub(crate) fn first(&self, count: Option<usize>) -> Self {
        let mut first = self.clone();
        first.targets.truncate(count.unwrap_or(usize::MAX));
        first.drives.truncate(count.unwrap_or(usize::MAX));
        first
    }

    fn add(
        &mut self,
        ground: &Ground,
        name: &str,
        size: Option<u64>,
        purpose: Use,
    ) -> Result<(), Expected> {
        let path = path(ground, name)?;
        let there = match fs::metadata(&path) {
            Ok(there) => there,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && size.is_some() => {
                return self.add_made(ground, path, size);
            }
            Err(error) => {
                let what = format!("cannot measure {name}: {error}");
                let help = "name a device or file that is there; with --size a file is made";
                return Err(Expected::precondition(what, help));
            }
        };
        let kind = there.file_type();
        if kind.is_dir() {
            let help = "name a file in it and --size, and it is made and taken away";
            return Err(Expected::usage(format!("{name} is a folder"), help));
        }
        if kind.is_fifo() || kind.is_socket() {
            let what = format!("{name} is neither a block device nor a file");
            return Err(Expected::usage(what, "name a drive, or a file that lies on one"));
        }
        self.is_files &= kind.is_file();
        if kind.is_file() && purpose == Use::Read {
            let text = "it is read through its file system, where it lies on the drive";
            self.said.push(format!("{}: {text}", path.display()));
        }
        let bytes = match () {
            () if kind.is_file() => Some(there.len()),
            () if kind.is_block_device() => length(&path),
            // A character device may do something when it is opened.
            () => None,
        };
        let drive = drive_of(ground, &path);
        self.push(path, None, drive, bytes);
        Ok(())
    }

    /// A file that is laid out for the run and taken away after it.
    fn add_made(
        &mut self,
        ground: &Ground,
        path: PathBuf,
        size: Option<u64>,
    ) -> Result<(), Expected> {
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        let free = free(&folder)?;
        let bytes = size.unwrap_or_else(|| (free / 4).min(MOST) / LEAST * LEAST);
        let help = "name a folder with more room, or a smaller --size";
        if bytes == 0 || bytes > free {
            let what = format!("{} has {} free", folder.display(), Bytes(free));
            return Err(Expected::precondition(what, help));
        }
        let drive = drive_of(ground, &folder);
        let behind = drive.as_deref().unwrap_or("what is behind it");
        self.said.push(format!(
            "{}: {} with contents, made for this and taken away. It measures this file system and \
             {behind} at one place of it, which a cache of the drive may hold whole; for the drive \
             itself name it: nearside bench {}",
            path.display(),
            Bytes(bytes),
            drive.as_deref().unwrap_or("nvme0n1"),
        ));
        self.push(path, Some(bytes), drive, Some(bytes));
        Ok(())
    }

    fn add_node(&mut self, ground: &Ground, node: &str) -> Result<(), Expected> {
        let number: u32 = node.parse().map_err(|_| {
            Expected::usage(format!("node:{node}: {node:?} is no node"), "write it as node:0")
        })?;
        let is_there = |drive: &&Drive| {
            let nodes = drive.controllers.iter().filter_map(|controller| controller.node);
            nodes.into_iter().any(|node| node.0 == number)
        };
        let drives: Vec<&Drive> = ground.machine.drives.iter().filter(is_there).collect();
        if drives.is_empty() {
            let what = format!("no drive is known to be on node {number}");
            return Err(Expected::precondition(what, "`nearside topology` shows where drives are"));
        }
        self.is_files = false;
        for drive in drives {
            let bytes = drive.size.as_ref().ok().map(|bytes| bytes.0);
            let path = PathBuf::from(format!("/dev/{}", drive.name));
            self.push(path, None, Some(drive.name.clone()), bytes);
        }
        Ok(())
    }

    fn push(
        &mut self,
        path: PathBuf,
        make_bytes: Option<u64>,
        drive: Option<String>,
        bytes: Option<u64>,
    ) {
        let path = path.to_string_lossy().into_owned();
        self.targets.push(Target { path, make_bytes });
        self.drives.push(drive);
        self.least_bytes = [self.least_bytes, bytes].into_iter().flatten().min();
    }
}

/// The path of a name: a drive of this machine by its name, else a file, from the top.
fn path(ground: &Ground, name: &str) -> Result<PathBuf, Expected> {
    let is_drive = ground.machine.drives.iter().any(|drive| drive.name == name);
    let device = Path::new("/dev").join(name);
    let is_device = || fs::metadata(&device).is_ok_and(|there| there.file_type().is_block_device());
    if !name.contains('/') && (is_drive || (is_device() && !Path::new(name).exists())) {
        return Ok(device);
    }
    std::path::absolute(name).map_err(|error| {
        Expected::usage(format!("{name:?} is no path: {error}"), "name a device or a file")
    })
}

/// A file of the working folder that nobody else has.
fn own_file() -> Result<PathBuf, Expected> {
    let name = format!("nearside-bench-{}.tmp", std::process::id());
    std::path::absolute(name).map_err(|error| {
        let help = "go to a folder that is there, or name a target";
        Expected::precondition(format!("the working folder is unknown: {error}"), help)
    })
}

fn free(folder: &Path) -> Result<u64, Expected> {
    let told = rustix::fs::statvfs(folder).map_err(|error| {
        let what = format!("cannot look at {}: {error}", folder.display());
        Expected::precondition(what, "name a folder that is there")
    })?;
    Ok(told.f_bavail.saturating_mul(told.f_frsize))
}

fn length(path: &Path) -> Option<u64> {
    let file = fs::File::open(path).ok()?;
    rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0)).ok()
}

/// The one drive of this machine that a path leads to.
fn drive_of(ground: &Ground, path: &Path) -> Option<String> {
    let asked = named::on_disk(&path.to_string_lossy()).ok()?;
    let site = linux::site(&ground.live, Addresses::Kept, &[asked], &[]).ok()?;
    let [target] = site.targets.as_slice() else { return None };
    let [end] = target.ends.as_slice() else { return None };
    let drives = &ground.machine.drives;
    drives.iter().find(|drive| drive.name == end.device).map(|drive| drive.name.clone())
}
