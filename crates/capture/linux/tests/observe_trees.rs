// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signs of settings on captured machines against the files themselves.

mod net_common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use machine::Why;
use nearside_linux::observe;
use root::DirRoot;
use setting::{Form, Observation, Observe, Owner, Reboot, Scope, Setting};
use support::{Failed, Need, failed, lab_captures, trial};

use self::net_common::{read, same};

fn main() {
    let needs: &[Need] = &[Need::Captures];
    support::run(vec![
        trial("observe_trees::nics", needs, || each_lab(nics)),
        trial("observe_trees::machine", needs, || each_lab(whole_machine)),
        trial("observe_trees::absent", needs, || each_lab(absent)),
    ]);
}

fn each_lab(check: fn(&Path) -> Result<(), Failed>) -> Result<(), Failed> {
    lab_captures().iter().try_for_each(|capture| check(&capture.tree()?))
}

fn setting(scope: Scope, form: Form, file: &str) -> Setting {
    Setting {
        id: "sign".to_owned(),
        title: String::new(),
        owner: Owner::Os,
        scope,
        what: String::new(),
        observe: Observe { file: Some(file.to_owned()), form, ..Observe::default() },
        values: Vec::new(),
        range: None,
        wanted: setting::Wanted::default(),
        kept: setting::Wanted::default(),
        applies: setting::Applies::default(),
        trade_off: String::new(),
        effect: Vec::new(),
        reboot: Reboot::None,
        by_hand: None,
        conflicts: Vec::new(),
        after: Vec::new(),
        write: None,
        vendors: Vec::new(),
    }
}

fn look(tree: &Path, setting: Setting) -> Result<Vec<Observation>, Failed> {
    let root = DirRoot::open(tree).map_err(failed)?;
    let machine = read(tree)?;
    Ok(observe(&root, &machine, &[setting]))
}

/// One observation a NIC, but for several where its queues differ.
fn nics(tree: &Path) -> Result<(), Failed> {
    let file = "/sys/class/net/{nic}/queues/tx-*/xps_cpus";
    let found = look(tree, setting(Scope::Nic, Form::CpuMask, file))?;
    let devices: BTreeSet<&str> = found
        .iter()
        .filter(|seen| seen.value.is_ok())
        .filter_map(|seen| seen.device.as_deref())
        .collect();
    let nics = fs::read_dir(tree.join("sys/class/net"))?.flatten();
    let nics: BTreeSet<String> = nics
        .map(|nic| nic.file_name().to_string_lossy().into_owned())
        .filter(|n| n != "lo")
        .collect();
    let has_xps = |nic: &&String| {
        let queues = fs::read_dir(tree.join("sys/class/net").join(nic).join("queues"));
        queues.into_iter().flatten().flatten().any(|queue| queue.path().join("xps_cpus").is_file())
    };
    let expected: BTreeSet<&str> = nics.iter().filter(has_xps).map(String::as_str).collect();
    same("devices", devices, expected)?;
    for seen in found.iter().filter(|seen| seen.value.is_ok()) {
        let raw = fs::read_to_string(tree.join(seen.evidence[0].path.trim_start_matches('/')))?;
        same("content", seen.evidence[0].content.as_deref().unwrap_or_default(), raw.trim())?;
    }
    Ok(())
}

fn whole_machine(tree: &Path) -> Result<(), Failed> {
    let file = "/sys/kernel/mm/transparent_hugepage/enabled";
    let found = look(tree, setting(Scope::Machine, Form::Selected, file))?;
    let raw = fs::read_to_string(tree.join(file.trim_start_matches('/'))).ok();
    let word = raw.as_deref().and_then(|raw| raw.split(['[', ']']).nth(1));
    let value = found.first().ok_or_else(|| failed("no observation"))?;
    same("value", value.value.as_deref().ok(), word)?;
    same("one", found.len(), 1)
}

fn absent(tree: &Path) -> Result<(), Failed> {
    let found = look(tree, setting(Scope::Nic, Form::Text, "/sys/class/net/{nic}/no-such-file"))?;
    let seen = found.first().ok_or_else(|| failed("no observation"))?;
    same("device", (found.len(), seen.device.as_deref()), (1, None))?;
    same("value", seen.value.clone(), Err(Why::Absent))
}
