// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the CPU tests share: where the captures are, and how a missing one is told.

use std::path::{Path, PathBuf};

use libtest_mimic::Trial;

/// The folder of the captures: in `NEARSIDE_SHARED`, or beside the workspace.
pub(crate) fn captures() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared");
    let shared = std::env::var_os("NEARSIDE_SHARED").map_or_else(beside, PathBuf::from);
    let captures = shared.join("captures");
    captures.is_dir().then_some(captures)
}

/// A trial that is named as ignored, with the reason, where what it needs is missing.
pub(crate) fn skipped(name: &str, reason: &str) -> Trial {
    Trial::test(format!("{name} (skipped: {reason})"), || Ok(())).with_ignored_flag(true)
}
