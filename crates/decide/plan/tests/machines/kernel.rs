// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scripts run over a machine in a folder whose kernel moves values beside those that are written: a
//! scheduler sets the number of requests anew, channels spread their interrupts and XPS anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nearside_plan::{Request, script, undo_script};
use root::DirRoot;
use support::{Failed, failed};
use synthetic::Description;

use crate::{Seen, scripts};

/// What the kernel does before a file is written, and what `ethtool -L` does.
const KERNEL: &str = r#"
kernel() {
    case "$1" in
        */queue/scheduler)
            [ "$(cat "$1")" = "$2" ] && return 0
            echo 256 > "${1%scheduler}nr_requests"
            [ ! -e "${1%scheduler}wbt_lat_usec" ] || echo 0 > "${1%scheduler}wbt_lat_usec" ;;
    esac
}
channels() {
    for number in $(ls "$ROOT/sys/class/net/$1/device/msi_irqs"); do
        echo 0 > "$ROOT/proc/irq/$number/smp_affinity_list"
    done
    for file in "$ROOT/sys/class/net/$1/queues"/tx-*/xps_cpus; do
        [ ! -e "$file" ] || echo 1 > "$file"
    done
}
"#;

/// A script with that kernel below it.
fn with_kernel(text: &str) -> Result<String, Failed> {
    let command = "    if [ -n \"$ROOT\" ]; then printf 'not run: %s\\n' \"$*\"; return 0; fi\n";
    if !text.contains("put() {\n") || !text.contains(command) {
        return Err(format!("neither files nor commands are written by {text}").into());
    }
    let put = "put() {\n    kernel \"$1\" \"$2\"\n";
    let run = "    [ \"$1 $2\" != 'ethtool -L' ] || channels \"$3\"\n    return 0\n";
    let text = text.replace("put() {\n", put).replace(command, run);
    Ok(text.replacen("\nput() {\n", &format!("{KERNEL}\nput() {{\n"), 1))
}

/// There and back: everything that the kernel moved is what it was, byte for byte.
pub(crate) fn moved(description: &Description) -> Result<(), Failed> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = folder.path().join("root");
    std::fs::create_dir(&path).map_err(failed)?;
    description.tree().write_to(&path).map_err(failed)?;
    let first = Seen::of(&description.build());
    let drive = first.machine.drives.iter().find(|drive| drive.name.starts_with("nvme"));
    let drive = &drive.ok_or("no drive")?.name;
    let has_queues = |nic: &&machine::Nic| {
        nic.channels.as_ref().is_ok_and(|all| all.combined.is_some_and(|(now, _)| now > 1))
    };
    let nic = &first.machine.nics.iter().find(has_queues).ok_or("no port")?.name;
    let queue = path.join("sys/block").join(drive).join("queue");
    std::fs::write(queue.join("scheduler"), "[mq-deadline] none\n").map_err(failed)?;
    std::fs::write(queue.join("nr_requests"), "4\n").map_err(failed)?;
    let observed = Seen::of(&DirRoot::open(&path).map_err(failed)?);
    // A folder answers no questions of ethtool.
    let machine = first.machine.clone();
    let seen = Seen { machine, ..observed };
    let wishes = [format!("block-scheduler=none@{drive}"), format!("nic-channels=1@{nic}")];
    let named = wishes.iter().map(|wish| wish.parse()).collect::<Result<_, _>>().map_err(failed)?;
    let plan = seen.plan(&Request { named, ..Request::default() });
    if plan.changes.len() != wishes.len() {
        return Err(format!("{plan:#?}").into());
    }
    let before = files(&path, &queue, nic)?;
    scripts::run(&path, &with_kernel(&script(&plan, &seen.machine))?)?;
    let there = files(&path, &queue, nic)?;
    let moved = before.iter().filter(|(file, text)| there.get(*file) != Some(text)).count();
    if moved < 3 {
        return Err(format!("the kernel moved {moved} files only: the trial shows nothing").into());
    }
    let undo = undo_script(&plan, &seen.machine);
    scripts::run(&path, &with_kernel(&undo)?)?;
    let after = files(&path, &queue, nic)?;
    let lost = before.iter().find(|(file, text)| after.get(*file) != Some(text));
    match lost {
        None => Ok(()),
        Some((file, text)) => {
            Err(format!("{file:?}: {text:?} came back as {:?} by\n{undo}", after.get(file)).into())
        }
    }
}

/// What the kernel may move, as values.
fn files(root: &Path, queue: &Path, nic: &str) -> Result<BTreeMap<PathBuf, String>, Failed> {
    let mut all = vec![queue.join("nr_requests"), queue.join("wbt_lat_usec")];
    let device = root.join("sys/class/net").join(nic);
    for entry in std::fs::read_dir(device.join("device/msi_irqs")).map_err(failed)? {
        let number = entry.map_err(failed)?.file_name();
        all.push(root.join("proc/irq").join(number).join("smp_affinity_list"));
    }
    for entry in std::fs::read_dir(device.join("queues")).map_err(failed)? {
        all.push(entry.map_err(failed)?.path().join("xps_cpus"));
    }
    let value = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).ok()?;
        // The kernel pads a mask; a folder does not.
        let mask = path.ends_with("xps_cpus");
        let form = if mask { setting::Form::CpuMask } else { setting::Form::Text };
        Some((path, setting::canonical(form, &text)?))
    };
    Ok(all.into_iter().filter_map(value).collect())
}
