// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be typed. One definition gives the parser, `-h`, `--help`, man pages and completions.

mod bench;
mod change;
mod runs;

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;

pub(crate) use self::bench::{Bench, EngineName, Load, Means, Sweep, place_of};
pub(crate) use self::change::{Apply, Changing, Persist, Plan, Revert, Verify, Wishes};
pub(crate) use self::runs::{
    Runs, RunsAct, RunsExport, RunsFormat, RunsImport, RunsList, RunsOutcome, RunsWanted,
};
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Keeps I/O on the near side of a NUMA machine.
#[derive(Debug, Parser)]
#[command(
    name = "nearside",
    version,
    about = "Shows which processor every drive, NIC and GPU belongs to, and what costs speed",
    long_about = "Keeps I/O on the near side.\n\nOn a Linux server with several NUMA nodes, nearside \
                  shows which processor every drive, NIC and GPU belongs to, and says what in \
                  firmware, kernel and placement costs throughput or latency, with the evidence \
                  read, what it costs, and what to do.\n\nWithout a verb it prints one screen: the \
                  machine, its three costliest findings, and what could not be seen. Nothing \
                  but apply, revert, persist and exec --cgroup changes the machine; bench and sweep \
                  write to a device only where its serial number is told.",
    after_long_help = "Try:  nearside audit --goal latency   nearside topology --near nvme0n1\n      \
                  nearside capture                nearside --from synthetic:r7725xd\n\n\
                  Exit codes:\n  \
                  0    done\n  \
                  1    a fault of nearside's own\n  \
                  2    wrong arguments\n  \
                  3    findings at --fail-on or above, or something is not as it was set\n  \
                  4    what is needed is not there, or what was named is not possible here\n  \
                  5    a change failed, and all of it was taken back\n  \
                  6    taking back failed, too: look at `nearside revert --list`\n  \
                  8    the load of bench or sweep failed: there is no number\n  \
                  130  interrupted, and taken back\n  \
                  exec ends as its command does; 125 to 127 as env(1) has them",
    disable_help_subcommand = true,
    // Below, so that short help fits a screen of 24 lines.
    disable_version_flag = true,
    arg_required_else_help = false
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: Common,

    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,

    /// Print version
    #[arg(short = 'V', long, action = clap::ArgAction::Version, hide_short_help = true)]
    pub(crate) version: (),
}

/// What every verb takes.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Read a captured machine: FILE, DIR, synthetic:NAME
    ///
    /// An archive is a capture or a tar of /sys and /proc, plain or in gzip, xz or zstd; `-` reads
    /// one from standard input. Verbs that change a machine, and verify, are about this one alone.
    #[arg(long, global = true, value_name = "FILE|DIR", display_order = 100)]
    pub(crate) from: Option<PathBuf>,

    /// Which machine, where a folder or archive holds several
    #[arg(long, global = true, value_name = "NAME", hide_short_help = true, display_order = 101)]
    pub(crate) machine: Option<String>,

    /// Print one JSON document
    #[arg(long, global = true, display_order = 102)]
    pub(crate) json: bool,

    /// When to colour
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_short_help = true,
        display_order = 103
    )]
    pub(crate) color: Color,

    /// Folder of own catalogue entries, which add to the built-in ones or replace them by id
    #[arg(long, global = true, value_name = "DIR", hide_short_help = true, display_order = 104)]
    pub(crate) catalogue: Option<PathBuf>,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Draw the machine: nodes, devices, links, interrupts, lanes
    Topology(Topology),
    /// Say what costs throughput or latency, with evidence, cost and change
    Audit(Audit),
    /// Plan changes: what, in which order, and what is left to others
    Plan(Plan),
    /// Make changes, each written down first and read back after
    Apply(Apply),
    /// Compare what was applied with what is there
    Verify(Verify),
    /// Take changes back, byte for byte
    Revert(Revert),
    /// Keep a plan over boots
    Persist(Persist),
    /// Explain a setting: values, effect, trade-off, source
    Explain(Explain),
    /// Save what the other verbs read into one file, redacted
    Capture(Capture),
    /// Run a command on the CPUs and memory near a device or folder
    Exec(Exec),
    /// Measure one load on drives or a file, placed near them
    Bench(Bench),
    /// Measure a grid of loads: depth and its knee, sizes, patterns, places
    Sweep(Sweep),
    /// Keep what was measured: list, show, rm, export, import
    Runs(Runs),
    /// Hold a bound on the latency of idle states, until it is ended
    #[command(name = apply::HOLD_VERB, hide = true)]
    HoldIdleLatency {
        /// Microseconds.
        bound_us: u32,
    },
    /// Print man pages, completions, schemas; make machines
    #[command(subcommand)]
    Generate(Generate),
}

