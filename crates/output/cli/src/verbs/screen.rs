// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bare `nearside`: one screen.

use catalogue::Catalogue;
use report::findings::Found;
use report::screen::Standing;
use root::Root;
use setting::Goal;

use crate::args::Common;
use crate::expected::{Ended, Expected};
use crate::subject::Read;
use crate::{source, subject, terminal, typed};

pub(crate) fn run(common: &Common) -> Result<Ended, Expected> {
    let catalogue = subject::catalogue(common.catalogue.as_deref())?;
    let source = source::open(common)?;
    let read = subject::read(&*source.root, &catalogue);
    let goal = Goal::default();
    let unknown = &read.machine.unknown;
    if common.json {
        terminal::document(&document(&*source.root, &read, &catalogue))?;
        return Ok(Ended::Well);
    }
    let outcome = subject::audit(&read, &catalogue, goal);
    let (settings, findings) = (&outcome.settings, &outcome.findings);
    let named = typed::machine(common);
    let found = Found { goal, findings, observations: settings, unknown, named: &named };
    let style = terminal::style(common.color);
    terminal::answer(&report::screen::draw(&read.machine, &found, standing(common), &style))?;
    Ok(Ended::Well)
}

/// The audit of a machine that was read, for the goal that a screen speaks of.
pub(crate) fn document(root: &dyn Root, read: &Read, catalogue: &Catalogue) -> report::json::Audit {
    let goal = Goal::default();
    let mut outcome = subject::audit(read, catalogue, goal);
    subject::quote(root, &mut outcome);
    report::json::audit(goal, &outcome.settings, &outcome.findings, &read.machine.unknown)
}

fn standing(common: &Common) -> Standing {
    match common.from {
        Some(_) => Standing::Replayed,
        None if rustix::process::geteuid().is_root() => Standing::Root,
        None => Standing::User,
    }
}
