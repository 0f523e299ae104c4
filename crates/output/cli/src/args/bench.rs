// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the verb that measures takes: fio's names for what is asked, and where it is to run.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Arguments of `bench`.
#[derive(Debug, Args)]
#[command(
    after_help = "Sizes and times are fio's: 4k is 4,096 bytes, 1m is 1,048,576; 30 is seconds.\nExamples:\n  \
                  nearside bench                              a file of this folder, made and taken \
                  away\n  nearside bench nvme0n1 nvme1n1 --bs 512 --iodepth 128\n  nearside bench node:1 \
                  --rw read --bs 128k --place far\n  nearside bench nvme0n1 --rw randwrite --serial \
                  S4EVNX0R1"
)]
pub(crate) struct Bench {
    /// Devices, files, or the drives of a node (node:1); without one, a file of this folder
    #[arg(value_name = "DEVICE|FILE|node:N")]
    pub(crate) target: Vec<String>,

    #[command(flatten)]
    pub(crate) load: Load,

    #[command(flatten)]
    pub(crate) means: Means,

    /// Do what a job file of fio's asks, instead of the words below
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "Load"])]
    pub(crate) jobs: Option<PathBuf>,

    /// Print what would be done as a script for fio, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// What is asked, by fio's names. Values are fio's words; [`run::fio::job_file`] reads them.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct Load {
    /// read, write, randread, randwrite, rw, randrw, trim, randtrim
    #[arg(long, value_name = "HOW", default_value = "randread")]
    pub(crate) rw: String,

    /// Bytes an operation
    #[arg(long, value_name = "SIZE", default_value = "4k")]
    pub(crate) bs: String,

    /// Operations that each thread keeps in flight
    #[arg(long, value_name = "N", default_value = "32")]
    pub(crate) iodepth: String,

    /// Threads of each target [default: one a hardware queue, up to its share of cores]
    #[arg(long, value_name = "N")]
    pub(crate) numjobs: Option<String>,

    /// Seconds that count
    #[arg(long, value_name = "TIME", default_value = "10")]
    pub(crate) runtime: String,

    /// Seconds before them
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub(crate) ramp_time: Option<String>,

    /// The part of each target that is used, from its beginning; of a file that is made, its size
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<String>,

    /// Where that part begins
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub(crate) offset: Option<String>,

    /// Operations a second of each thread, started on time whether others ended or not
    #[arg(long, value_name = "N")]
    pub(crate) rate_iops: Option<String>,

    /// Distances between them: linear, poisson
    #[arg(long, value_name = "HOW", requires = "rate_iops", hide_short_help = true)]
    pub(crate) rate_process: Option<String>,

    /// Reads of a mix in percent
    #[arg(long, value_name = "PERCENT")]
    pub(crate) rwmixread: Option<String>,

    /// random, zipf:THETA, zoned:90/10:10/90
    #[arg(long, value_name = "HOW", hide_short_help = true)]
    pub(crate) random_distribution: Option<String>,

    /// Pass the page cache by: 1 or 0
    #[arg(long, value_name = "0|1", default_value = "1", hide_short_help = true)]
    pub(crate) direct: String,

    /// Read back what was written and compare, when the run has ended
    #[arg(long, hide_short_help = true)]
    pub(crate) verify: bool,

    /// What places and contents are drawn from
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) randseed: Option<String>,
}

/// What carries it out, where, and what becomes of the result.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Means")]
pub(crate) struct Means {
    /// What carries it out
    #[arg(long, value_name = "NAME", default_value = "io_uring")]
    pub(crate) engine: EngineName,

    /// Where threads run: near, far, spread, or CPUs (0-3,8)
    #[arg(long, value_name = "WHERE", value_parser = place_of)]
    pub(crate) place: Option<place::Where>,

    /// Serial number of a device that may be written to; its size in bytes where it has none
    #[arg(long, value_name = "SERIAL", value_delimiter = ',')]
    pub(crate) serial: Vec<String>,

    /// The GPU that gdsio moves data to, as CUDA numbers it
    #[arg(long, value_name = "N", default_value_t = 0, hide_short_help = true)]
    pub(crate) gpu: u32,

    /// Hosts whose `fio --server` do it
    #[arg(long, value_name = "HOST", value_delimiter = ',', hide_short_help = true)]
    pub(crate) hosts: Vec<String>,

    /// What it is for, kept with it
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,

    /// Where it is kept; $XDG_STATE_HOME/nearside unless told otherwise
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(crate) store: Option<PathBuf>,

    /// Keep nothing
    #[arg(long, conflicts_with = "store", hide_short_help = true)]
    pub(crate) no_store: bool,
}

/// What carries a load out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum EngineName {
    /// Our own; where io_uring is forbidden, the next best
    IoUring,
    /// Our own, through io_submit
    Libaio,
    /// Our own, one operation at a time
    Psync,
    /// fio of the PATH, 3.1 or newer
    Fio,
    /// gdsio of the PATH: from drives to a GPU
    Gdsio,
}

/// Where threads run, by the word for it.
pub(crate) fn place_of(text: &str) -> Result<place::Where, String> {
    match text {
        "near" => Ok(place::Where::Near),
        "far" => Ok(place::Where::Far),
        "spread" => Ok(place::Where::Spread),
        list => match units::CpuSet::from_list(list) {
            Ok(cpus) if !cpus.is_empty() => Ok(place::Where::On(cpus)),
            _ => Err("it is near, far, spread, or a list of CPUs such as 0-3,8".to_owned()),
        },
    }
}

/// Arguments of `sweep`.
#[derive(Debug, Args)]
#[command(
    after_help = "Give several values to the options that are to vary, with commas between; every \
                  combination is a cell.\nExamples:\n  nearside sweep nvme0n1 --iodepth \
                  1,2,4,8,16,32,64,128           the knee\n  nearside sweep nvme0n1 --bs \
                  512,4k,16k,64k,1m --rw randread,read\n  nearside sweep nvme0n1 --place near,far \
                  --iodepth 1,32 --svg distance.svg"
)]
pub(crate) struct Sweep {
    /// Devices, files, or the drives of a node (node:1); without one, a file of this folder
    #[arg(value_name = "DEVICE|FILE|node:N")]
    pub(crate) target: Vec<String>,

    #[command(flatten)]
    pub(crate) load: Load,

    #[command(flatten)]
    pub(crate) means: Means,

    /// Places to compare: near, far, spread
    #[arg(long, value_name = "WHERE", value_delimiter = ',')]
    pub(crate) places: Vec<String>,

    /// How many of the targets, the first ones: 1,2,4,8
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) devices: Vec<String>,

    /// Draw into an SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Write over the SVG file that is there already
    #[arg(long, requires = "svg", hide_short_help = true)]
    pub(crate) force: bool,

    /// Run every cell, also past the depth where more brings no more
    #[arg(long)]
    pub(crate) all: bool,

    /// Cells at most
    #[arg(long, value_name = "N", default_value = "200", hide_short_help = true)]
    pub(crate) cells: NonZeroU32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_words_or_cpus() {
        assert_eq!(place_of("far"), Ok(place::Where::Far));
        let cpus = units::CpuSet::from_list("0-3,8").unwrap();
        assert_eq!(place_of("0-3,8"), Ok(place::Where::On(cpus)));
        for text in ["", "nearby", "3-1", "-1"] {
            assert!(place_of(text).is_err(), "{text}");
        }
    }
}
