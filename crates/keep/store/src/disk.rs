// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the store asks of a file system to keep a file for good; tests put one in its place that
//! loses power.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// A file system, as far as writing goes.
pub(crate) trait Disk: Send {
    /// Makes a folder in one that is there; it may be there, too.
    fn make_folder(&mut self, folder: &Path) -> io::Result<()>;

    /// Makes a file that must not be there, with its contents.
    fn write_new(&mut self, file: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Waits until a file's contents are safe from a loss of power.
    fn sync(&mut self, file: &Path) -> io::Result<()>;

    /// Waits until the names in a folder are.
    fn sync_folder(&mut self, folder: &Path) -> io::Result<()>;

    /// Gives a file another name, which must be free.
    fn rename_new(&mut self, from: &Path, to: &Path) -> io::Result<()>;

    /// Takes a file away.
    fn remove(&mut self, file: &Path) -> io::Result<()>;
}

/// The real one. Folders and files are for their owner only: a run tells of the machine.
#[derive(Debug)]
pub(crate) struct RealDisk;

impl Disk for RealDisk {
    fn make_folder(&mut self, folder: &Path) -> io::Result<()> {
        match fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
            made => made,
        }
    }

    fn write_new(&mut self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(file)?;
        file.write_all(bytes)
    }

    fn sync(&mut self, file: &Path) -> io::Result<()> {
        File::open(file)?.sync_all()
    }

    fn sync_folder(&mut self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn rename_new(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // A file system without the flag (NFS, older FUSE): a second name is as exclusive.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                fs::hard_link(from, to)?;
                fs::remove_file(from)
            }
            result => Ok(result?),
        }
    }

    fn remove(&mut self, file: &Path) -> io::Result<()> {
        fs::remove_file(file)
    }
}
