// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a source of facts could not be opened at all.

use std::path::PathBuf;

/// Why a root could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Nothing at that path, or it may not be read.
    #[error("cannot open {path}: {source}", path = .path.display())]
    Io {
        /// What was to be opened.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Neither `sys/devices`, `sys/class` nor `proc/cpuinfo` below it.
    #[error("{path} holds no machine: neither sys/devices, sys/class nor proc/cpuinfo", path = .0.display())]
    NoRoot(PathBuf),
    /// More than one root; the names to choose from.
    #[error("{path} holds {n} machines: {names}", path = .path.display(), n = .roots.len(), names = .roots.join(", "))]
    Several {
        /// The folder or archive.
        path: PathBuf,
        /// Folders below it, each a root.
        roots: Vec<String>,
    },
}
