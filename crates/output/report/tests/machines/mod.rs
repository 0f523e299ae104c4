// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tests of drawings draw: machines made by hand, and findings about them.
#![allow(dead_code, unused_imports, reason = "each test file uses its own part")]

use machine::Machine;
use support::made::{Order, Shape};
pub(crate) use support::made::{guest, hostile, mixed_cpus, storage_server};

/// What a two-socket server looks like: `packages` x `nodes` x `cores` x `threads`, numbered
/// linearly, siblings in the second half.
pub(crate) fn server(packages: u32, nodes: u32, cores: u32, threads: u32) -> Machine {
    support::made::server(Shape { packages, nodes, cores, threads, order: Order::Linear })
}

/// Findings as the audit makes them: one of each severity.
pub(crate) fn findings() -> Vec<setting::Finding> {
    let finding = |id: &str, severity, title: &str, ratio| setting::Finding {
        id: id.to_owned(),
        devices: vec!["eth1".to_owned()],
        severity,
        severity_from: "what it stands on".to_owned(),
        confidence: setting::Confidence::Likely,
        title: title.to_owned(),
        observed: "0,2,4,6,8,10,12,14".to_owned(),
        wanted: "64-71".to_owned(),
        because: "every packet's descriptor crosses the link between the packages".to_owned(),
        evidence: vec![
            setting::Evidence::quoted("/proc/irq/208/smp_affinity_list", "0\n"),
            setting::Evidence::quoted("/sys/class/net/eth1/device/numa_node", "1\n"),
        ],
        effect: setting::FindingEffect {
            text: "50 to 90 Gb/s on an EPYC 7551 when its interrupts moved to the NIC's node"
                .to_owned(),
            source: "EPYC NIC study".to_owned(),
            basis: setting::Basis::Measured,
            ratio,
        },
        cost: "other work on those cores is interrupted".to_owned(),
        owner: setting::Owner::Os,
        change: Some(setting::Change {
            from: "0,2,4,6,8,10,12,14".to_owned(),
            to: "64-71".to_owned(),
            reboot: setting::Reboot::None,
            at_once: true,
            by_hand: (0..8)
                .map(|n| format!("echo {} > /proc/irq/{}/smp_affinity_list", 64 + n, 208 + n))
                .collect(),
        }),
    };
    use setting::Severity::{High, Low, Medium, Note};
    vec![
        finding(
            "nic-irq-placement",
            High,
            "eth1: all 8 interrupts run on node 0, the NIC is on node 1",
            Some(1.8),
        ),
        finding(
            "pcie-link",
            Medium,
            "nvme3n1 runs at Gen5 x2 of x4: card and slot could do twice as much, so seat it again or look at the backplane's cable",
            None,
        ),
        finding("cpufreq-governor", Low, "CPU 0-255: the governor is powersave", None),
        finding("numa-balancing", Note, "NUMA balancing is on", None),
    ]
}
