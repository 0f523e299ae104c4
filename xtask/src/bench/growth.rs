// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a cost grows as what is read grows.

use std::path::Path;

use anyhow::Result;

/// What a file costs however short it is: readers ask for a page.
const PAGE: u64 = 4096;

/// By how much the cost of a byte may differ between the smallest machine and the largest.
const AT_MOST: f64 = 1.5;

/// One size of a machine.
pub(super) struct Size {
    /// Bytes in its files, and a page for each file.
    bytes: f64,
    cpu_s: f64,
}

impl Size {
    /// The size of a tree that cost `cpu_s` to read.
    pub(super) fn of(tree: &Path, cpu_s: f64) -> Result<Self> {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let bytes = weigh(tree)? as f64;
        Ok(Self { bytes, cpu_s })
    }

    fn ns_per_byte(&self) -> f64 {
        self.cpu_s * 1e9 / self.bytes
    }
}

fn weigh(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.metadata()?;
        if kind.is_dir() {
            sum += weigh(&entry.path())?;
        } else if kind.is_file() {
            sum += kind.len() + PAGE;
        }
    }
    Ok(sum)
}

/// Prints what a byte cost at every size, and says when that differs too much.
pub(super) fn judge(sizes: &[Size]) -> Option<String> {
    let costs: Vec<f64> = sizes.iter().map(Size::ns_per_byte).collect();
    let most = costs.iter().copied().fold(0.0, f64::max);
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let growth = most / least;
    for size in sizes {
        let (mib, ns) = (size.bytes / 1_048_576.0, size.ns_per_byte());
        println!("  {mib:.1} MiB read, {:.0} ms of CPU: {ns:.2} ns a byte", size.cpu_s * 1e3);
    }
    println!("cost of a byte, most/least of four sizes: {growth:.2} (promise: at most {AT_MOST})");
    (growth > AT_MOST).then(|| format!("cost of a byte grows {growth:.2}-fold"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_that_grows_with_the_square_is_seen() {
        let size = |bytes: f64, cpu_s: f64| Size { bytes, cpu_s };
        let linear: Vec<Size> = [1e6, 2e6, 4e6, 8e6].map(|b| size(b, b * 3e-9)).into();
        assert_eq!(judge(&linear), None);
        let square: Vec<Size> = [1e6, 2e6, 4e6, 8e6].map(|b| size(b, b * b * 1e-15)).into();
        assert!(judge(&square).is_some());
    }
}
