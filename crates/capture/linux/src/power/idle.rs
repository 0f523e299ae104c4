// SPDX-License-Identifier: MIT OR Apache-2.0
//! Idle states of all CPUs, gathered by what they are rather than by their index: index 3 is
//! another state on another machine.

use std::collections::BTreeMap;

use machine::{IdleState, Why};
use root::Dir;
use units::{Cpu, CpuSet};

use crate::cpu::numbered;

/// One state as a CPU's folder describes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    latency_us: u32,
    name: String,
    residency_us: Option<u32>,
    default_disabled: bool,
}

/// States by latency.
pub(super) fn states(dir: &Dir<'_>, online: &CpuSet) -> Vec<IdleState> {
    let mut tables: BTreeMap<(CpuSet, u32), Vec<(Cpu, Shape)>> = BTreeMap::new();
    let mut found: BTreeMap<Shape, (CpuSet, CpuSet)> = BTreeMap::new();
    for cpu in online.iter() {
        let own = dir.sub(&format!("cpu{cpu}/cpuidle"));
        let indexes = numbered(&own.list().unwrap_or_default(), "state");
        let Some(last) = indexes.iter().last() else { continue };
        let latency = own.parse(&format!("state{last}/latency")).unwrap_or(u32::MAX);
        let table = tables.entry((indexes.clone(), latency));
        for (index, shape) in table.or_insert_with(|| shapes(&own, &indexes)) {
            let (cpus, disabled) = found.entry(shape.clone()).or_default();
            cpus.insert(cpu);
            if is_disabled(&own, *index) {
                disabled.insert(cpu);
            }
        }
    }
    found.into_iter().map(|(shape, sets)| state(shape, sets)).collect()
}

fn shapes(own: &Dir<'_>, indexes: &CpuSet) -> Vec<(Cpu, Shape)> {
    indexes
        .iter()
        .filter_map(|index| Some((index, shape(&own.sub(&format!("state{index}")))?)))
        .collect()
}

fn shape(own: &Dir<'_>) -> Option<Shape> {
    Some(Shape {
        latency_us: own.parse("latency").ok()?,
        name: own.text("name").ok()?,
        residency_us: own.parse("residency").ok(),
        default_disabled: own.text("default_status").is_ok_and(|text| text == "disabled"),
    })
}

/// Bit 0 is the person's doing, bit 1 the driver's (include/linux/cpuidle.h).
fn is_disabled(own: &Dir<'_>, index: Cpu) -> bool {
    own.parse::<u32>(&format!("state{index}/disable")).is_ok_and(|flags| flags != 0)
}

fn state(shape: Shape, (cpus, disabled_on): (CpuSet, CpuSet)) -> IdleState {
    IdleState {
        name: shape.name,
        latency_us: shape.latency_us,
        residency_us: shape.residency_us.ok_or(Why::Absent),
        cpus,
        disabled_on,
        default_disabled: shape.default_disabled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;

    #[test]
    fn states_of_unlike_cores_are_kept_apart() {
        let mut root = MemoryRoot::new();
        for (cpu, states) in [
            (0, &[("POLL", 0, 0), ("C1", 2, 0), ("C6", 170, 1)][..]),
            (1, &[("POLL", 0, 0), ("C1", 2, 0), ("C6", 170, 0)]),
            (2, &[("POLL", 0, 0), ("C1", 1, 2), ("C6", 220, 0)]),
            (3, &[]),
        ] {
            for (index, (name, latency, disable)) in states.iter().enumerate() {
                let folder = format!("/c/cpu{cpu}/cpuidle/state{index}");
                root.file(&format!("{folder}/name"), *name)
                    .file(&format!("{folder}/latency"), latency.to_string())
                    .file(&format!("{folder}/residency"), (latency * 3).to_string())
                    .file(&format!("{folder}/disable"), disable.to_string());
            }
        }
        let online = CpuSet::from_list("0-3").unwrap();
        let seen: Vec<_> = states(&Dir::new(&root, "/c"), &online)
            .into_iter()
            .map(|s| format!("{} {} {} {}", s.name, s.latency_us, s.cpus, s.disabled_on))
            .collect();
        let expected = ["POLL 0 0-2 ", "C1 1 2 2", "C1 2 0-1 ", "C6 170 0-1 0", "C6 220 2 "];
        assert_eq!(seen, expected);
    }
}
