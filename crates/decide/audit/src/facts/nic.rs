// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts about network ports.

use machine::{Fact, Nic, Why};
use setting::{Evidence, feature_name};

use super::{Answer, switch};
use crate::context::Context;
use crate::devices;
use crate::lines;
use crate::rules::{mtu_path, nic_irq, receive_spread, rps, xps};

/// What is asked of one device.
type Ask = fn(&Context<'_>, &Nic) -> Fact<String>;

/// Answers a fact about network ports.
pub(super) fn answer(context: &Context<'_>, fact: &str) -> Option<Vec<Answer>> {
    let ask: Ask = match fact {
        "nic-irqs" => nic_irq::summary,
        "rps" => rps::summary,
        "xps" => xps::summary,
        "receive-spread" => |_, nic| receive_spread::summary(nic),
        "combined-channels" => |_, nic| channels(nic),
        "rx-ring" => |_, nic| ring(nic, |rings| rings.rx),
        "tx-ring" => |_, nic| ring(nic, |rings| rings.tx),
        "adaptive-rx" => |_, nic| adaptive(nic),
        "rx-usecs" => |_, nic| usecs(nic),
        "pause" => |_, nic| pause(nic),
        "gro" => |_, nic| feature(nic, "gro"),
        "lro" => |_, nic| feature(nic, "lro"),
        "tso" => |_, nic| feature(nic, "tso"),
        "ntuple" => |_, nic| feature(nic, "ntuple"),
        "arfs" => arfs,
        "mtu" => |_, nic| nic.mtu.as_ref().map(ToString::to_string).map_err(Clone::clone),
        "mtu-path" => mtu_path::summary,
        _ => return None,
    };
    let ports = context.machine.nics.iter().filter(|nic| devices::is_port(nic));
    let answers =
        ports.map(|nic| Answer::device(&nic.name, ask(context, nic), evidence(context, fact, nic)));
    Some(answers.collect())
}

/// The files behind a fact, the first few of each kind, or the question that ethtool puts.
fn evidence(context: &Context<'_>, fact: &str, nic: &Nic) -> Vec<Evidence> {
    let name = nic.name.as_str();
    let lines = match fact {
        "nic-irqs" => irqs(context, nic),
        "rps" => queues(name, "rx", "rps_cpus", nic.rx_queues.iter().map(|queue| queue.number)),
        "xps" => queues(name, "tx", "xps_cpus", nic.tx_queues.iter().map(|queue| queue.number)),
        "combined-channels" => vec![lines::ethtool("-l", name)],
        "receive-spread" => vec![lines::ethtool("-x", name)],
        "rx-ring" | "tx-ring" => vec![lines::ethtool("-g", name)],
        "adaptive-rx" | "rx-usecs" => vec![lines::ethtool("-c", name)],
        "pause" => vec![lines::ethtool("-a", name)],
        "gro" | "lro" | "tso" | "ntuple" => vec![lines::feature(feature_name(fact), name)],
        "arfs" => {
            let numbers = nic.rx_queues.iter().map(|queue| queue.number);
            let mut lines = vec![lines::feature(feature_name("ntuple"), name)];
            lines.extend(queues(name, "rx", "rps_flow_cnt", numbers));
            lines
        }
        "mtu-path" => {
            let above = nic.upper.iter().chain(&nic.master);
            std::iter::once(&nic.name).chain(above).map(|name| lines::port(name, "mtu")).collect()
        }
        _ => Vec::new(),
    };
    if lines.is_empty() { vec![lines::port(name, "mtu")] } else { lines }
}

fn irqs(context: &Context<'_>, nic: &Nic) -> Vec<Evidence> {
    let irqs = nic.function.into_iter().flat_map(|function| context.movable_irqs(function));
    irqs.take(4).map(|irq| lines::irq(irq.number, "smp_affinity")).collect()
}

fn queues(name: &str, way: &str, file: &str, numbers: impl Iterator<Item = u32>) -> Vec<Evidence> {
    let line = |number| lines::port(name, &format!("queues/{way}-{number}/{file}"));
    numbers.take(4).map(line).collect()
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
    let pause = nic.pause.as_ref().map_err(Clone::clone)?;
    let word = match (pause.receive, pause.transmit) {
        (true, true) => "on",
        (true, false) => "rx",
        (false, true) => "tx",
        (false, false) => "off",
    };
    Ok(word.to_owned())
}

/// Whether flows are followed by the hardware: by its filter, the machine's table and each queue's
/// share of it (Documentation/networking/scaling.rst).
fn arfs(context: &Context<'_>, nic: &Nic) -> Fact<String> {
    let features = nic.features.as_ref().map_err(Clone::clone)?;
    let filter = features.iter().find(|feature| feature.name == feature_name("ntuple"));
    let filter = filter.filter(|feature| feature.active || !feature.fixed);
    let counts: Vec<u32> =
        nic.rx_queues.iter().filter_map(|queue| queue.flow_count.as_ref().ok()).copied().collect();
    let Some(filter) = filter.filter(|_| !counts.is_empty()) else {
        return Ok("not supported".to_owned());
    };
    let has_table = context.flow_entries.is_none_or(|entries| entries > 0);
    let following = counts.iter().filter(|count| **count > 0).count();
    let word = match (filter.active, following) {
        (true, all) if all == nic.rx_queues.len() && has_table => "on",
        (false, 0) => "off",
        _ => "partial",
    };
    Ok(word.to_owned())
}

/// A feature by ethtool's short word.
fn feature(nic: &Nic, word: &str) -> Fact<String> {
    let name = feature_name(word);
    let features = nic.features.as_ref().map_err(Clone::clone)?;
    let feature = features.iter().find(|feature| feature.name == name);
    feature.map(|feature| switch(feature.active)).ok_or(Why::NotSupported)
}
