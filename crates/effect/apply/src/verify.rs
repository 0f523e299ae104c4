// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether what was applied is still so, and if not, why not.

use std::collections::BTreeSet;

use journal::{Entry, Raw, Transaction};
use machine::Why;
use root::text;
use setting::{Outcome, Place};
use units::CpuSet;

use crate::Kernel;
use crate::lookup::{Absent, Lookup};
use crate::spot::Spot;
use crate::undo::{is_elsewhere, is_of_network, is_reset};

/// How a change stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// As it was set.
    AsSet,
    /// Somebody set another value.
    Drifted {
        /// What is there.
        found: String,
    },
    /// A service that is known to write it runs, and another value is there.
    Overridden {
        /// What is there.
        found: String,
        /// The service.
        by: String,
    },
    /// Its device was opened or loaded again, and it went with that.
    LostOnReopen {
        /// What is there.
        found: String,
    },
    /// The CPUs that an interrupt was sent to are offline, and the kernel sends it elsewhere.
    CpusOffline {
        /// What is there.
        found: String,
    },
    /// Set, but no interrupt came since that would have moved it.
    NotYetEffective {
        /// CPUs that it goes to.
        effective: String,
    },
    /// It is as it was set before the last boot, and means something else since: interrupts have
    /// other numbers.
    Outdated,
    /// A reboot has reset it.
    Reset,
    /// It belongs to another network namespace than this process, and cannot be seen from here.
    Elsewhere,
    /// The device or the place is gone.
    Missing,
    /// It cannot be read.
    Unknown {
        /// Why.
        why: Why,
    },
}

/// A change, and how it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Transaction that made it.
    pub transaction: u64,
    /// Catalogue entry.
    pub setting: String,
    /// Device as it was called then; none for the machine.
    pub device: Option<String>,
    /// Where it is now, or was.
    pub path: String,
    /// Value that was wanted.
    pub wanted: String,
    /// How it stands.
    pub standing: Standing,
}

impl Verified {
    /// Whether it is not as it was set.
    pub fn is_drift(&self) -> bool {
        !matches!(self.standing, Standing::AsSet | Standing::NotYetEffective { .. })
    }
}

/// Services, and what they are known to write by a part of its path.
const WRITERS: [(&str, &[&str]); 7] = [
    ("irqbalance", &["/proc/irq/"]),
    (
        "tuned",
        &[
            "/cpufreq/",
            "/intel_pstate/",
            "energy_perf_bias",
            "/queue/scheduler",
            "read_ahead_kb",
            "/proc/sys/",
            "transparent_hugepage",
            "link_power_management_policy",
            "/proc/irq/",
            "ethtool",
            "cpu_dma_latency",
            "intel_uncore_frequency",
        ],
    ),
    ("power-profiles-daemon", &["energy_performance_preference", "scaling_governor", "no_turbo"]),
    (
        "tlp",
        &[
            "/cpufreq/",
            "/intel_pstate/",
            "energy_perf_bias",
            "/power/control",
            "pcie_aspm",
            "link_power_management_policy",
            "/queue/scheduler",
            "nmi_watchdog",
        ],
    ),
    ("auto-cpufreq", &["/cpufreq/", "/intel_pstate/"]),
    ("thermald", &["/intel_pstate/", "scaling_max_freq"]),
    (
        "saptune",
        &[
            "/proc/sys/",
            "scaling_governor",
            "energy_perf_bias",
            "/queue/scheduler",
            "nr_requests",
            "read_ahead_kb",
            "max_sectors_kb",
            "transparent_hugepage",
            "cpuidle",
        ],
    ),
];

/// Compares what was applied and is not taken back with what is there, by value and not by text.
/// Of several changes of one place the newest counts.
///
/// # Errors
/// The kernel does not tell this boot from another.
pub fn verify(
    kernel: &dyn Kernel,
    transactions: &[Transaction],
) -> Result<Vec<Verified>, crate::ApplyError> {
    let (boot, here) = (crate::carry::boot(kernel)?, crate::carry::network(kernel));
    let lookup = Lookup::new(kernel);
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut verified = Vec::new();
    for transaction in transactions.iter().rev() {
        let is_this_boot = transaction.begin.boot == boot;
        let stands = |entry: &Entry| is_this_boot || !is_reset(&lookup, entry);
        for (index, entry) in transaction.entries.iter().enumerate() {
            let intent = &entry.intent;
            let holds = !entry.is_settled() && transaction.may_be_written(index) && was_set(entry);
            let mut key = lookup.key(intent.device.as_ref(), &intent.place, &intent.part);
            if is_of_network(intent) {
                key.extend(transaction.begin.network.as_deref());
            }
            if !holds || !seen.insert(key) {
                continue;
            }
            let then = || intent.path.clone();
            let (path, standing) = match stands(entry) {
                false => (then(), Standing::Reset),
                true if is_elsewhere(transaction, intent, here.as_deref()) => {
                    (then(), Standing::Elsewhere)
                }
                true if !is_this_boot && intent.place.outlives_boot() => outdated(&lookup, entry),
                true => standing(&lookup, entry),
            };
            verified.push(Verified {
                transaction: transaction.begin.transaction,
                setting: intent.setting.clone(),
                device: intent.device.as_ref().map(|device| device.name.clone()),
                path,
                wanted: intent.to.clone(),
                standing,
            });
        }
    }
    name_writers(kernel, &mut verified);
    Ok(verified)
}

