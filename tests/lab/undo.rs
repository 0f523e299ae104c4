// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exact undo: no byte of any knob differs after apply and revert, whenever apply is cut.

use std::time::Duration;

use nearside_lab::{Guest, Kernel};
use serde_json::Value;
use support::{Failed, failed};

use crate::change::{self, Knobs, differences, ensure, knobs, ours, told, unchanged};
use crate::look::said;

/// A wish by what it is called, and its words.
fn wishes(goals: &[&str]) -> Vec<(String, String)> {
    let goal = |goal: &&str| ((*goal).to_owned(), format!("--goal {goal}"));
    // Fights with a wish of the wide one.
    let idle = ("idle".to_owned(), "--set c-states=10".to_owned());
    goals.iter().map(goal).chain([("wide".to_owned(), change::wide()), idle]).collect()
}

/// Each goal, and a wish for much more than any goal, applied, verified, applied again, reverted.
pub(crate) fn exact(machine: &str, kernel: Kernel, goals: &[&str]) -> Result<(), Failed> {
    let mut guest = change::guest(machine, kernel, None)?;
    let before = knobs(&mut guest)?;
    for (name, words) in wishes(goals) {
        let what = format!("{machine}/{kernel}/{name}");
        let came = told(&mut guest, &format!("apply --keep-going {words}"), &[0, 3, 4])?;
        let receipts = came["receipts"].as_array().cloned().unwrap_or_default();
        ours(&mut guest, "verify", &[0])?;
        let during = knobs(&mut guest)?;
        agree(&what, &receipts, &before, &during)?;
        again(&mut guest, &what, &words, &receipts)?;
        unchanged(&format!("a second apply of {what} writes"), &during, &mut guest)?;
        ours(&mut guest, "revert", &[0])?;
        unchanged(&format!("{what} is not taken back"), &before, &mut guest)?;
        let (moved, all) = (differences(&before, &during).len(), before.len());
        eprintln!(
            "{what}: {} receipts, {moved} of {all} knobs moved and came back",
            receipts.len()
        );
    }
    guest.off().map_err(failed)?;
    Ok(())
}

/// What a receipt says came of a file is what another program read there before and after.
fn agree(what: &str, receipts: &[Value], before: &Knobs, during: &Knobs) -> Result<(), Failed> {
    let mut looked = 0;
    for receipt in receipts.iter().filter(|receipt| receipt["class"] == "applied") {
        let path = receipt["path"].as_str().unwrap_or_default();
        let (Some(was), Some(is)) = (before.get(path), during.get(path)) else { continue };
        looked += 1;
        ensure(was != is, || format!("{what}: {path} is told as applied and did not move: {is}"))?;
        let told = receipt["before"].as_str().unwrap_or_default();
        ensure(is_said(told, was), || format!("{what}: {path} was {was}, not {told}"))?;
    }
    let files = receipts.iter().filter(|receipt| receipt["class"] == "applied");
    let files = files.filter_map(|receipt| receipt["path"].as_str());
    // Below /sys many are named by links, which the snapshot does not follow.
    let mut files = files.filter(|path| path.starts_with("/proc/") || path.starts_with("/sys/"));
    let mut own = files.clone().filter(|path| path.starts_with("/proc/"));
    let unseen = own.find(|path| !before.contains_key(*path));
    ensure(unseen.is_none() && (looked > 0 || files.next().is_none()), || {
        format!("{what}: {looked} applied files were seen; {unseen:?} is none")
    })
}

/// Whether what is told of a file is what stood there: a switch is told in words.
fn is_said(told: &str, was: &str) -> bool {
    let stands = |text: &str| was == format!("b'{text}\\n'");
    stands(told) || (["on", "off"].contains(&told) && ["0", "1", "N", "Y"].into_iter().any(stands))
}

/// A second apply: whatever came of the first is as wanted, nothing is applied anew, and what the
/// kernel rounded is no failure.
fn again(guest: &mut Guest, what: &str, words: &str, first: &[Value]) -> Result<(), Failed> {
    const WELL: [&str; 4] = ["applied", "equal", "managed", "rounded"];
    let is_well = |receipt: &Value| WELL.iter().any(|class| receipt["class"] == *class);
    let codes: &[i32] = if first.iter().all(is_well) { &[0, 4] } else { &[0, 3, 4] };
    let came = told(guest, &format!("apply --keep-going {words}"), codes)?;
    let receipts = came["receipts"].as_array().cloned().unwrap_or_default();
    let was_well = |receipt: &Value| {
        let is_it = |then: &&Value| {
            then["setting"] == receipt["setting"] && then["path"] == receipt["path"]
        };
        first.iter().find(is_it).is_none_or(is_well)
    };
    let is_as_wanted =
        |receipt: &Value| receipt["class"] == "equal" || receipt["class"] == "managed";
    let anew: Vec<String> = receipts
        .iter()
        .filter(|receipt| was_well(receipt) && !is_as_wanted(receipt))
        .map(|receipt| format!("{} {} {}", receipt["class"], receipt["setting"], receipt["path"]))
        .collect();
    ensure(anew.is_empty(), || format!("{what} is applied again: {}", anew.join(", ")))
}

