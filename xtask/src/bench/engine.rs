// SPDX-License-Identifier: MIT OR Apache-2.0
//! The storage engine against fio: what an operation costs, and whether latencies are the same.
//!
//! CPU time is measured on a sparse file, whose reads the file system answers at once: nothing but the
//! engines' and the kernel's own work is left, and that is stable on a machine that others use too.
//! fio's is what it says that its job used, without its start. Slices of all engines are run in an order
//! that changes each round; the figure is the median of the ratios within rounds. Ours against ours
//! says what such a ratio is worth here.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::cost::median;
use super::scratch;
use crate::project;

const GIB: u64 = 1 << 30;
const ROUNDS: usize = 20;

/// Something that generates load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Engine {
    Ours,
    OursAgain,
    Fio,
    FioBatched,
}

/// What is asked of both.
#[derive(Debug, Clone, Copy)]
struct Cell {
    block: u64,
    depth: u32,
    seconds: f64,
    /// A second; none for as many as there can be.
    iops: Option<f64>,
}

/// What one slice gave: ns of CPU an operation, operations a second, and percentiles in ns.
#[derive(Debug, Clone, Default)]
struct Slice {
    cpu_ns: f64,
    iops: f64,
    percentiles: [f64; 3],
}

const PERCENTS: [f64; 3] = [50.0, 90.0, 99.0];

/// Both engines and their files.
struct Pair {
    load: PathBuf,
}

/// Measures, prints, and gives the promises that were not kept.
pub(super) fn measure() -> Result<Vec<String>> {
    if Command::new("fio").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("storage engine / fio: skipped, no fio");
        return Ok(Vec::new());
    }
    let build = ["build", "--release", "--package", "nearside-engine", "--example", "load"];
    project::call("cargo", &build, &[])?;
    let pair = Pair { load: project::top().join("target/release/examples/load") };
    std::fs::create_dir_all(scratch())?;
    let mut broken = pair.cost()?;
    broken.extend(pair.latency()?);
    Ok(broken)
}

impl Pair {
    /// CPU an operation: 512 bytes, random, 32 deep, on a hole.
    fn cost(&self) -> Result<Vec<String>> {
        let file = scratch().join("hole");
        std::fs::File::create(&file)?.set_len(GIB)?;
        let cell = Cell { block: 512, depth: 32, seconds: 0.8, iops: None };
        let engines = [Engine::Ours, Engine::OursAgain, Engine::Fio, Engine::FioBatched];
        let rounds = self.rounds(&engines, &file, |_| cell, ROUNDS)?;
        let cpu = |slice: &Slice| slice.cpu_ns;
        let mut broken = Vec::new();
        let title = "512 B random read 32 deep on a hole, CPU an operation";
        for (engine, name, at_most) in [
            (Engine::Fio, "fio io_uring fixedbufs registerfiles", 0.33),
            (Engine::FioBatched, "fio batching", 0.65),
            (Engine::OursAgain, "ours", 1.03),
        ] {
            let ratio = ratio(&rounds, engine, cpu);
            let [ours, theirs] = [Engine::Ours, engine].map(|engine| least(&rounds, engine, cpu));
            println!(
                "{title}: {ratio:.3} of {name} (least {ours:.0} ns against {theirs:.0} ns; promise: at \
                 most {at_most})"
            );
            if ratio > at_most {
                broken.push(format!("{title} against {name}: {ratio:.3} > {at_most}"));
            }
        }
        Ok(broken)
    }

