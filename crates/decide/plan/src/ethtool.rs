// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ethtool would say of a NIC now, in the words of a change, and what the NIC allows.

use machine::{Channels, Coalescing, Fact, Feature, Nic, Rings, Why};
use setting::{Ethtool, feature_names};

/// The values that a NIC has now for the words of `wanted`: `rx=512` for `rx=4096`.
pub(crate) fn now(nic: &Nic, what: &Ethtool, wanted: &str) -> Fact<String> {
    let words = wanted.split_whitespace();
    let now = words.map(|word| {
        let key = word.split('=').next().unwrap_or(word);
        Ok(format!("{key}={}", value(nic, what, key)?))
    });
    Ok(now.collect::<Fact<Vec<String>>>()?.join(" "))
}

/// What stands in the way of a value; none where it fits.
pub(crate) fn obstacle(nic: &Nic, what: &Ethtool, wanted: &str) -> Option<String> {
    let found = wanted.split_whitespace().find_map(|word| {
        let (key, value) = word.split_once('=')?;
        match what {
            Ethtool::Features => fixed(nic, key, value),
            _ => None,
        }
    });
    found.or_else(|| Some(format!("{}, not {wanted}", outside(nic, what, wanted)?)))
}

/// The range that a value is outside of, in words; none where it is inside, or none is told.
pub(crate) fn outside(nic: &Nic, what: &Ethtool, wanted: &str) -> Option<String> {
    wanted.split_whitespace().find_map(|word| {
        let (key, value) = word.split_once('=')?;
        let (_, most) = range(nic, what, key)?;
        let wanted: u32 = value.parse().ok()?;
        let name = &nic.name;
        (wanted > most || wanted == 0).then(|| format!("{name} takes {key} from 1 to {most}"))
    })
}

fn fixed(nic: &Nic, key: &str, value: &str) -> Option<String> {
    let all = features(nic, key).ok()?;
    let is_other = all.iter().any(|feature| feature.active) != (value == "on");
    (is_other && all.iter().all(|feature| feature.fixed))
        .then(|| format!("the driver of {} does not let {key} be changed", nic.name))
}

fn value(nic: &Nic, what: &Ethtool, key: &str) -> Fact<String> {
    match what {
        Ethtool::Channels | Ethtool::Rings => {
            let known = match what {
                Ethtool::Channels => nic.channels.as_ref().map(|_| ()),
                _ => nic.rings.as_ref().map(|_| ()),
            };
            known.map_err(Clone::clone)?;
            range(nic, what, key).map(|(now, _)| now.to_string()).ok_or(Why::NotSupported)
        }
        Ethtool::Coalescing => coalescing(nic.coalescing.as_ref().map_err(Clone::clone)?, key),
        Ethtool::Features => {
            features(nic, key).map(|all| switch(all.iter().any(|feature| feature.active)))
        }
        Ethtool::Pause => {
            let pause = nic.pause.clone()?;
            match key {
                "rx" => Ok(switch(pause.receive)),
                "tx" => Ok(switch(pause.transmit)),
                _ => Err(Why::NotSupported),
            }
        }
        Ethtool::ReceiveSpread => Err(Why::NotSupported),
    }
}

/// (now, at most).
fn range(nic: &Nic, what: &Ethtool, key: &str) -> Option<(u32, u32)> {
    match what {
        Ethtool::Channels => {
            let Channels { rx, tx, combined, .. } = nic.channels.as_ref().ok()?;
            match key {
                "combined" => *combined,
                "rx" => *rx,
                "tx" => *tx,
                _ => None,
            }
        }
        Ethtool::Rings => {
            let Rings { rx, tx, .. } = nic.rings.as_ref().ok()?;
            match key {
                "rx" => *rx,
                "tx" => *tx,
                _ => None,
            }
        }
        _ => None,
    }
}

/// All that is told of a NIC's interrupt moderation; none where nothing is.
pub(crate) fn moderation(nic: &Nic) -> Option<String> {
    let now = nic.coalescing.as_ref().ok()?;
    let word = |key: &&str| Some(format!("{key}={}", coalescing(now, key).ok()?));
    let words: Vec<String> = MODERATION.iter().filter_map(word).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Words of `ethtool -C` that are read.
const MODERATION: [&str; 4] = ["adaptive-rx", "adaptive-tx", "rx-usecs", "tx-usecs"];

fn coalescing(now: &Coalescing, key: &str) -> Fact<String> {
    match key {
        "adaptive-rx" => now.adaptive_rx.map(switch),
        "adaptive-tx" => now.adaptive_tx.map(switch),
        "rx-usecs" => now.rx_usecs.map(|us| us.to_string()),
        "tx-usecs" => now.tx_usecs.map(|us| us.to_string()),
        _ => None,
    }
    .ok_or(Why::NotSupported)
}

/// The features that a short word stands for; those that cannot be changed as well.
fn features<'a>(nic: &'a Nic, key: &str) -> Fact<Vec<&'a Feature>> {
    let names = feature_names(key);
    let features = nic.features.as_ref().map_err(Clone::clone)?;
    let own = features.iter().filter(|feature| names.contains(&feature.name.as_str()));
    let own: Vec<&Feature> = own.collect();
    if own.is_empty() { Err(Why::NotSupported) } else { Ok(own) }
}

/// What each feature was asked to be that a change of short words switches, by the kernel's names:
/// what brings all of them back.
pub(crate) fn by_name(nic: &Nic, wanted: &str) -> Vec<(String, String)> {
    let keys = wanted.split_whitespace().filter_map(|word| Some(word.split_once('=')?.0));
    let all = keys.filter_map(|key| features(nic, key).ok()).flatten();
    let free = all.filter(|feature| !feature.fixed);
    free.map(|feature| (feature.name.clone(), switch(feature.wanted))).collect()
}

/// A wish without the words that say what a NIC is anyway: it has no moderation of its own to be
/// switched off.
pub(crate) fn needed(nic: &Nic, what: &Ethtool, wanted: &str) -> String {
    let Some(now) = nic.coalescing.as_ref().ok().filter(|_| *what == Ethtool::Coalescing) else {
        return wanted.to_owned();
    };
    let is_so = |word: &&str| {
        let key = word.strip_suffix("=off").filter(|key| key.starts_with("adaptive-"));
        key.is_some_and(|key| coalescing(now, key).is_err())
    };
    let words: Vec<&str> = wanted.split_whitespace().filter(|word| !is_so(word)).collect();
    if words.is_empty() { wanted.to_owned() } else { words.join(" ") }
}

fn switch(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

/// Whether a change of this kind drops the link for a moment: drivers close and open the device
/// for channels and rings, renegotiate for pause, and reset for LRO and flow steering.
pub(crate) fn drops_link(what: &Ethtool, wanted: &str) -> bool {
    match what {
        Ethtool::Channels | Ethtool::Rings | Ethtool::Pause => true,
        Ethtool::Features => wanted.starts_with("lro=") || wanted.starts_with("ntuple="),
        Ethtool::Coalescing | Ethtool::ReceiveSpread => false,
    }
}
