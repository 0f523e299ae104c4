// SPDX-License-Identifier: MIT OR Apache-2.0
//! Captured archives unpacked, the roots in them, and the tools that are asked about them.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;

/// Whether a program answers.
pub(crate) fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Names of the `.tar.xz` archives of a folder, without the ending.
pub(crate) fn archives(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut list: Vec<_> = entries
        .filter_map(|entry| {
            let path = entry.path();
            let name = path.file_name()?.to_str()?.strip_suffix(".tar.xz")?.to_owned();
            Some((name, path))
        })
        .collect();
    list.sort();
    list
}

/// Unpacks an archive into a folder that goes when the value does.
pub(crate) fn unpack(archive: &Path) -> Result<tempfile::TempDir, Failed> {
    let folder = tempfile::tempdir()?;
    let output =
        Command::new("tar").arg("-xJf").arg(archive).arg("-C").arg(folder.path()).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(folder)
}

/// Folders that are roots, as the captures' README defines one, but for those inside a root.
pub(crate) fn roots(top: &Path) -> Vec<PathBuf> {
    let signs = ["sys/devices", "sys/class", "proc/cpuinfo", "proc/interrupts"];
    if signs.iter().any(|sign| top.join(sign).exists()) {
        return vec![top.to_owned()];
    }
    let entries = std::fs::read_dir(top).into_iter().flatten().flatten();
    let mut folders: Vec<_> =
        entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()).collect();
    folders.sort();
    folders.iter().flat_map(|folder| roots(folder)).collect()
}

/// What a program prints.
pub(crate) fn output(command: &mut Command) -> Result<String, Failed> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