    /// Latencies of 4 KiB random reads on a file that is laid out: alone, 32 deep, and in open loop at
    /// half of what 32 deep gave.
    fn latency(&self) -> Result<Vec<String>> {
        let file = laid_out()?;
        let cell = |depth, iops| Cell { block: 4096, depth, seconds: 2.0, iops };
        let engines = [Engine::Ours, Engine::Fio];
        let mut broken = Vec::new();
        let deep = self.rounds(&engines, &file, |_| cell(32, None), 9)?;
        let half = deep.iter().filter_map(|round| round.get(&Engine::Fio)).map(|slice| slice.iops);
        let half = median(half.collect()) / 2.0;
        let alone = self.rounds(&engines, &file, |_| cell(1, None), 9)?;
        let open = self.rounds(&engines, &file, |_| cell(32, Some(half)), 9)?;
        for (name, rounds) in [("1 deep", alone), ("32 deep", deep), ("half rate", open)] {
            for ((at, percent), bound) in (0..).zip(PERCENTS).zip([0.05, 0.05, 0.10]) {
                let of =
                    move |slice: &Slice| slice.percentiles.get(at).copied().unwrap_or(f64::NAN);
                let ratio = ratio(&rounds, Engine::Fio, of);
                let [ours, theirs] = [Engine::Ours, Engine::Fio].map(|e| middle(&rounds, e, of));
                let title = format!("4 KiB random read on a file, {name}, p{percent}");
                println!(
                    "{title}: {ratio:.3} of fio ({:.1} us against {:.1} us; promise: within {bound})",
                    ours / 1e3,
                    theirs / 1e3
                );
                if (ratio - 1.0).abs() > bound {
                    broken.push(format!("{title}: {ratio:.3}"));
                }
            }
            let iops = ratio(&rounds, Engine::Fio, |slice| slice.iops);
            let cpu = ratio(&rounds, Engine::Fio, |slice| slice.cpu_ns);
            println!("  {name}: {iops:.3} of fio's operations a second, {cpu:.3} of its CPU");
        }
        Ok(broken)
    }

    fn rounds(
        &self,
        engines: &[Engine],
        file: &Path,
        cell: impl Fn(Engine) -> Cell,
        rounds: usize,
    ) -> Result<Vec<BTreeMap<Engine, Slice>>> {
        let mut all = Vec::new();
        for round in 0..rounds {
            let mut slices = BTreeMap::new();
            // Every order of the first and the last comes as often.
            let mut order = engines.to_vec();
            order.rotate_left(round % engines.len());
            if round / engines.len() % 2 == 1 {
                order.reverse();
            }
            for engine in order {
                slices.insert(engine, self.slice(engine, file, cell(engine))?);
            }
            all.push(slices);
        }
        Ok(all)
    }

    fn slice(&self, engine: Engine, file: &Path, cell: Cell) -> Result<Slice> {
        match engine {
            Engine::Ours | Engine::OursAgain => self.ours(file, cell),
            Engine::Fio => fio(file, cell, &[]),
            Engine::FioBatched => {
                let batch = [
                    "--iodepth_batch_submit=16",
                    "--iodepth_batch_complete_min=1",
                    "--iodepth_batch_complete_max=32",
                ];
                fio(file, cell, &batch)
            }
        }
    }

