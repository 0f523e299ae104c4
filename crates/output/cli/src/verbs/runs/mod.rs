// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside runs`: what was measured, kept.

mod export;
mod import;

use std::path::{Path, PathBuf};

use store::{Store, Wanted};

use crate::args::{Common, Runs, RunsAct, RunsList, RunsOutcome, RunsWanted};
use crate::expected::{Ended, Expected};
use crate::terminal;

pub(crate) fn run(common: &Common, runs: &Runs) -> Result<Ended, Expected> {
    if common.from.is_some() {
        let help = "leave --from out; --store names another folder of runs";
        return Err(Expected::usage("runs are kept in a store, not in a captured machine", help));
    }
    let folder = folder(runs.store.as_deref())?;
    match &runs.act {
        RunsAct::List(asked) => list(common, &mut Store::open(&folder)?, asked),
        RunsAct::Show { run } => show(common, &mut Store::open(&folder)?, run),
        RunsAct::Rm { run } => remove(&mut Store::open(&folder)?, run),
        RunsAct::Export(asked) => export::run(common, &mut Store::open(&folder)?, asked),
        RunsAct::Import(asked) => import::run(&folder, asked),
    }
}

/// Where runs are kept: `--store`, or a folder of the user's state (XDG Base Directory
/// Specification 0.8).
pub(super) fn folder(named: Option<&Path>) -> Result<PathBuf, Expected> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    // A relative XDG_STATE_HOME is to be taken for none.
    let is_set = |path: &PathBuf| path.is_absolute();
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(is_set);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".local/state"));
    let state = state.or_else(home).ok_or_else(|| {
        Expected::precondition(
            "neither XDG_STATE_HOME nor HOME is set",
            "name a folder: --store DIR",
        )
    })?;
    Ok(state.join("nearside"))
}

impl From<store::Error> for Expected {
    fn from(error: store::Error) -> Self {
        use store::Error::{Absent, Ambiguous, Id, Index, Io, Taken, Unread};
        let what = error.to_string();
        match error {
            Absent(_) => Self::usage(what, "`nearside runs list --all` names them"),
            Ambiguous(..) => {
                Self::usage(what, "write more of its id; `nearside runs list` shows them")
            }
            Id(_) | Taken(_) => {
                Self::usage(what, "a store keeps each run once, and never changes one")
            }
            Unread { .. } => Self::usage(what, "put the file back as it was, or take it away"),
            Io { .. } => {
                Self::precondition(what, "name a folder that you may write to: --store DIR")
            }
            Index { .. } => {
                Self::precondition(what, "remove that file: it is made again from the runs")
            }
        }
    }
}

/// What a list is to be of.
fn wanted(asked: &RunsWanted, newest: Option<u32>) -> Wanted {
    let outcome = asked.outcome.map(|outcome| match outcome {
        RunsOutcome::Measured => "measured",
        RunsOutcome::Failed => "failed",
        RunsOutcome::Cancelled => "cancelled",
    });
    Wanted {
        newest,
        workload: asked.workload.clone(),
        engine: asked.engine.clone(),
        outcome: outcome.map(str::to_owned),
        since: asked.since.clone(),
    }
}

fn list(common: &Common, store: &mut Store, asked: &RunsList) -> Result<Ended, Expected> {
    let wanted = wanted(&asked.wanted, (!asked.all).then_some(asked.newest));
    let entries = store.list(&wanted)?;
    let total = store.count(&wanted)?;
    let unread = store.unread()?;
    if common.json {
        terminal::document(&report::json::run_list(&entries, total, &unread))?;
        return Ok(Ended::Well);
    }
    terminal::answer(&report::runs::list(&entries, total, &terminal::style(common.color)))?;
    for file in &unread {
        terminal::hint(&format!("not listed: {}: {}", file.path.display(), file.what));
    }
    Ok(Ended::Well)
}

fn show(common: &Common, store: &mut Store, name: &str) -> Result<Ended, Expected> {
    let id = store_id(store, name)?;
    let run = store.read(&id)?;
    if common.json {
        terminal::document(&run)?;
    } else {
        terminal::answer(&report::runs::show(&run, &terminal::style(common.color)))?;
    }
    Ok(Ended::Well)
}

fn store_id(store: &mut Store, name: &str) -> Result<String, Expected> {
    Ok(store.find(name)?)
}

/// All names are understood before the first run goes.
fn remove(store: &mut Store, names: &[String]) -> Result<Ended, Expected> {
    let ids: Vec<String> =
        names.iter().map(|name| store_id(store, name)).collect::<Result<_, _>>()?;
    for id in &ids {
        store.remove(id)?;
        terminal::hint(&format!("removed {id}"));
    }
    Ok(Ended::Well)
}
