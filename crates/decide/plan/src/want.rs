// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wanted: by name first, then by the audit's findings.

use std::collections::BTreeSet;

use machine::{Fact, NicKind, Why};
use setting::{
    Device, Finding, Left, LeftWhy, Observation, Owner, Reboot, Scope, Setting, Wish, WritePlace,
};

use crate::draft::{Draft, Work};
use crate::request::{Named, Request, is_guarded};
use crate::resolve::unwritten;
use crate::{by_hand, device, words};

/// One value wanted on one device.
#[derive(Debug)]
pub(crate) struct Want<'a> {
    pub(crate) entry: &'a Setting,
    /// None for the machine.
    pub(crate) device: Option<Device>,
    /// As observed.
    pub(crate) from: Fact<String>,
    /// As it would be observed.
    pub(crate) to: String,
    pub(crate) because: String,
    pub(crate) is_named: bool,
    pub(crate) rank: usize,
}

/// Settings whose places are worked out together: see `placement`.
pub(crate) fn is_placed(entry: &Setting) -> bool {
    let place = entry.write.as_ref().and_then(|write| write.place);
    entry.id == "irqbalance"
        || matches!(
            place,
            Some(
                WritePlace::Interrupt
                    | WritePlace::TransmitSteering
                    | WritePlace::ReceiveSteering
                    | WritePlace::ReceiveSpread
                    | WritePlace::FlowSteering
            )
        )
}

/// Everything wanted but placements. What cannot be written is left at once.
pub(crate) fn gather<'a>(work: &Work<'a>, draft: &mut Draft) -> Vec<Want<'a>> {
    let mut wants = Vec::new();
    // What is named for one device wins over what is named for all.
    let (of_all, of_one): (Vec<&Named>, Vec<&Named>) =
        work.request.named.iter().partition(|one| one.device.is_none());
    let ranked = of_all.into_iter().zip(of_one.len()..).chain(of_one.iter().copied().zip(0..));
    for (one, rank) in ranked {
        named(work, one, rank, &mut wants, draft);
    }
    if work.request.goal.is_some() {
        let named = work.request.named.len();
        let mut taken: Taken =
            wants.iter().map(|want| (want.entry.id.clone(), label(want))).collect();
        let by_name = taken.clone();
        for (rank, finding) in work.audit.findings.iter().enumerate() {
            found(work, finding, named + rank, &mut taken, &mut wants, draft);
        }
        count_equal(work, &by_name, draft);
    }
    wants
}

/// Settings on devices that are wanted already: nothing is written twice.
type Taken = BTreeSet<(String, Option<String>)>;

fn label(want: &Want<'_>) -> Option<String> {
    want.device.as_ref().map(|device| device.name.clone())
}

fn named<'a>(
    work: &Work<'a>,
    one: &Named,
    rank: usize,
    wants: &mut Vec<Want<'a>>,
    draft: &mut Draft,
) {
    if is_guarded(&one.setting) {
        draft.leave(guarded(one));
        return;
    }
    let Some(entry) = work.entry(&one.setting) else {
        draft.leave(missing(one, "no setting is called so"));
        return;
    };
    if is_placed(entry) {
        return;
    }
    if let Some(left) = unwritten(work, entry, &one.value, one.device.iter().cloned().collect()) {
        draft.leave(left);
        return;
    }
    let targets = targets(work, entry, one);
    if targets.is_empty() {
        draft.leave(missing(
            one,
            &work
                .outside(one.device.as_deref())
                .unwrap_or_else(|| "no device here has this setting".to_owned()),
        ));
    }
    for (label, device) in targets {
        // What is named last counts.
        wants.retain(|want| want.entry.id != entry.id || want.device != device);
        wants.push(Want {
            entry,
            from: seen(work, entry, label.as_deref(), device.as_ref()),
            device,
            to: words::spelled(entry.observe.form, &one.value),
            because: "asked for by name".to_owned(),
            is_named: true,
            rank,
        });
    }
}

