// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans of every machine there is, made-up and captured, for every goal.
//!
//! What holds for all of them: changes stand in an order in which none undoes another; no offline
//! and no isolated CPU gets an interrupt; the ports of a node share its cores; what could drop a
//! link in use is left; a machine that was changed by the plan has nothing left to change; and the
//! scripts say the same.

#![expect(clippy::unwrap_used, reason = "an unwrap that fails is a trial that fails")]

mod kernel;
mod rules;
mod scripts;
mod simulate;

use std::time::{Duration, Instant};

use catalogue::Catalogue;
use machine::{Carries, Machine};
use nearside_plan::{Queues, Request, plan};
use root::{DirRoot, Root};
use setting::{Finding, Goal, Observation, Place, Plan, Planned};
use support::{Capture, Failed, Need, Trial, failed, lab_captures, tree_captures, trial};

const GOALS: [Goal; 3] = [Goal::Throughput, Goal::Latency, Goal::Balanced];

fn main() {
    let mut trials = Vec::new();
    for capture in lab_captures().into_iter().chain(tree_captures()) {
        let name = format!("captures/{}", capture.name);
        trials.push(trial(name, &[Need::Captures], move || captured(&capture)));
    }
    for name in synthetic::names().filter(|name| *name != "thousand-cpus") {
        trials.push(Trial::test(format!("synthetic/{name}"), move || {
            holds(&description(name, 1)?.build())
        }));
        trials.push(Trial::test(format!("script/{name}"), move || {
            scripts::round(&description(name, scripts::share(name))?)
        }));
    }
    trials.push(Trial::test("synthetic/thousand-cpus", || {
        holds(&description("thousand-cpus", 8)?.build())
    }));
    trials.push(Trial::test("left/healthy-two-socket", healthy));
    trials.push(Trial::test("quick/thousand-cpus", quick));
    trials
        .push(Trial::test("script/pairs", || scripts::pairs(&description("sick-two-socket", 1)?)));
    trials.push(Trial::test("script/moved", || kernel::moved(&description("sick-two-socket", 1)?)));
    trials
        .push(Trial::test("turned/turbo", || scripts::turned(&description("sick-two-socket", 1)?)));
    support::run(trials)
}

fn description(name: &str, share: u32) -> Result<synthetic::Description, Failed> {
    let text = synthetic::named(name).ok_or("no such machine")?;
    Ok(synthetic::parse(text).map_err(failed)?.scaled(share))
}

/// A machine with what was observed of it.
pub(crate) struct Seen {
    pub(crate) machine: Machine,
    pub(crate) observations: Vec<Observation>,
    pub(crate) catalogue: Catalogue,
}

impl Seen {
    pub(crate) fn of(root: &dyn Root) -> Self {
        let catalogue = Catalogue::built_in();
        let machine = linux::read(root);
        let observations = linux::observe(root, &machine, catalogue.settings());
        Self { machine, observations, catalogue }
    }

    pub(crate) fn plan(&self, request: &Request) -> Plan {
        plan(&self.subject(request), request)
    }

    /// What the audit has against the machine.
    pub(crate) fn findings(&self, request: &Request) -> Vec<Finding> {
        audit::audit(&self.subject(request)).findings
    }

    fn subject(&self, request: &Request) -> audit::Subject<'_> {
        audit::Subject {
            machine: &self.machine,
            observations: &self.observations,
            catalogue: &self.catalogue,
            goal: request.goal.unwrap_or_default(),
        }
    }
}

fn captured(capture: &Capture) -> Result<(), Failed> {
    for folder in capture.roots()? {
        let root = DirRoot::open(&folder).map_err(failed)?;
        holds(&root)?;
    }
    Ok(())
}

/// Holds on any machine.
fn holds(root: &dyn Root) -> Result<(), Failed> {
    let seen = Seen::of(root);
    let mut told = Seen::of(root);
    told.machine.carriers.insert("elsewhere".to_owned(), [Carries::Login].into());
    for goal in GOALS {
        for queues in [Queues::Keep, Queues::Fit] {
            let request = Request { goal: Some(goal), queues, ..Request::default() };
            let said = |what: String| failed(format!("{goal:?}, {queues:?}: {what}"));
            one(&seen, &request).map_err(said)?;
            // Named, and told that all is carried elsewhere, so that channels and rings pass.
            let named = Request {
                devices: seen.machine.nics.iter().map(|nic| nic.name.clone()).collect(),
                ..request
            };
            one(&told, &named)
                .map_err(|what| failed(format!("{goal:?}, {queues:?}, named: {what}")))?;
        }
    }
    Ok(())
}

fn one(seen: &Seen, request: &Request) -> Result<(), String> {
    let plan = seen.plan(request);
    rules::ordered(&plan)?;
    rules::safe(seen, request, &plan)?;
    rules::found(seen, request, &plan)?;
    let after = simulate::after(seen, &plan);
    rules::on_good_cpus(&after, &plan)?;
    if request.devices.is_empty() {
        rules::fair(&after, &plan)?;
    }
    let again = after.plan(request);
    // Interrupts that had no number yet are banned by the second plan: the first one says so.
    let later = plan.left.iter().any(|left| left.setting == "irqbalance");
    let is_later = |planned: &&Planned| later && planned.place == Place::BannedInterrupts;
    let mut open = again.changes.iter().filter(|planned| simulate::shows(planned));
    match open.find(|planned| !is_later(planned)) {
        None => Ok(()),
        Some(planned) => Err(format!("not settled: {planned:#?}")),
    }
}

/// What is where it belongs is left there, whatever the goal.
fn healthy() -> Result<(), Failed> {
    let seen = Seen::of(&description("healthy-two-socket", 1)?.build());
    for goal in GOALS {
        let plan = seen.plan(&Request { goal: Some(goal), ..Request::default() });
        let is_irq = |one: &&Planned| matches!(one.place, Place::Interrupt { .. });
        if let Some(planned) = plan.changes.iter().find(is_irq) {
            return Err(failed(format!("{goal:?}: nothing is wrong with it: {planned:#?}")));
        }
    }
    Ok(())
}

/// Some eight thousand vectors; the bound is far above what it takes on an idle machine, and far
/// below what anything quadratic in them would.
fn quick() -> Result<(), Failed> {
    let seen = Seen::of(&description("thousand-cpus", 1)?.build());
    let start = Instant::now();
    let plan = seen.plan(&Request { goal: Some(Goal::Throughput), ..Request::default() });
    let took = start.elapsed();
    let (vectors, changes) = (seen.machine.irqs.len(), plan.changes.len());
    if took > Duration::from_secs(20) {
        return Err(format!("{changes} changes of {vectors} interrupts took {took:?}").into());
    }
    Ok(())
}
