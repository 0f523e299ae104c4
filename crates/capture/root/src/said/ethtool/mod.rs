// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `ethtool` prints, read back into what the kernel told it.
//!
//! The program prints the same numbers whether it asked by netlink or by ioctl, but for two things:
//! by netlink a number that the driver does not have is `n/a` and by ioctl it is 0, and refusals
//! have other sentences (netlink/nlsock.c and the perror calls of ethtool.c).

mod features;
mod refusal;
mod spread;

use std::collections::BTreeMap;

use machine::{Channels, Coalescing, Fact, Rings, Why};
use serde::Serialize;

/// The answer to what `ethtool FLAG` shows, as JSON; none where that was not asked or the text is
/// empty.
pub(super) fn answer(flag: &str, text: &str) -> Option<Fact<String>> {
    if text.trim().is_empty() {
        return None;
    }
    Some(match flag {
        "-l" => json(channels(text)),
        "-g" => json(rings(text)),
        "-c" => json(coalescing(text)),
        "-a" => json(pause(text)),
        "-k" => json(features::parse(text)),
        "-i" => json(driver(text)),
        "-x" => json(spread::parse(text)),
        _ => return None,
    })
}

/// The interface that a text says it is about: `Channel parameters for eth0:`.
pub(super) fn interface(text: &str) -> Option<&str> {
    const TITLES: [&str; 6] = [
        "Channel parameters",
        "Ring parameters",
        "Coalesce parameters",
        "Pause parameters",
        "Features",
        "Offload parameters",
    ];
    text.lines().find_map(|line| {
        let (title, name) = line.trim_end().strip_suffix(':')?.split_once(" for ")?;
        TITLES.contains(&title).then_some(name)
    })
}

fn json<T: Serialize>(answer: Fact<T>) -> Fact<String> {
    serde_json::to_string(&answer?).map_err(|error| Why::Failed(error.to_string()))
}

/// Lines `KEY: VALUE`, by key; of several with one key the first.
fn pairs<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, &'a str> {
    let mut pairs = BTreeMap::new();
    for (key, value) in lines.filter_map(|line| line.split_once(':')) {
        pairs.entry(key.trim()).or_insert(value.trim());
    }
    pairs
}

/// A number, or none for what the driver does not have.
fn number(text: Option<&&str>) -> Fact<Option<u32>> {
    match text.copied() {
        None | Some("n/a") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| unparsed(text)),
    }
}

fn on_off(text: &str) -> Fact<bool> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(unparsed(text)),
    }
}

fn unparsed(text: &str) -> Why {
    Why::Unparsed(text.trim().chars().take(80).collect())
}

/// What can be at most and what is now, of `-l` and `-g`.
struct Table<'a> {
    most: BTreeMap<&'a str, &'a str>,
    now: BTreeMap<&'a str, &'a str>,
}

/// ```text
/// Ring parameters for eth0:
/// Pre-set maximums:
/// RX:        4096
/// Current hardware settings:
/// RX:        1024
/// ```
fn table(text: &str) -> Fact<Table<'_>> {
    let most = text.find("Pre-set maximums:");
    let now = text.find("Current hardware settings:");
    let (Some(most), Some(now)) = (most, now) else { return Err(refusal::parse(text)) };
    let most = text.get(most..now).ok_or_else(|| unparsed(text))?;
    let now = text.get(now..).unwrap_or_default();
    Ok(Table { most: pairs(most.lines()), now: pairs(now.lines()) })
}

impl Table<'_> {
    /// (now, at most); none where the driver does not have the kind, as the live kernel is read.
    fn pair(&self, key: &str) -> Fact<Option<(u32, u32)>> {
        let most = number(self.most.get(key))?.filter(|most| *most > 0);
        Ok(number(self.now.get(key))?.zip(most))
    }
}

/// `Combined:    8` in both halves of a [`table`].
fn channels(text: &str) -> Fact<Channels> {
    let table = table(text)?;
    Ok(Channels {
        rx: table.pair("RX")?,
        tx: table.pair("TX")?,
        other: table.pair("Other")?,
        combined: table.pair("Combined")?,
    })
}

/// `RX Jumbo:    4096` in both halves of a [`table`].
fn rings(text: &str) -> Fact<Rings> {
    let table = table(text)?;
    Ok(Rings {
        rx: table.pair("RX")?,
        rx_mini: table.pair("RX Mini")?,
        rx_jumbo: table.pair("RX Jumbo")?,
        tx: table.pair("TX")?,
    })
}

/// ```text
/// Coalesce parameters for eth0:
/// Adaptive RX: on  TX: off
/// rx-usecs: 8
/// rx-frames: n/a
/// ```
fn coalescing(text: &str) -> Fact<Coalescing> {
    let pairs = pairs(text.lines());
    if !pairs.contains_key("Adaptive RX") && !pairs.contains_key("rx-usecs") {
        return Err(refusal::parse(text));
    }
    let (adaptive_rx, adaptive_tx) = adaptive(pairs.get("Adaptive RX").copied())?;
    Ok(Coalescing {
        adaptive_rx,
        adaptive_tx,
        rx_usecs: number(pairs.get("rx-usecs"))?,
        rx_frames: number(pairs.get("rx-frames"))?,
        tx_usecs: number(pairs.get("tx-usecs"))?,
        tx_frames: number(pairs.get("tx-frames"))?,
    })
}

/// `on  TX: off`, what follows `Adaptive RX:`.
fn adaptive(text: Option<&str>) -> Fact<(Option<bool>, Option<bool>)> {
    let Some(text) = text else { return Ok((None, None)) };
    let (rx, tx) = text.split_once("TX:").ok_or_else(|| unparsed(text))?;
    let known = |text: &str| match text.trim() {
        "n/a" => Ok(None),
        text => on_off(text).map(Some),
    };
    Ok((known(rx)?, known(tx)?))
}

/// ```text
/// Pause parameters for eth0:
/// Autonegotiate:    on
/// RX:        off
/// TX:        off
/// ```
fn pause(text: &str) -> Fact<(bool, bool)> {
    let pairs = pairs(text.lines());
    match (pairs.get("RX"), pairs.get("TX")) {
        (Some(rx), Some(tx)) => Ok((on_off(rx)?, on_off(tx)?)),
        _ => Err(refusal::parse(text)),
    }
}

/// A driver, in the shape of [`crate::Question::Driver`].
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Driver<'a> {
    driver: &'a str,
    version: &'a str,
    firmware: &'a str,
    bus: &'a str,
}

/// ```text
/// driver: mlx5_core
/// version: 5.14.0
/// firmware-version: 16.35.2000 (MT_0000000359)
/// bus-info: 0000:3b:00.0
/// ```
fn driver(text: &str) -> Fact<Driver<'_>> {
    let pairs = pairs(text.lines());
    let driver = pairs.get("driver").ok_or_else(|| refusal::parse(text))?;
    let value = |key: &str| pairs.get(key).copied().unwrap_or_default();
    let (version, firmware) = (value("version"), value("firmware-version"));
    Ok(Driver { driver, version, firmware, bus: value("bus-info") })
}

#[cfg(test)]
mod tests;
