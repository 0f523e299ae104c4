// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the checkout is and what is in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The top folder of the checkout.
pub(crate) fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// Files that belong to the project: tracked, or new and not ignored.
pub(crate) fn files() -> Result<Vec<PathBuf>> {
    let arguments = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
    let output = Command::new("git").args(arguments).current_dir(top()).output().context("git")?;
    ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout)?;
    let files = names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
    Ok(files.filter(|file| top().join(file).is_file()).collect())
}

/// A file's text; none where it is no UTF-8.
pub(crate) fn text(file: &Path) -> Option<String> {
    std::fs::read(top().join(file)).ok().and_then(|bytes| String::from_utf8(bytes).ok())
}

/// Runs a command in the checkout and fails when it does.
pub(crate) fn call(program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).envs(variables.iter().copied()).current_dir(top());
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    ensure!(status.success(), "{program} {} failed: {status}", arguments.join(" "));
    Ok(())
}