/// The devices that a named setting is about: with the label that it was observed under.
fn targets(work: &Work<'_>, entry: &Setting, one: &Named) -> Vec<(Option<String>, Option<Device>)> {
    if entry.scope == Scope::Machine {
        return vec![(None, None)];
    }
    let seen = work.audit.settings.iter().filter(|seen| seen.setting == entry.id);
    let known = seen.filter(|seen| seen.value.is_ok()).filter_map(|seen| seen.device.as_deref());
    let labels: BTreeSet<&str> = known.collect();
    let mut targets = Vec::new();
    for label in labels {
        for device in device::find(work.machine(), entry.scope, label) {
            let is_asked = one.device.as_ref().is_none_or(|name| work.is_same(&device, name));
            if is_asked && work.wants_device(Some(&device)) {
                targets.push((Some(label.to_owned()), Some(device)));
            }
        }
    }
    if targets.is_empty() && entry.scope == Scope::Nic {
        targets.extend(link(work, entry, one).map(|device| (None, Some(device))));
    }
    targets
}

/// A link without hardware of its own (veth, bond, VLAN, bridge) is not observed, since nothing is
/// wished of it; by name it takes what the kernel lets be written.
/// What ethtool sets is asked of a port as well: its driver says why it cannot be.
fn link(work: &Work<'_>, entry: &Setting, one: &Named) -> Option<Device> {
    use NicKind::{Paravirtual, Physical, VirtualFunction};
    let nic = device::nic_called(work.machine(), one.device.as_ref()?)?;
    let is_port = matches!(nic.kind, Physical | VirtualFunction | Paravirtual);
    let is_file = entry.write.as_ref().is_none_or(|write| write.place.is_none());
    let device = Some(device::nic(nic)).filter(|_| !(is_port && is_file));
    device.filter(|device| work.wants_device(Some(device)))
}

/// What is seen of a setting on the device of a want.
fn seen(
    work: &Work<'_>,
    entry: &Setting,
    label: Option<&str>,
    device: Option<&Device>,
) -> Fact<String> {
    let nic = || device::nic_called(work.machine(), &device?.name);
    match (work.value(&entry.id, label), entry.observe.fact.as_deref()) {
        (Some(value), _) => value,
        (None, Some("mtu")) => nic().map_or(Err(Why::Absent), |nic| {
            nic.mtu.as_ref().map(ToString::to_string).map_err(Clone::clone)
        }),
        (None, _) if entry.scope == Scope::Nic && device.is_some() => {
            Err(Why::Failed("read when it is written".to_owned()))
        }
        (None, _) => Err(Why::Absent),
    }
}

fn found<'a>(
    work: &Work<'a>,
    finding: &Finding,
    rank: usize,
    taken: &mut Taken,
    wants: &mut Vec<Want<'a>>,
    draft: &mut Draft,
) {
    let Some(change) = &finding.change else { return };
    let Some(entry) = entry_of(work, finding) else { return };
    let is_asked = work.wants_setting(&entry.id) || work.wants_setting(&finding.id);
    if is_placed(entry) || !is_asked || taken.contains(&(entry.id.clone(), None)) {
        return;
    }
    if let Some(mut left) = unwritten(work, entry, &change.to, finding.devices.clone()) {
        if about(work, finding) {
            left.owner = finding.owner;
            left.reboot = change.reboot;
            left.by_hand.extend(change.by_hand.iter().cloned());
            by_hand::tidy(&mut left.by_hand);
            draft.leave(left);
        }
        return;
    }
    if RESHAPES.contains(&entry.id.as_str()) && !work.request.only.contains(&entry.id) {
        if about(work, finding) {
            draft.leave(reshapes(entry, finding, change.to.clone()));
        }
        return;
    }
    for (label, device) in devices(work, entry, finding) {
        let name = device.as_ref().map(|device| device.name.clone());
        if !work.wants_device(device.as_ref()) || !taken.insert((entry.id.clone(), name)) {
            continue;
        }
        let seen = work.value(&entry.id, label.as_deref());
        wants.push(Want {
            entry,
            from: seen.unwrap_or_else(|| Ok(finding.observed.clone())),
            device,
            to: change.to.clone(),
            because: finding.because.clone(),
            is_named: work.request.only.contains(&entry.id),
            rank,
        });
    }
}

/// Settings that change which CPUs there are. Somebody chose them, and all else is planned for the
/// CPUs that are.
const RESHAPES: [&str; 1] = ["logical-processor"];

/// Whether a request names a setting that changes which CPUs there are.
pub fn reshapes_cpus(request: &Request) -> bool {
    let named = request.named.iter().map(|named| named.setting.as_str());
    named.chain(request.only.iter().map(String::as_str)).any(|name| RESHAPES.contains(&name))
}

