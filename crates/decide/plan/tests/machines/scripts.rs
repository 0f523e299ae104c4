// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scripts, run over a machine written into a folder: values land, and the undo brings the bytes
//! back.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use nearside_plan::{Request, script, undo_script};
use root::DirRoot;
use setting::{Form, Goal, Place, Plan, Planned, canonical};
use support::{Failed, failed};
use synthetic::Description;

use crate::Seen;

/// How much of a machine is written: a file for each CPU's knobs takes its time.
pub(crate) fn share(name: &str) -> u32 {
    match name {
        "eight-socket" => 8,
        // Its faults name CPUs that an eighth of it does not have.
        "sick-two-socket" => 1,
        _ => 4,
    }
}

/// There and back on one machine.
pub(crate) fn round(description: &Description) -> Result<(), Failed> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = folder.path().join("root");
    std::fs::create_dir(&path).map_err(failed)?;
    description.tree().write_to(&path).map_err(failed)?;
    let seen = Seen::of(&DirRoot::open(&path).map_err(failed)?);
    let request = Request { goal: Some(Goal::Latency), ..Request::default() };
    let plan = without_absent(seen.plan(&request), &path);
    let before = files(&path, &plan);
    run(&path, &script(&plan, &seen.machine))?;
    let now = Seen::of(&DirRoot::open(&path).map_err(failed)?);
    for planned in &plan.changes {
        landed(&path, &now, planned)?;
    }
    run(&path, &undo_script(&plan, &seen.machine))?;
    for (file, (form, bytes)) in before {
        let after = std::fs::read_to_string(&file).map_err(failed)?;
        let text = |text: &str| canonical(form, text);
        // The kernel pads a mask and puts tabs between numbers by itself; a folder does not.
        let is_same = match form {
            Form::CpuMask | Form::Numbers => text(&after) == text(&bytes),
            // A word is written without those that stand beside it.
            Form::Selected => text(&bytes).as_deref() == Some(after.trim()),
            _ => after.trim() == bytes.trim(),
        };
        if !is_same {
            return Err(format!("{file}: {bytes:?} came back as {after:?}").into());
        }
    }
    Ok(())
}

/// A made-up machine has no file for what its description does not speak of (XPS of one queue).
fn without_absent(mut plan: Plan, root: &Path) -> Plan {
    plan.changes.retain(|planned| match &planned.place {
        Place::File { path } if !path.contains('*') => root.join(real(planned, path)).exists(),
        _ => true,
    });
    plan
}

fn real(planned: &Planned, path: &str) -> String {
    let device = planned.device.as_ref().map_or("", |device| device.name.as_str());
    let number = device.strip_prefix("cpu ").or(device.strip_prefix("node ")).unwrap_or(device);
    path.trim_start_matches('/').replace("{device}", number)
}

/// The files of a plan that it saw, with their bytes.
fn files(root: &Path, plan: &Plan) -> BTreeMap<String, (Form, String)> {
    let mut files = BTreeMap::new();
    for planned in plan.changes.iter().filter(|planned| planned.from.is_ok()) {
        let Place::File { path } = &planned.place else { continue };
        if path.contains('*') {
            continue;
        }
        let file = root.join(real(planned, path)).display().to_string();
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        files.insert(file, (planned.form, text));
    }
    files
}

pub(crate) fn run(root: &Path, text: &str) -> Result<(), Failed> {
    let file = root.with_extension("sh");
    std::fs::write(&file, text).map_err(failed)?;
    let checked = Command::new("sh").arg("-n").arg(&file).output().map_err(failed)?;
    if !checked.status.success() {
        return Err(String::from_utf8_lossy(&checked.stderr).into_owned().into());
    }
    let ran = Command::new("sh").arg(&file).env("ROOT", root).output().map_err(failed)?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&ran.stderr).into_owned().into()),
    }
}

