// SPDX-License-Identifier: MIT OR Apache-2.0
//! Outputs of fio and gdsio in the captures, each against figures that were worked out apart from
//! this program.

use std::fs;
use std::path::{Path, PathBuf};

use nearside_run::{fio, gdsio};
use record::{DoubtKind, Kind, Outcome, Run};
use serde_json::Value;
use support::{Failed, Need, Trial, failed, trial};

/// Kind, operations, bytes, seconds, 99th percentile in ns.
type Figures = (Kind, u64, u64, f64, Option<u64>);

/// Files in `captures/text`, and what their counters come to, worked out by a script from the last
/// document of each: operations and bytes summed, the longest running time, the 99th percentile of
/// summed bins or of the only job. No figures: a failed run.
const FILES: [(&str, &[Figures]); 22] = {
    use Kind::{Mixed, Read, Write};
    [
        ("fio/01", &[(Read, 5_866_101_116, 24_027_550_171_136, 200.003, Some(2544))]),
        ("fio/02", &[(Read, 6_029_957_371, 24_698_705_391_616, 200.003, Some(2608))]),
        ("fio/03", &[(Read, 1_580_731, 207_205_302_272, 60.005, Some(5_144_576))]),
        ("fio/fio-multi-instance/fio.output.1", &[(Read, 100, 419_430, 0.4, Some(2000))]),
        (
            "fio/fio-multi-instance/fio.output.2",
            &[(Read, 5000, 23_301_689, 0.555_555_556, Some(8000))],
        ),
        (
            "fio/fio-result-root-precedence/fio.output",
            &[(Read, 5_866_101_116, 24_027_550_171_136, 200.003, Some(2544))],
        ),
        ("fio-runs/fio333-both.out", &[(Read, 70_343, 288_124_928, 1.001, Some(14_272))]),
        ("fio-runs/fio333-eio.out", &[]),
        ("fio-runs/fio333-eta.out", &[(Read, 284_654, 1_165_942_784, 2.001, Some(1288))]),
        ("fio-runs/fio333-group-eagain.out", &[]),
        ("fio-runs/fio333-grp.out", &[(Read, 117_652, 481_902_592, 1.002, Some(11_840))]),
        ("fio-runs/fio333-gtod.out", &[(Read, 48_062, 196_861_952, 1.016, None)]),
        ("fio-runs/fio333-hipri.out", &[]),
        ("fio-runs/fio333-jsonp.out", &[(Read, 43_357, 177_590_272, 1.007, Some(17_792))]),
        (
            "fio-runs/fio333-jsonplus-ss.out",
            &[
                (Read, 20_880, 85_524_480, 1.873, Some(522_240)),
                (Write, 20_883, 85_536_768, 1.873, Some(4_014_080)),
            ],
        ),
        ("fio-runs/fio333-mixed.out", &[(Mixed, 46_828, 191_807_488, 1.005, Some(14_400))]),
        ("fio-runs/fio333-nofile.out", &[]),
        ("fio-runs/fio333-normaljson.out", &[(Read, 150_773, 617_566_208, 1.004, Some(1496))]),
        ("fio-runs/fio333-perjob.out", &[(Read, 85_846, 351_625_216, 1.001, None)]),
        ("fio-runs/fio333-qdcap.out", &[(Read, 99_658, 408_199_168, 1.001, Some(1608))]),
        ("fio-runs/fio333-status.out", &[(Read, 432_833, 1_772_883_968, 3.008, Some(1576))]),
        (
            "fio-runs/fio342-jsonplus-ss.out",
            &[
                (Read, 22_547, 92_352_512, 1.925, Some(1_499_136)),
                (Write, 22_437, 91_901_952, 1.925, Some(3_817_472)),
            ],
        ),
    ]
};

fn main() {
    let needs = [Need::Captures];
    let mut trials: Vec<Trial> = FILES
        .into_iter()
        .map(|(name, figures)| trial(name, &needs, move || one(name, figures)))
        .collect();
    trials.push(trial("every_fio_output_is_in_the_list", &needs, every_file));
    trials.push(trial("what_another_program_read", &needs, other_readers));
    trials.push(trial("raid_archive", &needs, archive));
    trials.push(trial("doubts", &needs, doubts));
    trials.push(trial("failures", &needs, failures));
    trials.push(trial("cut_anywhere", &needs, cut_anywhere));
    trials.push(trial("gdsio_lines", &needs, gdsio_lines));
    support::run(trials)
}

