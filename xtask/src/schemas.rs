// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON schemas, which are generated from the types that print the documents.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::project;

/// (file below the checkout, text) of each schema.
pub(crate) fn all() -> Vec<(PathBuf, String)> {
    let named = report::json::schemas().into_iter();
    named.map(|(name, text)| (PathBuf::from("schemas").join(name), text)).collect()
}

/// Writes the schemas afresh.
pub(crate) fn write() -> Result<()> {
    for (file, text) in all() {
        let path = project::top().join(&file);
        std::fs::create_dir_all(path.parent().context("a schema lies in a folder")?)?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", file.display());
    }
    Ok(())
}
