// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside audit`: what costs throughput or latency.

use audit::Audit as Outcome;
use catalogue::Catalogue;
use machine::Machine;
use report::Style;
use report::findings::{Detail, Found};
use setting::{Finding, Goal, Observation, Severity};

use crate::args::{Audit, Common};
use crate::expected::{Ended, Expected};
use crate::{source, subject, terminal};

pub(crate) fn run(common: &Common, audit: &Audit) -> Result<Ended, Expected> {
    let catalogue = subject::catalogue(common.catalogue.as_deref())?;
    audit.only.iter().try_for_each(|id| known(&catalogue, id))?;
    let source = source::open(common)?;
    let read = subject::read(&*source.root, &catalogue);
    let goal = Goal::from(audit.goal);
    let mut outcome = subject::audit(&read, &catalogue, goal);
    select(&mut outcome, &read.machine, audit)?;
    let unknown = &read.machine.unknown;
    let Outcome { settings, findings } = &outcome;
    if common.json {
        terminal::document(&report::json::audit(goal, settings, findings, unknown))?;
    } else {
        let found = Found { goal, findings, observations: settings, unknown };
        let detail = if audit.verbose { Detail::Full } else { Detail::Brief };
        let style = terminal::style(common.color);
        terminal::answer(&report::findings::draw(&found, detail, &style))?;
    }
    Ok(ended(&outcome.findings, audit.fail_on.map(Severity::from)))
}

fn known(catalogue: &Catalogue, id: &str) -> Result<(), Expected> {
    match catalogue.get(id) {
        Some(_) => Ok(()),
        None => Err(Expected::usage(
            format!("no setting is called {id:?}"),
            "`nearside explain --list` names them all",
        )),
    }
}

/// Keeps what `--only` and `--device` name.
fn select(outcome: &mut Outcome, machine: &Machine, asked: &Audit) -> Result<(), Expected> {
    let wanted = |id: &String| asked.only.is_empty() || asked.only.contains(id);
    outcome.findings.retain(|finding| wanted(&finding.id));
    outcome.settings.retain(|observation| wanted(&observation.setting));
    if let Some(device) = &asked.device {
        let about = |finding: &Finding| audit::is_about(finding, machine, device);
        let of = |observation: &Observation| observation.device.as_ref() == Some(device);
        let is_there = outcome.findings.iter().any(about) || outcome.settings.iter().any(of);
        // Nothing found about a device that is not there would sound as if all was well.
        if !is_there && let Err(unknown) = report::near::draw(machine, device, &Style::default()) {
            return Err(super::no_device(unknown));
        }
        outcome.findings.retain(about);
        outcome.settings.retain(of);
    }
    Ok(())
}

fn ended(findings: &[Finding], fail_on: Option<Severity>) -> Ended {
    let reached = |level| findings.iter().any(|finding| finding.severity >= level);
    if fail_on.is_some_and(reached) { Ended::Findings } else { Ended::Well }
}
