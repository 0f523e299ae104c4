// SPDX-License-Identifier: MIT OR Apache-2.0
//! Verbs x machines: every reading verb on every machine that there is, synthetic and captured.
//!
//! Adding a machine adds the tests. What is checked here holds for all of them: the verb ends
//! well, its JSON is a document of its schema's name, lines fit the width, and a capture replays
//! byte for byte.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::{Failed, Need, Trial, failed, trial};

/// Views that must work on any machine.
const VIEWS: [&[&str]; 10] = [
    &[],
    &["topology"],
    &["topology", "--tree"],
    &["topology", "--lanes"],
    &["audit"],
    &["audit", "--goal", "latency", "--verbose"],
    &["audit", "--goal", "balanced"],
    &["plan"],
    &["plan", "--goal", "latency", "--fit-channels", "--verbose"],
    &["plan", "--script"],
];

fn main() {
    let mut trials: Vec<Trial> = Vec::new();
    for name in synthetic::names() {
        // The whole of it is for benchmarks: its interrupts alone are 58 MB of text.
        let share = if name == "thousand-cpus" { "@1/16" } else { "" };
        let from = format!("synthetic:{name}{share}");
        trials.extend(matrix(&format!("synthetic/{name}"), &[], move || {
            Ok(vec![vec!["--from".to_owned(), from.clone()]])
        }));
    }
    for capture in support::tree_captures().into_iter().chain(support::lab_captures()) {
        let archive = capture.archive.clone();
        let name = format!("captures/{}", capture.name);
        trials.extend(matrix(&name, &[Need::Captures], move || machines(&archive)));
    }
    if support::shared().is_none() {
        trials.push(trial("captures", &[Need::Captures], || Ok(())));
    }
    trials.extend(matrix("live", &[], || Ok(vec![Vec::new()])));
    support::run(trials)
}

/// The arguments that choose each machine of an archive.
fn machines(archive: &Path) -> Machines {
    let from = vec!["--from".to_owned(), archive.display().to_string()];
    match root::open(archive, None) {
        Ok(_) => Ok(vec![from]),
        Err(root::OpenError::Several { roots, .. }) => {
            let with = |name| [from.clone(), vec!["--machine".to_owned(), name]].concat();
            Ok(roots.into_iter().map(with).collect())
        }
        // Fragments of machines: refused, which the bad-input tests hold to.
        Err(root::OpenError::NoRoot(_)) => Ok(Vec::new()),
        Err(error) => Err(failed(error)),
    }
}

/// What must hold of a machine, by the arguments that choose it.
type Check = fn(&[String]) -> Result<(), Failed>;

type Machines = Result<Vec<Vec<String>>, Failed>;

fn matrix(
    name: &str,
    needs: &[Need],
    machines: impl Fn() -> Machines + Clone + Send + 'static,
) -> Vec<Trial> {
    let checks: [(&str, Check); 3] =
        [("views", views), ("documents", documents), ("replay", replay)];
    let check = |(what, check): (&str, Check)| {
        let machines = machines.clone();
        trial(format!("{name}/{what}"), needs, move || {
            machines()?.iter().try_for_each(|machine| check(machine))
        })
    };
    checks.into_iter().map(check).collect()
}

fn nearside(arguments: &[&str], machine: &[String]) -> Result<Output, Failed> {
    sized(arguments, machine, "")
}

/// As wide as `columns` says; empty for what a pipe gets unasked.
fn sized(arguments: &[&str], machine: &[String], columns: &str) -> Result<Output, Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nearside"));
    command.args(arguments).args(machine).env("LANG", "C.UTF-8").env_remove("NO_COLOR");
    command.env("COLUMNS", columns);
    let output = command.output().map_err(failed)?;
    let code = output.status.code();
    if code != Some(0) {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("{arguments:?} {machine:?} ended with {code:?}: {error}")));
    }
    Ok(output)
}

fn text(output: Output) -> Result<String, Failed> {
    String::from_utf8(output.stdout).map_err(failed)
}

fn views(machine: &[String]) -> Result<(), Failed> {
    for view in VIEWS {
        let text = text(nearside(view, machine)?)?;
        if text.trim().is_empty() {
            return Err(failed(format!("{view:?} {machine:?} prints nothing")));
        }
        if text.chars().any(|c| c.is_control() && c != '\n') {
            return Err(failed(format!("{view:?} {machine:?} prints control characters")));
        }
    }
    for (columns, most) in [("80", 80), ("", 100), ("132", 132)] {
        let text = text(sized(&["topology"], machine, columns)?)?;
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        // The drawing's boxes are as wide as asked; a machine without a box has short lines.
        let has_box = text.contains('┌');
        if widest > most || (has_box && widest < most) {
            return Err(failed(format!("{widest} columns where COLUMNS is {columns:?}")));
        }
    }
    Ok(())
}

fn documents(machine: &[String]) -> Result<(), Failed> {
    for (view, schema) in [("topology", "topology/1"), ("audit", "audit/1"), ("plan", "plan/1")] {
        let output = nearside(&[view, "--json"], machine)?;
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(failed)?;
        if document["schema"] != schema {
            return Err(failed(format!("{view}: schema is {}", document["schema"])));
        }
    }
    Ok(())
}

/// A machine captured without redaction prints the same from the capture; and the capture of that
/// capture is the same file.
fn replay(machine: &[String]) -> Result<(), Failed> {
    let scratch = tempfile::tempdir().map_err(failed)?;
    let first = saved(scratch.path(), "first", machine)?;
    let from = vec!["--from".to_owned(), first.display().to_string()];
    let live = machine.is_empty();
    for view in [&["topology", "--json"][..], &["audit", "--json"], &["topology"]] {
        let (here, there) = (text(nearside(view, machine)?)?, text(nearside(view, &from)?)?);
        // A live machine moves on: its interrupts and processes are others a moment later.
        if here != there && !live {
            return Err(failed(format!("{view:?} {machine:?}: the replay differs")));
        }
    }
    let again = saved(scratch.path(), "again", &from)?;
    let bytes = |path: &Path| std::fs::read(path).map_err(failed);
    if bytes(&first)? != bytes(&again)? {
        return Err(failed("the capture of a capture is another file"));
    }
    Ok(())
}

fn saved(folder: &Path, name: &str, machine: &[String]) -> Result<PathBuf, Failed> {
    let file = folder.join(format!("{name}.tar.zst"));
    let output = file.display().to_string();
    nearside(&["capture", "--no-redact", "--output", &output], machine)?;
    Ok(file)
}
