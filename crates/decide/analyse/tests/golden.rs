// SPDX-License-Identifier: MIT OR Apache-2.0
//! The estimators against values that scipy worked out, where that file is.

use std::path::PathBuf;

use serde::Deserialize;
use support::{Failed, failed, trial_unless};

#[derive(Deserialize)]
struct Golden {
    mser: Mser,
}

#[derive(Deserialize)]
struct Mser {
    y: Vec<f64>,
    mser: Vec<f64>,
    cut: usize,
}

fn main() {
    let missing = golden().is_none().then(|| "no golden_stats.json".to_owned());
    support::run(vec![trial_unless("mser", missing, mser)])
}

/// The file, which lies beside the captures.
fn golden() -> Option<PathBuf> {
    support::shared()
        .map(|folder| folder.join("notes/golden_stats.json"))
        .filter(|file| file.is_file())
}

fn mser() -> Result<(), Failed> {
    let text = std::fs::read_to_string(golden().ok_or("no golden_stats.json")?)?;
    let Golden { mser: golden } = serde_json::from_str(&text).map_err(failed)?;
    let cut = nearside_analyse::mser(&golden.y).ok_or("no cut")?;
    let pairs = || cut.statistic.iter().zip(&golden.mser);
    let is_same = cut.statistic.len() == golden.mser.len()
        && pairs().all(|(ours, theirs)| (ours - theirs).abs() <= 1e-9 * theirs.abs());
    if !is_same || cut.at != golden.cut {
        return Err(failed(format_args!(
            "{cut:?}, and wanted {:?} at {}",
            golden.mser, golden.cut
        )));
    }
    Ok(())
}