/// Arguments of `topology`.
#[derive(Debug, Args)]
#[command(
    after_help = "Marks: a box is a NUMA node; each mark in it is a core. Devices stand on the node \
                        that owns them.\nExamples:\n  nearside topology --irqs eth0\n  nearside topology \
                        --near nvme0n1\n  nearside topology --svg machine.svg"
)]
pub(crate) struct Topology {
    #[command(flatten)]
    pub(crate) view: View,

    /// Write over the SVG file that is there already
    #[arg(long, requires = "svg", hide_short_help = true)]
    pub(crate) force: bool,
}

/// What `topology` draws; one at a time, the boxes where none is named.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct View {
    /// The PCI tree: driver, node, link now and at best, slot
    #[arg(long)]
    pub(crate) tree: bool,

    /// Interrupts of a NIC, drive or function, with their CPUs
    #[arg(long, value_name = "DEVICE")]
    pub(crate) irqs: Option<String>,

    /// Lanes and GB/s that each root complex's devices can ask
    #[arg(long)]
    pub(crate) lanes: bool,

    /// What is near a device, and the command that binds to it
    ///
    /// With --json the whole machine is printed, whichever view is asked for.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) near: Option<String>,

    /// The way between two devices
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    pub(crate) path: Option<Vec<String>>,

    /// Draw into an SVG file (`-` for standard output)
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) svg: Option<PathBuf>,
}

/// Arguments of `audit`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  nearside audit --goal latency\n  nearside audit --only \
                        nic-irq-placement --device eth0\n  nearside audit --fail-on high --json")]
pub(crate) struct Audit {
    /// What the machine is tuned for
    #[arg(long, value_name = "GOAL", default_value = "throughput")]
    pub(crate) goal: Goal,

    /// Only findings of these settings
    #[arg(long, value_name = "SETTING", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Only findings about this device
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,

    /// Exit with 3 when there is a finding of this level or above
    #[arg(long, value_name = "LEVEL")]
    pub(crate) fail_on: Option<Level>,

    /// Every finding in full, notes included
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

/// What a machine is tuned for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Goal {
    /// Most work a second on a dedicated machine
    Throughput,
    /// Least and steadiest delay on a dedicated machine
    Latency,
    /// Virtualised, shared or power-limited hosts
    Balanced,
}

impl From<Goal> for setting::Goal {
    fn from(goal: Goal) -> Self {
        match goal {
            Goal::Throughput => Self::Throughput,
            Goal::Latency => Self::Latency,
            Goal::Balanced => Self::Balanced,
        }
    }
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// Good to know
    Note,
    /// Little
    Low,
    /// Some
    Medium,
    /// Much
    High,
}

impl From<Level> for setting::Severity {
    fn from(level: Level) -> Self {
        match level {
            Level::Note => Self::Note,
            Level::Low => Self::Low,
            Level::Medium => Self::Medium,
            Level::High => Self::High,
        }
    }
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Id of a setting, or a part of its id or title
    #[arg(required_unless_present = "list")]
    pub(crate) setting: Option<String>,

    /// List all settings
    #[arg(long)]
    pub(crate) list: bool,
}

/// Arguments of `capture`.
#[derive(Debug, Args)]
#[command(after_help = "The file holds exactly what the readers asked, so a replay with --from \
                        prints what was printed here.\nSerials, MAC and IP addresses, host names, \
                        UUIDs and WWNs are replaced, equal ones by equal ones.")]
pub(crate) struct Capture {
    /// File to write (`-` for standard output)
    #[arg(long, short, value_name = "FILE", default_value = "nearside-capture.tar.zst")]
    pub(crate) output: PathBuf,

    /// Replace the file if it is there
    #[arg(long)]
    pub(crate) force: bool,

    /// Keep serials, addresses and names as they are
    #[arg(long)]
    pub(crate) no_redact: bool,

    /// File of 32 bytes that keys the redaction, so that several captures replace alike
    #[arg(long, value_name = "FILE", conflicts_with = "no_redact")]
    pub(crate) key_file: Option<PathBuf>,
}

