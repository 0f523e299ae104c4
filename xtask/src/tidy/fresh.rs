// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generated files are what the generator would write today.

use anyhow::Result;

use super::Complaints;
use crate::{project, schemas};

pub(super) fn check() -> Result<Complaints> {
    let stale = |(file, text): (std::path::PathBuf, String)| {
        let fresh = project::text(&file).is_some_and(|found| found == text);
        (!fresh).then(|| format!("{}: stale, run `cargo xtask schemas`", file.display()))
    };
    Ok(schemas::all().into_iter().filter_map(stale).collect())
}
