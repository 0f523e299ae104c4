// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other programs' judgement of what we set: `tuned-adm verify`, and where irqbalance puts the same
//! interrupts.

use std::collections::{BTreeMap, BTreeSet};

use nearside_lab::{Guest, Kernel, nearside};
use support::{Failed, failed};

use crate::change::{ensure, ours};
use crate::facts::numbers;
use crate::kept::boot;
use crate::look::said;

/// A profile of tuned's, the settings by which its values are wished here, and what of its values
/// it must tell as passed.
struct Profile {
    name: &'static str,
    /// Of the profile that is made of it here.
    text: &'static str,
    wish: &'static str,
    shared: &'static [&'static str],
    /// A goal of ours, and what of its values both want alike.
    goal: (&'static str, &'static [&'static str]),
}

const PROFILES: [Profile; 2] = [
    Profile {
        name: "throughput-performance",
        text: "[main]\ninclude=throughput-performance\n",
        wish: "--set cpufreq-governor=performance --set dirty-ratio=40 \
               --set dirty-background-ratio=10 --set swappiness=10 --set block-read-ahead=4096",
        shared: &["governor", "vm.dirty_ratio", "vm.dirty_background_ratio", "vm.swappiness"],
        goal: ("throughput", &["governor", "vm.swappiness"]),
    },
    // What our catalogue wishes for latency, too.
    Profile {
        name: "network-latency",
        // What it wants of the kernel's command line is there after a reboot only.
        text: "[main]\ninclude=network-latency\n[bootloader]\nenabled=0\n",
        wish: "--set cpufreq-governor=performance --set dirty-ratio=10 \
               --set dirty-background-ratio=3 --set swappiness=10 \
               --set transparent-hugepages=never --set busy-poll=50 --set busy-read=50 \
               --set numa-balancing=0",
        shared: &[
            "governor",
            "vm.dirty_ratio",
            "vm.dirty_background_ratio",
            "vm.swappiness",
            "transparent_hugepages",
            "net.core.busy_poll",
            "net.core.busy_read",
            "kernel.numa_balancing",
        ],
        // Ours leaves huge pages to who asks for them, and busy polling to who measured it.
        goal: (
            "latency",
            &[
                "governor",
                "vm.dirty_ratio",
                "vm.dirty_background_ratio",
                "vm.swappiness",
                "kernel.numa_balancing",
            ],
        ),
    },
];

/// Everything that the profiles set, to something else than they want.
const ELSE: &str = "for p in /sys/devices/system/cpu/cpufreq/policy*; do \
    echo schedutil > $p/scaling_governor; done; \
    for d in /sys/block/nvme*; do echo 128 > $d/queue/read_ahead_kb; done; \
    echo always > /sys/kernel/mm/transparent_hugepage/enabled; \
    sysctl -q vm.dirty_ratio=21 vm.dirty_background_ratio=7 vm.swappiness=61 \
    net.core.busy_poll=1 net.core.busy_read=1 kernel.numa_balancing=1";

pub(crate) fn agree(machine: &str, kernel: Kernel) -> Result<(), Failed> {
    let mut guest = boot(machine, kernel, None)?;
    guest.put(&nearside().map_err(failed)?, "/usr/local/bin/nearside").map_err(failed)?;
    irqbalance(&mut guest)?;
    for profile in &PROFILES {
        tuned(&mut guest, profile)?;
    }
    guest.off().map_err(failed)?;
    Ok(())
}

/// tuned sets its profile; all is set to something else, which it must tell; we set it, which it
/// must accept.
fn tuned(guest: &mut Guest, profile: &Profile) -> Result<(), Failed> {
    let Profile { name, text, .. } = profile;
    said(
        guest,
        &format!(
            "mkdir -p /etc/tuned/lab-{name}; printf '{}' > /etc/tuned/lab-{name}/tuned.conf; \
         systemctl start tuned; tuned-adm profile lab-{name}",
            text.replace('\n', "\\n")
        ),
    )?;
    let verdict = |guest: &mut Guest| -> Result<(i32, BTreeMap<String, bool>), Failed> {
        said(guest, ": > /var/log/tuned/tuned.log")?;
        let status = guest.run("tuned-adm verify").map_err(failed)?.status;
        Ok((status, told(&said(guest, "cat /var/log/tuned/tuned.log")?)))
    };
    let passed = |verdict: &BTreeMap<String, bool>| -> BTreeSet<String> {
        verdict.iter().filter(|(_, passed)| **passed).map(|(key, _)| key.clone()).collect()
    };
    let (status, theirs) = verdict(guest)?;
    ensure(status == 0, || format!("{name}: tuned refuses its own: {theirs:?}"))?;
    said(guest, ELSE)?;
    let (status, others) = verdict(guest)?;
    let accepted: Vec<&&str> =
        profile.shared.iter().filter(|key| passed(&others).contains(**key)).collect();
    ensure(status != 0 && accepted.is_empty(), || {
        format!("{name}: tuned does not see that {accepted:?} are others: {others:?}")
    })?;
    let accepts = |guest: &mut Guest, keys: &[&str]| -> Result<i32, Failed> {
        let (status, own) = verdict(guest)?;
        let refused: Vec<&&str> = keys.iter().filter(|key| !passed(&own).contains(**key)).collect();
        ensure(refused.is_empty(), || format!("{name}: tuned refuses {refused:?}: {own:?}"))?;
        ours(guest, "verify", &[0])?;
        ours(guest, "revert", &[0])?;
        Ok(status)
    };
    ours(guest, &format!("apply {}", profile.wish), &[0])?;
    let status = accepts(guest, profile.shared)?;
    ensure(status == 0, || format!("{name}: tuned-adm verify ends with {status}"))?;
    ensure(verdict(guest)?.0 != 0, || format!("{name}: what was taken back is accepted"))?;
    let (goal, keys) = profile.goal;
    ours(guest, &format!("apply --keep-going --goal {goal}"), &[0, 4])?;
    accepts(guest, keys)?;
    eprintln!(
        "tuned-adm verify accepts {name}: {}; of our goal {goal}: {}",
        profile.shared.join(", "),
        keys.join(", ")
    );
    said(guest, "systemctl stop tuned").map(drop)
}

// Example:
//   2026-11-30 16:47:34,766 INFO     tuned.plugins.base: verify: passed: 'vm.dirty_ratio' = '40'
/// Each value that was looked at, and whether it passed on every device.
fn told(log: &str) -> BTreeMap<String, bool> {
    let mut all = BTreeMap::new();
    for line in log.lines() {
        let Some((_, verdict)) = line.split_once("verify: ") else { continue };
        let Some(key) = verdict.split('\'').nth(1) else { continue };
        let passed = verdict.starts_with("passed");
        all.entry(key.to_owned()).and_modify(|all| *all &= passed).or_insert(passed);
    }
    all
}

/// After `apply` every interrupt of a NIC is on the node where irqbalance, asked once, puts it.
fn irqbalance(guest: &mut Guest) -> Result<(), Failed> {
    let script = "for d in /sys/class/net/eth*; do f=$(readlink -f $d/device); \
        [ -d $f/msi_irqs ] || f=${f%/*}; for i in $f/msi_irqs/*; do \
        echo ${i##*/} $(cat $f/numa_node) $(cat /proc/irq/${i##*/}/smp_affinity_list); done; done";
    ours(guest, "apply --set nic-irq-placement=near", &[0])?;
    let own = said(guest, script)?;
    ours(guest, "revert", &[0])?;
    let debug = "irqbalance --debug --oneshot --foreground 2>&1; true";
    let tree = placed(&said(guest, debug)?);
    let nodes = said(guest, "cd /sys/devices/system/node && grep . node*/cpulist")?;
    let mut compared = 0;
    for line in own.lines() {
        let [irq, home, cpus] = line.split_whitespace().collect::<Vec<_>>()[..] else { continue };
        let Some(node) = irq.parse().ok().and_then(|irq: u32| tree.get(&irq)) else { continue };
        // It is right where it takes the node that the function says.
        ensure(node == home, || {
            format!("irqbalance puts interrupt {irq} of node {home} on {node}")
        })?;
        let near =
            nodes.lines().find_map(|line| line.strip_prefix(&format!("node{home}/cpulist:")));
        let near = numbers(near.unwrap_or_default());
        let away = numbers(cpus).into_iter().find(|cpu| !near.contains(cpu));
        ensure(away.is_none() && !cpus.is_empty(), || {
            format!("interrupt {irq}: irqbalance says node {node}, we say CPUs {cpus}")
        })?;
        compared += 1;
    }
    eprintln!("irqbalance and we agree on {compared} interrupts");
    ensure(compared >= 4, || format!("irqbalance placed {compared} of:\n{own}"))
}

// Example:
//   Package 0:  numa_node 1 cpu mask is 0000000c (load 0)
//           Cache domain 2:  numa_node is 1 cpu mask is 00000008  (load 0)
//                   CPU number 3  numa_node is 1 (load 0)
//                     Interrupt 48 node_num is -1 (storage/0:0)
/// The node under which the tree that is printed last has each interrupt.
fn placed(text: &str) -> BTreeMap<u32, String> {
    let mut all = BTreeMap::new();
    let mut node = "";
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["Package", _, "numa_node", at, ..] => node = *at,
            ["Interrupt", irq, "node_num", ..] => {
                all.extend(irq.parse().ok().map(|irq| (irq, node.to_owned())));
            }
            _ => {}
        }
    }
    all
}
