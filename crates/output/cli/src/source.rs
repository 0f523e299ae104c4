// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the facts come from: this machine, or what `--from` names.

use std::path::Path;

use root::{LiveRoot, OpenError, Root};

use crate::args::Common;
use crate::expected::Expected;

/// The prefix of a machine that exists only as a description.
pub(crate) const SYNTHETIC: &str = "synthetic:";

/// Opens the root that the common arguments name.
pub(crate) fn open(common: &Common) -> Result<Box<dyn Root>, Expected> {
    let Some(path) = &common.from else {
        return LiveRoot::open().map(|live| Box::new(live) as Box<dyn Root>).map_err(explain);
    };
    match path.to_str().and_then(|path| path.strip_prefix(SYNTHETIC)) {
        Some(name) => Ok(Box::new(machine(name)?)),
        None => root::open(path, common.machine.as_deref()).map_err(explain),
    }
}

/// Builds a synthetic machine: `NAME`, or `NAME@EIGHTHS/8` for a part of its size.
pub(crate) fn machine(name: &str) -> Result<root::MemoryRoot, Expected> {
    synthetic::machine(name).map_err(|error| {
        Expected::usage(error.to_string(), format!("known are: {}", synthetic::names().join(", ")))
    })
}

fn explain(error: OpenError) -> Expected {
    let help = match &error {
        OpenError::Several { .. } => "choose one with --machine NAME",
        OpenError::NoRoot(_) => "a machine is a folder or archive with sys/devices or proc/cpuinfo",
        _ => "check the path; --from takes a folder, a tar archive or synthetic:NAME",
    };
    match error {
        OpenError::Several { .. } => Expected::usage(error.to_string(), help),
        _ => Expected::precondition(error.to_string(), help),
    }
}

/// What a person typed for `--from`, to be typed again in a hint.
pub(crate) fn again(common: &Common) -> String {
    let from = common.from.as_deref().map(Path::display);
    from.map(|from| format!(" --from {from}")).unwrap_or_default()
}
