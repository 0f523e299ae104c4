// SPDX-License-Identifier: MIT OR Apache-2.0
//! The full tier: what is run before a capability is called done. Its results stand, with their
//! date, in SPECIFICATION.md.

use anyhow::Result;

use crate::{project, tidy};

pub(crate) fn run() -> Result<()> {
    let all = [("NEARSIDE_REQUIRE_ALL", "1"), ("NEARSIDE_MUTATIONS", "10000")];
    let long = [("NEARSIDE_REQUIRE_ALL", "1"), ("PROPTEST_CASES", "20000")];
    tidy::run()?;
    project::call("cargo", &["test", "--workspace"], &all)?;
    project::call("cargo", &["test", "--workspace", "--lib"], &long)
}
