// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ethtool would say of a NIC now, in the words of a change, and what the NIC allows.

use machine::{Channels, Coalescing, Fact, Feature, Nic, Rings, Why};
use setting::{Ethtool, feature_name};

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
    let feature = feature(nic, key).ok()?;
    let is_other = feature.active != (value == "on");
    (feature.fixed && is_other)
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
        Ethtool::Features => feature(nic, key).map(|feature| switch(feature.active)),
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

fn feature<'a>(nic: &'a Nic, key: &str) -> Fact<&'a Feature> {
    let name = feature_name(key);
    let features = nic.features.as_ref().map_err(Clone::clone)?;
    features.iter().find(|feature| feature.name == name).ok_or(Why::NotSupported)
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
