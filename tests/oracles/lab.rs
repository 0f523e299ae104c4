// SPDX-License-Identifier: MIT OR Apache-2.0
//! The virtual machines of the lab: every tool that was run inside them.

use support::{Capture, Failed, Need, Trial, failed, trial};

use crate::document::{self, Document};
use crate::facts::{Excuse, Facts, differences, judge};
use crate::{interrupts, lscpu, lspci, lstopo, network, storage};

/// Differences that are no mistakes.
const EXCUSES: &[Excuse] = &[
    ("snc2-linear", "ip eth0 queues", ALLOCATED),
    ("snc2-round-robin", "ip eth0 queues", ALLOCATED),
    ("nps4", "ip eth0 queues", ALLOCATED),
    ("nps4", "lscpu L3", CACHE_IDS),
    ("vtd-multiqueue", "lscpu L3", CACHE_IDS),
    ("vtd-multiqueue", "ip eth0 function", "its parent is a virtio device, which has the function"),
];

const ALLOCATED: &str = "ip counts what the driver allocated; ethtool -l says how many are used";
const CACHE_IDS: &str = "lscpu counts cache/index3/id, which QEMU makes a core's; shared_cpu_list \
                         names the CPUs of a node";

/// A check: the tool's name, and what it and the document say.
type Check = fn(&Capture, &Document) -> Result<(Facts, Facts), Failed>;

const CHECKS: [(&str, Check); 11] = [
    ("lspci", |c, d| Ok((lspci::said(&c.say("lspci-vvv.txt")?), lspci::ours(d)))),
    ("lscpu -e", |c, d| Ok((lscpu::said(&lscpu::rows(&c.say("lscpu-e.txt")?)), lscpu::ours(d)))),
    ("lscpu", |c, d| Ok((lscpu::summary_said(&c.say("lscpu.txt")?), lscpu::summary_ours(d)))),
    ("numactl", |c, d| Ok((lscpu::numactl_said(&c.say("numactl.txt")?), lscpu::numactl_ours(d)))),
    ("ip", |c, d| Ok((network::ip_said(&c.say("ip-link.json")?)?, network::ip_ours(d)))),
    ("ethtool", |c, d| {
        let text = c.say("ethtool.txt")?;
        Ok((network::ethtool_said(&text), network::ethtool_ours(d, &text)))
    }),
    ("nvme list", |c, d| {
        Ok((storage::nvme_said(&c.say("nvme-list.json")?)?, storage::nvme_ours(d)))
    }),
    ("nvme id-ctrl", |c, d| {
        Ok((storage::controller_said(&c.say("nvme-id-ctrl.json")?)?, storage::controller_ours(d)))
    }),
    ("lsblk", |c, d| Ok((storage::lsblk_said(&c.say("lsblk.json")?)?, storage::lsblk_ours(d)))),
    ("dmesg", |c, d| Ok((storage::log_said(&c.say("dmesg.txt")?), storage::log_ours(d)))),
    ("interrupts", |c, d| Ok((interrupts::said(&c.tree()?)?, interrupts::ours(d)))),
];

pub(crate) fn trials() -> Vec<Trial> {
    let check = |capture: Capture| {
        trial(format!("lab/{}", capture.name), &[Need::Captures], move || check(&capture))
    };
    support::lab_captures().into_iter().map(check).collect()
}

fn check(capture: &Capture) -> Result<(), Failed> {
    let document = document::topology(&["--from".as_ref(), capture.archive.as_os_str()])?;
    let mut found = Vec::new();
    for (tool, check) in CHECKS {
        let (said, ours) = check(capture, &document)?;
        if said.len() == 0 {
            return Err(failed(format!("{}: {tool} says nothing", capture.name)));
        }
        let texts = differences(tool, &said, &ours);
        found.extend(texts.into_iter().map(|text| format!("{tool} {text}")));
    }
    let xml = lstopo::parse(&capture.say("lstopo.xml")?);
    let texts = differences("lstopo", &lstopo::said(&xml, &document), &lstopo::ours(&document));
    found.extend(texts.into_iter().map(|text| format!("lstopo {text}")));
    judge(&capture.name, found, EXCUSES)
}
