// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ratios against peers, measured in the same run on the same tree.
//!
//! These machines are noisy, so each round runs ours and the peer back to back, in an order that
//! alternates, and the figure is the median of the rounds' ratios. The smallest over the smallest
//! is printed as a second reading.

mod change;
mod cost;
mod engine;
mod growth;
mod runs;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};

use self::cost::{Cost, Line, Rounds};
use self::growth::Size;
use crate::project;

/// The capture that topology is measured on: many PCI functions and interrupts.
const TREE: &str = "r740xd-gold6230-rt";

/// Memory that no run may need more of, in MiB.
const MEMORY_MIB: u64 = 96;

#[derive(Args)]
pub(crate) struct Options {
    /// Rounds of each pair.
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// A folder that is a root with many PCI functions and interrupts, instead of the capture's.
    #[arg(long)]
    tree: Option<PathBuf>,
    /// Fail when a promise of SPECIFICATION.md is not met.
    #[arg(long)]
    check: bool,
    /// Only these parts.
    #[arg(long, value_enum, num_args = 1..)]
    only: Vec<Part>,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The first screen.
    Screen,
    /// The start of a command near a device.
    Exec,
    /// Topology of a captured machine.
    Topology,
    /// Capture and audit of a large machine.
    Audit,
    /// Placing its interrupts.
    Place,
    /// Verifying many knobs.
    Verify,
    /// Lists and imports of runs.
    Runs,
    /// The storage engine against fio.
    Engine,
}

/// What is measured, and the promises that were not kept.
struct Bench {
    nearside: PathBuf,
    rounds: usize,
    broken: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    // The engine is measured by an example of its own crate.
    if options.only != [Part::Engine] {
        project::call("cargo", &["build", "--release", "--package", "nearside"], &[])?;
    }
    let nearside = project::top().join("target/release/nearside");
    let mut bench = Bench { nearside, rounds: options.rounds, broken: Vec::new() };
    println!("load before: {}", load());
    let all = Part::value_variants();
    for part in all.iter().filter(|part| options.only.is_empty() || options.only.contains(part)) {
        match part {
            Part::Screen => bench.first_screen()?,
            Part::Exec => bench.start_of_a_command()?,
            Part::Topology => bench.topology_of(options.tree.clone())?,
            Part::Audit => bench.thousand_cpus()?,
            Part::Place => bench.placing()?,
            Part::Verify => bench.verifying()?,
            Part::Runs => bench.runs()?,
            Part::Engine => bench.broken.extend(engine::measure()?),
        }
    }
    println!("load after: {}", load());
    let broken = bench.broken;
    ensure!(!options.check || broken.is_empty(), "not kept: {}", broken.join("; "));
    Ok(())
}

/// The tree of the captures' folder, unpacked; none where that is absent.
fn captured_tree() -> Result<Option<PathBuf>> {
    let capture = support::tree_captures().into_iter().find(|capture| capture.name == TREE);
    capture.map(|capture| capture.folder().context(TREE)).transpose()
}

impl Bench {
    /// Bare `nearside` on this machine against `lscpu`: CPU time.
    fn first_screen(&mut self) -> Result<()> {
        let ours = [Line::new(&self.nearside, &[])];
        let rounds = Rounds::run(self.rounds, &ours, &Line::new("lscpu".as_ref(), &[]))?;
        self.promise("bare nearside / lscpu, CPU", &rounds, Cost::cpu_s, 10.0);
        Ok(())
    }

    /// A command started near the drive below this checkout against numactl on node 0: wall time. Both
    /// run `true`, and a start is short, so that there are many rounds.
    fn start_of_a_command(&mut self) -> Result<()> {
        let folder = project::top().to_string_lossy().into_owned();
        let near = ["exec", "--near", &folder, "--", "true"];
        let title = "exec --near FOLDER -- true / numactl, wall";
        if Line::new(&self.nearside, &near).measure().is_err() {
            println!("{title}: skipped, no drive with a node is below {folder}");
            return Ok(());
        }
        let theirs = ["--cpunodebind=0", "--membind=0", "true"];
        let (ours, theirs) =
            ([Line::new(&self.nearside, &near)], Line::new("numactl".as_ref(), &theirs));
        let rounds = Rounds::run(self.rounds.saturating_mul(10), &ours, &theirs)?;
        self.promise(title, &rounds, Cost::wall_s, 2.0);
        self.note("exec --near FOLDER -- true / numactl, CPU", &rounds, Cost::cpu_s);
        Ok(())
    }

