// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the verb about kept runs takes.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Arguments of `runs`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "A run is named by its id, the beginning of it, or `last`.\nExamples:\n  nearside \
                  runs import fio-*.json\n  nearside runs list --engine fio\n  nearside runs export \
                  --format csv > runs.csv"
)]
pub(crate) struct Runs {
    /// Where runs are kept; $XDG_STATE_HOME/nearside unless told otherwise
    #[arg(long, global = true, value_name = "DIR", display_order = 99)]
    pub(crate) store: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) act: RunsAct,
}

/// What is done with runs.
#[derive(Debug, Subcommand)]
pub(crate) enum RunsAct {
    /// List runs, the newest first
    List(RunsList),
    /// Show one run in full
    Show {
        /// Its id, the beginning of it, or `last`
        run: String,
    },
    /// Take runs away for good
    Rm {
        /// Their ids, or the beginnings of them
        #[arg(required = true)]
        run: Vec<String>,
    },
    /// Write runs for other programs
    Export(RunsExport),
    /// Keep what fio, gdsio or another store wrote
    Import(RunsImport),
}

/// Which runs.
#[derive(Debug, Args)]
pub(crate) struct RunsWanted {
    /// Only runs of this engine: nearside, fio, gdsio
    #[arg(long, value_name = "NAME")]
    pub(crate) engine: Option<String>,

    /// Only runs of a workload whose hash begins so
    #[arg(long, value_name = "HASH")]
    pub(crate) workload: Option<String>,

    /// Only runs that ended so
    #[arg(long, value_name = "HOW")]
    pub(crate) outcome: Option<RunsOutcome>,

    /// Only runs from this day or time on: 2026-03-01
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) since: Option<String>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunsOutcome {
    /// It has numbers
    Measured,
    /// Something of it failed: it has none
    Failed,
    /// Somebody ended it: it has none
    Cancelled,
}

/// Arguments of `runs list`.
#[derive(Debug, Args)]
pub(crate) struct RunsList {
    #[command(flatten)]
    pub(crate) wanted: RunsWanted,

    /// List so many
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) newest: u32,

    /// List all
    #[arg(long, conflicts_with = "newest")]
    pub(crate) all: bool,
}

/// Arguments of `runs export`.
#[derive(Debug, Args)]
pub(crate) struct RunsExport {
    /// Runs by id, the beginning of it, or `last`; all where none is named
    #[arg(conflicts_with_all = ["engine", "workload", "outcome", "since"])]
    pub(crate) run: Vec<String>,

    #[command(flatten)]
    pub(crate) wanted: RunsWanted,

    /// In which format
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    pub(crate) format: RunsFormat,
}

/// A format that others read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunsFormat {
    /// One document with all there is (`runs/1`), which import reads
    Json,
    /// A tidy table: one value a row
    Csv,
    /// OpenMetrics text, as Prometheus reads it
    Openmetrics,
}

/// Arguments of `runs import`.
#[derive(Debug, Args)]
pub(crate) struct RunsImport {
    /// Outputs of fio (JSON or JSON+) or gdsio, exported runs; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) file: Vec<PathBuf>,

    /// What they were for, kept with them
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,

    /// Read and judge, and keep nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// The beginning of an RFC 3339 time, at least a year.
fn time(text: &str) -> Result<String, String> {
    const SHAPE: &str = "0000-00-00T00:00:00";
    let fits = |(given, shape): (char, char)| match shape {
        '0' => given.is_ascii_digit(),
        sign => given == sign,
    };
    let is_time = text.len() >= 4 && text.len() <= SHAPE.len() && text.is_ascii();
    if is_time && text.chars().zip(SHAPE.chars()).all(fits) {
        return Ok(text.to_owned());
    }
    Err("write it as 2026, 2026-03, 2026-03-01 or 2026-03-01T12:00".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_may_be_cut_short() {
        for text in ["2026", "2026-03", "2026-03-01", "2026-03-01T12:00", "2026-03-01T12:00:00"] {
            assert_eq!(time(text).as_deref(), Ok(text));
        }
        for text in
            ["", "202", "26-03-01", "2026/03", "2026-03-01 12", "2026-03-01T12:00:00Z", "last"]
        {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
