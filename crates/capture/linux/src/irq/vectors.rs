// SPDX-License-Identifier: MIT OR Apache-2.0
//! The vectors of one function, for those who look an interrupt up again.

use std::collections::BTreeMap;

use root::{Dir, Root};
use units::PciAddress;

use super::name;

/// Files of `/proc/irq/N`; a folder beside them has the name of an action (`register_irq_proc` and
/// `register_handler_proc`, kernel/irq/proc.c).
const FILES: [&str; 7] = [
    "affinity_hint",
    "effective_affinity",
    "effective_affinity_list",
    "node",
    "smp_affinity",
    "smp_affinity_list",
    "spurious",
];

/// An interrupt of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vector {
    /// The kernel's number.
    pub number: u32,
    /// Its queue, where the name of its action tells one.
    pub queue: Option<u32>,
}

/// The vectors of a function by number, with the queues that [`crate::read`] gives them, at the
/// cost of a listing each: `msi_irqs`, or the one of `irq` where that folder is missing.
pub fn vectors(root: &dyn Root, function: PciAddress) -> Vec<Vector> {
    let dir = Dir::new(root, format!("/sys/bus/pci/devices/{function}"));
    let listed = dir.sub("msi_irqs").list().unwrap_or_default();
    let mut numbers: Vec<u32> = listed.iter().filter_map(|name| name.parse().ok()).collect();
    if numbers.is_empty() {
        numbers.extend(dir.parse::<u32>("irq").ok().filter(|number| *number > 0));
    }
    numbers.sort_unstable();
    let named: Vec<(u32, Option<String>)> =
        numbers.into_iter().map(|number| (number, action(root, number))).collect();
    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    for action in named.iter().filter_map(|(_, action)| action.as_deref()) {
        *times.entry(action).or_default() += 1;
    }
    // A name that was cut to fit and came twice tells no queue.
    let queue = |action: &str| match times.get(action) {
        Some(1) => name::parse(action).queue,
        _ => None,
    };
    let vector = |(number, action): &(u32, Option<String>)| Vector {
        number: *number,
        queue: action.as_deref().and_then(queue),
    };
    named.iter().map(vector).collect()
}

/// The first action of an interrupt; none where nobody listens.
fn action(root: &dyn Root, number: u32) -> Option<String> {
    let names = root.list(&format!("/proc/irq/{number}")).ok()?;
    names.into_iter().find(|name| !FILES.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use root::MemoryRoot;

    #[test]
    fn queues_are_those_of_the_names() {
        let mut root = MemoryRoot::new();
        let names = [
            (40, "mlx5_async0@pci:0000:86:00.0"),
            (41, "mlx5_comp0@pci:0000:86:00.0"),
            (42, "mlx5_comp1@pci:0000:86:00.0"),
        ];
        for (number, name) in names {
            root.file(&format!("/sys/bus/pci/devices/0000:86:00.0/msi_irqs/{number}"), "msix\n")
                .file(&format!("/proc/irq/{number}/smp_affinity_list"), "0\n")
                .folder(&format!("/proc/irq/{number}/{name}"));
        }
        let found = vectors(&root, "0000:86:00.0".parse().unwrap());
        let queues: Vec<_> = found.iter().map(|vector| (vector.number, vector.queue)).collect();
        assert_eq!(queues, [(40, None), (41, Some(0)), (42, Some(1))]);
        root.file("/sys/bus/pci/devices/0000:00:1f.2/irq", "19\n");
        let pin = vectors(&root, "0000:00:1f.2".parse().unwrap());
        assert_eq!(pin, [Vector { number: 19, queue: None }]);
    }
}
