// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ethtool would be told of a port.

use machine::{Channels, Coalescing, Feature, ReceiveSpread, Rings};
use root::Question;
use serde::Serialize;
use units::PciAddress;

use crate::{Nic, Tree};

/// `ethtool -i`.
#[derive(Serialize)]
struct Driver<'a> {
    driver: &'a str,
    version: &'a str,
    firmware: &'a str,
    bus: String,
}

/// Features that the drivers meant have, and whether they are on: (name, on, fixed).
const FEATURES: [(&str, bool, bool); 10] = [
    ("rx-checksum", true, false),
    ("tx-checksum-ip-generic", true, false),
    ("tx-scatter-gather", true, false),
    ("tx-tcp-segmentation", true, false),
    ("tx-generic-segmentation", true, false),
    ("rx-gro", true, false),
    ("rx-gro-hw", false, false),
    ("rx-lro", false, false),
    ("rx-ntuple-filter", false, false),
    ("netns-local", false, true),
];

pub(crate) fn answer(tree: &mut Tree, nic: &Nic, name: &str, address: PciAddress) {
    let most = nic.max_queues.unwrap_or(nic.queues);
    let channels = Channels { combined: Some((nic.queues, most)), ..Channels::default() };
    let [now, at_most] = nic.rings;
    let rings = Rings { rx: Some((now, at_most)), tx: Some((now, at_most)), ..Rings::default() };
    let features: Vec<Feature> = FEATURES
        .iter()
        .map(|(feature, on, fixed)| Feature {
            name: (*feature).to_owned(),
            active: *on,
            wanted: *on,
            fixed: *fixed,
        })
        .collect();
    let driver = Driver {
        driver: &nic.driver,
        version: "6.12.41+deb13-amd64",
        firmware: if nic.driver == "virtio_net" { "" } else { "28.43.2566 (SYN0000000001)" },
        bus: address.to_string(),
    };
    let own = || name.to_owned();
    put(tree, Question::Channels(own()), &channels);
    put(tree, Question::Rings(own()), &rings);
    put(tree, Question::Features(own()), &features);
    put(tree, Question::Driver(own()), &driver);
    if nic.driver != "virtio_net" {
        put(tree, Question::Coalescing(own()), &coalescing(nic));
        put(tree, Question::Pause(own()), &[true, true]);
        put(tree, Question::ReceiveSpread(own()), &spread(nic));
    }
}

fn coalescing(nic: &Nic) -> Coalescing {
    Coalescing {
        adaptive_rx: Some(nic.adaptive),
        adaptive_tx: Some(nic.adaptive),
        rx_usecs: Some(8),
        rx_frames: Some(128),
        tx_usecs: Some(8),
        tx_frames: Some(128),
    }
}

/// Entries of the table that spreads packets, as mlx5 and ice have them at least.
const ENTRIES: usize = 128;

/// The queues in turn, as the kernel begins; or a stretch for each by its weight, as
/// `ethtool -X weight` fills the table.
fn spread(nic: &Nic) -> ReceiveSpread {
    let sum: usize = nic.receive_weights.iter().map(|weight| *weight as usize).sum();
    let table = match sum {
        0 => (0..nic.queues).cycle().take(ENTRIES).collect(),
        _ => (0..ENTRIES).map(|entry| owner(&nic.receive_weights, entry, sum)).collect(),
    };
    ReceiveSpread { queues: Some(nic.queues), table }
}

fn owner(weights: &[u32], entry: usize, sum: usize) -> u32 {
    let mut before = 0;
    for (queue, weight) in (0..).zip(weights) {
        before += *weight as usize;
        if entry < before * ENTRIES / sum {
            return queue;
        }
    }
    0
}

fn put(tree: &mut Tree, question: Question, answer: &impl Serialize) {
    // Plain structs of numbers and texts always serialise; were it otherwise, the question would
    // be unanswered, as on a machine without ethtool.
    if let Ok(text) = serde_json::to_string(answer) {
        tree.answers.insert(question, text);
    }
}