fn folder() -> PathBuf {
    support::shared().unwrap_or_default().join("captures/text")
}

fn text(name: &str) -> Result<String, Failed> {
    let bytes =
        fs::read(folder().join(name)).map_err(|error| failed(format!("{name}: {error}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn imported(text: &str) -> Result<Vec<Run>, fio::Refused> {
    fio::runs(&fio::parse(text)?, &fio::About::default())
}

fn only(name: &str) -> Result<Run, Failed> {
    let mut runs = imported(&text(name)?).map_err(|error| failed(format!("{name}: {error}")))?;
    match (runs.pop(), runs.len()) {
        (Some(run), 0) => Ok(run),
        (_, more) => Err(failed(format!("{name}: {} runs", more + 1))),
    }
}

fn hold(holds: bool, what: impl std::fmt::Display) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(failed(what)) }
}

fn one(name: &str, figures: &[Figures]) -> Result<(), Failed> {
    let run = only(name)?;
    let Some(measured) = run.outcome.measured() else {
        let json = serde_json::to_string(&run.outcome).map_err(failed)?;
        let numbers = ["\"iops\"", "\"bytes\"", "\"percentiles\""];
        hold(!numbers.iter().any(|number| json.contains(number)), "a failed run has a number")?;
        return hold(figures.is_empty(), format!("{:?}", run.outcome));
    };
    hold(measured.directions.len() == figures.len(), format!("{:?}", measured.directions))?;
    for (direction, &(kind, operations, bytes, seconds, p99)) in
        measured.directions.iter().zip(figures)
    {
        hold((direction.kind, direction.operations) == (kind, operations), "operations")?;
        hold(direction.bytes == bytes, format!("{} bytes", direction.bytes))?;
        hold((direction.seconds - seconds).abs() < 1e-6, direction.seconds)?;
        #[expect(clippy::cast_precision_loss, reason = "a check within a millionth")]
        let (iops, rate) = (operations as f64 / seconds, bytes as f64 / seconds);
        hold((direction.iops / iops - 1.0).abs() < 1e-6, direction.iops)?;
        hold((direction.bytes_per_second / rate - 1.0).abs() < 1e-6, direction.bytes_per_second)?;
        let found = direction.latency.as_ref().and_then(|latency| latency.percentile(99.0));
        hold(found == p99, format!("p99 {found:?}, not {p99:?}"))?;
    }
    let text = serde_json::to_string(&run).map_err(failed)?;
    hold(Run::parse(&text).map_err(failed)? == run, "it changes on its way through JSON")
}

/// A file that is added to the captures is not overlooked.
fn every_file() -> Result<(), Failed> {
    let mut names = Vec::new();
    list(&folder(), Path::new("fio"), &mut names)?;
    list(&folder(), Path::new("fio-runs"), &mut names)?;
    for name in names {
        let text = text(&name)?;
        if !text.contains("\"fio version\"") {
            hold(imported(&text).is_err(), format!("{name} is no output of fio"))?;
            continue;
        }
        imported(&text).map_err(|error| failed(format!("{name}: {error}")))?;
    }
    Ok(())
}

fn list(top: &Path, below: &Path, names: &mut Vec<String>) -> Result<(), Failed> {
    for entry in fs::read_dir(top.join(below)).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = below.join(entry.file_name());
        if entry.file_type().map_err(failed)?.is_dir() {
            list(top, &name, names)?;
        } else if !name.to_string_lossy().ends_with(".xz") {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

/// What a reader of the kernel's 0-day tests made of the same files.
fn other_readers() -> Result<(), Failed> {
    for name in ["fio/01", "fio/02", "fio/03"] {
        let yaml = text(&format!("{name}.yaml"))?;
        let told = |key: &str| {
            let line = yaml.lines().find_map(|line| line.strip_prefix(&format!("{key}: ")));
            line.and_then(|value| value.trim().parse::<f64>().ok())
        };
        let run = only(name)?;
        let measured = run.outcome.measured().ok_or_else(|| failed("no numbers"))?;
        let read = measured.directions.first().ok_or_else(|| failed("no reads"))?;
        let latency = read.latency.as_ref().ok_or_else(|| failed("no latency"))?;
        #[expect(clippy::cast_precision_loss, reason = "latencies are far below 2^52 ns")]
        let percentile = |percent| latency.percentile(percent).map(|ns| ns as f64);
        for (key, ours) in [
            ("read_iops", Some(read.iops)),
            ("read_clat_mean_ns", latency.mean_ns),
            ("read_clat_90%_ns", percentile(90.0)),
            ("read_clat_95%_ns", percentile(95.0)),
            ("read_clat_99%_ns", percentile(99.0)),
        ] {
            let (ours, theirs) = (ours.unwrap_or(f64::NAN), told(key).unwrap_or(f64::NAN));
            hold(
                (ours / theirs - 1.0).abs() < 1e-6,
                format!("{name} {key}: {ours}, not {theirs}"),
            )?;
        }
    }
    Ok(())
}

/// The 420 outputs of fio 3.1: every figure from the counters in the file, by plain division.
fn archive() -> Result<(), Failed> {
    let capture = support::captures("text/fio").into_iter().next();
    let folder = capture.ok_or_else(|| failed("no archive"))?.folder().map_err(failed)?;
    let mut names = Vec::new();
    list(&folder, Path::new(""), &mut names)?;
    names.retain(|name| name.ends_with(".json"));
    hold(names.len() == 420, format!("{} files", names.len()))?;
    for name in names {
        let text = fs::read_to_string(folder.join(&name)).map_err(failed)?;
        let runs = imported(&text).map_err(|error| failed(format!("{name}: {error}")))?;
        let value: Value = serde_json::from_str(&text).map_err(failed)?;
        let told = &value["jobs"][0];
        for direction in
            runs.iter().flat_map(|run| run.outcome.measured()).flat_map(|m| &m.directions)
        {
            let way = if direction.kind == Kind::Read { "read" } else { "write" };
            let count = |key: &str| told[way][key].as_f64().unwrap_or(f64::NAN);
            let iops = count("total_ios") * 1000.0 / count("runtime");
            hold((direction.iops / iops - 1.0).abs() < 1e-9, format!("{name}: {iops}"))?;
            let rate = count("io_bytes") * 1000.0 / count("runtime");
            let ours = direction.bytes_per_second;
            hold((ours / rate - 1.0).abs() < 1e-9, format!("{name}: {rate}"))?;
            let p99 = direction.latency.as_ref().and_then(|latency| latency.percentile(99.0));
            let theirs = told[way]["clat_ns"]["percentile"]["99.000000"].as_u64();
            hold(p99 == theirs, format!("{name}: {p99:?}, not {theirs:?}"))?;
        }
        let directions: usize = runs
            .iter()
            .filter_map(|run| run.outcome.measured())
            .map(|measured| measured.directions.len())
            .sum();
        hold(directions == 1, format!("{name}: {directions} directions"))?;
        if told["job options"]["runtime"].is_null() {
            // Once over the whole floppy disk: how much that is, no option says.
            continue;
        }
        let workload = runs.first().and_then(|run| run.workload.as_ref());
        let workload = workload.ok_or_else(|| failed(format!("{name}: no workload")))?;
        let option = |key: &str| told["job options"][key].as_str().unwrap_or_default().to_owned();
        hold(workload.threads.to_string() == option("numjobs"), format!("{name}: threads"))?;
        hold(workload.depth.to_string() == option("iodepth"), format!("{name}: depth"))?;
    }
    Ok(())
}

fn kinds(run: &Run) -> Vec<DoubtKind> {
    let doubts = run.outcome.measured().map(|measured| &measured.doubts);
    doubts.into_iter().flatten().map(|doubt| doubt.kind).collect()
}

/// Sparse files, ends before their time, capped depths, percentiles that cannot be merged.
fn doubts() -> Result<(), Failed> {
    use DoubtKind::{Contradiction, Counters, Depth, Latency, Short};
    for (name, wanted) in [
        ("fio-runs/fio333-gtod.out", Counters),
        ("fio-runs/fio333-mixed.out", Counters),
        ("fio-runs/fio333-qdcap.out", Depth),
        ("fio-runs/fio333-perjob.out", Latency),
        ("fio/fio-multi-instance/fio.output.1", Contradiction),
    ] {
        let found = kinds(&only(name)?);
        hold(found.contains(&wanted), format!("{name}: {found:?}"))?;
    }
    hold(kinds(&only("fio/03")?).is_empty(), "fio/03 has nothing against it")?;
    // Without its last two documents, the second of the same run is left: it stopped early.
    let whole = text("fio-runs/fio333-status.out")?;
    let third = whole.match_indices("\n{").map(|(at, _)| at).nth(1);
    let cut = third.ok_or_else(|| failed("too few documents"))?;
    let runs = imported(whole.get(..cut).unwrap_or_default()).map_err(failed)?;
    hold(runs.len() == 1 && kinds(&runs[0]).contains(&Short), format!("{runs:?}"))?;
    // Twice the same output is two runs, not one that went on.
    let once = text("fio-runs/fio333-eta.out")?;
    let later = once.replace("1796023384388", "1796023387388");
    let runs = imported(&format!("{once}{later}")).map_err(failed)?;
    hold(runs.len() == 2, format!("{} runs", runs.len()))
}

fn failures() -> Result<(), Failed> {
    for (name, wanted) in [
        ("fio-runs/fio333-eio.out", "job x ended with error 22 (Invalid argument)"),
        ("fio-runs/fio333-hipri.out", "job x ended with error 95 (Operation not supported)"),
        ("fio-runs/fio333-nofile.out", "job x ended with error 22 (Invalid argument)"),
        (
            "fio-runs/fio333-group-eagain.out",
            "job x ended with error 11 (Resource temporarily unavailable) (fio: pid=15196, err=11/",
        ),
    ] {
        match only(name)?.outcome {
            Outcome::Failed(why) => hold(why.why.starts_with(wanted), why.why)?,
            other => return Err(failed(format!("{name}: {other:?}"))),
        }
    }
    Ok(())
}

/// An output that breaks off is refused, or is what it was before; it never has other figures.
fn cut_anywhere() -> Result<(), Failed> {
    for name in ["fio-runs/fio333-jsonplus-ss.out", "fio-runs/fio333-group-eagain.out"] {
        let whole = text(name)?;
        let runs = imported(&whole).map_err(failed)?;
        let last = whole.trim_end().len();
        for end in (0..last).filter(|end| whole.is_char_boundary(*end)).step_by(7) {
            let cut = imported(whole.get(..end).unwrap_or_default());
            hold(cut.is_err(), format!("{name} cut at {end} of {last} is read"))?;
        }
        let grown = imported(&format!("{whole}\n\ntext behind\n")).map_err(failed)?;
        hold(grown == runs, "text behind changes it")?;
    }
    Ok(())
}

/// Each line's rate is what was moved over the time.
fn gdsio_lines() -> Result<(), Failed> {
    let output = gdsio::parse(&text("gdsio/lines.txt")?).map_err(failed)?;
    hold(output.lines.len() == 13, format!("{} lines", output.lines.len()))?;
    let runs = gdsio::runs(&output, &gdsio::About::default());
    for (line, run) in output.lines.iter().zip(&runs) {
        let measured = run.outcome.measured().ok_or_else(|| failed("no numbers"))?;
        let direction = measured.directions.first().ok_or_else(|| failed("no direction"))?;
        let gib = direction.bytes_per_second / f64::from(1 << 30);
        let differs = (gib - line.gib_per_second).abs();
        hold(differs <= line.gib_per_second * 0.001 + 1e-5, format!("{gib} {line:?}"))?;
        hold(direction.operations == line.operations, "operations")?;
        let percentiles = direction.latency.as_ref().map(|latency| latency.percentiles.len());
        hold(percentiles.unwrap_or(0) == 0, "gdsio has no percentiles")?;
    }
    let third = runs.get(2).and_then(|run| run.outcome.measured());
    let latency = third.and_then(|third| third.directions.first()).map(|only| &only.latency);
    hold(latency == Some(&None), "a mean of 0 is none")
}
