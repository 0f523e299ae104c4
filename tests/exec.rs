// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nearside exec`: what a child sees of its placement, against numactl; exit codes and signals;
//! placements on captured machines against what numactl said there.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output, Stdio};

use support::{Capture, Failed, Need, Trial, failed, lab_captures, trial};
use units::CpuSet;

/// What is tried near a device of this machine.
type Body = fn(&str) -> Result<(), Failed>;

fn main() {
    let mut trials = Vec::new();
    let live: [(&str, &[Need], Body); 5] = [
        ("the_child_sees_what_numactl_gives", &[Need::Tool("numactl")], as_numactl),
        ("the_printed_line_gives_the_same", &[Need::Tool("numactl")], printed_line),
        ("exit_codes_are_the_commands_own", &[], exit_codes),
        ("the_process_becomes_the_command", &[], becomes),
        ("priorities_are_handed_on", &[Need::Tool("ionice")], priorities),
    ];
    let device = live_device();
    for (name, needs, body) in live {
        trials.push(match device.clone() {
            Some(device) => trial(name, needs, move || body(&device)),
            None => Trial::test(name, || Ok(()))
                .with_kind("no device with a node here")
                .with_ignored_flag(true),
        });
    }
    trials.push(trial("refusals_end_with_125", &[], refusals));
    trials.push(trial("what_lies_over_devices_is_near_them", &[], over_others));
    for name in synthetic::names() {
        let from = format!("synthetic:{name}");
        trials.push(trial(format!("nodes::{name}"), &[], move || on_every_node(&from)));
    }
    for capture in lab_captures() {
        let title = format!("lab::{}", capture.name);
        trials.push(trial(title, &[Need::Captures], move || as_numactl_said(&capture)));
    }
    support::run(trials);
}

fn nearside(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nearside"));
    command.args(arguments).env("LANG", "C.UTF-8").env_remove("NO_COLOR");
    command
}

fn output(command: &mut Command) -> Result<Output, Failed> {
    command.stdin(Stdio::null()).output().map_err(failed)
}

/// What a command printed that ended well.
fn answer(command: &mut Command) -> Result<String, Failed> {
    let output = output(command)?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("{command:?}: {}: {error}", output.status)));
    }
    String::from_utf8(output.stdout).map_err(failed)
}

fn document(arguments: &[&str]) -> Result<serde_json::Value, Failed> {
    serde_json::from_str(&answer(&mut nearside(arguments))?).map_err(failed)
}

/// A drive or NIC of this machine whose node is known.
fn live_device() -> Option<String> {
    let topology = document(&["topology", "--json"]).ok()?;
    let drives = topology["drives"].as_array()?.iter();
    let drives = drives.filter(|drive| drive["controllers"][0]["node"].is_u64());
    let nics = topology["nics"].as_array()?.iter().filter(|nic| nic["node"].is_u64());
    let first = drives.chain(nics).next()?;
    first["name"].as_str().map(str::to_owned)
}

/// What the kernel and numactl say of the process itself.
const LOOK: &str = "grep -E '^(Cpus|Mems)_allowed_list' /proc/self/status; numactl --show";

fn as_numactl(device: &str) -> Result<(), Failed> {
    let placement = document(&["exec", "--near", device, "--json"])?;
    let node = placement["memory"]["nodes"].as_str().unwrap_or_default();
    let (cpus, memory) = (format!("--cpunodebind={node}"), format!("--membind={node}"));
    let look = ["sh", "-c", LOOK];
    let theirs = answer(Command::new("numactl").args([&cpus, &memory]).args(look))?;
    let ours = answer(&mut nearside(&[&["exec", "--near", device, "--"][..], &look].concat()))?;
    same("seen by the child", ours, theirs)?;
    for (policy, flag) in
        [("prefer", format!("--preferred={node}")), ("local", "--localalloc".into())]
    {
        let theirs = answer(Command::new("numactl").args([&cpus, &flag]).args(look))?;
        let arguments = ["exec", "--near", device, "--memory", policy, "--"];
        same(policy, answer(nearside(&arguments).args(look))?, theirs)?;
    }
    Ok(())
}

fn printed_line(device: &str) -> Result<(), Failed> {
    for count in ["1", ""] {
        let mut asked = vec!["exec", "--near", device];
        if !count.is_empty() {
            asked.extend(["--cores", count, "--threads-per-core", "1"]);
        }
        let line = answer(nearside(&asked).args(["--print", "numactl", "--", "sh", "-c", LOOK]))?;
        let theirs = answer(Command::new("sh").args(["-c", &line]))?;
        same(&line, answer(nearside(&asked).args(["--", "sh", "-c", LOOK]))?, theirs)?;
    }
    Ok(())
}

