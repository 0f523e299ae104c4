// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the facts come from: this machine, or what `--from` names.

use root::{About, LiveRoot, OpenError, Root};

use crate::args::Common;
use crate::expected::Expected;
use crate::terminal;

/// The prefix of a machine that exists only as a description.
pub(crate) const SYNTHETIC: &str = "synthetic:";

/// Whether the facts are of this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// This machine, now.
    Live,
    /// A copy, an archive or a description.
    Replayed,
}

/// A machine to be read.
pub(crate) struct Source {
    pub(crate) root: Box<dyn Root>,
    pub(crate) kind: Kind,
    /// What a capture says of itself.
    pub(crate) about: Option<About>,
}

/// Opens the machine that the common arguments name.
pub(crate) fn open(common: &Common) -> Result<Source, Expected> {
    let Some(path) = &common.from else {
        let live = LiveRoot::open().map_err(explain)?;
        return Ok(Source { root: Box::new(live), kind: Kind::Live, about: None });
    };
    let kind = Kind::Replayed;
    if let Some(name) = path.to_str().and_then(|path| path.strip_prefix(SYNTHETIC)) {
        let root = Box::new(machine(name)?.build());
        return Ok(Source { root, kind, about: None });
    }
    let opened = root::open(path, common.machine.as_deref()).map_err(explain)?;
    if opened.skipped > 0 {
        let n = opened.skipped;
        terminal::hint(&format!("left out {n} entries whose names are no UTF-8"));
    }
    Ok(Source { root: opened.root, kind, about: opened.about })
}

/// The description of a synthetic machine: `NAME`, or `NAME@1/8` for an eighth of its CPUs and
/// queues.
pub(crate) fn machine(name: &str) -> Result<synthetic::Description, Expected> {
    let (name, share) = name.split_once('@').unwrap_or((name, "1/1"));
    let text = synthetic::named(name).ok_or_else(|| {
        let known: Vec<_> = synthetic::names().collect();
        let what = format!("no synthetic machine is called {name:?}");
        Expected::usage(what, format!("known are: {}", known.join(", ")))
    })?;
    let description = synthetic::parse(text)
        .map_err(|error| Expected::usage(format!("{SYNTHETIC}{name}: {error}"), ""))?;
    let divisor: Option<u32> = share.strip_prefix("1/").and_then(|divisor| divisor.parse().ok());
    match divisor.filter(|divisor| *divisor > 0) {
        Some(divisor) => Ok(description.scaled(divisor)),
        None => Err(Expected::usage(format!("{share:?} is no share"), "a share is like 1/8")),
    }
}

fn explain(error: OpenError) -> Expected {
    match error {
        OpenError::Several { .. } | OpenError::NoSuch { .. } => {
            let help = "choose one with --machine NAME; the end of a name is enough";
            Expected::usage(error.to_string(), help)
        }
        _ => Expected::precondition(error.to_string(), error.help()),
    }
}
