// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside runs export`: runs for other programs.

use record::Run;
use store::Store;

use super::{store_id, wanted};
use crate::args::{Common, RunsExport, RunsFormat};
use crate::expected::{Ended, Expected};
use crate::terminal;

pub(super) fn run(
    common: &Common,
    store: &mut Store,
    asked: &RunsExport,
) -> Result<Ended, Expected> {
    if common.json && asked.format != RunsFormat::Json {
        let help = "leave --json out, or take --format json";
        return Err(Expected::usage("--json and another --format are asked for at once", help));
    }
    let ids: Vec<String> = if asked.run.is_empty() {
        let mut entries = store.list(&wanted(&asked.wanted, None))?;
        entries.reverse();
        entries.into_iter().map(|entry| entry.id).collect()
    } else {
        asked.run.iter().map(|name| store_id(store, name)).collect::<Result<_, _>>()?
    };
    let runs: Vec<Run> = ids.iter().map(|id| store.read(id)).collect::<Result<_, _>>()?;
    match asked.format {
        RunsFormat::Json => terminal::document(&store::bundle(&runs))?,
        RunsFormat::Csv => terminal::answer(&store::csv(&runs))?,
        RunsFormat::Openmetrics => terminal::answer(&store::open_metrics(&runs, &seconds))?,
    }
    Ok(Ended::Well)
}

/// A time of a run in seconds since 1970.
fn seconds(started: &str) -> Option<f64> {
    let time: jiff::Timestamp = started.parse().ok()?;
    #[expect(clippy::cast_precision_loss, reason = "milliseconds until the year 10000 fit")]
    let ms = time.as_millisecond() as f64;
    Some(ms / 1e3)
}
