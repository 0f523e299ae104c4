// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plans that nearside makes, carried out: for every made-up machine and every goal, applied,
//! applied again, cut short and taken back to the byte.
//!
//! The quick tier cuts each plan at a few places; `NEARSIDE_MUTATIONS` says at how many, up to every
//! record and write of it; of plans with many thousands of those, at as many as time allows.

#![expect(clippy::unwrap_used, reason = "an unwrap that fails is a trial that fails")]

use std::path::Path;
use std::sync::Arc;

use catalogue::Catalogue;
use journal::{Journal, MemoryMedium};
use nearside_apply::simulated::{Clock, CuttingMedium, Fault, Simulated};
use nearside_apply::{Ending, Force, Options, Receipts, Reverted, Selection, apply, revert};
use plan::{Queues, Request, plan};
use root::{MemoryRoot, Root, text};
use setting::{Goal, Outcome, Place, Plan};
use support::{Failed, Trial, failed};

const GOALS: [Goal; 3] = [Goal::Throughput, Goal::Latency, Goal::Balanced];
/// Cuts of each plan unless told: these run in every test.
const FEW: u64 = 6;
/// Operations of all cuts of a plan together, at most.
const MOST: u64 = 300_000;
/// What a distribution's unit says.
const UNIT: &str = "[Service]\nEnvironmentFile=-/etc/default/irqbalance\nExecStart=/usr/sbin/irqbalance $IRQBALANCE_ARGS\n";
const ADMINS: &[u8] = b"# caf\xe9\nIRQBALANCE_ARGS=\"--banirq=7\"\n";
const FILE: &str = "/etc/default/irqbalance";

fn main() {
    let mut trials = Vec::new();
    for name in synthetic::names() {
        for goal in GOALS {
            let title = format!("{name}/{}", format!("{goal:?}").to_lowercase());
            trials.push(Trial::test(title, move || one(name, goal)));
        }
    }
    support::run(trials)
}

fn cuts() -> u64 {
    let told = std::env::var("NEARSIDE_MUTATIONS").ok();
    told.and_then(|number| number.parse().ok()).unwrap_or(FEW)
}

/// A machine with irqbalance, whose administrator bans an interrupt.
fn tree(name: &str) -> Result<Arc<MemoryRoot>, Failed> {
    let text = synthetic::named(name).ok_or("no such machine")?;
    let share = if name == "thousand-cpus" { 16 } else { 1 };
    let mut tree = synthetic::parse(text).map_err(failed)?.scaled(share).build();
    tree.file(FILE, ADMINS)
        .file("/usr/lib/systemd/system/irqbalance.service", UNIT)
        .file("/sys/fs/cgroup/system.slice/irqbalance.service/cgroup.procs", "1\n")
        .file("/dev/cpu_dma_latency", "");
    Ok(Arc::new(tree))
}

struct Subject {
    tree: Arc<MemoryRoot>,
    plan: Plan,
    nics: Vec<String>,
}

impl Subject {
    fn kernel(&self, clock: &Clock) -> Simulated {
        let kernel = Simulated::new(Arc::clone(&self.tree)).with_clock(clock.clone());
        kernel.run_service("irqbalance.service");
        kernel
    }

    /// What differs from the beginning; interrupts by queue, for their numbers may be others.
    fn left(&self, kernel: &Simulated) -> Vec<String> {
        let mut left = kernel.differences();
        left.retain(|line| !line.starts_with("/proc/irq/") && !line.contains("/msi_irqs/"));
        let fresh = self.kernel(&Clock::default());
        for name in &self.nics {
            let (then, now) = (affinities(&fresh, name), affinities(kernel, name));
            if then != now {
                left.push(format!("{name}: {then:?}, now {now:?}"));
            }
        }
        left
    }

    fn apply(&self, kernel: &Simulated, clock: &Clock, medium: &MemoryMedium) -> Option<Receipts> {
        let cutting = CuttingMedium::new(medium.clone(), clock.clone());
        let mut journal = Journal::on(Box::new(cutting), Path::new("journal")).ok()?;
        apply(kernel, &mut journal, &self.plan, &Options::default()).ok()
    }

    fn is_taken_back(&self, kernel: &Simulated, medium: &MemoryMedium) -> Result<(), Failed> {
        let mut journal = Journal::on(Box::new(medium.clone()), Path::new("journal")).unwrap();
        let reverts =
            revert(kernel, &mut journal, &Selection::All, Force::Respect).map_err(failed)?;
        let stuck: Vec<&Reverted> = reverts.reverted.iter().filter(|one| one.is_stuck()).collect();
        let left = self.left(kernel);
        if stuck.is_empty() && left.is_empty() && journal.transactions().is_empty() {
            return Ok(());
        }
        let count = journal.transactions().len();
        Err(format!("{count} transactions, {} left: {:#?}, {stuck:#?}", left.len(), left.first())
            .into())
    }
}

