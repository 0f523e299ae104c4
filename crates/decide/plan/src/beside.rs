// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that the changes of a plan are known to move, as they are, and those of the single files
//! that a pattern stands for: an undoing restores them too.

use std::collections::BTreeSet;

use machine::{Fact, Machine, Nic, Why};
use setting::{
    Device, DeviceKind, Ethtool, Form, Place, Planned, Setting, is_one_file, moved_by_ethtool,
    moved_files, opens_again, reshapes,
};
use units::CpuSet;

use crate::draft::Work;
use crate::placement::{self, Vectors};
use crate::{device, ethtool, resolve};

/// All of them, none twice and none that the plan writes itself.
pub(crate) fn of(work: &Work<'_>, changes: &[Planned]) -> Vec<Planned> {
    let key = |one: &Planned| (one.device.as_ref().map(|own| own.name.clone()), one.place.clone());
    let mut known: BTreeSet<_> = changes.iter().map(key).collect();
    let vectors = Vectors::of(work.machine());
    let mut all = Vec::new();
    for planned in changes {
        let mut found = files(work, planned);
        found.extend(queues(work, &vectors, planned));
        found.extend(by_ethtool(work, planned));
        found.extend(single_files(work, planned));
        found.retain(|one| known.insert(key(one)));
        all.extend(found);
    }
    all
}

/// Whether the machine's model knows each file that a pattern stands for.
pub(crate) fn is_whole(path: &str) -> bool {
    path.ends_with(resolve::LINK_STATES) || path.ends_with(FLOW_COUNTS)
}

const FLOW_COUNTS: &str = "/queues/rx-*/rps_flow_cnt";

/// A value as it is, of a place that a change moves.
fn as_is(
    planned: &Planned,
    setting: &str,
    device: Option<Device>,
    place: Place,
    form: Form,
    from: Fact<String>,
) -> Planned {
    Planned {
        setting: setting.to_owned(),
        device,
        place,
        form,
        to: from.clone().unwrap_or_default(),
        from,
        because: format!("{} moves it", planned.setting),
        cost: String::new(),
        drops_link: None,
    }
}

/// Files that a file moves, of which a setting tells the value.
fn files(work: &Work<'_>, planned: &Planned) -> Vec<Planned> {
    let Place::File { path } = &planned.place else { return Vec::new() };
    let mut all = Vec::new();
    for (moved, form) in moved_files(path) {
        let entries = work.subject.catalogue.settings().iter();
        for entry in entries.filter(|entry| is_sign(entry, &moved)) {
            for (device, from) in seen(work, entry, planned.device.as_ref()) {
                let path = resolve::path(entry.observe.file.as_deref().unwrap_or_default());
                let place = Place::File { path };
                all.push(as_is(planned, &entry.id, device, place, form, from));
            }
        }
    }
    all
}

/// Whether a setting is seen in a file.
fn is_sign(entry: &Setting, file: &str) -> bool {
    entry.observe.file.as_deref().is_some_and(|own| is_one_file(&resolve::path(own), file))
}

/// What was seen of a setting where a change of `device` moves it: on each device for one of the
/// machine.
fn seen(
    work: &Work<'_>,
    entry: &Setting,
    device: Option<&Device>,
) -> Vec<(Option<Device>, Fact<String>)> {
    let mut all = Vec::new();
    for label in work.labels(&entry.id) {
        let Some(value) = work.value(&entry.id, label).filter(|value| *value != Err(Why::Absent))
        else {
            continue;
        };
        match (label, device) {
            (None, None) => all.push((None, value)),
            (None, Some(_)) => {}
            // CPUs that agree are one label.
            (Some(label), Some(device)) if is_of(device, label) => {
                all.push((Some(device.clone()), value));
            }
            (Some(_), Some(_)) => {}
            (Some(label), None) => {
                let devices = device::find(work.machine(), entry.scope, label);
                all.extend(devices.into_iter().map(|device| (Some(device), value.clone())));
            }
        }
    }
    all
}

fn is_of(device: &Device, label: &str) -> bool {
    let cpu = || device.name.strip_prefix("cpu ")?.parse().ok();
    let is_among = |cpus: CpuSet| cpu().is_some_and(|cpu| cpus.contains(units::Cpu(cpu)));
    match device.kind {
        DeviceKind::Cpu => device::cpus_of(label).is_some_and(is_among),
        _ => device.name == label,
    }
}

/// Interrupts, XPS, RPS and flows of the devices that a change opens again.
fn queues(work: &Work<'_>, vectors: &Vectors<'_>, planned: &Planned) -> Vec<Planned> {
    let nics = work.machine().nics.iter();
    let own = planned.device.as_ref().map(|device| device.name.as_str());
    let is_moved = |nic: &&Nic| {
        let is_own = own == Some(nic.name.as_str()) && opens_again(&planned.place);
        is_own || (reshapes(&planned.place) && nic.function.is_some())
    };
    let moved = nics.filter(|nic| crate::words::is_name(&nic.name)).filter(is_moved);
    moved.flat_map(|nic| queues_of(vectors, planned, nic)).collect()
}