fn exit_codes(device: &str) -> Result<(), Failed> {
    let code = |command: &[&str]| -> Result<Option<i32>, Failed> {
        Ok(output(nearside(&["exec", "--near", device, "--"]).args(command))?.status.code())
    };
    same("its own", code(&["sh", "-c", "exit 7"])?, Some(7))?;
    same("also 2", code(&["sh", "-c", "exit 2"])?, Some(2))?;
    same("not found", code(&["/nowhere/command"])?, Some(127))?;
    same("not found in PATH", code(&["no-such-command-anywhere"])?, Some(127))?;
    same("not executable", code(&["/etc/passwd"])?, Some(126))?;
    let killed = output(nearside(&["exec", "--near", device, "sh"]).args(["-c", "kill -TERM $$"]))?;
    same("a signal", killed.status.signal(), Some(15))
}

/// No process in between, and no signal handled otherwise than without nearside.
fn becomes(device: &str) -> Result<(), Failed> {
    let script = "echo $$; grep -E '^Sig(Ign|Blk)' /proc/self/status";
    let mut command = nearside(&["exec", "--near", device, "--", "sh", "-c", script]);
    let child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let id = child.id();
    let text = child.wait_with_output().map_err(failed)?.stdout;
    let text = String::from_utf8(text).map_err(failed)?;
    let plain = answer(Command::new("sh").args(["-c", script]))?;
    same("process", text.lines().next(), Some(id.to_string().as_str()))?;
    let signals = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    same("signals", signals(&text), signals(&plain))
}

fn priorities(device: &str) -> Result<(), Failed> {
    let arguments = ["exec", "--near", device, "--nice", "3", "--ioprio", "best-effort:6", "--"];
    let text = answer(nearside(&arguments).args(["sh", "-c", "nice; ionice"]))?;
    let before = answer(&mut Command::new("nice"))?;
    let nice: i32 = before.trim().parse().map_err(failed)?;
    same("priorities", text, format!("{}\nbest-effort: prio 6\n", nice + 3))
}

fn refusals() -> Result<(), Failed> {
    let from = ["--from", "synthetic:virtual-machine"];
    let cases: &[(&[&str], &str)] = &[
        (&["--near", "nope", "--json"], "this machine has no device called \"nope\""),
        (&["--near", "vda", "true"], "a captured machine cannot run a command"),
        (&["--near", "vda", "--json", "--print", "why"], "one is printed"),
        (&["--near", "vda,", "--json"], "names nothing at one place"),
        (&["--near", "lo", "--json"], "lo is the loopback: no hardware is below it"),
        (&["--near", "vda", "--cores", "99", "--json"], "99 cores are asked for and 8 near vda"),
        (&["--near", "vda", "--cores", "0", "--json"], "invalid value '0' for '--cores <N>'"),
        (&["--near", "vda", "--cpus", "9-8", "--json"], "invalid value '9-8' for '--cpus <LIST>'"),
        (&["--near", "vda", "--cpus", "100", "--json"], "not among the CPUs named"),
        (&["--near", "vda", "--ioprio", "fast", "--json"], "it is idle, best-effort[:0-7]"),
        (&["--json"], "the following required arguments were not provided"),
    ];
    for (arguments, what) in cases {
        refused(nearside(&["exec"]).args(from).args(*arguments), what)?;
    }
    refused(&mut nearside(&["exec", "--near", "x"]), "no command is named")?;
    refused(&mut nearside(&["exec", "--near", "/nowhere/x", "true"]), "cannot look at /nowhere/x")?;
    refused(&mut nearside(&["exec", "--near", "/proc", "true"]), "no device is known below /proc")
}

fn refused(command: &mut Command, what: &str) -> Result<(), Failed> {
    let output = output(command)?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: Vec<&str> = error.lines().collect();
    let is_right = output.status.code() == Some(125)
        && output.stdout.is_empty()
        && matches!(lines.as_slice(), [first, help]
            if first.starts_with("nearside: ") && first.contains(what) && help.starts_with("help: "));
    if is_right { Ok(()) } else { Err(failed(format!("{command:?}: {}: {error}", output.status))) }
}

