// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every fuzz target for a while, from the examples of the parsers' tables.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::project;

#[derive(Args)]
pub(crate) struct Options {
    /// Seconds for each target.
    #[arg(long, default_value_t = 20)]
    pub(crate) seconds: u32,
}

/// A parser that takes longer than this for one input is taken for one that hangs.
const HANGS_AFTER: &str = "-timeout=20";

pub(crate) fn run(options: &Options) -> Result<()> {
    let manifest = project::top().join("fuzz/Cargo.toml");
    let manifest = manifest.to_str().context("the project's path is no UTF-8")?;
    project::call(
        "cargo",
        &["run", "--quiet", "--manifest-path", manifest, "--example", "seed"],
        &[],
    )?;
    let targets = targets()?;
    ensure!(!targets.is_empty(), "no fuzz targets");
    let time = format!("-max_total_time={}", options.seconds);
    for target in targets {
        // Without the address sanitizer the stable compiler does: the parsers have no `unsafe`.
        let fuzz = ["fuzz", "run", "--sanitizer", "none", &target, "--", &time, HANGS_AFTER];
        project::call("cargo", &fuzz, &[])?;
    }
    Ok(())
}

/// The names of all targets: a new one is run without being listed anywhere.
fn targets() -> Result<Vec<String>> {
    let folder = project::top().join("fuzz/fuzz_targets");
    let names = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let paths: Vec<PathBuf> = names.map(|name| Ok(name?.path())).collect::<std::io::Result<_>>()?;
    let stem = |path: &PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    let mut targets: Vec<String> = paths.iter().filter_map(stem).collect();
    targets.sort();
    Ok(targets)
}