/// SIGKILL at moments spread over the whole of an apply, each followed by a revert.
pub(crate) fn kills(machine: &str, kernel: Kernel, times: u32) -> Result<(), Failed> {
    let mut guest = change::guest(machine, kernel, None)?;
    let words = change::wide();
    let before = knobs(&mut guest)?;
    let span = span(&mut guest, &words)?;
    unchanged("revert", &before, &mut guest)?;
    let mut cut = 0;
    for number in 0..times {
        let moment = span.mul_f64(f64::from(moment(number)) / 1000.0);
        let script = format!(
            "nearside apply --keep-going {words} > /tmp/out 2>&1 & id=$!\n\
             until [ $(stat -c %s {JOURNAL}) -gt 1000 ]; do kill -0 $id || break; done\n\
             sleep {:.3}; kill -KILL $id; wait $id; echo $?",
            moment.as_secs_f64()
        );
        let status = said(&mut guest, &script)?;
        cut += u32::from(status.trim() == "137");
        let what =
            format!("{machine}/{kernel}: killed {} ms after its intentions", moment.as_millis());
        ours(&mut guest, "revert", &[0]).map_err(|error| failed(format!("{what}: {error:?}")))?;
        unchanged(&what, &before, &mut guest)?;
    }
    eprintln!("{machine}/{kernel}: {cut} of {times} kills came before the end of apply");
    ensure(cut * 2 >= times, || "most kills came too late to tell anything".to_owned())?;
    guest.off().map_err(failed)?;
    Ok(())
}

const JOURNAL: &str = "/var/lib/nearside/journal";

/// How long the writes of an apply take, from its intentions to its end; then all is taken back.
fn span(guest: &mut Guest, words: &str) -> Result<Duration, Failed> {
    ours(guest, "apply --set swappiness=50", &[0])?;
    ours(guest, "revert", &[0])?;
    let text = said(
        guest,
        &format!(
            "nearside apply --keep-going {words} > /tmp/out 2>&1 & id=$!\n\
             until [ $(stat -c %s {JOURNAL}) -gt 1000 ]; do kill -0 $id || break; done\n\
             cut -d' ' -f1 /proc/uptime; wait $id; cut -d' ' -f1 /proc/uptime"
        ),
    )?;
    ours(guest, "revert", &[0])?;
    let times: Vec<f64> = text.split_whitespace().filter_map(|time| time.parse().ok()).collect();
    match times.as_slice() {
        [begin, end] if end > begin => Ok(Duration::from_secs_f64(end - begin)),
        _ => Err(failed(format!("no span in {text:?}"))),
    }
}

/// Thousandths of the span: spread evenly, and no two runs of a few end at the same step (the
/// golden ratio's multiples modulo 1).
fn moment(number: u32) -> u32 {
    (number * 618 + 40) % 1000
}

/// Power is cut during an apply; with the same drives the journal is read, revert says that the
/// boot has reset all, and apply works.
pub(crate) fn power_cuts(machine: &str, kernel: Kernel, times: u32) -> Result<(), Failed> {
    let words = change::wide();
    let mut guest = change::guest(machine, kernel, None)?;
    let span = span(&mut guest, &words)?;
    let mut cut = 0;
    for number in 0..times {
        let what = format!("{machine}/{kernel}: power cut {number}");
        let apply = format!("nearside apply --keep-going {words} > /tmp/out 2>&1");
        let task = guest.begin(&apply).map_err(failed)?;
        said(
            &mut guest,
            &format!("until [ $(stat -c %s {JOURNAL}) -gt 1000 ]; do sleep 0.01; done"),
        )?;
        std::thread::sleep(span.mul_f64(f64::from(moment(number)) / 1000.0));
        cut += u32::from(!guest.has_ended(&task));
        let drives = guest.cut_power().map_err(failed)?;
        guest = change::guest(machine, kernel, Some(drives))?;
        after_cut(&mut guest, &what)?;
    }
    eprintln!("{machine}/{kernel}: {cut} of {times} power cuts came before the end of apply");
    ensure(cut * 2 >= times, || "most cuts came too late to tell anything".to_owned())?;
    guest.off().map_err(failed)?;
    Ok(())
}

fn after_cut(guest: &mut Guest, what: &str) -> Result<(), Failed> {
    let before = knobs(guest)?;
    let reverts = told(guest, "revert", &[0])?;
    let reverts = reverts["reverts"].as_array().cloned().unwrap_or_default();
    ensure(!reverts.is_empty(), || format!("{what}: nothing is known of what was cut"))?;
    let other = reverts.iter().find(|one| one["class"] != "reset" && one["class"] != "nothing");
    ensure(other.is_none(), || format!("{what}: not reset by the boot: {other:?}"))?;
    unchanged(&format!("{what}: revert writes"), &before, guest)?;
    ours(guest, "apply --set swappiness=50", &[0])?;
    ours(guest, "verify", &[0])?;
    ours(guest, "revert", &[0])?;
    unchanged(&format!("{what}: apply and revert afterwards"), &before, guest)
}
