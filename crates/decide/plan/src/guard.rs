// SPDX-License-Identifier: MIT OR Apache-2.0
//! The guard against being locked out: what can drop the link that carries the login, a heartbeat
//! or a network root is left out unless it was named.

use std::collections::BTreeMap;

use machine::{Carries, DriveKind, Machine, NicKind};
use setting::{LeftWhy, Plan};

use crate::draft::{Draft, Work};
use crate::request::Request;

/// Options of the command line that put the root on the network
/// (Documentation/admin-guide/nfs/nfsroot.rst; dracut.cmdline(7)).
const NETWORK_ROOTS: [&str; 5] =
    ["nfsroot", "netroot", "rd.iscsi.initiator", "rd.nvmf.discover", "iscsi_initiator"];

/// Leaves changes that could drop a link that the machine or its user hangs on.
pub(crate) fn lock_out(work: &Work<'_>, draft: &mut Draft) {
    let reasons = guarded(work.machine(), &work.request.carries);
    for drafted in std::mem::take(&mut draft.changes) {
        let nic = drafted.planned.drops_link.as_deref().filter(|_| !drafted.is_named);
        match nic.and_then(|nic| Some((nic.to_owned(), reasons.get(nic)?))) {
            None => draft.changes.push(drafted),
            Some((nic, reason)) => {
                let because = format!("it drops the link of {nic} for a moment, which {reason}");
                draft.leave_drafted(drafted, LeftWhy::LockOut, because);
            }
        }
    }
}

/// Network devices whose link a plan may drop though something hangs on it, each with what: they were
/// named.
pub fn dropped_links(
    machine: &Machine,
    request: &Request,
    plan: &Plan,
) -> BTreeMap<String, String> {
    let reasons = guarded(machine, &request.carries);
    let dropped = plan.changes.iter().filter_map(|planned| planned.drops_link.as_ref());
    dropped.filter_map(|nic| Some((nic.clone(), reasons.get(nic)?.clone()))).collect()
}

/// Network devices that must not lose their link, each with the reason.
///
/// What carries something is told by the live machine and by captures of it. Where it is not told,
/// each device in use may.
fn guarded(machine: &Machine, named: &[String]) -> BTreeMap<String, String> {
    let mut reasons = BTreeMap::new();
    for name in named {
        guard(machine, name, "was named as one that must not lose it", &mut reasons);
    }
    for (name, what) in &machine.carriers {
        if let Some(what) = what.first() {
            guard(machine, name, carries(*what), &mut reasons);
        }
    }
    // What a person names adds to what is told; it does not tell that the others carry nothing.
    let is_unknown = machine.carriers.is_empty();
    let root = network_root(machine);
    for nic in machine.nics.iter().filter(|nic| nic.in_use) {
        let is_shared = matches!(nic.kind, NicKind::Bond | NicKind::Bridge | NicKind::Vlan);
        let reason = match &root {
            Some(root) => root.clone(),
            None if is_unknown => "is in use and may carry the login".to_owned(),
            None if is_shared => format!("carries {}, which others may watch", nic.name),
            None => continue,
        };
        guard(machine, &nic.name, &reason, &mut reasons);
    }
    reasons
}

fn carries(what: Carries) -> &'static str {
    match what {
        Carries::Login => "carries the login",
        Carries::DefaultRoute => "carries the default route",
        Carries::RootFileSystem => "carries the root file system",
        Carries::Storage => "carries storage",
        Carries::Heartbeat => "carries the heartbeat of a cluster",
    }
}

/// Guards a device and all that carry it.
fn guard(machine: &Machine, name: &str, reason: &str, reasons: &mut BTreeMap<String, String>) {
    let mut waiting = vec![name.to_owned()];
    let mut seen: Vec<String> = Vec::new();
    while let Some(name) = waiting.pop() {
        if seen.contains(&name) {
            continue;
        }
        reasons.entry(name.clone()).or_insert_with(|| reason.to_owned());
        waiting.extend(carriers_of(machine, &name));
        seen.push(name);
    }
}

/// The master that the kernel gives each port of an Open vSwitch bridge, whatever the bridge
/// (net/openvswitch/vport-netdev.c). The bridge's own device names neither its ports nor it.
const SWITCH: &str = "ovs-system";

/// The network devices that carry one: a VLAN's parent, a bond's and a bridge's ports; for a virtual
/// function its physical one, whose reset takes it along.
fn carriers_of(machine: &Machine, name: &str) -> Vec<String> {
    let nic = machine.nics.iter().find(|nic| nic.name == name);
    let below = nic.map(|nic| nic.lower.clone()).unwrap_or_default();
    let physical = nic.and_then(|nic| nic.function).and_then(|address| {
        machine.functions.iter().find(|one| one.address == address)?.physical_function
    });
    let may_be_switched = nic.is_none_or(|nic| nic.function.is_none() && nic.lower.is_empty());
    let carries = |nic: &&machine::Nic| {
        let master = nic.master.as_deref();
        nic.upper.iter().any(|upper| upper == name)
            || master == Some(name)
            || (may_be_switched && master == Some(SWITCH))
            || (physical.is_some() && nic.function == physical)
    };
    let others = machine.nics.iter().filter(carries).map(|nic| nic.name.clone());
    below.into_iter().chain(others).collect()
}

fn network_root(machine: &Machine) -> Option<String> {
    let options = &machine.host.command_line;
    let by_option = NETWORK_ROOTS.iter().find(|key| options.last(key).is_some());
    let is_nfs = options.last("root").flatten() == Some("/dev/nfs");
    let is_remote = |drive: &&machine::Drive| {
        let far = drive.controllers.iter().any(|path| {
            matches!(path.transport.as_str(), "tcp" | "rdma" | "iscsi" | "fc" | "loop")
        });
        let is_root = drive.mounts.iter().any(|mount| mount == "/" || mount == "/usr");
        is_root && (far || drive.kind == DriveKind::NvmeFabrics)
    };
    let drive = machine.drives.iter().find(is_remote);
    match (by_option, is_nfs, drive) {
        (Some(key), _, _) => Some(format!("may carry the root file system ({key})")),
        (None, true, _) => Some("may carry the root file system (NFS)".to_owned()),
        (None, false, Some(drive)) => {
            Some(format!("may carry the root file system ({})", drive.name))
        }
        (None, false, None) => None,
    }
}
