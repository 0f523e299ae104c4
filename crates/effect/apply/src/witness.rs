// SPDX-License-Identifier: MIT OR Apache-2.0
//! The values that a write moves beside its own, as they are before it: see [`setting::Movers`].

use journal::Witness;
use machine::Fact;
use root::Root;
use setting::{
    Device, DeviceKind, Form, Place, moved_by_ethtool, moved_files, opens_again, reshapes,
};

use crate::lookup::{Absent, Lookup};
use crate::spot::Spot;

/// The places that a change moves, as they are now.
///
/// # Errors
/// One of them is there and cannot be read: it could not be given back.
pub(crate) fn of(
    lookup: &Lookup<'_>,
    device: Option<&Device>,
    place: &Place,
) -> Fact<Vec<Witness>> {
    match lookup.noting.during(|| moved(lookup, device, place)) {
        (_, Some(why)) => Err(why),
        (found, None) => Ok(found),
    }
}

fn moved(lookup: &Lookup<'_>, device: Option<&Device>, place: &Place) -> Vec<Witness> {
    let mut found = Vec::new();
    if let Place::File { path } = place {
        for (path, form) in moved_files(path) {
            found.extend(all(lookup, device, &Place::File { path }, form));
        }
    }
    if reshapes(place) {
        nics(lookup).iter().for_each(|nic| queues(lookup, nic, &mut found));
    }
    for what in moved_by_ethtool(place) {
        found.extend(all(lookup, device, &Place::Ethtool { what: what.clone() }, Form::Text));
    }
    if let Some(nic) = device.filter(|nic| nic.kind == DeviceKind::Nic && opens_again(place)) {
        queues(lookup, nic, &mut found);
    }
    found
}

/// Affinity, XPS and RPS of every queue of a network device.
fn queues(lookup: &Lookup<'_>, nic: &Device, found: &mut Vec<Witness>) {
    let vectors = lookup.function(nic).map(|function| lookup.vectors(function));
    let mut ordinals = std::collections::BTreeMap::new();
    for vector in vectors.iter().flat_map(|vectors| vectors.iter()) {
        let ordinal = ordinals.entry(vector.queue).or_insert(0);
        let place = Place::Interrupt { queue: vector.queue, ordinal: *ordinal };
        *ordinal += 1;
        found.extend(all(lookup, Some(nic), &place, Form::CpuList));
    }
    for (file, form) in [
        ("tx-*/xps_cpus", Form::CpuMask),
        ("rx-*/rps_cpus", Form::CpuMask),
        ("rx-*/rps_flow_cnt", Form::Number),
    ] {
        let place = Place::File { path: format!("/sys/class/net/{{device}}/queues/{file}") };
        found.extend(all(lookup, Some(nic), &place, form));
    }
}

/// Network devices with vectors of their own.
fn nics(lookup: &Lookup<'_>) -> Vec<Device> {
    let names = lookup.noting.list("/sys/class/net").unwrap_or_default();
    let nic = |name: String| {
        let kind = DeviceKind::Nic;
        let device = Device { name, kind, function: None, serial: None, port: None };
        let device = lookup.identified(&device);
        device.function.is_some().then_some(device)
    };
    names.into_iter().filter_map(nic).collect()
}

/// A place as witnesses: one for each file that it stands for and that can be read.
fn all(lookup: &Lookup<'_>, device: Option<&Device>, place: &Place, form: Form) -> Vec<Witness> {
    let found = match lookup.all(device, place) {
        Err(Absent::Unread(why)) => lookup.noting.note(Err(why)).unwrap_or_default(),
        found => found.unwrap_or_default(),
    };
    let witness = |found: crate::lookup::Found| {
        let before = lookup.noting.note(found.spot.read(lookup.kernel)).ok()?;
        let is_worth = !matches!(&found.spot, Spot::Interrupt(path) if is_managed(lookup, path));
        is_worth.then(|| Witness {
            device: device.cloned(),
            place: found.place,
            part: found.part,
            form,
            before,
        })
    };
    found.into_iter().filter_map(witness).collect()
}

/// An interrupt that cannot be written is not to be restored.
fn is_managed(lookup: &Lookup<'_>, path: &str) -> bool {
    lookup.kernel.mode(path).is_ok_and(|mode| mode & 0o222 == 0)
}
