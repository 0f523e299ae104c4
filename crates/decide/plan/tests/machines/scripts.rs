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

fn run(root: &Path, text: &str) -> Result<(), Failed> {
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
                Form::Selected | Form::CpuMask => Some(planned.to.clone()),
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
