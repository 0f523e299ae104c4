// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program that is tried in the guests: ours, linked so that it needs nothing of theirs.

use std::path::PathBuf;
use std::process::Command;

use crate::error::Result;
use crate::{process, top};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The static binary, built where it is not; `NEARSIDE_LAB_BINARY` names another.
///
/// # Errors
/// Cargo fails.
pub fn nearside() -> Result<PathBuf> {
    if let Some(own) = std::env::var_os("NEARSIDE_LAB_BINARY") {
        return Ok(PathBuf::from(own));
    }
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--package", "nearside", "--target", TARGET]);
    cargo.env("RUSTFLAGS", "-C target-feature=+crt-static").current_dir(top());
    process::output(&mut cargo)?;
    Ok(top().join("target").join(TARGET).join("debug/nearside"))
}
