// SPDX-License-Identifier: MIT OR Apache-2.0
//! A network cable between two guests: a pair of datagram sockets in a folder.

use std::path::PathBuf;

use crate::error::{At, Result};

/// A cable with two ends; it exists as long as this.
#[derive(Debug)]
pub struct Wire {
    folder: tempfile::TempDir,
}

/// Which end of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// One end.
    A,
    /// The other.
    B,
}

impl Wire {
    /// A new cable.
    ///
    /// # Errors
    /// No folder can be made for it.
    pub fn new() -> Result<Self> {
        // A socket's path has 107 bytes at most, so that it cannot lie among the images.
        let folder = tempfile::Builder::new().prefix("nearside-wire-").tempdir().at("wire")?;
        Ok(Self { folder })
    }

    /// QEMU's words for one end.
    pub(crate) fn netdev(&self, end: End) -> String {
        let (own, other) = match end {
            End::A => ("a", "b"),
            End::B => ("b", "a"),
        };
        let path = |name: &str| -> PathBuf { self.folder.path().join(name) };
        format!(
            "dgram,local.type=unix,local.path={},remote.type=unix,remote.path={}",
            path(own).display(),
            path(other).display()
        )
    }
}
