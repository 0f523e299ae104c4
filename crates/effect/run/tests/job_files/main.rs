// SPDX-License-Identifier: MIT OR Apache-2.0
//! Job files: what each becomes, held against what fio itself makes of the same text.

mod examples;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use examples::{Becomes, EXAMPLES};
use nearside_run::fio::job_file::{self, Given, Place, Section, Step};
use record::{
    Blocks, Cache, Division, Pace, Path, Pattern, Polling, Sharing, Submission, Wait, Workload,
};
use support::{Failed, Need, Trial, failed, trial};

fn main() {
    let mut trials: Vec<Trial> = Vec::new();
    for (name, text, becomes) in EXAMPLES {
        trials.push(trial(format!("read/{name}"), &[], move || read(text, &becomes)));
        let fio = [Need::Tool("fio")];
        trials.push(trial(format!("fio_reads_alike/{name}"), &fio, move || alike(text)));
        trials.push(trial(format!("written_for_fio/{name}"), &fio, move || written(text)));
    }
    support::run(trials)
}

fn hold(holds: bool, what: impl std::fmt::Display) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(failed(what)) }
}

fn read(text: &str, becomes: &Becomes) -> Result<(), Failed> {
    match (job_file::parse(text), becomes) {
        (Ok(steps), Becomes::Steps(wanted)) => {
            let found: Vec<String> = steps.iter().map(summary).collect();
            hold(found == *wanted, format!("{found:#?}"))
        }
        (Err(error), Becomes::Refused(wanted)) => {
            hold(error.to_string() == *wanted, format!("{error}"))
        }
        (other, _) => Err(failed(format!("{other:?}"))),
    }
}

/// A step in a line.
fn summary(step: &Step) -> String {
    let workload = &step.workload;
    let mut parts = vec![targets(step), load(workload)];
    parts.push(format!("t{} d{}", workload.threads, workload.depth));
    parts.push(access(workload));
    let limits = &workload.limits;
    let ramp = match limits.ramp_seconds {
        0.0 => String::new(),
        ramp => format!("{ramp}+"),
    };
    parts.extend(limits.seconds.map(|seconds| format!("{ramp}{seconds}s")));
    parts.extend(limits.bytes.map(|bytes| format!("{bytes}B")));
    let pieces = if workload.division == Division::Pieces { "pieces " } else { "" };
    let offset = workload.offset_bytes;
    parts.extend(workload.length_bytes.map(|length| format!("{pieces}[{offset}+{length}]")));
    match workload.pace {
        Pace::Closed => {}
        Pace::Constant { iops, .. } => parts.push(format!("{iops}/s")),
        Pace::Poisson { iops, .. } => parts.push(format!("~{iops}/s")),
    }
    parts.extend(workload.verify.map(|_| "verified".to_owned()));
    parts.extend((workload.seed > 0).then(|| format!("seed {}", workload.seed)));
    let remarks = step.remarks.len();
    parts.extend((remarks > 0).then(|| format!("({remarks} remark)")));
    parts.join(" | ")
}

fn targets(step: &Step) -> String {
    let mut words = Vec::new();
    for (target, (cpus, nodes)) in step.workload.targets.iter().zip(&step.places) {
        let mut word = target.path.clone();
        target.make_bytes.iter().for_each(|bytes| word.push_str(&format!("+{bytes}")));
        cpus.iter().for_each(|cpus| word.push_str(&format!("@{cpus}")));
        nodes.iter().for_each(|nodes| word.push_str(&format!("/{nodes}")));
        words.push(word);
    }
    if step.workload.sharing == Sharing::EveryThreadAll {
        words.push("(all)".to_owned());
    }
    words.join(" ")
}

