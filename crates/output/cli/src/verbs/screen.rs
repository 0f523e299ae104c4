// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bare `nearside`: one screen.

use report::findings::Found;
use report::screen::Standing;
use setting::Goal;

use crate::args::Common;
use crate::expected::{Ended, Expected};
use crate::{source, subject, terminal};

pub(crate) fn run(common: &Common) -> Result<Ended, Expected> {
    let catalogue = subject::catalogue(common.catalogue.as_deref())?;
    let source = source::open(common)?;
    let read = subject::read(&*source.root, &catalogue);
    show(common, &read, &catalogue)
}

/// Prints the first screen of a machine that was read; as JSON, its audit.
pub(crate) fn show(
    common: &Common,
    read: &subject::Read,
    catalogue: &catalogue::Catalogue,
) -> Result<Ended, Expected> {
    let goal = Goal::default();
    let outcome = subject::audit(read, catalogue, goal);
    let (settings, findings) = (&outcome.settings, &outcome.findings);
    let unknown = &read.machine.unknown;
    if common.json {
        terminal::document(&report::json::audit(goal, settings, findings, unknown))?;
        return Ok(Ended::Well);
    }
    let found = Found { goal, findings, observations: settings, unknown };
    let style = terminal::style(common.color);
    let (machine, again) = (&read.machine, again(common));
    terminal::answer(&report::screen::draw_of(machine, &found, standing(common), &again, &style))?;
    Ok(Ended::Well)
}

/// What names the machine on a command line; nothing for this machine.
fn again(common: &Common) -> String {
    let from = common.from.as_ref().map(|path| ("--from", path.to_string_lossy().into_owned()));
    let machine = common.machine.as_ref().map(|name| ("--machine", name.clone()));
    let words = from.into_iter().chain(machine);
    words.map(|(flag, value)| format!("{flag} {}", quoted(&value))).collect::<Vec<_>>().join(" ")
}

/// A word that a shell reads as it stands.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:=@,%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

fn standing(common: &Common) -> Standing {
    match common.from {
        Some(_) => Standing::Replayed,
        None if rustix::process::geteuid().is_root() => Standing::Root,
        None => Standing::User,
    }
}