fn landed(root: &Path, now: &Seen, planned: &Planned) -> Result<(), Failed> {
    match &planned.place {
        Place::File { path } if !path.contains('*') => {
            let file = root.join(real(planned, path));
            let text = std::fs::read_to_string(&file).map_err(failed)?;
            let is = match planned.form {
                Form::Selected => Some(text.trim().to_owned()),
                form => canonical(form, &text),
            };
            let wanted = match planned.form {
                Form::Selected | Form::CpuMask | Form::Opposite => Some(planned.to.clone()),
                form => canonical(form, &planned.to),
            };
            if is == wanted {
                return Ok(());
            }
            Err(format!("{}: {text:?} is not {:?}", file.display(), planned.to).into())
        }
        Place::Interrupt { queue, ordinal } => {
            let at = planned.device.as_ref().and_then(|device| device.function);
            let mut own: Vec<_> = now
                .machine
                .irqs
                .iter()
                .filter(|irq| {
                    let source = irq.source.as_ref();
                    source.is_some_and(|one| one.function == at && one.queue == *queue)
                })
                .collect();
            own.sort_by_key(|irq| irq.number);
            let irq = own.get(*ordinal as usize).ok_or("no such interrupt")?;
            let is = irq.affinity.as_ref().map(ToString::to_string).unwrap_or_default();
            match is == planned.to {
                true => Ok(()),
                false => Err(format!("{is} is not {}: {planned:#?}", planned.to).into()),
            }
        }
        _ => Ok(()),
    }
}

/// Limits that zero each other, on a kernel that refuses 0 in bytes: the ratio of before comes back by
/// itself, a failure does not keep the rest from coming back, and is told at the end.
pub(crate) fn pairs(description: &Description) -> Result<(), Failed> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = folder.path().join("root");
    std::fs::create_dir(&path).map_err(failed)?;
    description.tree().write_to(&path).map_err(failed)?;
    let vm = |name: &str| path.join("proc/sys/vm").join(name);
    let write = |name: &str, text: &str| std::fs::write(vm(name), text).map_err(failed);
    for (name, text) in [
        ("dirty_bytes", "0\n"),
        ("dirty_ratio", "20\n"),
        ("dirty_background_bytes", "65536\n"),
        ("dirty_background_ratio", "0\n"),
        ("swappiness", "60\n"),
    ] {
        write(name, text)?;
    }
    let seen = Seen::of(&DirRoot::open(&path).map_err(failed)?);
    let wishes = ["dirty-bytes=8388608", "dirty-background-ratio=5", "swappiness=10"];
    let named = wishes.iter().map(|wish| wish.parse()).collect::<Result<_, _>>().map_err(failed)?;
    let plan = seen.plan(&Request { named, ..Request::default() });
    // What the kernel makes of the plan; a write of bytes that may not be is refused by this file.
    let refuse = |name: &str| {
        std::fs::remove_file(vm(name)).map_err(failed)?;
        std::os::unix::fs::symlink("/dev/full", vm(name)).map_err(failed)
    };
    write("dirty_ratio", "0\n")?;
    write("dirty_background_bytes", "0\n")?;
    write("dirty_background_ratio", "5\n")?;
    write("swappiness", "10\n")?;
    refuse("dirty_bytes")?;
    let undo = undo_script(&plan, &seen.machine);
    run(&path, &undo)?;
    let is = |name: &str| std::fs::read_to_string(vm(name)).unwrap_or_default().trim().to_owned();
    let all = || ["dirty_ratio", "dirty_background_bytes", "swappiness"].map(is);
    if all() != ["20", "65536", "60"] {
        return Err(format!("{:?} came back by {undo}", all()).into());
    }
    write("dirty_ratio", "0\n")?;
    write("dirty_background_bytes", "0\n")?;
    refuse("swappiness")?;
    match run(&path, &undo) {
        Ok(()) => Err("a failure was not told".into()),
        Err(error) => {
            let told = format!("{error:?}");
            let came = ["dirty_ratio", "dirty_background_bytes"].map(is);
            match told.contains("not taken back: 1") && came == ["20", "65536"] {
                true => Ok(()),
                false => Err(format!("{came:?}: {told}").into()),
            }
        }
    }
}

/// What a file says the other way round is planned in the words of its setting.
pub(crate) fn turned(description: &Description) -> Result<(), Failed> {
    let seen = Seen::of(&description.build());
    let only = vec!["turbo-boost".to_owned()];
    let request = Request { goal: Some(Goal::Throughput), only, ..Request::default() };
    let plan = seen.plan(&request);
    let [turbo] = plan.changes.as_slice() else { return Err(format!("{plan:#?}").into()) };
    if (turbo.from.as_deref(), turbo.to.as_str()) != (Ok("off"), "on") {
        return Err(format!("{turbo:#?}").into());
    }
    let there = script(&plan, &seen.machine).contains("/no_turbo' '0'");
    let back = undo_script(&plan, &seen.machine).contains("/no_turbo' '1'");
    if there && back { Ok(()) } else { Err("the file is not written the other way round".into()) }
}
