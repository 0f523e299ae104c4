// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one rule: a crate uses its own folder and the folders above it; `decide` uses `base` only.
//!
//! Tests may reach further (`[dev-dependencies]` are not looked at): a rule is tried on machines
//! that the readers read.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use super::Complaints;
use crate::project;

/// The folders below `crates/`, in the order of the data.
const FOLDERS: [&str; 6] = ["base", "capture", "decide", "effect", "keep", "output"];

pub(super) fn check() -> Result<Complaints> {
    let manifest: toml::Table = parse(Path::new("Cargo.toml"))?;
    let workspace = manifest["workspace"]["dependencies"].as_table().context("no dependencies")?;
    let folders: BTreeMap<&str, &str> = workspace
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), folder(value.get("path")?.as_str()?)?)))
        .collect();
    let mut complaints = Complaints::new();
    for file in project::files()?.iter().filter(|file| file.ends_with("Cargo.toml")) {
        let Some(own) = file.to_str().and_then(folder) else { continue };
        let table = parse(file)?;
        let used = table.get("dependencies").and_then(toml::Value::as_table);
        let used = used.into_iter().flat_map(toml::Table::keys);
        for (name, other) in used.filter_map(|name| Some((name, folders.get(name.as_str())?))) {
            if !may_use(own, other) {
                complaints.push(format!("{}: {own} may not use {name} of {other}", file.display()));
            }
        }
    }
    Ok(complaints)
}

fn may_use(own: &str, other: &str) -> bool {
    let rank = |folder| FOLDERS.iter().position(|name| *name == folder);
    let downwards = matches!((rank(own), rank(other)), (Some(own), Some(other)) if other <= own);
    downwards && (own != "decide" || matches!(other, "base" | "decide"))
}

/// The folder below `crates/` that a path is in.
fn folder(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.split('/').next()
}

fn parse(file: &Path) -> Result<toml::Table> {
    let text = project::text(file).with_context(|| format!("no text in {}", file.display()))?;
    text.parse().with_context(|| format!("cannot parse {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_flows_one_way() {
        assert!(may_use("output", "base") && may_use("capture", "capture"));
        assert!(may_use("decide", "base") && !may_use("decide", "capture"));
        assert!(!may_use("base", "output") && !may_use("capture", "decide"));
    }
}
