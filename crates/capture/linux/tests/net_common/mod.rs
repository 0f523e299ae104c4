// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines read from captures, for the trials of networks and interrupts.

use std::path::Path;

use machine::Machine;
use root::DirRoot;
use support::{Failed, failed};

/// Reads the machine whose root is `folder`.
pub(crate) fn read(folder: &Path) -> Result<Machine, Failed> {
    let root = DirRoot::open(folder).map_err(failed)?;
    Ok(nearside_linux::read(&root))
}

/// Fails with both values when they differ.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: T,
    expected: T,
) -> Result<(), Failed> {
    if found == expected {
        Ok(())
    } else {
        Err(failed(format!("{what}: {found:?}, not {expected:?}")))
    }
}