fn was_set(entry: &Entry) -> bool {
    let outcome = entry.receipt.as_ref().map(|receipt| &receipt.outcome);
    matches!(outcome, Some(Outcome::Applied | Outcome::Rounded { .. }))
}

fn standing(lookup: &Lookup<'_>, entry: &Entry) -> (String, Standing) {
    let intent = &entry.intent;
    let receipt = entry.receipt.as_ref();
    let then = receipt.and_then(|receipt| receipt.path.clone());
    let then = then.unwrap_or_else(|| intent.path.clone());
    let spot = match lookup.one(intent.device.as_ref(), &intent.place, &intent.part) {
        Ok(spot) => spot,
        Err(Absent::Unread(why)) => return (then, Standing::Unknown { why }),
        Err(Absent::Device | Absent::Place | Absent::Forbidden) => {
            return (then, Standing::Missing);
        }
    };
    let path = spot.path();
    let now = match spot.read(lookup.kernel) {
        Ok(now) => now,
        Err(Why::Absent) => return (path, Standing::Missing),
        Err(why) => return (path, Standing::Unknown { why }),
    };
    let after = receipt.and_then(|receipt| receipt.after.as_ref());
    let to = lookup.meant(&intent.place, &intent.to);
    let is_same = spot.is(intent.form, &to, &now)
        // What stands for something else may mean another value by now.
        || (to == intent.to && after.is_some_and(|after| spot.same(intent.form, after, &now)));
    if is_same {
        return (path, effective(lookup, &spot, &now));
    }
    let found = spot.show(intent.form, &now);
    if matches!(spot, Spot::Interrupt(_)) && is_offline(lookup, &intent.to) {
        return (path, Standing::CpusOffline { found });
    }
    let (is_elsewhere, is_as_before) = (path != then, spot.same(intent.form, &now, &intent.before));
    let is_reopened = match is_of_nic(&intent.place) {
        true => is_elsewhere || is_as_before,
        // A file below another name: the device came again, with the driver's own value.
        false => is_elsewhere && is_as_before,
    };
    let standing =
        if is_reopened { Standing::LostOnReopen { found } } else { Standing::Drifted { found } };
    (path, standing)
}

/// What outlived the boot that it was made for.
fn outdated(lookup: &Lookup<'_>, entry: &Entry) -> (String, Standing) {
    match standing(lookup, entry) {
        (path, Standing::AsSet) => (path, Standing::Outdated),
        other => other,
    }
}

/// Whether some of the CPUs of a list are offline.
fn is_offline(lookup: &Lookup<'_>, cpus: &str) -> bool {
    let online = text(lookup.kernel, "/sys/devices/system/cpu/online").unwrap_or_default();
    match (CpuSet::from_list(cpus), CpuSet::from_list(&online)) {
        (Ok(cpus), Ok(online)) => !online.is_empty() && !cpus.is_subset(&online),
        _ => false,
    }
}

/// What a driver resets when its device is opened again.
fn is_of_nic(place: &Place) -> bool {
    setting::is_of_queue(place) || matches!(place, Place::Ethtool { .. })
}

/// `effective_affinity_list` follows at the next interrupt only.
fn effective(lookup: &Lookup<'_>, spot: &Spot, now: &Raw) -> Standing {
    let Spot::Interrupt(path) = spot else { return Standing::AsSet };
    let path = path.replace("smp_affinity_list", "effective_affinity_list");
    let list = |text: &str| CpuSet::from_list(text).ok();
    let Ok(effective) = text(lookup.kernel, &path) else { return Standing::AsSet };
    match (list(&effective), list(now.trimmed())) {
        (Some(goes), Some(may)) if !goes.is_subset(&may) => Standing::NotYetEffective { effective },
        _ => Standing::AsSet,
    }
}

/// Names the service behind a drift. Services are looked for only where something drifted.
fn name_writers(kernel: &dyn Kernel, verified: &mut [Verified]) {
    let drifts = |one: &Verified| {
        matches!(one.standing, Standing::Drifted { .. } | Standing::LostOnReopen { .. })
    };
    if !verified.iter().any(drifts) {
        return;
    }
    let running = running(kernel);
    for one in verified.iter_mut().filter(|one| drifts(one)) {
        let writes = |(name, parts): &&(&str, &[&str])| {
            running.contains(*name) && parts.iter().any(|part| one.path.contains(part))
        };
        let writer = WRITERS.iter().find(writes).map(|(name, _)| (*name).to_owned());
        let Some(by) = writer else { continue };
        if let Standing::Drifted { found } | Standing::LostOnReopen { found } = &one.standing {
            one.standing = Standing::Overridden { found: found.clone(), by };
        }
    }
}

fn running(kernel: &dyn Kernel) -> BTreeSet<String> {
    let services = linux::services(kernel).into_iter();
    let mut running: BTreeSet<String> = services
        .filter(|service| service.running == Ok(true))
        .map(|service| service.name)
        .collect();
    // saptune runs once and leaves what it saved here while its settings are applied.
    if kernel.list("/run/saptune/saved_state").is_ok_and(|names| !names.is_empty()) {
        running.insert("saptune".to_owned());
    }
    running
}