    /// On a named folder, or on the captured one.
    fn topology_of(&mut self, tree: Option<PathBuf>) -> Result<()> {
        match tree.map_or_else(captured_tree, |tree| Ok(Some(tree)))? {
            Some(tree) => self.topology(&tree)?,
            None => println!("topology --json / lstopo: skipped, no captures folder with {TREE}"),
        }
        Ok(())
    }

    /// `topology --json` against lstopo writing XML, on the same folder: wall time.
    fn topology(&mut self, tree: &Path) -> Result<()> {
        let tree = tree.to_str().context("the tree's path is no UTF-8")?;
        let ours = [Line::new(&self.nearside, &["topology", "--json", "--from", tree])];
        let rounds = Rounds::run(self.rounds, &ours, &lstopo(tree))?;
        self.promise("topology --json / lstopo --of xml, wall", &rounds, Cost::wall_s, 1.0);
        self.note("topology --json / lstopo --of xml, CPU", &rounds, Cost::cpu_s);
        self.memory("topology --json", &rounds);
        Ok(())
    }

    /// Capture and audit of the 1,024-CPU machine in four sizes against lstopo on the same folder.
    fn thousand_cpus(&mut self) -> Result<()> {
        let mut sizes = Vec::new();
        for divisor in [8, 4, 2, 1] {
            let tree = self.machine(divisor)?;
            let rounds = self.capture_and_audit(&tree)?;
            let title = format!("1/{divisor} of thousand-cpus: capture + audit / lstopo");
            self.promise(&format!("{title}, wall"), &rounds, Cost::wall_s, 4.0);
            self.note(&format!("{title}, CPU"), &rounds, Cost::cpu_s);
            self.memory(&title, &rounds);
            sizes.push(Size::of(&tree, rounds.least(Cost::cpu_s))?);
        }
        if let Some(broken) = growth::judge(&sizes) {
            self.broken.push(broken);
        }
        Ok(())
    }

    /// A share of the machine as a folder.
    fn machine(&self, divisor: u32) -> Result<PathBuf> {
        let name = format!("synthetic:thousand-cpus@1/{divisor}");
        self.made(&name, &scratch().join(format!("thousand-cpus-{divisor}")))
    }

    /// A made-up machine as a folder, made on first use.
    fn made(&self, name: &str, tree: &Path) -> Result<PathBuf> {
        if !tree.is_dir() {
            // A tree that was left half made must not be taken for the whole.
            let part = tree.with_extension("part");
            std::fs::create_dir_all(scratch())?;
            std::fs::remove_dir_all(&part).or_else(missing_is_fine)?;
            let folder = part.to_string_lossy();
            Line::new(&self.nearside, &["generate", "machine", name, &folder]).measure()?;
            std::fs::rename(&part, tree)?;
        }
        Ok(tree.to_owned())
    }

    fn capture_and_audit(&self, tree: &Path) -> Result<Rounds> {
        let (folder, archive) = (tree.to_string_lossy(), scratch().join("bench.tar.zst"));
        let archive = archive.to_string_lossy();
        let capture = ["capture", "--from", &folder, "--output", &archive, "--force"];
        let audit = ["audit", "--json", "--from", &archive];
        let ours = [Line::new(&self.nearside, &capture), Line::new(&self.nearside, &audit)];
        Rounds::run(self.rounds.min(7), &ours, &lstopo(&folder))
    }

    /// Prints a ratio and notes when it is above what was promised.
    fn promise(&mut self, title: &str, rounds: &Rounds, of: fn(&Cost) -> f64, at_most: f64) {
        let ratio = rounds.ratio(of);
        println!("{title}: {} (promise: at most {at_most})", rounds.text(of));
        if ratio > at_most {
            self.broken.push(format!("{title}: {ratio:.2} > {at_most}"));
        }
    }

    /// Prints a ratio that nothing is promised of.
    fn note(&self, title: &str, rounds: &Rounds, of: fn(&Cost) -> f64) {
        println!("{title}: {}", rounds.text(of));
    }

    fn memory(&mut self, title: &str, rounds: &Rounds) {
        let (ours, peer) = rounds.peak_mib();
        println!("  peak memory {ours} MiB against {peer} MiB (promise: at most {MEMORY_MIB})");
        if ours > MEMORY_MIB {
            self.broken.push(format!("{title}: {ours} MiB"));
        }
    }
}

fn missing_is_fine(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn scratch() -> PathBuf {
    project::top().join("target/bench")
}

fn lstopo(tree: &str) -> Line {
    let arguments = ["-i", tree, "--if", "fsroot", "--whole-io", "--of", "xml"];
    Line::new("lstopo-no-graphics".as_ref(), &arguments)
}

/// How many tasks wanted to run in the last minute, beside which every wall time is to be read.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}
