// SPDX-License-Identifier: MIT OR Apache-2.0
//! Channels, rings, coalescing, pause and features, by the `ethtool` family of generic netlink.
//!
//! The family came with Linux 5.6 and its messages over some releases after it. Where netlink has
//! no answer, the ioctl is asked. Numbers are those of include/uapi/linux/ethtool_netlink.h.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use machine::{Channels, Coalescing, Fact, Feature, ReceiveSpread, Rings, Why};
use rustix::io::Errno;
use rustix::net::netlink::GENERIC;

use super::netlink::{self, Attribute, Attributes};
use super::{interface, ioctl};

/// `GENL_ID_CTRL`, `CTRL_CMD_GETFAMILY`, `CTRL_ATTR_FAMILY_ID`, `CTRL_ATTR_FAMILY_NAME`.
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// `ETHTOOL_MSG_*_GET`.
const FEATURES_GET: u8 = 11;
const RINGS_GET: u8 = 15;
const CHANNELS_GET: u8 = 17;
const COALESCE_GET: u8 = 19;
const PAUSE_GET: u8 = 21;
/// Since Linux 6.2.
const RSS_GET: u8 = 38;

/// `ETHTOOL_A_HEADER_DEV_NAME` in the header, attribute 1 of every message.
const HEADER: u16 = 1;
const DEVICE_NAME: u16 = 2;

/// A payload of generic netlink begins with command, version and two bytes of nothing.
pub(super) const GENERIC_HEADER: usize = 4;

pub(super) fn channels(name: &str) -> Fact<Channels> {
    either(name, CHANNELS_GET, parse_channels, ioctl::channels)
}

pub(super) fn rings(name: &str) -> Fact<Rings> {
    either(name, RINGS_GET, parse_rings, ioctl::rings)
}

pub(super) fn coalescing(name: &str) -> Fact<Coalescing> {
    either(name, COALESCE_GET, parse_coalescing, ioctl::coalescing)
}

pub(super) fn pause(name: &str) -> Fact<(bool, bool)> {
    either(name, PAUSE_GET, parse_pause, ioctl::pause)
}

pub(super) fn features(name: &str) -> Fact<Vec<Feature>> {
    either(name, FEATURES_GET, parse_features, ioctl::features)
}

/// The table comes by netlink, how many queues there are by ioctl only.
pub(super) fn receive_spread(name: &str) -> Fact<ReceiveSpread> {
    let table = either(name, RSS_GET, parse_spread, ioctl::receive_spread)?;
    if table.is_empty() {
        return Err(Why::NotSupported);
    }
    Ok(ReceiveSpread { queues: ioctl::receive_queues(name).ok(), table })
}

