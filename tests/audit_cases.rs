// SPDX-License-Identifier: MIT OR Apache-2.0
//! One fault each: a healthy machine is spoilt in one way, and `audit` must say that and no more.
//!
//! `tests/audit/*.toml` are the faults. What a case changes is laid over the synthetic machine
//! `healthy-two-socket`, key by key, lists element by element, and the binary is run on it. The
//! findings that the case brings, beyond those of the healthy machine, must be the expected ones; and
//! the evidence of each must stand in the file that it names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use serde_json::Value;
use support::{Failed, Trial, failed, trial};
use toml::{Table, Value as Toml};

const BASE: &str = "healthy-two-socket";

/// A sixth of its CPUs and queues, which is as healthy and sooner written.
const SMALL: &str = r#"
[cpu]
cores-per-node = 4
[[nvme]]
queues = 32
[[nvme]]
queues = 32
[[nic]]
queues = 4
irq-cpus = "0-3"
[[nic]]
queues = 4
irq-cpus = "8-11"
"#;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/audit");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let name = |file: &Path| file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut trials: Vec<Trial> = files
        .into_iter()
        .map(|file| trial(format!("case/{}", name(&file)), &[], move || check(&file)))
        .collect();
    trials.push(trial("there are cases", &[], there_are_cases));
    trials.push(trial("epyc names the CPUs of the study", &[], epyc));
    trials.push(trial("options and exit codes", &[], options));
    trials.push(trial("a person's own options of the kernel", &[], own_options));
    support::run(trials)
}

fn there_are_cases() -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/audit");
    match fs::read_dir(folder).map_err(failed)?.count() {
        70.. => Ok(()),
        few => Err(failed(format!("only {few} cases"))),
    }
}

/// A case, as its file holds it.
struct Case {
    goal: String,
    /// `id`, or `id device`.
    expect: Vec<String>,
    /// Text that must stand in the findings: in the change, the reason, or the observed value.
    says: Vec<String>,
    machine: Table,
}

fn case(file: &Path) -> Result<Case, Failed> {
    let text = fs::read_to_string(file).map_err(failed)?;
    let table: Table = text.parse().map_err(failed)?;
    let list = |key: &str| {
        let list = table.get(key).and_then(Toml::as_array).into_iter().flatten();
        list.filter_map(Toml::as_str).map(str::to_owned).collect()
    };
    let goal = table.get("goal").and_then(Toml::as_str).unwrap_or("throughput").to_owned();
    let machine = table.get("machine").and_then(Toml::as_table).cloned().unwrap_or_default();
    if !table.contains_key("about") || !table.contains_key("expect") {
        return Err(failed("a case has `about` and `expect`"));
    }
    Ok(Case { goal, expect: list("expect"), says: list("says"), machine })
}

/// Lays `over` upon `base`: tables key by key, lists of tables element by element.
fn lay(base: &mut Toml, over: &Toml) {
    match (base, over) {
        (Toml::Table(base), Toml::Table(over)) => {
            for (key, value) in over {
                match base.get_mut(key) {
                    Some(below) => lay(below, value),
                    None => drop(base.insert(key.clone(), value.clone())),
                }
            }
        }
        (Toml::Array(base), Toml::Array(over)) if over.iter().all(Toml::is_table) => {
            for (at, value) in over.iter().enumerate() {
                match base.get_mut(at) {
                    Some(below) => lay(below, value),
                    None => base.push(value.clone()),
                }
            }
        }
        (base, over) => *base = over.clone(),
    }
}

/// The healthy machine with `over` laid upon it, as a description.
fn spoilt(over: &Table) -> Result<String, Failed> {
    let text = synthetic::named(BASE).ok_or_else(|| failed("the healthy machine is gone"))?;
    let mut machine = Toml::Table(text.parse().map_err(failed)?);
    lay(&mut machine, &Toml::Table(SMALL.parse().map_err(failed)?));
    lay(&mut machine, &Toml::Table(over.clone()));
    toml::to_string(&machine).map_err(failed)
}