    fn ours(&self, file: &Path, cell: Cell) -> Result<Slice> {
        let pace = cell
            .iops
            .map_or(json!({"kind": "closed"}), |iops| json!({"kind": "constant", "iops": iops}));
        let workload = json!({
            "targets": [{"path": file}], "threads": 1, "depth": cell.depth,
            "mix": {"read_percent": 100}, "pattern": {"kind": "uniform"},
            "blocks": {"kind": "one", "bytes": cell.block}, "pace": pace,
            "limits": {"seconds": cell.seconds}, "length_bytes": GIB,
        });
        let mut command = Command::new(&self.load);
        command.args(["--cpu", "1"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| self.load.display().to_string())?;
        let mut input = child.stdin.take().context("no standard input")?;
        input.write_all(workload.to_string().as_bytes())?;
        drop(input);
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{}", self.load.display());
        let outcome: Value = serde_json::from_slice(&output.stdout)?;
        let reads = &outcome["directions"][0];
        let latency = if cell.iops.is_some() { &reads["service"] } else { &reads["latency"] };
        let told = |percent: f64| {
            let all = latency["percentiles"].as_array().into_iter().flatten();
            let mut same = all.filter(|one| one["percent"].as_f64() == Some(percent));
            same.next().and_then(|one| one["ns"].as_f64()).unwrap_or(f64::NAN)
        };
        Ok(Slice {
            cpu_ns: outcome["cpu_ns_per_op"].as_f64().context("no CPU time")?,
            iops: reads["iops"].as_f64().context("no rate")?,
            percentiles: PERCENTS.map(told),
        })
    }
}

/// One slice of fio, pinned alike, with buffers and files registered.
fn fio(file: &Path, cell: Cell, more: &[&str]) -> Result<Slice> {
    let output = scratch().join("fio.json");
    let mut command = Command::new("fio");
    command.args(["--name=cell", "--ioengine=io_uring", "--fixedbufs", "--registerfiles"]);
    command.args(["--rw=randread", "--direct=1", "--thread", "--time_based", "--size=1G"]);
    command.args(["--cpus_allowed=1", "--output-format=json", "--lat_percentiles=1"]);
    command.arg("--percentile_list=50:90:99").arg(format!("--filename={}", file.display()));
    command.arg(format!("--bs={}", cell.block)).arg(format!("--iodepth={}", cell.depth));
    command.arg(format!("--runtime={}ms", (cell.seconds * 1e3).round()));
    command.arg(format!("--output={}", output.display())).args(more);
    if let Some(iops) = cell.iops {
        command.arg(format!("--rate_iops={}", iops.round()));
    }
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    ensure!(status.success(), "fio: {status}");
    let text = std::fs::read_to_string(&output)?;
    let told: Value = serde_json::from_str(&text).context("fio's JSON")?;
    let job = &told["jobs"][0];
    let number = |value: &Value| value.as_f64().context("fio's JSON lacks a number");
    let operations = number(&job["read"]["total_ios"])?;
    let busy = (number(&job["usr_cpu"])? + number(&job["sys_cpu"])?) / 100.0;
    let percentile = |percent: f64| {
        let name = format!("{percent:.6}");
        job["read"]["lat_ns"]["percentile"][&name].as_f64().unwrap_or(f64::NAN)
    };
    Ok(Slice {
        cpu_ns: busy * number(&job["job_runtime"])? * 1e6 / operations,
        iops: number(&job["read"]["iops"])?,
        percentiles: PERCENTS.map(percentile),
    })
}

/// A file of a GiB with contents, made on first use.
fn laid_out() -> Result<PathBuf> {
    let file = scratch().join("file");
    if std::fs::metadata(&file).map_or(0, |file| file.len()) == GIB {
        return Ok(file);
    }
    let mut made = std::fs::File::create(&file)?;
    let (mut word, mut piece) = (1_u64, Vec::new());
    for _ in 0..1024 {
        piece.clear();
        for _ in 0..(1 << 20) / 8 {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            piece.extend(word.to_le_bytes());
        }
        made.write_all(&piece)?;
    }
    made.sync_all()?;
    Ok(file)
}

/// The median of ours over another's, within rounds.
fn ratio(rounds: &[BTreeMap<Engine, Slice>], other: Engine, of: impl Fn(&Slice) -> f64) -> f64 {
    let one = |round: &BTreeMap<Engine, Slice>| {
        Some(of(round.get(&Engine::Ours)?) / of(round.get(&other)?))
    };
    median(rounds.iter().filter_map(one).collect())
}

fn all(rounds: &[BTreeMap<Engine, Slice>], engine: Engine, of: impl Fn(&Slice) -> f64) -> Vec<f64> {
    rounds.iter().filter_map(|round| round.get(&engine)).map(of).collect()
}

fn least(rounds: &[BTreeMap<Engine, Slice>], engine: Engine, of: impl Fn(&Slice) -> f64) -> f64 {
    all(rounds, engine, of).into_iter().fold(f64::INFINITY, f64::min)
}

fn middle(rounds: &[BTreeMap<Engine, Slice>], engine: Engine, of: impl Fn(&Slice) -> f64) -> f64 {
    median(all(rounds, engine, of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_rounds() {
        let slice = |cpu_ns| Slice { cpu_ns, ..Slice::default() };
        let round =
            |ours, fio| BTreeMap::from([(Engine::Ours, slice(ours)), (Engine::Fio, slice(fio))]);
        let rounds = [round(1.0, 2.0), round(30.0, 100.0), round(4.0, 5.0)];
        assert!((ratio(&rounds, Engine::Fio, |slice| slice.cpu_ns) - 0.5).abs() < 1e-9);
        assert!((least(&rounds, Engine::Fio, |slice| slice.cpu_ns) - 2.0).abs() < 1e-9);
    }
}