/// Asks netlink, then the ioctl. A kernel without the message answers EOPNOTSUPP as well as a
/// driver without the feature does; only the ioctl tells them apart.
fn either<T>(
    name: &str,
    command: u8,
    parse: fn(Attributes<'_>) -> Option<T>,
    by_ioctl: fn(&str) -> Fact<T>,
) -> Fact<T> {
    match ask(interface(name)?, command) {
        Ok(answer) => {
            let attributes = answer.get(GENERIC_HEADER..).map(Attributes);
            attributes.and_then(parse).ok_or_else(|| Why::Unparsed("netlink answer".to_owned()))
        }
        Err(Errno::NODEV) => Err(Why::Absent),
        Err(_) => by_ioctl(name),
    }
}

pub(super) fn ask(name: &str, command: u8) -> Result<Vec<u8>, Errno> {
    netlink::ask(Some(GENERIC), family()?, &head(name, command))
}

/// The begin of every message: what is asked, and of which device.
pub(super) fn head(name: &str, command: u8) -> Vec<u8> {
    let mut device = Vec::new();
    netlink::put(&mut device, DEVICE_NAME, &netlink::text(name));
    let mut payload = vec![command, 1, 0, 0];
    netlink::put_nested(&mut payload, HEADER, &device);
    payload
}

/// The number that the family has in this boot.
pub(super) fn family() -> Result<u16, Errno> {
    static FAMILY: OnceLock<u16> = OnceLock::new();
    if let Some(family) = FAMILY.get() {
        return Ok(*family);
    }
    let mut payload = vec![GET_FAMILY, 1, 0, 0];
    netlink::put(&mut payload, FAMILY_NAME, &netlink::text("ethtool"));
    let answer = netlink::ask(Some(GENERIC), CONTROL, &payload)?;
    let attributes = Attributes(answer.get(GENERIC_HEADER..).unwrap_or_default());
    let family = attributes.find(FAMILY_ID).and_then(Attribute::number);
    let family = family.and_then(|number| u16::try_from(number).ok()).ok_or(Errno::NOENT)?;
    Ok(*FAMILY.get_or_init(|| family))
}

pub(super) fn number(attributes: Attributes<'_>, kind: u16) -> Option<u32> {
    attributes.find(kind).and_then(Attribute::number)
}

/// (now, at most); a kind that the driver does not have is left out or has 0 at most.
fn pair(attributes: Attributes<'_>, now: u16, most: u16) -> Option<(u32, u32)> {
    let most = number(attributes, most).filter(|most| *most > 0)?;
    Some((number(attributes, now)?, most))
}

/// Attributes through the parser of every message.
pub(super) fn parse_all(attributes: Attributes<'_>) {
    let _ = (parse_channels(attributes), parse_rings(attributes), parse_coalescing(attributes));
    let _ = (parse_pause(attributes), parse_features(attributes), parse_spread(attributes));
}

/// `ETHTOOL_A_CHANNELS_*`: 2 to 5 at most, 6 to 9 now.
fn parse_channels(attributes: Attributes<'_>) -> Option<Channels> {
    Some(Channels {
        rx: pair(attributes, 6, 2),
        tx: pair(attributes, 7, 3),
        other: pair(attributes, 8, 4),
        combined: pair(attributes, 9, 5),
    })
}

/// `ETHTOOL_A_RINGS_*`: 2 to 5 at most, 6 to 9 now.
fn parse_rings(attributes: Attributes<'_>) -> Option<Rings> {
    Some(Rings {
        rx: pair(attributes, 6, 2),
        rx_mini: pair(attributes, 7, 3),
        rx_jumbo: pair(attributes, 8, 4),
        tx: pair(attributes, 9, 5),
    })
}

/// `ETHTOOL_A_COALESCE_*`.
fn parse_coalescing(attributes: Attributes<'_>) -> Option<Coalescing> {
    Some(Coalescing {
        adaptive_rx: number(attributes, 11).map(|on| on != 0),
        adaptive_tx: number(attributes, 12).map(|on| on != 0),
        rx_usecs: number(attributes, 2),
        rx_frames: number(attributes, 3),
        tx_usecs: number(attributes, 6),
        tx_frames: number(attributes, 7),
    })
}

/// `ETHTOOL_A_PAUSE_RX` and `_TX`.
fn parse_pause(attributes: Attributes<'_>) -> Option<(bool, bool)> {
    Some((number(attributes, 3)? != 0, number(attributes, 4)? != 0))
}

/// `ETHTOOL_A_RSS_INDIR`: words of 32 bits; a device without such a table has none.
fn parse_spread(attributes: Attributes<'_>) -> Option<Vec<u32>> {
    let Some(table) = attributes.find(4) else { return Some(Vec::new()) };
    let words = table.payload.chunks(4).map(|word| Some(u32::from_ne_bytes(word.try_into().ok()?)));
    words.collect()
}

/// `ETHTOOL_A_FEATURES_*`: 2 what hardware can change (with all names), 3 wanted, 4 active, 5 what
/// never changes.
fn parse_features(attributes: Attributes<'_>) -> Option<Vec<Feature>> {
    let changeable = bits(attributes.find(2)?);
    let set = |kind| attributes.find(kind).map(bits).unwrap_or_default();
    let (wanted, active, fixed) = (set(3), set(4), set(5));
    let holds = |set: &Bits, index: &u32| set.get(index).is_some_and(|(_, value)| *value);
    let feature = |(index, (name, can_change)): (&u32, &(String, bool))| Feature {
        name: name.clone(),
        active: holds(&active, index),
        wanted: holds(&wanted, index),
        fixed: !can_change || holds(&fixed, index),
    };
    Some(changeable.iter().filter(|(_, (name, _))| !name.is_empty()).map(feature).collect())
}

/// Name and value by index.
type Bits = BTreeMap<u32, (String, bool)>;

/// A bit set in its long form (`ETHTOOL_A_BITSET_*`): a set without a mask lists only what is on.
fn bits(set: Attribute<'_>) -> Bits {
    let has_mask = set.inside().find(1).is_none();
    let list = set.inside().find(3);
    let bit = |bit: Attribute<'_>| {
        let index = number(bit.inside(), 1)?;
        let name = bit.inside().find(2).and_then(Attribute::text).unwrap_or_default();
        let value = !has_mask || bit.inside().find(3).is_some();
        Some((index, (name.to_owned(), value)))
    };
    list.into_iter().flat_map(Attribute::inside).filter_map(bit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::netlink::{put, put_nested, text};
    use proptest::prelude::*;

    fn numbers(pairs: &[(u16, u32)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        pairs.iter().for_each(|(kind, number)| put(&mut bytes, *kind, &number.to_ne_bytes()));
        bytes
    }

    #[test]
    fn kinds_that_a_driver_lacks_are_none() {
        let bytes = numbers(&[(4, 1), (5, 63), (8, 1), (9, 8)]);
        let channels = parse_channels(Attributes(&bytes)).unwrap();
        let expected =
            Channels { other: Some((1, 1)), combined: Some((8, 63)), ..Channels::default() };
        assert_eq!(channels, expected);
        let bytes = numbers(&[(2, 4096), (3, 0), (5, 4096), (6, 1024), (7, 0), (9, 512)]);
        let rings = parse_rings(Attributes(&bytes)).unwrap();
        let expected = Rings { rx: Some((1024, 4096)), tx: Some((512, 4096)), ..Rings::default() };
        assert_eq!(rings, expected);
    }

    /// Attributes made by hand: adaptive values are single bytes and times are words
    /// (`coalesce_fill_reply`, net/ethtool/coalesce.c). What the kernel really sends is compared
    /// with `ethtool` by the trials of network devices.
    #[test]
    fn coalescing_and_pause_mix_widths() {
        let mut bytes = numbers(&[(2, 8), (3, 1)]);
        put(&mut bytes, 11, &[1]);
        put(&mut bytes, 12, &[0]);
        let coalescing = parse_coalescing(Attributes(&bytes)).unwrap();
        assert_eq!((coalescing.adaptive_rx, coalescing.adaptive_tx), (Some(true), Some(false)));
        assert_eq!((coalescing.rx_usecs, coalescing.tx_usecs), (Some(8), None));
        let mut bytes = Vec::new();
        put(&mut bytes, 3, &[1]);
        assert_eq!(parse_pause(Attributes(&bytes)), None);
        put(&mut bytes, 4, &[0]);
        assert_eq!(parse_pause(Attributes(&bytes)), Some((true, false)));
    }

    #[test]
    fn a_table_is_words() {
        let mut bytes = Vec::new();
        assert_eq!(parse_spread(Attributes(&bytes)), Some(Vec::new()));
        let table: Vec<u8> =
            [0_u32, 1, 0, 3].iter().flat_map(|queue| queue.to_ne_bytes()).collect();
        put(&mut bytes, 4, &table);
        assert_eq!(parse_spread(Attributes(&bytes)), Some(vec![0, 1, 0, 3]));
        let mut odd = Vec::new();
        put(&mut odd, 4, &table[..7]);
        assert_eq!(parse_spread(Attributes(&odd)), None);
    }

    fn bit(index: u32, name: &str, has_value: Option<()>) -> Vec<u8> {
        let mut inner = Vec::new();
        put(&mut inner, 1, &index.to_ne_bytes());
        put(&mut inner, 2, &text(name));
        has_value.into_iter().for_each(|()| put(&mut inner, 3, &[]));
        let mut bytes = Vec::new();
        put_nested(&mut bytes, 1, &inner);
        bytes
    }

    #[test]
    fn features_join_four_sets() {
        let names =
            [(0, "tx-scatter-gather", Some(())), (1, "rx-lro", None), (2, "rx-gro", Some(()))];
        let all: Vec<u8> =
            names.iter().flat_map(|(index, name, on)| bit(*index, name, *on)).collect();
        let mut set = Vec::new();
        put_nested(&mut set, 3, &all);
        let mut bytes = Vec::new();
        put_nested(&mut bytes, 2, &set);
        let mut active = Vec::new();
        put(&mut active, 1, &[]);
        put_nested(&mut active, 3, &bit(2, "rx-gro", None));
        put_nested(&mut bytes, 4, &active);
        let found = parse_features(Attributes(&bytes)).unwrap();
        let feature = |name: &str, active, fixed| Feature {
            name: name.to_owned(),
            active,
            wanted: false,
            fixed,
        };
        let expected = [
            feature("tx-scatter-gather", false, false),
            feature("rx-lro", false, true),
            feature("rx-gro", true, false),
        ];
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_channels(Attributes(&bytes));
            let _ = parse_coalescing(Attributes(&bytes));
            let _ = parse_pause(Attributes(&bytes));
            let _ = (parse_features(Attributes(&bytes)), parse_spread(Attributes(&bytes)));
        }
    }
}
