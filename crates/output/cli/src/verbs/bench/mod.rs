// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside bench`: one load on drives or a file, placed near them, measured and kept.
//!
//! ```text
//! words ─> targets ─> seats ─> Workload ─┬─> script (--dry-run)
//!                                        └─> own engine │ fio │ gdsio ─> Run ─> store, answer
//! ```

mod carry;
mod ground;
mod jobs;
mod load;
mod progress;
mod script;
mod seats;
mod targets;

use record::{Outcome, Run};
use store::Store;

pub(super) use self::carry::{Asked, now_ms, out as carry_out};
pub(super) use self::ground::Ground;
use self::load::workload;
use self::seats::{Default as Threads, seats};
pub(super) use self::targets::{Chosen, choose};
use super::runs;
use crate::args::{Bench, Common, EngineName, Load, Means};
use crate::expected::{Ended, Expected};
use crate::terminal;

pub(crate) fn run(common: &Common, bench: &Bench) -> Result<Ended, Expected> {
    refuse_early(common, &bench.means)?;
    let ground = Ground::open(&bench.means)?;
    let steps = steps(&ground, bench)?;
    if bench.dry_run {
        for step in &steps {
            terminal::answer(&script::write(step, &bench.means)?)?;
        }
        return Ok(Ended::Well);
    }
    let runs = jobs::out(&ground, &steps, &bench.means)?;
    if keep(&bench.means, &runs)? {
        for run in &runs {
            terminal::hint(&format!("kept: nearside runs show {}", run.id));
        }
    }
    for run in &runs {
        if common.json {
            terminal::document(run)?;
        } else {
            terminal::answer(&report::runs::show(run, &terminal::style(common.color)))?;
        }
    }
    Ok(ended(&runs))
}

/// What is to be done: one load from words, or those of a job file one after the other.
fn steps(ground: &Ground, bench: &Bench) -> Result<Vec<Asked>, Expected> {
    if let Some(file) = &bench.jobs {
        return jobs::read(file, &bench.means);
    }
    let chosen = choose(ground, &bench.target, bench.load.size.as_deref(), bench.load.reads())?;
    let asked = ask(ground, &chosen, &bench.load, &bench.means)?;
    if !bench.dry_run {
        chosen.said.iter().chain(&asked.seated.said).for_each(|said| terminal::hint(said));
    }
    Ok(vec![asked])
}

pub(super) fn refuse_early(common: &Common, means: &Means) -> Result<(), Expected> {
    if common.from.is_some() {
        let help = "leave --from out; `nearside --from … topology` shows where its drives are";
        return Err(Expected::usage("a captured machine has no drives to measure", help));
    }
    if !means.hosts.is_empty() && means.engine != EngineName::Fio {
        let help = "add --engine fio; each host runs `fio --server`";
        return Err(Expected::usage("only fio works on other hosts", help));
    }
    Ok(())
}

/// What one run is to do, from words.
pub(super) fn ask(
    ground: &Ground,
    chosen: &Chosen,
    load: &Load,
    means: &Means,
) -> Result<Asked, Expected> {
    let threads = load::threads(load)?;
    let default = match chosen.is_files || !load.is_random() {
        true => Threads::One,
        false => Threads::OneAQueue,
    };
    let seated = seats(&ground.machine, chosen, means.place.as_ref(), threads, default)?;
    let workload = workload(load, means.engine, seated.threads, chosen)?;
    Ok(Asked { workload, seated })
}

/// Keeps runs, unless told otherwise, and says whether it did. What was measured is shown even where
/// it could not be kept.
pub(super) fn keep(means: &Means, kept: &[Run]) -> Result<bool, Expected> {
    if means.no_store {
        return Ok(false);
    }
    let folder = runs::folder(means.store.as_deref())?;
    let stored = Store::open(&folder).and_then(|mut store| store.add_all(kept));
    match stored {
        Ok(_) => Ok(true),
        Err(error) => {
            terminal::hint(&format!("nearside: it was not kept: {error}"));
            Ok(false)
        }
    }
}

/// The exit code that tells how runs ended.
pub(super) fn ended(runs: &[Run]) -> Ended {
    let is = |wanted: fn(&Outcome) -> bool| runs.iter().any(|run| wanted(&run.outcome));
    if is(|outcome| matches!(outcome, Outcome::Cancelled)) {
        Ended::Interrupted
    } else if is(|outcome| matches!(outcome, Outcome::Failed(_))) {
        Ended::Failed
    } else {
        Ended::Well
    }
}