fn reshapes(entry: &Setting, finding: &Finding, wanted: String) -> Left {
    Left {
        setting: entry.id.clone(),
        devices: Vec::new(),
        by_hand: vec![format!("nearside plan --set {}={wanted}", entry.id)],
        wanted,
        owner: finding.owner,
        reboot: Reboot::None,
        why: LeftWhy::Choice,
        because: "it changes which CPUs there are: name it, then plan the rest anew".to_owned(),
    }
}

/// The entry that a finding's change writes: a port's queues are its channels.
fn entry_of<'a>(work: &Work<'a>, finding: &Finding) -> Option<&'a Setting> {
    let is_port = |name: &String| device::nic_called(work.machine(), name).is_some();
    if finding.id == "queue-count" && finding.devices.iter().any(is_port) {
        return work.entry("nic-channels");
    }
    work.entry(&finding.id)
}

fn about(work: &Work<'_>, finding: &Finding) -> bool {
    let asked = &work.request.devices;
    asked.is_empty() || asked.iter().any(|name| audit::is_about(finding, work.machine(), name))
}

/// The devices of a finding, each with the label that its value was observed under.
fn devices(
    work: &Work<'_>,
    entry: &Setting,
    finding: &Finding,
) -> Vec<(Option<String>, Option<Device>)> {
    if entry.scope == Scope::Machine {
        return vec![(None, None)];
    }
    let mut all = Vec::new();
    for name in &finding.devices {
        for device in device::find(work.machine(), entry.scope, name) {
            let label = if entry.scope == Scope::Cpu { name.clone() } else { device.name.clone() };
            all.push((Some(label), Some(device)));
        }
    }
    all
}

/// Counts what is as the goal wants it, of what nearside could write.
fn count_equal(work: &Work<'_>, taken: &Taken, draft: &mut Draft) {
    for seen in &work.audit.settings {
        let Some(entry) = work.entry(&seen.setting) else { continue };
        let is_written = entry.write.as_ref().is_some_and(setting::Write::is_at_once);
        let wish = entry.due(work.subject.goal);
        let is_asked = work.wants_setting(&entry.id)
            && (work.request.devices.is_empty() || seen.device.is_some())
            && !taken.contains(&(entry.id.clone(), seen.device.clone()));
        if !is_written || is_placed(entry) || !is_asked {
            continue;
        }
        if wish.is_some_and(|wish| satisfies(wish, entry, seen)) {
            draft.equal(&entry.id, places(work, entry, seen));
        }
    }
}

fn places(work: &Work<'_>, entry: &Setting, seen: &Observation) -> u64 {
    let Some(name) = &seen.device else { return 1 };
    let devices = device::find(work.machine(), entry.scope, name);
    let asked = devices.iter().filter(|device| work.wants_device(Some(device)));
    u64::try_from(asked.count()).unwrap_or(u64::MAX)
}

pub(crate) fn satisfies(wish: &Wish, entry: &Setting, seen: &Observation) -> bool {
    let Ok(value) = &seen.value else { return false };
    let number = || value.trim().parse::<i64>().ok();
    match wish {
        Wish { at_least: Some(least), .. } => number().is_some_and(|number| number >= *least),
        Wish { at_most: Some(most), .. } => number().is_some_and(|number| number <= *most),
        Wish { one_of, .. } => {
            one_of.iter().any(|wanted| words::same(entry.observe.form, wanted, value))
        }
    }
}

fn guarded(one: &Named) -> Left {
    Left {
        setting: one.setting.clone(),
        devices: one.device.iter().cloned().collect(),
        wanted: one.value.clone(),
        owner: Owner::Os,
        reboot: Reboot::None,
        why: LeftWhy::Security,
        because: format!("{} guards the machine's security: nearside never writes it", one.setting),
        by_hand: Vec::new(),
    }
}

/// What was named and is not there.
pub(crate) fn missing(one: &Named, because: &str) -> Left {
    Left {
        setting: one.setting.clone(),
        devices: one.device.iter().cloned().collect(),
        wanted: one.value.clone(),
        owner: Owner::Os,
        reboot: Reboot::None,
        why: LeftWhy::Prerequisite,
        because: because.to_owned(),
        by_hand: Vec::new(),
    }
}
