// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ratios against peers, measured in the same run on the same tree.
//!
//! These machines are noisy, so each round runs both commands back to back, in an order that
//! alternates, and the figure is the median of the rounds' ratios. The smallest over the smallest
//! is printed as a second reading.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;
use wait4::Wait4;

use crate::project;

#[derive(Args)]
pub(crate) struct Options {
    /// Rounds of each pair.
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// A folder that is a root with many PCI functions and interrupts.
    #[arg(long)]
    tree: Option<PathBuf>,
    /// Fail when a promise of SPECIFICATION.md is not met.
    #[arg(long)]
    check: bool,
}

/// What one run of a command cost.
#[derive(Clone, Copy)]
struct Cost {
    wall_s: f64,
    cpu_s: f64,
    peak_kib: u64,
}

/// A command line with its environment.
struct Line {
    program: PathBuf,
    arguments: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let arguments = ["build", "--release", "--package", "nearside"];
    project::call("cargo", &arguments, &[])?;
    let nearside = project::top().join("target/release/nearside");
    let mut broken = Vec::new();
    first_screen(options, &nearside, &mut broken)?;
    if let Some(tree) = &options.tree {
        topology(options, &nearside, tree, &mut broken)?;
    }
    thousand_cpus(options, &nearside, &mut broken)?;
    ensure!(!options.check || broken.is_empty(), "not kept: {}", broken.join("; "));
    Ok(())
}

/// Bare `nearside` on this machine against `lscpu`: CPU time.
fn first_screen(options: &Options, nearside: &Path, broken: &mut Vec<String>) -> Result<()> {
    let ours = line(nearside, &[]);
    let peer = line("lscpu".as_ref(), &[]);
    let (ours, peer) = pairs(options.rounds, &ours, &peer)?;
    promise("bare nearside / lscpu, CPU", &ours, &peer, |cost| cost.cpu_s, 10.0, broken);
    Ok(())
}

/// `topology --json` against lstopo writing XML, on the same folder: wall time.
fn topology(
    options: &Options,
    nearside: &Path,
    tree: &Path,
    broken: &mut Vec<String>,
) -> Result<()> {
    let tree = tree.to_str().context("the tree's path is no UTF-8")?;
    let ours = line(nearside, &["topology", "--json", "--from", tree]);
    let (ours, peer) = pairs(options.rounds, &ours, &lstopo(tree))?;
    promise(
        "topology --json / lstopo --of xml, wall",
        &ours,
        &peer,
        |cost| cost.wall_s,
        1.0,
        broken,
    );
    Ok(())
}

/// Capture and audit of the 1,024-CPU machine in four sizes against lstopo on the same folder.
fn thousand_cpus(options: &Options, nearside: &Path, broken: &mut Vec<String>) -> Result<()> {
    let scratch = project::top().join("target/bench");
    for divisor in [8, 4, 2, 1] {
        let tree = scratch.join(format!("thousand-cpus-{divisor}"));
        let (name, folder) =
            (format!("synthetic:thousand-cpus@1/{divisor}"), tree.to_string_lossy());
        if !tree.is_dir() {
            let made = line(nearside, &["generate", "machine", &name, &folder]);
            measure(&made)?;
        }
        let archive = scratch.join("bench.tar.zst");
        let archive = archive.to_string_lossy();
        let capture =
            line(nearside, &["capture", "--from", &folder, "--output", &archive, "--force"]);
        let audit = line(nearside, &["audit", "--json", "--from", &archive]);
        let rounds = options.rounds.min(5);
        let (captures, peer) = pairs(rounds, &capture, &lstopo(&folder))?;
        let (audits, _) = pairs(rounds, &audit, &lstopo(&folder))?;
        let both: Vec<Cost> = captures.iter().zip(&audits).map(|(a, b)| a.and(*b)).collect();
        let title = format!("1/{divisor} of thousand-cpus: capture + audit / lstopo, wall");
        promise(&title, &both, &peer, |cost| cost.wall_s, 4.0, broken);
        let peak_mib = both.iter().map(|cost| cost.peak_kib).max().unwrap_or(0) / 1024;
        println!("  peak memory {peak_mib} MiB (promise: at most 96)");
        if peak_mib > 96 {
            broken.push(format!("{title}: {peak_mib} MiB"));
        }
    }
    Ok(())
}

impl Cost {
    fn and(self, next: Self) -> Self {
        Self {
            wall_s: self.wall_s + next.wall_s,
            cpu_s: self.cpu_s + next.cpu_s,
            peak_kib: self.peak_kib.max(next.peak_kib),
        }
    }
}

fn line(program: &Path, arguments: &[&str]) -> Line {
    let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    Line { program: program.to_owned(), arguments }
}

fn lstopo(tree: &str) -> Line {
    let arguments = ["-i", tree, "--if", "fsroot", "--whole-io", "--of", "xml"];
    line("lstopo-no-graphics".as_ref(), &arguments)
}

/// Runs two commands `rounds` times, after one run each to fill the page cache.
fn pairs(rounds: usize, ours: &Line, peer: &Line) -> Result<(Vec<Cost>, Vec<Cost>)> {
    measure(ours)?;
    measure(peer)?;
    let (mut costs, mut peers) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        if round % 2 == 0 {
            costs.push(measure(ours)?);
            peers.push(measure(peer)?);
        } else {
            peers.push(measure(peer)?);
            costs.push(measure(ours)?);
        }
    }
    Ok((costs, peers))
}

fn measure(line: &Line) -> Result<Cost> {
    let mut command = Command::new(&line.program);
    command.args(&line.arguments).env("HWLOC_COMPONENTS", "-x86");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| line.program.display().to_string())?;
    let used = child.wait4()?;
    let wall_s = start.elapsed().as_secs_f64();
    let text = line.arguments.join(" ");
    ensure!(used.status.success(), "{} {text}: {}", line.program.display(), used.status);
    let cpu = used.rusage.utime + used.rusage.stime;
    Ok(Cost { wall_s, cpu_s: cpu.as_secs_f64(), peak_kib: used.rusage.maxrss / 1024 })
}

/// Prints the ratio of a figure and notes when it is above what was promised.
fn promise(
    title: &str,
    ours: &[Cost],
    peers: &[Cost],
    figure: impl Fn(&Cost) -> f64,
    at_most: f64,
    broken: &mut Vec<String>,
) {
    let ratios: Vec<f64> = ours.iter().zip(peers).map(|(a, b)| figure(a) / figure(b)).collect();
    let least = |costs: &[Cost]| costs.iter().map(&figure).fold(f64::INFINITY, f64::min);
    let (ratio, smallest) = (median(ratios), least(ours) / least(peers));
    let own = median(ours.iter().map(&figure).collect()) * 1e3;
    let peer = median(peers.iter().map(&figure).collect()) * 1e3;
    println!(
        "{title}: {ratio:.2} (least/least {smallest:.2}; {own:.1} ms against {peer:.1} ms; \
         promise: at most {at_most})"
    );
    if ratio > at_most {
        broken.push(format!("{title}: {ratio:.2} > {at_most}"));
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
