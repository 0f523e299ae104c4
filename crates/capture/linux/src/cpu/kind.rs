// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of core in hybrid processors.

use std::collections::BTreeMap;

use machine::{CoreKind, Thread};
use root::{Dir, Root};
use units::CpuSet;

/// Tells every thread its kind; all stay [`CoreKind::Uniform`] where the cores are alike.
pub(super) fn mark(root: &dyn Root, threads: &mut [Thread]) {
    let by_pmu = by_pmu(root);
    if by_pmu.len() > 1 {
        for thread in threads {
            let kind = by_pmu.iter().find(|(_, cpus)| cpus.contains(thread.cpu));
            thread.kind = kind.map_or(CoreKind::Uniform, |(kind, _)| *kind);
        }
    } else {
        mark_by_capacity(root, threads);
    }
}

/// Intel: one performance monitoring unit a kind of core (`/sys/devices/cpu_core/cpus`: `0-11`).
fn by_pmu(root: &dyn Root) -> Vec<(CoreKind, CpuSet)> {
    let units = [
        ("cpu_core", CoreKind::Performance),
        ("cpu_atom", CoreKind::Efficiency),
        ("cpu_lowpower", CoreKind::LowPower),
    ];
    let set = |name| Dir::new(root, format!("/sys/devices/{name}")).parse::<CpuSet>("cpus").ok();
    let found = units.into_iter().filter_map(|(name, kind)| Some((kind, set(name)?)));
    found.filter(|(_, cpus)| !cpus.is_empty()).collect()
}

/// ARM: `cpu_capacity` is 1024 for the fastest core of the machine. The first CPU that has the
/// file shows that the kernel writes it at all, so that other machines pay for one question.
fn mark_by_capacity(root: &dyn Root, threads: &mut [Thread]) {
    let capacity = |thread: &Thread| {
        let folder = format!("/sys/devices/system/cpu/cpu{}", thread.cpu);
        Dir::new(root, folder).parse::<u32>("cpu_capacity").ok()
    };
    let Some(first) = threads.iter().find(|thread| thread.online) else { return };
    if capacity(first).is_none() {
        return;
    }
    let known: BTreeMap<_, _> =
        threads.iter().filter_map(|thread| Some((thread.cpu, capacity(thread)?))).collect();
    let (Some(least), Some(most)) = (known.values().min(), known.values().max()) else { return };
    if least == most {
        return;
    }
    for thread in threads {
        thread.kind = match known.get(&thread.cpu) {
            Some(value) if value == most => CoreKind::Performance,
            Some(_) => CoreKind::Efficiency,
            None => CoreKind::Uniform,
        };
    }
}
