// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sysctls, huge pages and module parameters, at the kernel's defaults unless told otherwise.

use crate::text::choice;
use crate::{Description, Tree};

/// Defaults of a 6.12 kernel (Documentation/admin-guide/sysctl, Documentation/networking).
const SYSCTLS: [(&str, &str); 44] = [
    ("kernel.numa_balancing", "1"),
    ("kernel.nmi_watchdog", "1"),
    ("kernel.watchdog", "1"),
    ("kernel.timer_migration", "1"),
    ("kernel.sched_autogroup_enabled", "1"),
    ("kernel.randomize_va_space", "2"),
    ("vm.swappiness", "60"),
    ("vm.zone_reclaim_mode", "0"),
    ("vm.dirty_ratio", "20"),
    ("vm.dirty_background_ratio", "10"),
    ("vm.dirty_bytes", "0"),
    ("vm.dirty_background_bytes", "0"),
    ("vm.min_free_kbytes", "67584"),
    ("vm.stat_interval", "1"),
    ("vm.nr_hugepages", "0"),
    ("vm.overcommit_memory", "0"),
    ("vm.vfs_cache_pressure", "100"),
    ("vm.numa_stat", "1"),
    ("fs.aio-max-nr", "65536"),
    ("fs.aio-nr", "0"),
    ("fs.file-max", "9223372036854775807"),
    ("net.core.rmem_max", "212992"),
    ("net.core.wmem_max", "212992"),
    ("net.core.rmem_default", "212992"),
    ("net.core.wmem_default", "212992"),
    ("net.core.netdev_max_backlog", "1000"),
    ("net.core.netdev_budget", "300"),
    ("net.core.netdev_budget_usecs", "2000"),
    ("net.core.somaxconn", "4096"),
    ("net.core.busy_poll", "0"),
    ("net.core.busy_read", "0"),
    ("net.core.default_qdisc", "fq_codel"),
    ("net.core.rps_sock_flow_entries", "0"),
    ("net.core.optmem_max", "131072"),
    ("net.ipv4.tcp_rmem", "4096\t131072\t6291456"),
    ("net.ipv4.tcp_wmem", "4096\t16384\t4194304"),
    ("net.ipv4.tcp_congestion_control", "cubic"),
    ("net.ipv4.tcp_available_congestion_control", "reno cubic"),
    ("net.ipv4.tcp_slow_start_after_idle", "1"),
    ("net.ipv4.tcp_mtu_probing", "0"),
    ("net.ipv4.tcp_fastopen", "1"),
    ("net.ipv4.tcp_timestamps", "1"),
    ("net.ipv4.tcp_sack", "1"),
    ("net.ipv4.ip_forward", "0"),
];

/// Module parameters at their defaults.
const PARAMETERS: [(&str, &str); 12] = [
    ("nvme.poll_queues", "0"),
    ("nvme.write_queues", "0"),
    ("nvme.io_queue_depth", "1024"),
    ("nvme.use_threaded_interrupts", "0"),
    ("nvme_core.default_ps_max_latency_us", "100000"),
    ("nvme_core.io_timeout", "30"),
    ("nvme_core.multipath", "Y"),
    ("nvme_core.iopolicy", "numa"),
    ("processor.max_cstate", "8"),
    ("intel_idle.max_cstate", "9"),
    ("workqueue.power_efficient", "N"),
    ("workqueue.disable_numa", "N"),
];

pub(crate) fn write(tree: &mut Tree, description: &Description) {
    for (name, value) in SYSCTLS {
        write_sysctl(tree, name, value);
    }
    for (name, value) in &description.sysctl {
        write_sysctl(tree, name, value);
    }
    for (name, value) in PARAMETERS {
        write_parameter(tree, name, value);
    }
    for (name, value) in &description.kernel.module {
        write_parameter(tree, name, value);
    }
    write_memory(tree, description);
    write_policies(tree, description);
}

fn write_sysctl(tree: &mut Tree, name: &str, value: &str) {
    tree.line(format!("/proc/sys/{}", name.replace('.', "/")), value);
}

fn write_parameter(tree: &mut Tree, name: &str, value: &str) {
    if let Some((module, parameter)) = name.split_once('.') {
        tree.line(format!("/sys/module/{module}/parameters/{parameter}"), value);
    }
}

fn write_memory(tree: &mut Tree, description: &Description) {
    let folder = "/sys/kernel/mm/transparent_hugepage";
    let thp = choice(&["always", "madvise", "never"], &description.kernel.thp);
    tree.line(format!("{folder}/enabled"), thp);
    let defrag = choice(&["always", "defer", "defer+madvise", "madvise", "never"], "madvise");
    tree.line(format!("{folder}/defrag"), defrag);
    let shared = choice(&["always", "within_size", "advise", "never", "deny", "force"], "never");
    tree.line(format!("{folder}/shmem_enabled"), shared);
    tree.line(format!("{folder}/hpage_pmd_size"), 2_097_152);
    for size in ["hugepages-2048kB", "hugepages-1048576kB"] {
        for name in ["nr_hugepages", "free_hugepages", "resv_hugepages", "surplus_hugepages"] {
            tree.line(format!("/sys/kernel/mm/hugepages/{size}/{name}"), 0);
        }
    }
    tree.line("/sys/kernel/mm/numa/demotion_enabled", "false");
}

fn write_policies(tree: &mut Tree, description: &Description) {
    let policies = ["default", "performance", "powersave", "powersupersave"];
    // A blank stands behind the last policy (drivers/pci/pcie/aspm.c).
    let aspm = choice(&policies, &description.kernel.aspm_policy);
    tree.line("/sys/module/pcie_aspm/parameters/policy", format!("{aspm} "));
    let bits = u32::try_from(description.cpu.count()).unwrap_or(u32::MAX);
    let all = crate::text::mask(&crate::text::range(0, bits), bits);
    for queue in ["workqueue", "workqueue/writeback"] {
        tree.line(format!("/sys/devices/virtual/{queue}/cpumask"), &all);
    }
    if let Some(kind) = description.host.iommu.as_deref() {
        let name = if kind == "amd" { "ivhd0" } else { "dmar0" };
        let folder = format!("/sys/devices/virtual/iommu/{name}");
        tree.folder(&folder);
        tree.link(format!("/sys/class/iommu/{name}"), &folder);
    } else {
        tree.folder("/sys/class/iommu");
    }
}