fn affinities(kernel: &Simulated, nic: &str) -> Vec<(Option<u32>, String)> {
    let path = kernel.resolve(&format!("/sys/class/net/{nic}")).unwrap_or_default();
    let Some(function) = path.rsplit('/').find_map(|part| part.parse().ok()) else {
        return Vec::new();
    };
    let list = |number| text(kernel, &format!("/proc/irq/{number}/smp_affinity_list"));
    let vectors = linux::vectors(kernel, function).into_iter();
    vectors.map(|vector| (vector.queue, list(vector.number).unwrap_or_default())).collect()
}

fn subject(name: &str, goal: Goal) -> Result<Subject, Failed> {
    let tree = tree(name)?;
    let catalogue = Catalogue::built_in();
    let machine = linux::read(&*tree);
    let observations = linux::observe(&*tree, &machine, catalogue.settings());
    let nics: Vec<String> = machine.nics.iter().map(|nic| nic.name.clone()).collect();
    let subject = audit::Subject {
        machine: &machine,
        observations: &observations,
        catalogue: &catalogue,
        goal,
    };
    let request = Request { goal: Some(goal), queues: Queues::Fit, ..Request::default() };
    Ok(Subject { plan: plan(&subject, &request), tree, nics })
}

fn one(name: &str, goal: Goal) -> Result<(), Failed> {
    let subject = subject(name, goal)?;
    let (clock, medium) = (Clock::default(), MemoryMedium::default());
    let kernel = subject.kernel(&clock);
    let came = subject.apply(&kernel, &clock, &medium).ok_or("it was not carried out")?;
    let odd: Vec<_> = came.receipts.iter().filter(|one| !one.outcome.is_well()).collect();
    if came.ending != Ending::Done {
        return Err(format!("{:?}: {odd:#?}", came.ending).into());
    }
    bans(&subject, &kernel)?;
    let operations = clock.count();
    let again = subject.apply(&kernel, &Clock::default(), &medium).ok_or("it failed again")?;
    let unequal = again.receipts.iter().find(|one| one.outcome != Outcome::Equal);
    if let Some(unequal) = unequal {
        return Err(format!("the same again: {unequal:#?}").into());
    }
    subject.is_taken_back(&kernel.with_clock(Clock::default()), &medium)?;
    let all = u64::try_from(operations).unwrap();
    // Each cut does again what comes before it: of long plans, fewer.
    let most = (MOST / all.max(1)).max(FEW);
    let step = (all / cuts().min(most).min(all).max(1)).max(1);
    for at in (0..all).step_by(usize::try_from(step).unwrap()) {
        let at = usize::try_from(at).unwrap();
        let clock = Clock::default().with(at, Fault::Cut);
        let (kernel, medium) = (subject.kernel(&clock), MemoryMedium::default());
        let _ = subject.apply(&kernel, &clock, &medium);
        let kernel = kernel.with_clock(Clock::default());
        let said = |why: Failed| format!("cut at {at} of {operations}: {:?}", why.message());
        subject.is_taken_back(&kernel, &medium).map_err(said)?;
    }
    Ok(())
}

/// What irqbalance leaves alone is in its file, beside what the administrator wrote.
fn bans(subject: &Subject, kernel: &Simulated) -> Result<(), Failed> {
    let changes = &subject.plan.changes;
    let wanted = changes.iter().find(|planned| planned.place == Place::BannedInterrupts);
    let Some(wanted) = wanted else { return Ok(()) };
    let file = kernel.read(FILE).map_err(failed)?;
    let found = setting::banned(&file, &setting::BAN_VARIABLES);
    let mut all = setting::Interrupts::default();
    for word in wanted.to.split_whitespace() {
        all.0.extend(numbers(kernel, word)?);
    }
    all.0.insert(7);
    match file.starts_with(ADMINS) && found == all {
        true => Ok(()),
        false => Err(format!("{found} where {all} is wanted").into()),
    }
}

/// A number, or those that the queues of a function have by now.
fn numbers(kernel: &Simulated, word: &str) -> Result<Vec<u32>, Failed> {
    if let Ok(number) = word.parse() {
        return Ok(vec![number]);
    }
    let function = word.parse().map_err(failed)?;
    let queues = linux::vectors(kernel, function).into_iter();
    Ok(queues.filter(|vector| vector.queue.is_some()).map(|vector| vector.number).collect())
}