fn audit(arguments: &[&str]) -> Result<Output, Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nearside"));
    command.arg("audit").args(arguments).env("XDG_CONFIG_HOME", "/nonexistent");
    command.output().map_err(failed)
}

fn findings(description: &str, goal: &str) -> Result<Vec<Value>, Failed> {
    let scratch = tempfile::tempdir().map_err(failed)?;
    let file = scratch.path().join("machine.toml");
    fs::write(&file, description).map_err(failed)?;
    let from = format!("synthetic:{}", file.display());
    let output = audit(&["--json", "--goal", goal, "--from", &from])?;
    if output.status.code() != Some(0) {
        return Err(failed(String::from_utf8_lossy(&output.stderr)));
    }
    let mut document: Value = serde_json::from_slice(&output.stdout).map_err(failed)?;
    let findings = document["findings"].take();
    Ok(findings.as_array().cloned().unwrap_or_default())
}

fn id(finding: &Value) -> String {
    finding["id"].as_str().unwrap_or_default().to_owned()
}

/// What a finding says: its id, how much it matters, and the value.
fn said(finding: &Value) -> String {
    format!("{} {} {}", finding["id"], finding["severity"], finding["observed"])
}

fn check(file: &Path) -> Result<(), Failed> {
    let case = case(file)?;
    let description = spoilt(&case.machine)?;
    let before = healthy(&case.goal)?;
    let mut found = findings(&description, &case.goal)?;
    found.retain(|finding| !before.contains(&said(finding)));
    let ids: BTreeSet<String> = found.iter().map(id).collect();
    let first = |text: &String| text.split(' ').next().unwrap_or_default().to_owned();
    let wanted: BTreeSet<String> = case.expect.iter().map(first).collect();
    let mut wrong = Vec::new();
    if ids != wanted {
        wrong.push(format!("found {ids:?}, expected {wanted:?}"));
    }
    wrong.extend(case.expect.iter().filter_map(|expected| device(expected, &found)));
    let text = Value::Array(found.clone()).to_string();
    let missing = case.says.iter().filter(|words| !text.contains(words.as_str()));
    wrong.extend(missing.map(|words| format!("nothing says {words:?} in {text}")));
    let tree = synthetic::parse(&description).map_err(failed)?.build();
    wrong.extend(found.iter().flat_map(|finding| incomplete(finding, &tree)));
    if wrong.is_empty() { Ok(()) } else { Err(failed(wrong.join("\n"))) }
}

/// What `audit` finds on the healthy machine, asked once a goal.
fn healthy(goal: &str) -> Result<BTreeSet<String>, Failed> {
    static KNOWN: Mutex<BTreeMap<String, BTreeSet<String>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().map_err(failed)?;
    if let Some(ids) = known.get(goal) {
        return Ok(ids.clone());
    }
    let ids: BTreeSet<String> = findings(&spoilt(&Table::new())?, goal)?.iter().map(said).collect();
    known.insert(goal.to_owned(), ids.clone());
    Ok(ids)
}

/// Says so when no finding of the expected id speaks of the expected device.
fn device(expected: &str, found: &[Value]) -> Option<String> {
    let (id, device) = expected.split_once(' ')?;
    let speaks = |finding: &Value| {
        finding["devices"].as_array().into_iter().flatten().any(|name| name == device)
    };
    let is_there = found.iter().any(|finding| finding["id"] == id && speaks(finding));
    (!is_there).then(|| format!("no {id} speaks of {device}: {found:?}"))
}

