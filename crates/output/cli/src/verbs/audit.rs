// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside audit`: what costs throughput or latency.

use audit::Audit as Outcome;
use catalogue::Catalogue;
use machine::Machine;
use report::findings::{Detail, Found};
use setting::{Finding, Goal, Severity};

use crate::args::{Audit, Common};
use crate::expected::{Ended, Expected};
use crate::{source, subject, terminal, typed};

pub(crate) fn run(common: &Common, audit: &Audit) -> Result<Ended, Expected> {
    let catalogue = subject::catalogue(common.catalogue.as_deref())?;
    audit.only.iter().try_for_each(|id| known(&catalogue, id))?;
    let source = source::open(common)?;
    let read = subject::read(&*source.root, &catalogue);
    let goal = Goal::from(audit.goal);
    let mut outcome = subject::audit(&read, &catalogue, goal);
    select(&mut outcome, &read.machine, audit)?;
    subject::quote(&*source.root, &mut outcome);
    let unknown = &read.machine.unknown;
    let Outcome { settings, findings } = &outcome;
    if common.json {
        terminal::document(&report::json::audit(goal, settings, findings, unknown))?;
    } else {
        let named = typed::machine(common);
        let found = Found { goal, findings, observations: settings, unknown, named: &named };
        let detail = if audit.verbose { Detail::Full } else { Detail::Brief };
        let style = terminal::style(common.color);
        terminal::answer(&report::findings::draw(&found, detail, &style))?;
    }
    Ok(ended(&outcome.findings, audit.fail_on.map(Severity::from)))
}

fn known(catalogue: &Catalogue, id: &str) -> Result<(), Expected> {
    match catalogue.get(id) {
        Some(_) => Ok(()),
        None => Err(subject::no_setting(catalogue, id)),
    }
}

/// Keeps what `--only` and `--device` name. A device that is not there is an error: silence would
/// be a clean bill of health.
fn select(outcome: &mut Outcome, machine: &Machine, asked: &Audit) -> Result<(), Expected> {
    if let Some(device) = &asked.device {
        of_device(outcome, machine, device)?;
    }
    let wanted = |id: &String| asked.only.is_empty() || asked.only.contains(id);
    outcome.findings.retain(|finding| wanted(&finding.id));
    outcome.settings.retain(|observation| wanted(&observation.setting));
    Ok(())
}

/// What is about a device, or about the hardware below it.
fn of_device(outcome: &mut Outcome, machine: &Machine, device: &str) -> Result<(), Expected> {
    let below = machine.below(device);
    let names = || below.iter().map(|one| one.device.as_str()).chain([device]);
    let is_about = |finding: &Finding| names().any(|name| audit::is_about(finding, machine, name));
    outcome.findings.retain(is_about);
    outcome.settings.retain(|observation| {
        let seen = observation.device.as_ref();
        seen.is_some_and(|seen| names().any(|name| audit::is_same(machine, seen, name)))
    });
    let is_silent = outcome.findings.is_empty() && outcome.settings.is_empty();
    let name = device.strip_prefix("/dev/").unwrap_or(device);
    if is_silent && machine.near(name).is_none() {
        return Err(report::UnknownDevice::of(machine, device).into());
    }
    Ok(())
}

fn ended(findings: &[Finding], fail_on: Option<Severity>) -> Ended {
    let reached = |level| findings.iter().any(|finding| finding.severity >= level);
    if fail_on.is_some_and(reached) { Ended::Findings } else { Ended::Well }
}
