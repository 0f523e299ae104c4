// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts about network ports.

use machine::{Fact, Nic, Why};

use super::{Answer, switch};
use crate::context::Context;
use crate::devices;
use crate::rules::{mtu_path, nic_irq, rps, xps};

/// What is asked of one device.
type Ask = fn(&Context<'_>, &Nic) -> Fact<String>;

/// Answers a fact about network ports.
pub(super) fn answer(context: &Context<'_>, fact: &str) -> Option<Vec<Answer>> {
    let (ask, source): (Ask, &str) = match fact {
        "nic-irqs" => (nic_irq::summary, "/proc/irq/*/smp_affinity_list"),
        "rps" => (rps::summary, "queues/rx-*/rps_cpus"),
        "xps" => (xps::summary, "queues/tx-*/xps_cpus"),
        "combined-channels" => (|_, nic| channels(nic), "ethtool -l"),
        "rx-ring" => (|_, nic| ring(nic, |rings| rings.rx), "ethtool -g"),
        "tx-ring" => (|_, nic| ring(nic, |rings| rings.tx), "ethtool -g"),
        "adaptive-rx" => (|_, nic| adaptive(nic), "ethtool -c"),
        "rx-usecs" => (|_, nic| usecs(nic), "ethtool -c"),
        "pause" => (|_, nic| pause(nic), "ethtool -a"),
        "gro" => (|_, nic| feature(nic, "rx-gro"), "ethtool -k"),
        "lro" => (|_, nic| feature(nic, "rx-lro"), "ethtool -k"),
        "tso" => (|_, nic| feature(nic, "tx-tcp-segmentation"), "ethtool -k"),
        "ntuple" => (|_, nic| feature(nic, "rx-ntuple-filter"), "ethtool -k"),
        "mtu" => (|_, nic| nic.mtu.as_ref().map(ToString::to_string).map_err(Clone::clone), "mtu"),
        "mtu-path" => (mtu_path::summary, "mtu"),
        _ => return None,
    };
    let ports = context.machine.nics.iter().filter(|nic| devices::is_port(nic));
    let answers = ports.map(|nic| {
        let value = ask(context, nic);
        let reason = value.as_ref().map_or_else(crate::words::unknown, Clone::clone);
        Answer::device(&nic.name, value, path(source, &nic.name), reason)
    });
    Some(answers.collect())
}

/// A file of the port's folder, the file itself, or the question that ethtool puts.
fn path(source: &str, name: &str) -> String {
    match source {
        _ if source.starts_with('/') => source.to_owned(),
        _ if source.starts_with("ethtool") => format!("{source} {name}"),
        _ => format!("/sys/class/net/{name}/{source}"),
    }
}

fn channels(nic: &Nic) -> Fact<String> {
    let channels = nic.channels.as_ref().map_err(Clone::clone)?;
    channels.combined.map(|(now, _)| now.to_string()).ok_or(Why::NotSupported)
}

fn ring(nic: &Nic, which: fn(&machine::Rings) -> Option<(u32, u32)>) -> Fact<String> {
    let rings = nic.rings.as_ref().map_err(Clone::clone)?;
    which(rings).map(|(now, _)| now.to_string()).ok_or(Why::NotSupported)
}

fn adaptive(nic: &Nic) -> Fact<String> {
    let coalescing = nic.coalescing.as_ref().map_err(Clone::clone)?;
    coalescing.adaptive_rx.map(switch).ok_or(Why::NotSupported)
}

fn usecs(nic: &Nic) -> Fact<String> {
    let coalescing = nic.coalescing.as_ref().map_err(Clone::clone)?;
    coalescing.rx_usecs.map(|us| us.to_string()).ok_or(Why::NotSupported)
}

fn pause(nic: &Nic) -> Fact<String> {
    let word = match nic.pause.as_ref().map_err(Clone::clone)? {
        (true, true) => "on",
        (true, false) => "rx",
        (false, true) => "tx",
        (false, false) => "off",
    };
    Ok(word.to_owned())
}

fn feature(nic: &Nic, name: &str) -> Fact<String> {
    let features = nic.features.as_ref().map_err(Clone::clone)?;
    let feature = features.iter().find(|feature| feature.name == name);
    feature.map(|feature| switch(feature.active)).ok_or(Why::NotSupported)
}
