// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that a write is known to move beside its own.
//!
//! Measured on Linux 6.1: a scheduler resets `nr_requests`, channels reset affinity and XPS, the
//! `dirty_*` pairs zero each other, features take others along. From the kernel's sources: the
//! performance governor of intel_pstate takes the energy preference along
//! (drivers/cpufreq/intel_pstate.c), and drivers open a device again for rings, MTU and some
//! features, which may reset what channels reset. Measured on Linux 6.12: after a write of
//! `nr_requests` mq-deadline takes `async_depth` from the number before it (blk_mq_update_nr_requests
//! calls the scheduler first and stores the number after).

use journal::Witness;
use machine::Fact;
use root::Root;
use setting::{Device, DeviceKind, Ethtool, Form, Place};

use crate::lookup::{Absent, Lookup};
use crate::spot::Spot;

/// Files that a file moves: by the end of its path, the ones beside it and how they compare.
const BESIDE: [(&str, &str, Form); 16] = [
    ("/queue/scheduler", "nr_requests", Form::Number),
    ("/queue/nr_requests", "iosched/async_depth", Form::Number),
    ("/queue/scheduler", "wbt_lat_usec", Form::Number),
    ("/vm/dirty_bytes", "dirty_ratio", Form::Number),
    ("/vm/dirty_ratio", "dirty_bytes", Form::Number),
    ("/vm/dirty_background_bytes", "dirty_background_ratio", Form::Number),
    ("/vm/dirty_background_ratio", "dirty_background_bytes", Form::Number),
    ("/scaling_governor", "energy_performance_preference", Form::Text),
    ("/scaling_governor", "scaling_min_freq", Form::Number),
    ("/scaling_governor", "scaling_max_freq", Form::Number),
    ("/intel_pstate/no_turbo", "max_perf_pct", Form::Number),
    ("/intel_pstate/no_turbo", "min_perf_pct", Form::Number),
    ("/cpufreq/boost", "policy*/scaling_max_freq", Form::Number),
    ("/cpufreq/boost", "policy*/scaling_min_freq", Form::Number),
    ("/smt/control", "../../cpufreq/policy*/scaling_governor", Form::Text),
    ("/smt/control", "../../cpufreq/policy*/energy_performance_preference", Form::Text),
];

/// Whether a place makes its device anew, so that what belongs to queues may be lost.
pub(crate) fn opens_again(place: &Place) -> bool {
    match place {
        Place::Ethtool { what } => {
            matches!(what, Ethtool::Channels | Ethtool::Rings | Ethtool::Features)
        }
        Place::File { path } => path.ends_with("/mtu"),
        _ => false,
    }
}

/// Whether a place belongs to the queues of its device.
pub(crate) fn is_of_queue(place: &Place) -> bool {
    match place {
        Place::Interrupt { .. } => true,
        Place::File { path } => path.contains("/queues/"),
        Place::Ethtool { what } => *what == Ethtool::ReceiveSpread,
        _ => false,
    }
}

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
    match (place, device) {
        (Place::File { path }, _) => {
            for (place, form) in beside(path) {
                found.extend(all(lookup, device, &place, form));
            }
            if path.ends_with("/smt/control") {
                nics(lookup).iter().for_each(|nic| queues(lookup, nic, &mut found));
            }
        }
        (Place::Ethtool { what: Ethtool::Channels }, Some(nic)) => {
            let spread = Place::Ethtool { what: Ethtool::ReceiveSpread };
            found.extend(all(lookup, device, &spread, Form::Text));
            let coalescing = Place::Ethtool { what: Ethtool::Coalescing };
            found.extend(all(lookup, Some(nic), &coalescing, Form::Text));
        }
        _ => {}
    }
    if let Some(nic) = device.filter(|nic| nic.kind == DeviceKind::Nic && opens_again(place)) {
        queues(lookup, nic, &mut found);
    }
    found
}

/// Files beside a file.
fn beside(path: &str) -> Vec<(Place, Form)> {
    let Some((folder, _)) = path.rsplit_once('/') else { return Vec::new() };
    let place = |(_, name, form): &(&str, &str, Form)| {
        let path = match name.strip_prefix("../../") {
            // `/sys/devices/system/cpu/smt/control` and what lies beside `smt`.
            Some(name) => format!("{}/{name}", folder.rsplit_once('/').map_or("", |(up, _)| up)),
            None => format!("{folder}/{name}"),
        };
        (Place::File { path }, *form)
    };
    let fits = |(end, ..): &&(&str, &str, Form)| path.ends_with(end);
    BESIDE.iter().filter(fits).map(place).collect()
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
