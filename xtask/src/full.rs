// SPDX-License-Identifier: MIT OR Apache-2.0
//! The full tier: what is run before a capability is called done. Its results stand, with their
//! date, in SPECIFICATION.md.

use anyhow::Result;

use crate::{fuzz, project, tidy};

/// Seconds of fuzzing for each target.
const FUZZ_SECONDS: u32 = 600;

pub(crate) fn run() -> Result<()> {
    let all = [
        ("NEARSIDE_REQUIRE_ALL", "1"),
        ("NEARSIDE_MUTATIONS", "10000"),
        // Every machine with both kernels, every goal, 50 kills and 20 power cuts.
        ("NEARSIDE_LAB", "full"),
    ];
    let long = [("NEARSIDE_REQUIRE_ALL", "1"), ("PROPTEST_CASES", "20000")];
    tidy::run()?;
    project::call("cargo", &["xtask", "lab", "build"], &[])?;
    project::call("cargo", &["test", "--workspace"], &all)?;
    project::call("cargo", &["test", "--workspace", "--lib"], &long)?;
    fuzz::run(&fuzz::Options { seconds: FUZZ_SECONDS })
}
