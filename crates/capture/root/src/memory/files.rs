// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a tree in memory to files, and back.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use machine::Why;

use super::{Entry, MemoryRoot, failed};
use crate::bounded::{Bounded, MOST};
use crate::content::Packer;

/// Folders in a path that are copied; real trees have up to 20.
const DEPTH: usize = 64;

impl MemoryRoot {
    /// A copy of a folder's files, folders and links. What is none of these is left out, and so
    /// are names that are no UTF-8; what may not be read is refused in the copy too.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub(crate) fn copy_of(folder: &Path) -> io::Result<Self> {
        let mut root = Self::new();
        root.copy_folder(folder, "", DEPTH)?;
        Ok(root)
    }

    fn copy_folder(&mut self, folder: &Path, path: &str, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let (path, kind) = (format!("{path}/{name}"), entry.file_type()?);
            if kind.is_symlink() {
                if let Ok(target) = fs::read_link(entry.path())?.into_os_string().into_string() {
                    self.symlink(&path, &target);
                }
            } else if kind.is_dir() && depth > 0 {
                self.folder(&path);
                self.copy_folder(&entry.path(), &path, depth - 1)?;
            } else if kind.is_file() {
                self.copy_file(&entry, &path)?;
            }
        }
        Ok(())
    }

    fn copy_file(&mut self, entry: &fs::DirEntry, path: &str) -> io::Result<()> {
        let mode = entry.metadata()?.permissions().mode() & 0o7777;
        let mut packer = Packer::default();
        match copy(&entry.path(), &mut packer) {
            Ok(_) => {
                let content = packer.finish(&mut self.arena)?;
                self.put_content(path, content, mode);
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.refuse(path, Why::Denied);
            }
            Err(error) => {
                self.refuse(path, failed(error));
            }
        }
        Ok(())
    }

    /// Makes the tree as files below a folder that is there, for tools that read files.
    ///
    /// Refused entries become files without permission bits; answers have no place in it.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn write_to(&self, folder: &Path) -> io::Result<()> {
        self.write_folder(self.top, folder)
    }

    fn write_folder(&self, index: u32, folder: &Path) -> io::Result<()> {
        let Entry::Folder { children, .. } = self.at(index) else { return Ok(()) };
        for &(name, child) in children {
            let path = folder.join(self.family.name(name));
            match self.at(child) {
                Entry::Folder { .. } => {
                    fs::DirBuilder::new().mode(0o755).create(&path)?;
                    self.write_folder(child, &path)?;
                }
                Entry::Link(target) => std::os::unix::fs::symlink(&**target, &path)?,
                Entry::File { content, mode } => {
                    let mut file = fs::File::create_new(&path)?;
                    io::copy(&mut content.open(&self.arena)?, &mut file)?;
                    file.set_permissions(fs::Permissions::from_mode(mode & 0o777))?;
                }
                Entry::Refused(Why::Absent) => {}
                Entry::Refused(_) => {
                    let file = fs::File::create_new(&path)?;
                    file.set_permissions(fs::Permissions::from_mode(0o0))?;
                }
            }
        }
        Ok(())
    }
}

fn copy(file: &Path, packer: &mut Packer) -> io::Result<u64> {
    let file = io::BufReader::new(fs::File::open(file)?);
    io::copy(&mut Bounded::new(file, MOST), packer)
}
