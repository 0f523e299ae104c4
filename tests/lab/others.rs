// SPDX-License-Identifier: MIT OR Apache-2.0
//! Somebody else writes between apply and revert: their values stay, until they are forced.

use nearside_lab::{Guest, Kernel};
use support::{Failed, failed};

use crate::change::{self, differences, ensure, knobs, ours, told, unchanged};
use crate::look::said;

/// Values of another writer, as saptune or an administrator sets them.
const THEIRS: [(&str, &str); 4] = [
    ("/proc/sys/vm/swappiness", "33"),
    ("/proc/sys/net/core/somaxconn", "7777"),
    ("/sys/block/nvme0n1/queue/nr_requests", "48"),
    ("/sys/class/net/eth0/mtu", "1300"),
];

pub(crate) fn keep_theirs(machine: &str, kernel: Kernel) -> Result<(), Failed> {
    let mut guest = change::guest(machine, kernel, None)?;
    let words = format!("apply --keep-going {}", change::wide());
    let before = knobs(&mut guest)?;
    ours(&mut guest, &words, &[0, 3, 4])?;
    let balanced = write(&mut guest)?;
    ensure(!balanced.is_empty(), || "irqbalance moved nothing".to_owned())?;
    ours(&mut guest, "verify", &[3])?;
    let reverted = told(&mut guest, "revert", &[3])?;
    for (path, value) in THEIRS {
        let now = said(&mut guest, &format!("cat {path}"))?;
        ensure(now.trim() == value, || format!("{path} is {now}, not {value} as others set it"))?;
        ensure(class(&reverted, path) == "kept", || format!("{path} is not told as kept"))?;
    }
    for (path, value) in &balanced {
        let now = said(&mut guest, &format!("cat {path}"))?;
        ensure(now == *value, || format!("{path} is {now}, not {value} as irqbalance set it"))?;
    }
    eprintln!("{machine}/{kernel}: {} values of others kept", THEIRS.len() + balanced.len());
    // Everything else is as before; and with force, everything.
    let mut left = differences(&before, &knobs(&mut guest)?);
    left.retain(|line| !is_theirs(line, &balanced));
    ensure(left.is_empty(), || format!("more than theirs is left:\n  {}", left.join("\n  ")))?;
    ours(&mut guest, "revert --force", &[0])?;
    for (path, value) in &balanced {
        // What irqbalance moved and we had not touched is not ours to take back.
        let place = path.clone();
        let was = before.get(&place).cloned().unwrap_or_default();
        let now = said(&mut guest, &format!("cat {path}"))?;
        let is_ours = class(&reverted, path) == "kept";
        let forced = was == format!("b'{}\\n'", now.trim());
        ensure(forced || (!is_ours && now == *value), || format!("{path} is {now}, was {was}"))?;
    }
    said(&mut guest, &untouched(&before, &balanced))?;
    unchanged("revert --force leaves something", &before, &mut guest)?;
    guest.off().map_err(failed)?;
    Ok(())
}

/// Whether a knob that differs is what others wrote, or went with it: IPv6's MTU with the port's, a
/// mask with its list.
fn is_theirs(line: &str, balanced: &[(String, String)]) -> bool {
    let place = line.split_once(": ").map_or(line, |(place, _)| place);
    let ends = ["vm/swappiness", "core/somaxconn", "nvme0n1/queue/nr_requests", "eth0/mtu"];
    let folder = place.rsplit_once('/').map_or("", |(folder, _)| folder);
    ends.iter().any(|end| place.ends_with(end))
        || balanced
            .iter()
            .any(|(path, _)| path.rsplit_once('/').is_some_and(|(own, _)| own == folder))
}

fn class(reverted: &serde_json::Value, path: &str) -> String {
    let reverts = reverted["reverts"].as_array().cloned().unwrap_or_default();
    let one = reverts.iter().find(|one| one["path"] == path);
    one.and_then(|one| one["class"].as_str()).unwrap_or_default().to_owned()
}

/// Writes their values and lets irqbalance place interrupts once; the masks that moved with it (a
/// port's MTU opens it again) and what they are now.
fn write(guest: &mut Guest) -> Result<Vec<(String, String)>, Failed> {
    let list = "grep . /proc/irq/*/smp_affinity_list";
    let before = said(guest, list)?;
    for (path, value) in THEIRS {
        said(guest, &format!("echo {value} > {path}"))?;
    }
    said(guest, "timeout 60 irqbalance --oneshot --foreground >/dev/null 2>&1; true")?;
    let after = said(guest, list)?;
    let moved = before.lines().zip(after.lines()).filter(|(was, is)| was != is);
    let line = |(_, is): (&str, &str)| {
        let (path, value) = is.split_once(':')?;
        Some((path.to_owned(), format!("{value}\n")))
    };
    Ok(moved.filter_map(line).collect())
}

/// Puts back by hand what irqbalance moved.
fn untouched(before: &change::Knobs, balanced: &[(String, String)]) -> String {
    let line = |(path, _): &(String, String)| {
        let was = before.get(path)?.trim_start_matches("b'").trim_end_matches("\\n'").to_owned();
        Some(format!("echo {was} > {path}\n"))
    };
    balanced.iter().filter_map(line).collect::<String>() + "true"
}