/// Every drive and NIC with a node gets the CPUs of that node, by the topology's own words, less
/// those that are isolated or not allowed.
fn on_every_node(from: &str) -> Result<(), Failed> {
    let topology = document(&["topology", "--json", "--from", from])?;
    let list = |value: &serde_json::Value| CpuSet::from_list(value.as_str().unwrap_or_default());
    let sets = &topology["cpus"];
    let usable = list(&sets["online"]).map_err(failed)?;
    let usable = usable.and(&list(&sets["allowed"]).map_err(failed)?);
    let usable = usable.minus(&list(&sets["isolated"]).map_err(failed)?);
    let nodes = topology["nodes"].as_array().cloned().unwrap_or_default();
    let drives = topology["drives"].as_array().cloned().unwrap_or_default();
    // A drive with paths on two nodes gets both.
    let single =
        |drive: &&serde_json::Value| drive["controllers"].as_array().is_some_and(|c| c.len() == 1);
    let places = drives
        .iter()
        .filter(single)
        .map(|drive| (&drive["name"], &drive["controllers"][0]["node"]));
    let nics = topology["nics"].as_array().cloned().unwrap_or_default();
    let places = places.chain(nics.iter().map(|nic| (&nic["name"], &nic["node"])));
    // The machine is read anew for each, so that a few of each kind are enough.
    for (name, node) in places.filter(|(_, node)| node.is_u64()).take(6) {
        let name = name.as_str().unwrap_or_default();
        let node = nodes.iter().find(|each| each["id"] == *node).ok_or_else(|| failed(name))?;
        let cpus = list(&node["cpus"]).map_err(failed)?.and(&usable);
        if cpus.is_empty() {
            continue;
        }
        let placement = document(&["exec", "--near", name, "--json", "--from", from])?;
        same(name, list(&placement["cpus"]).map_err(failed)?, cpus)?;
        same(name, placement["memory"]["nodes"].as_str(), Some(&*node["id"].to_string()))?;
    }
    Ok(())
}

/// Volumes, bonds and VLANs: `topology --near` names the node that `exec --near` goes to.
fn over_others() -> Result<(), Failed> {
    let sick = ["dm-0", "vg0/data", "/dev/mapper/vg0-data", "bond0", "bond0.100"];
    let names = sick.map(|name| (name, "synthetic:sick-two-socket")).into_iter();
    for (name, from) in names.chain(["md126", "md127"].map(|name| (name, "synthetic:r7725xd"))) {
        let placement = document(&["exec", "--near", name, "--json", "--from", from])?;
        let drawn = answer(&mut nearside(&["topology", "--near", name, "--from", from]))?;
        let line = drawn.lines().find_map(|line| line.strip_prefix("node")).unwrap_or_default();
        let nodes = placement["nodes"].as_str().unwrap_or_default();
        if nodes.is_empty() || !line.trim_start().starts_with(&format!("{nodes}, of ")) {
            return Err(failed(format!("{name}: exec goes to {nodes}\n{drawn}")));
        }
    }
    Ok(())
}

/// `node 1 cpus: 4 5 6 7` of `numactl -H` on the lab machine itself, by node.
fn said(text: &str) -> BTreeMap<u64, CpuSet> {
    let line = |line: &str| {
        let (node, cpus) = line.strip_prefix("node ")?.split_once(" cpus:")?;
        let cpus = cpus.split_whitespace().filter_map(|cpu| cpu.parse().ok().map(units::Cpu));
        Some((node.parse().ok()?, cpus.collect()))
    };
    text.lines().filter_map(line).collect()
}

/// Every PCI function whose `numa_node` the kernel told, against that machine's numactl.
fn as_numactl_said(capture: &Capture) -> Result<(), Failed> {
    let nodes = said(&capture.say("numactl.txt")?);
    let tree = capture.tree()?;
    let from = tree.display().to_string();
    let mut tried = 0;
    for entry in std::fs::read_dir(tree.join("sys/bus/pci/devices")).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let node = std::fs::read_to_string(entry.path().join("numa_node")).unwrap_or_default();
        let Some(cpus) = node.trim().parse().ok().and_then(|node: u64| nodes.get(&node)) else {
            continue;
        };
        let placement = document(&["exec", "--near", &name, "--json", "--from", &from])?;
        let found = CpuSet::from_list(placement["cpus"].as_str().unwrap_or_default());
        same(&name, &found.map_err(failed)?, cpus)?;
        same(&name, placement["memory"]["nodes"].as_str(), Some(node.trim()))?;
        tried += 1;
    }
    same("functions were tried", tried > 0, true)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), Failed> {
    if found == wanted { Ok(()) } else { Err(failed(format!("{what}: {found:?}, not {wanted:?}"))) }
}