/// What a finding lacks: a reason, an effect with its source, a cost, evidence that is true.
fn incomplete(finding: &Value, tree: &dyn root::Root) -> Vec<String> {
    let mut wrong = Vec::new();
    for pointer in ["/because", "/effect/text", "/effect/source", "/cost", "/observed", "/wanted"] {
        if finding.pointer(pointer).and_then(Value::as_str).is_none_or(str::is_empty) {
            wrong.push(format!("{}: no {pointer}", id(finding)));
        }
    }
    let evidence = finding["evidence"].as_array().map_or(&[][..], Vec::as_slice);
    if evidence.is_empty() {
        wrong.push(format!("{}: no evidence", id(finding)));
    }
    for line in evidence {
        let (path, content) = (line["path"].as_str(), line["content"].as_str());
        let (Some(path), Some(content)) = (path, content) else {
            wrong.push(format!("{}: evidence {line}", id(finding)));
            continue;
        };
        // Registers and SMBIOS tables are told in words; patterns name several files.
        let text = root::text(tree, path);
        let is_binary = path.ends_with("/config") || path.ends_with("/DMI");
        if let (Ok(text), false) = (text, is_binary) {
            let stands =
                text.trim() == content.trim() || text.lines().any(|l| l.trim() == content.trim());
            if !stands {
                wrong.push(format!("{}: {path} holds {text:?}, not {content:?}", id(finding)));
            }
        }
    }
    wrong
}

/// The second study: `set_irq_affinity_cpulist.sh 2,6,10,14,18,22,26,30 eth20`.
fn epyc() -> Result<(), Failed> {
    let output =
        audit(&["--json", "--from", "synthetic:epyc-7551", "--only", "nic-irq-placement"])?;
    let document: Value = serde_json::from_slice(&output.stdout).map_err(failed)?;
    let finding = &document["findings"][0];
    let is_right = finding["device"] == "eth20"
        && finding["severity"] == "high"
        && finding["change"]["to"] == "2,6,10,14,18,22,26,30"
        && finding["change"]["reboot"] == "none";
    if is_right { Ok(()) } else { Err(failed(finding)) }
}

/// A folder `command-line` in a folder of own entries adds options, and replaces ours.
fn own_options() -> Result<(), Failed> {
    let scratch = tempfile::tempdir().map_err(failed)?;
    let own_folder = scratch.path().join("own");
    let folder = own_folder.join("command-line");
    fs::create_dir_all(&folder).map_err(failed)?;
    let own = "source = \"This test\"\n[[option]]\nname = \"iommu\"\nvalue = \"pt\"\n\
               means = \"is not wanted here\"\nimpact = \"high\"\n";
    fs::write(folder.join("own.toml"), own).map_err(failed)?;
    let file = scratch.path().join("machine.toml");
    fs::write(&file, spoilt(&Table::new())?).map_err(failed)?;
    let from = format!("synthetic:{}", file.display());
    let only = ["--json", "--only", "command-line-overrides", "--from", &from];
    let without = audit(&only)?;
    let output = audit(&[&["--catalogue", &own_folder.display().to_string()], &only[..]].concat())?;
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let words = "iommu=pt is not wanted here";
    match (text(&without), text(&output)) {
        (before, after) if !before.contains(words) && after.contains(words) => Ok(()),
        (_, after) => Err(failed(after + &String::from_utf8_lossy(&output.stderr))),
    }
}

/// (arguments, exit code, what is printed): `--fail-on`, `--only`, `--device`, `--goal`.
const OPTIONS: [(&str, i32, &str); 11] = [
    ("--fail-on high", 3, "nvme2n1"),
    ("--fail-on note --only swappiness", 3, "swappiness"),
    ("--fail-on low --only swappiness", 0, "swappiness"),
    ("--fail-on note --only pcie-link --device nvme0n1", 0, "Nothing found"),
    ("--fail-on high --only pcie-link --device nvme2n1", 3, "x2"),
    ("--fail-on high --only pcie-link --device /dev/nvme2n1", 3, "x2"),
    ("--only pcie-link --device 0000:21:00.0", 0, "x2"),
    ("--only no-such-setting", 2, "no setting is called"),
    ("--device no-such-device", 2, "no device called"),
    ("--goal speed", 2, "possible values"),
    ("--goal latency --only c-states", 0, "290"),
];

fn options() -> Result<(), Failed> {
    let mut wrong = Vec::new();
    for (arguments, code, words) in OPTIONS {
        let mut all: Vec<&str> = arguments.split(' ').collect();
        all.extend(["--from", "synthetic:sick-two-socket"]);
        let output = audit(&all)?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        if output.status.code() != Some(code) || !text.contains(words) {
            wrong.push(format!("{arguments}: {:?}, {text}", output.status.code()));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(failed(wrong.join("\n"))) }
}
