// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings of the kernel that bear on a load on drives: the path and what stands there.

use std::collections::{BTreeMap, BTreeSet};

use machine::Drive;
use root::{Root, text};

/// Below `/sys/block/X/queue` (Documentation/ABI/stable/sysfs-block).
const OF_A_QUEUE: [&str; 11] = [
    "io_poll",
    "iostats",
    "logical_block_size",
    "max_sectors_kb",
    "nomerges",
    "nr_requests",
    "read_ahead_kb",
    "rq_affinity",
    "scheduler",
    "wbt_lat_usec",
    "write_cache",
];

/// Of the machine.
const OF_THE_MACHINE: [&str; 10] = [
    "/proc/sys/kernel/numa_balancing",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/cpu/cpuidle/current_driver",
    "/sys/devices/system/cpu/cpuidle/current_governor",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/smt/control",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/module/nvme/parameters/poll_queues",
    "/sys/module/nvme/parameters/write_queues",
    "/sys/module/pcie_aspm/parameters/policy",
];

/// Of each frequency policy; told once where all have the same.
const OF_A_POLICY: [&str; 3] =
    ["energy_performance_preference", "scaling_driver", "scaling_governor"];

const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";

/// Those that are there.
pub(super) fn read(root: &dyn Root, drives: &[&Drive]) -> BTreeMap<String, String> {
    let of_a_drive =
        |drive: &&Drive| OF_A_QUEUE.map(|file| format!("/sys/block/{}/queue/{file}", drive.name));
    let paths = drives.iter().flat_map(of_a_drive).chain(OF_THE_MACHINE.map(str::to_owned));
    let mut knobs: BTreeMap<String, String> =
        paths.filter_map(|path| text(root, &path).ok().map(|value| (path, value))).collect();
    let policies = root.list(POLICIES).unwrap_or_default();
    for file in OF_A_POLICY {
        let values = policies
            .iter()
            .filter_map(|policy| text(root, &format!("{POLICIES}/{policy}/{file}")).ok());
        let values: BTreeSet<String> = values.collect();
        if !values.is_empty() {
            let values: Vec<String> = values.into_iter().collect();
            knobs.insert(format!("{POLICIES}/*/{file}"), values.join(" or "));
        }
    }
    knobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_told_and_policies_once() {
        let mut root = root::MemoryRoot::new();
        root.file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
        for (policy, governor) in [("policy0", "powersave"), ("policy1", "performance")] {
            root.file(&format!("{POLICIES}/{policy}/scaling_governor"), governor);
        }
        let knobs: Vec<(String, String)> = read(&root, &[]).into_iter().collect();
        let wanted = [
            (format!("{POLICIES}/*/scaling_governor"), "performance or powersave".to_owned()),
            (OF_THE_MACHINE[6].to_owned(), "always [madvise] never".to_owned()),
        ];
        assert_eq!(knobs, wanted);
    }
}