fn load(workload: &Workload) -> String {
    let mix = workload.mix;
    let shares = [("r", mix.read_percent), ("w", mix.write_percent), ("t", mix.trim_percent)];
    let mut text = String::new();
    for (name, percent) in shares.into_iter().filter(|(_, percent)| *percent > 0) {
        let _ = write!(text, "{name}{percent}");
    }
    let pattern = match workload.pattern {
        Pattern::Sequential => "sequential".to_owned(),
        Pattern::Uniform => "uniform".to_owned(),
        Pattern::Zipf { theta } => format!("zipf{theta}"),
        Pattern::HotSpot { operations_percent, places_percent } => {
            format!("hot{operations_percent}/{places_percent}")
        }
    };
    let sizes = |blocks: &Blocks| match blocks {
        Blocks::One { bytes } => bytes.to_string(),
        Blocks::Range { min_bytes, max_bytes } => format!("{min_bytes}-{max_bytes}"),
        Blocks::Shares { shares } => {
            let shares = shares.iter().map(|share| format!("{}/{}", share.bytes, share.percent));
            shares.collect::<Vec<_>>().join(":")
        }
    };
    let writes = workload.write_blocks.as_ref().map(|blocks| format!(",{}", sizes(blocks)));
    format!("{text} {pattern} {}{}", sizes(&workload.blocks), writes.unwrap_or_default())
}

fn access(workload: &Workload) -> String {
    let access = &workload.access;
    let mut words = vec![match access.cache {
        Cache::Direct => "direct".to_owned(),
        Cache::Buffered => "buffered".to_owned(),
    }];
    words.extend((access.polling == Polling::Polled).then(|| "polled".to_owned()));
    words.extend(
        (access.submission == Submission::KernelThread).then(|| "kernel-thread".to_owned()),
    );
    words.extend((access.path == Path::Passthrough).then(|| "passthrough".to_owned()));
    if let Wait::Batch { completions } = access.wait {
        words.push(format!("batch{completions}"));
    }
    words.join(" ")
}

/// The steps, or the option that is refused, of what fio's own reader makes of a text: it prints a
/// job file as a command line (`--showcmd`).
fn by_fio(text: &str) -> Result<Result<Vec<Step>, Option<String>>, Failed> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let file = folder.path().join("x.fio");
    fs::write(&file, text).map_err(failed)?;
    let output = Command::new("fio").arg("--showcmd").arg(&file).output().map_err(failed)?;
    let line = String::from_utf8(output.stdout).map_err(failed)?;
    hold(output.status.success() && line.starts_with("fio "), format!("fio refuses:\n{text}"))?;
    let mut global = BTreeMap::new();
    let mut sections: Vec<Section> = Vec::new();
    for word in line.split_whitespace().filter_map(|word| word.strip_prefix("--")) {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        if name == "name" {
            let name = value.unwrap_or_default();
            sections.push(Section { name, line: None, options: global.clone() });
            continue;
        }
        let given = Given { value, line: None };
        let options = sections.last_mut().map_or(&mut global, |section| &mut section.options);
        options.insert(job_file::canonical(name).to_owned(), given);
    }
    Ok(job_file::together(sections).map_err(|refused| refused.option))
}

fn alike(text: &str) -> Result<(), Failed> {
    // Of several options that are refused the first in the file is named; a command line has no
    // lines.
    let ours = job_file::parse(text).map_err(|refused| refused.option.is_some());
    let theirs = by_fio(text)?.map_err(|option| option.is_some());
    hold(ours == theirs, format!("{ours:#?}\nby fio's reader {theirs:#?}"))
}

/// A job file that is written for fio is taken by fio and says what it was written from.
fn written(text: &str) -> Result<(), Failed> {
    let Ok(steps) = job_file::parse(text) else { return Ok(()) };
    for step in steps {
        let workload = &step.workload;
        let place = |(cpus, nodes): &(Option<units::CpuSet>, Option<units::CpuSet>)| Place {
            cpus: cpus.clone().unwrap_or_default(),
            memory_nodes: nodes.clone().unwrap_or_default(),
        };
        let places: Vec<Place> = step.places.iter().map(place).collect();
        let text = job_file::write(workload, "io_uring", &places).map_err(failed)?;
        let back = job_file::parse(&text).map_err(|error| failed(format!("{error}\n{text}")))?;
        let [back] = back.as_slice() else { return Err(failed(format!("several steps:\n{text}"))) };
        hold(back.workload == *workload, format!("{text}\n{:#?}", back.workload))?;
        hold(back.places == step.places, format!("{text}\n{:?}", back.places))?;
        let folder = tempfile::tempdir().map_err(failed)?;
        let file = folder.path().join("x.fio");
        fs::write(&file, &text).map_err(failed)?;
        let output = Command::new("fio").arg("--parse-only").arg(&file).output().map_err(failed)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        hold(output.status.success(), format!("fio refuses: {said}\n{text}"))?;
    }
    Ok(())
}
