// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the facts come from: this machine, or what `--from` names.

use std::path::Path;

use root::{About, LiveRoot, OpenError, Root};

use crate::args::Common;
use crate::expected::Expected;
use crate::{subject, terminal};

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
    if common.machine.is_some() && common.from.as_deref().is_none_or(is_synthetic) {
        let help = "give --from FILE or --from DIR with it";
        return Err(Expected::usage("--machine chooses among several, and there is one", help));
    }
    let Some(path) = &common.from else {
        return Ok(Source { root: Box::new(live()?), kind: Kind::Live, about: None });
    };
    let kind = Kind::Replayed;
    if let Some(name) = path.to_str().and_then(|path| path.strip_prefix(SYNTHETIC)) {
        let root = Box::new(machine(name)?.build());
        return Ok(Source { root, kind, about: None });
    }
    let which = common.machine.as_deref();
    let opened = if path == Path::new("-") {
        root::open_archive(std::io::stdin().lock(), Path::new("standard input"), which)
    } else {
        root::open(path, which)
    };
    let opened = opened.map_err(explain)?;
    if opened.skipped > 0 {
        let n = opened.skipped;
        terminal::hint(&format!("left out of the archive, as no UTF-8: {n} names"));
    }
    Ok(Source { root: opened.root, kind, about: opened.about })
}

/// This machine, now.
pub(crate) fn live() -> Result<LiveRoot, Expected> {
    let live = LiveRoot::open().map_err(explain)?;
    look_for_file_systems(&live)?;
    Ok(live)
}

fn is_synthetic(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with(SYNTHETIC))
}

/// In a chroot or a narrow container nothing may be mounted; a machine without anything would be
/// a wrong answer then.
fn look_for_file_systems(live: &LiveRoot) -> Result<(), Expected> {
    let help = "mount -t sysfs sysfs /sys; mount -t proc proc /proc";
    let missing = |sign: &str| live.mode(sign).is_err();
    match (missing("/sys/devices"), missing("/proc/cpuinfo")) {
        (false, false) => return Ok(()),
        (true, true) => {
            let what = "cannot see the machine: neither /sys nor /proc is mounted here";
            return Err(Expected::precondition(what, help));
        }
        (true, false) => terminal::hint("/sys is not mounted here: no device is seen"),
        (false, true) => terminal::hint("/proc is not mounted here: no interrupt is seen"),
    }
    terminal::hint(&format!("help: {help}"));
    Ok(())
}

/// The description of a synthetic machine: `NAME`, or a description's own `FILE.toml`; `@1/8` after
/// it gives an eighth of its CPUs and queues.
pub(crate) fn machine(name: &str) -> Result<synthetic::Description, Expected> {
    let (name, share) = name.split_once('@').unwrap_or((name, "1/1"));
    let text = description(name)?;
    let description = synthetic::parse(&text)
        .map_err(|error| Expected::usage(format!("{SYNTHETIC}{name}: {error}"), ""))?;
    let divisor: Option<u32> = share.strip_prefix("1/").and_then(|divisor| divisor.parse().ok());
    match divisor.filter(|divisor| *divisor > 0) {
        Some(divisor) => Ok(description.scaled(divisor)),
        None => Err(Expected::usage(format!("{share:?} is no share"), "a share is like 1/8")),
    }
}

fn description(name: &str) -> Result<String, Expected> {
    if name.ends_with(".toml") {
        return subject::read_text(Path::new(name)).map_err(|error| {
            let what = format!("cannot read the description {name}: {error}");
            Expected::precondition(what, "name a TOML file that describes a machine")
        });
    }
    synthetic::named(name).map(str::to_owned).ok_or_else(|| {
        let known: Vec<_> = synthetic::names().collect();
        let what = format!("no synthetic machine is called {name:?}");
        Expected::usage(what, format!("name a FILE.toml or one of: {}", known.join(", ")))
    })
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