fn queues_of(vectors: &Vectors<'_>, planned: &Planned, nic: &Nic) -> Vec<Planned> {
    let mut all = Vec::new();
    let of = nic.function.map(|function| vectors.of_function(function)).unwrap_or_default();
    for vector in of.iter().filter(|vector| vector.is_movable()) {
        let place = Place::Interrupt { queue: vector.queue, ordinal: vector.ordinal };
        let from = vector.irq.map(|irq| irq.affinity.as_ref());
        if let Some(Ok(cpus)) = from {
            let (own, value) = (device::nic(nic), Ok(cpus.to_string()));
            let form = Form::CpuList;
            all.push(as_is(planned, placement::NIC, Some(own), place, form, value));
        }
    }
    let mut file = |setting: &str, name: String, form: Form, value: Option<String>| {
        let place = Place::File { path: format!("/sys/class/net/{{device}}/queues/{name}") };
        if let Some(value) = value {
            all.push(as_is(planned, setting, Some(device::nic(nic)), place, form, Ok(value)));
        }
    };
    let text = |cpus: &Fact<CpuSet>| cpus.as_ref().ok().map(ToString::to_string);
    for queue in &nic.tx_queues {
        let name = format!("tx-{}/xps_cpus", queue.number);
        file(placement::XPS, name, Form::CpuMask, text(&queue.xps));
    }
    for queue in &nic.rx_queues {
        let name = format!("rx-{}/rps_cpus", queue.number);
        file(placement::RPS, name, Form::CpuMask, text(&queue.rps));
        let (name, count) = flows(queue);
        file(placement::SHARE, name, Form::Number, count);
    }
    all
}

fn flows(queue: &machine::RxQueue) -> (String, Option<String>) {
    let count = queue.flow_count.as_ref().ok().map(ToString::to_string);
    (format!("rx-{}/rps_flow_cnt", queue.number), count)
}

/// What ethtool tells of a device and a change of it moves.
fn by_ethtool(work: &Work<'_>, planned: &Planned) -> Vec<Planned> {
    let nic = || device::nic_called(work.machine(), &planned.device.as_ref()?.name);
    let now = |what: &Ethtool| match (what, nic()?) {
        (Ethtool::ReceiveSpread, nic) => {
            let spread = nic.receive_spread.as_ref().ok()?;
            Some((placement::SPREAD, placement::spread_now(spread)))
        }
        (Ethtool::Coalescing, nic) => Some(("nic-rx-usecs", Ok(ethtool::moderation(nic)?))),
        _ => None,
    };
    let one = |what: &Ethtool| {
        let (setting, from) = now(what)?;
        let place = Place::Ethtool { what: what.clone() };
        Some(as_is(planned, setting, planned.device.clone(), place, Form::Text, from))
    };
    moved_by_ethtool(&planned.place).iter().filter_map(one).collect()
}

/// The files that the pattern of a change stands for, where each is known.
fn single_files(work: &Work<'_>, planned: &Planned) -> Vec<Planned> {
    let Place::File { path } = &planned.place else { return Vec::new() };
    let Some((folder, _)) = path.rsplit_once('/').filter(|_| path.contains('*')) else {
        return Vec::new();
    };
    let of = |path: String, form: Form, value: String| {
        let (setting, device) = (&planned.setting, planned.device.clone());
        as_is(planned, setting, device, Place::File { path }, form, Ok(value))
    };
    if path.ends_with(resolve::LINK_STATES) {
        let states = link_states(work.machine(), planned);
        let word = |on: bool| if on { "on" } else { "off" }.to_owned();
        let file =
            |(name, on): &(String, bool)| of(format!("{folder}/{name}"), Form::Switch, word(*on));
        return states.iter().map(file).collect();
    }
    if path.ends_with(FLOW_COUNTS) {
        let nic = planned.device.as_ref();
        let nic = nic.and_then(|nic| device::nic_called(work.machine(), &nic.name));
        let queues = nic.iter().flat_map(|nic| &nic.rx_queues).map(flows);
        let top = path.strip_suffix("rx-*/rps_flow_cnt").unwrap_or_default();
        let file = |(name, count): (String, Option<String>)| {
            Some(of(format!("{top}{name}"), Form::Number, count?))
        };
        return queues.filter_map(file).collect();
    }
    observed(work, planned, of)
}

/// States of a link's power saving that a change of them moves: its own and those that need them.
fn link_states<'a>(machine: &'a Machine, planned: &Planned) -> &'a [(String, bool)] {
    let function = planned.device.as_ref().and_then(|device| device.function);
    let link = function.and_then(|at| machine.function(at)?.link.as_ref());
    link.map(|link| link.aspm.files.as_slice()).unwrap_or_default()
}

/// Of files that differ, those that are known by name: the first of each value.
fn observed(
    work: &Work<'_>,
    planned: &Planned,
    of: impl Fn(String, Form, String) -> Planned,
) -> Vec<Planned> {
    let name = planned.device.as_ref().map(|device| device.name.as_str());
    let entry = work.entry(&planned.setting);
    let is_own = entry.is_some_and(|entry| {
        let written = entry.write.as_ref().and_then(|write| write.file.as_ref());
        written.is_none() && entry.observe.file.is_some()
    });
    let seen = work.seen(&planned.setting, name);
    if !is_own || seen.len() < 2 {
        return Vec::new();
    }
    let file = |seen: &&setting::Observation| {
        let path = seen.evidence.first()?.path.clone();
        Some(of(path, planned.form, seen.value.clone().ok()?))
    };
    seen.iter().filter_map(file).collect()
}
