// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the trials of changes share: a guest with our binary, all its knobs, and how they differ.

use std::collections::BTreeMap;
use std::time::Duration;

use nearside_lab::{Drives, Guest, Kernel, Machine, Options, Output, nearside};
use serde_json::Value;
use support::{Failed, failed};

use crate::images;
use crate::look::said;

/// A setting that nearly every machine has, and what it is set to: whatever of it a machine lacks
/// is told and left out. None of these is a recommendation; each makes the kernel write something.
const WIDE: [&str; 49] = [
    "nic-channels=2",
    "nic-rx-ring=512",
    "nic-tx-ring=512",
    "mtu=1400",
    "nic-gro=off",
    "nic-tso=off",
    "nic-lro=off",
    "nic-rx-usecs=64",
    "nic-tx-queue-length=2000",
    "nic-threaded=1",
    "nic-defer-hard-irqs=2",
    "nic-gro-flush-timeout=200000",
    "nic-irq-placement=near",
    "xps-placement=matched",
    "rps-placement=near",
    "rps-flow-count=2048",
    "rps-sock-flow-entries=32768",
    "busy-poll=50",
    "busy-read=50",
    "netdev-max-backlog=2000",
    "rmem-max=16777216",
    "wmem-max=16777216",
    "somaxconn=8192",
    "tcp-slow-start-after-idle=0",
    "default-qdisc=fq",
    "block-scheduler=mq-deadline",
    "block-nr-requests=64",
    "block-read-ahead=256",
    "block-nomerges=2",
    "block-rq-affinity=2",
    "block-wbt=0",
    "block-iostats=0",
    "block-max-sectors=128",
    "dirty-ratio=30",
    "dirty-background-bytes=1000000",
    "min-free-kbytes=9000",
    "swappiness=10",
    "numa-balancing=0",
    "stat-interval=10",
    "timer-migration=0",
    "sched-autogroup=0",
    "transparent-hugepages=never",
    "transparent-hugepage-defrag=never",
    "hugepages=8",
    "aio-max-nr=1048576",
    "workqueue-cpumask=1",
    "default-smp-affinity=3",
    "resume-latency=20",
    "d3cold-allowed=0",
];

const SNAPSHOT: &str = include_str!("snapshot.py");
/// Thousands of files are read under emulation, beside other work.
const PATIENCE: Duration = Duration::from_secs(300);

/// The words that wish all of [`WIDE`].
pub(crate) fn wide() -> String {
    let words: Vec<String> = WIDE.iter().map(|set| format!("--set {set}")).collect();
    words.join(" ")
}

/// Every knob of a guest and its bytes.
pub(crate) type Knobs = BTreeMap<String, String>;

/// A guest with our binary and the program that reads its knobs.
pub(crate) fn guest(
    machine: &str,
    kernel: Kernel,
    drives: Option<Drives>,
) -> Result<Guest, Failed> {
    let machine = Machine::named(machine).map_err(failed)?;
    let images = images()?;
    let options = match drives {
        Some(drives) => Options::default().drives(drives),
        None => Options::default(),
    };
    let booted = images.boot_with(&machine, kernel, options);
    let mut guest = booted.map_err(failed)?;
    guest.put(&nearside().map_err(failed)?, "/usr/local/bin/nearside").map_err(failed)?;
    said(&mut guest, &format!("cat > /root/snapshot.py <<'END'\n{SNAPSHOT}END"))?;
    Ok(guest)
}

/// The knobs as they are. None of them may move while nobody writes.
pub(crate) fn knobs(guest: &mut Guest) -> Result<Knobs, Failed> {
    let output = guest.run_for("python3 /root/snapshot.py", PATIENCE).map_err(failed)?;
    let text = output.ok().map_err(failed)?;
    let line = |line: &str| {
        let (place, bytes) = line.split_once('\t')?;
        Some((place.to_owned(), bytes.to_owned()))
    };
    let knobs: Knobs = text.lines().filter_map(line).collect();
    ensure(knobs.len() > 2000, || format!("only {} knobs are seen", knobs.len()))?;
    Ok(knobs)
}

/// Every knob that differs, by name.
pub(crate) fn differences(before: &Knobs, after: &Knobs) -> Vec<String> {
    let gone = "nothing".to_owned();
    let mut places: Vec<&String> = before.keys().chain(after.keys()).collect();
    places.sort();
    places.dedup();
    let sides = |place: &String| {
        (before.get(place).unwrap_or(&gone).clone(), after.get(place).unwrap_or(&gone).clone())
    };
    let differs = |place: &&String| before.get(*place) != after.get(*place);
    let line = |place: &String| {
        let (was, is) = sides(place);
        format!("{place}: {was} before, {is} after")
    };
    places.into_iter().filter(differs).map(line).collect()
}

/// Fails with every knob that differs.
pub(crate) fn unchanged(what: &str, before: &Knobs, guest: &mut Guest) -> Result<(), Failed> {
    let different = differences(before, &knobs(guest)?);
    ensure(different.is_empty(), || format!("{what}:\n  {}", different.join("\n  ")))
}

/// Runs our binary and demands its exit code to be one of some.
pub(crate) fn ours(guest: &mut Guest, words: &str, codes: &[i32]) -> Result<Output, Failed> {
    let output = guest.run(&format!("nearside {words}")).map_err(failed)?;
    let Output { status, stdout, stderr, .. } = &output;
    let short: String = words.chars().take(80).collect();
    ensure(codes.contains(status), || {
        format!("nearside {short} ended with {status}, not {codes:?}:\n{stdout}\n{stderr}")
    })?;
    Ok(output)
}

/// As [`ours`]; its document.
pub(crate) fn told(guest: &mut Guest, words: &str, codes: &[i32]) -> Result<Value, Failed> {
    let output = ours(guest, &format!("{words} --json"), codes)?;
    serde_json::from_str(&output.stdout).map_err(failed)
}

pub(crate) fn ensure(right: bool, why: impl FnOnce() -> String) -> Result<(), Failed> {
    if right { Ok(()) } else { Err(failed(why())) }
}
