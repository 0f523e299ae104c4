// SPDX-License-Identifier: MIT OR Apache-2.0
//! What outlives a guest: the files of its drives and of its state.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{At, Result};
use crate::machine::{Backing, Drive};
use crate::process;

/// The drives of one computer, in its slots or out of them.
#[derive(Debug)]
pub struct Drives {
    folder: tempfile::TempDir,
}

/// Room for journals and runs in `/var/lib/nearside`.
const STATE: &str = "64M";

impl Drives {
    pub(crate) fn new() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("nearside-drives-").tempdir();
        Ok(Self { folder: folder.at("drives")? })
    }

    /// The file of a drive, made as a hole where there is none yet.
    pub(crate) fn file(&self, id: &str, drive: &Drive) -> Result<Option<PathBuf>> {
        if drive.backing == Backing::Nothing {
            return Ok(None);
        }
        let path = self.folder.path().join(format!("{id}.img"));
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&path).at(&path)?;
        file.set_len(drive.capacity_mib << 20).at(&path)?;
        Ok(Some(path))
    }

    /// The file of the disk that is mounted on `/var/lib/nearside`.
    pub(crate) fn state(&self) -> Result<PathBuf> {
        let path = self.folder.path().join("state");
        if !path.exists() {
            let mut make = Command::new("mke2fs");
            make.args(["-q", "-F", "-t", "ext4", "-L", "state"]).arg(&path).arg(STATE);
            process::output(&mut make)?;
        }
        Ok(path)
    }

    /// The file of a root file system that is kept: a copy of the image, with its holes.
    pub(crate) fn root(&self, image: &Path) -> Result<PathBuf> {
        let path = self.folder.path().join("root");
        if !path.exists() {
            let mut copy = Command::new("cp");
            copy.args(["--sparse=always", "--reflink=auto"]).arg(image).arg(&path);
            process::output(&mut copy)?;
        }
        Ok(path)
    }
}