/// Arguments of `exec`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  nearside exec --near /srv/data --cores 8 --threads-per-core 1 -- postgres\n  nearside exec --near eth20 --print systemd"
)]
pub(crate) struct Exec {
    /// Drives, NICs, GPUs, addresses, volumes, folders
    #[arg(long, value_name = "DEVICE|PATH", required = true)]
    pub(crate) near: Vec<String>,

    /// Use N whole cores, spread over nodes
    #[arg(long, value_name = "N")]
    pub(crate) cores: Option<NonZeroU32>,

    /// Use the first N threads of each core
    #[arg(long, value_name = "N")]
    pub(crate) threads_per_core: Option<NonZeroU32>,

    /// Choose among these CPUs only; isolated ones are used where named here
    #[arg(long, value_name = "LIST", hide_short_help = true)]
    pub(crate) cpus: Option<units::CpuSet>,

    /// Where memory comes from
    #[arg(long, value_name = "POLICY", default_value = "bind")]
    pub(crate) memory: Memory,

    /// Leave out cores that serve the devices' interrupts
    ///
    /// As long as others remain.
    #[arg(long)]
    pub(crate) avoid_irqs: bool,

    /// Add to the niceness: -20 to 19
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(i32).range(-20..=19),
        hide_short_help = true
    )]
    pub(crate) nice: Option<i32>,

    /// I/O priority: idle, best-effort[:0-7], realtime[:0-7]
    #[arg(long, value_name = "CLASS", value_parser = priority, hide_short_help = true)]
    pub(crate) ioprio: Option<run::IoPriority>,

    /// Move into this cgroup v2 folder with a cpuset; made if missing, and kept
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(crate) cgroup: Option<PathBuf>,

    /// Run nothing, and print the placement in others' words
    #[arg(long, value_name = "WORDS")]
    pub(crate) print: Option<Print>,

    /// The command and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

fn priority(text: &str) -> Result<run::IoPriority, String> {
    text.parse().map_err(|wanted: &str| wanted.to_owned())
}

/// Where memory comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Memory {
    /// From the near nodes and nowhere else
    Bind,
    /// From the near nodes while they have some
    Prefer,
    /// From the node of the CPU that asks
    Local,
}

/// Whose words a placement is printed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Print {
    /// For a person: what, why, and what was left out
    Why,
    /// A line of numactl
    Numactl,
    /// A line of taskset
    Taskset,
    /// A drop-in of a systemd service
    Systemd,
    /// A line of docker run
    Docker,
    /// Parts of a pod and of its kubelet's configuration
    Kubernetes,
    /// A line of srun
    Slurm,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    /// A man page
    Man {
        /// Which page: `nearside`, `nearside-audit`, ...
        #[arg(default_value = "nearside")]
        page: String,
        /// List the pages
        #[arg(long)]
        list: bool,
    },
    /// Completions for a shell
    Complete {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// A JSON schema: topology/1, audit/1, plan/1, receipts/1, reverts/1,
    /// verification/1, transactions/1, placement/1, run/1, run-list/1,
    /// sweep/1
    Schema {
        /// Which document.
        #[arg(default_value = "topology/1")]
        document: String,
    },
    /// Write a synthetic machine's /sys and /proc into a new folder
    Machine {
        /// Its name, as in `synthetic:NAME`; without one the names are listed.
        name: Option<String>,
        /// The folder, which must not exist.
        #[arg(requires = "name")]
        folder: Option<PathBuf>,
    },
}

/// Reads the command line.
pub(crate) fn parse() -> Result<Arguments, clap::Error> {
    Arguments::try_parse()
}

impl Arguments {
    /// Whether the verb may have changed something when it fails.
    pub(crate) fn may_change(&self) -> bool {
        match &self.verb {
            Some(Verb::Apply(apply)) => !apply.dry_run,
            Some(Verb::Revert(revert)) => !revert.dry_run && !revert.list,
            Some(Verb::Persist(persist)) => !persist.dry_run,
            _ => false,
        }
    }
}

/// The verb that was typed, as far as one can be told from words that do not parse.
pub(crate) fn typed_verb() -> Option<String> {
    let command = <Arguments as clap::CommandFactory>::command();
    let is_verb = |word: &String| command.find_subcommand(word).is_some();
    let mut words = std::env::args_os().skip(1).filter_map(|word| word.into_string().ok());
    words.find(is_verb)
}

/// Whether `exec` was typed: its failures have an exit code of their own.
pub(crate) fn is_exec() -> bool {
    typed_verb().is_some_and(|verb| verb == "exec")
}
