// SPDX-License-Identifier: MIT OR Apache-2.0
//! The few things that ethtool sets, by the same netlink messages that tell them.
//!
//! The messages came with Linux 5.6 to 5.8. An older kernel has no such family, or answers
//! EOPNOTSUPP as a driver does that cannot: then the ioctl is tried, which tells the two apart. What
//! the values mean is for the caller to know.

use machine::{Fact, ReceiveSpread, Why};
use rustix::io::Errno;
use rustix::net::netlink::GENERIC;

use super::ethtool::{self, number};
use super::netlink::{self, Attributes};
use super::{interface, ioctl, words};
use crate::LiveRoot;

/// `ETHTOOL_MSG_FEATURES_SET`; each message that sets has the number after the one that gets.
const FEATURES_SET: u8 = 12;
/// `ETHTOOL_A_FEATURES_WANTED`.
const WANTED: u16 = 3;
/// `ETHTOOL_A_BITSET_BITS`, `ETHTOOL_A_BITSET_BITS_BIT`, `ETHTOOL_A_BITSET_BIT_NAME` and `_VALUE`.
const BITS: u16 = 3;
const BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

/// Which message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EthtoolValues {
    /// `ethtool -L`.
    Channels,
    /// `ethtool -G`.
    Rings,
    /// `ethtool -C`.
    Coalescing,
    /// `ethtool -A`.
    Pause,
}

/// A value of a message: name, attribute, bytes on the wire.
type Key = (&'static str, u16, usize);

impl EthtoolValues {
    fn get(self) -> u8 {
        match self {
            Self::Rings => 15,
            Self::Channels => 17,
            Self::Coalescing => 19,
            Self::Pause => 21,
        }
    }

    /// `ETHTOOL_A_*` of include/uapi/linux/ethtool_netlink.h, under the names that `ethtool` uses.
    fn keys(self) -> &'static [Key] {
        match self {
            Self::Channels => &[("rx", 6, 4), ("tx", 7, 4), ("other", 8, 4), ("combined", 9, 4)],
            Self::Rings => &[("rx", 6, 4), ("rx-mini", 7, 4), ("rx-jumbo", 8, 4), ("tx", 9, 4)],
            Self::Coalescing => &[
                ("adaptive-rx", 11, 1),
                ("adaptive-tx", 12, 1),
                ("rx-usecs", 2, 4),
                ("rx-frames", 3, 4),
                ("rx-usecs-irq", 4, 4),
                ("rx-frames-irq", 5, 4),
                ("tx-usecs", 6, 4),
                ("tx-frames", 7, 4),
                ("tx-usecs-irq", 8, 4),
                ("tx-frames-irq", 9, 4),
            ],
            Self::Pause => &[("autoneg", 2, 1), ("rx", 3, 1), ("tx", 4, 1)],
        }
    }

    /// Of channels and rings, what a driver has at most stands four attributes before what it has;
    /// a kind of which it can have none is no value.
    fn is_there(self, attributes: Attributes<'_>, attribute: u16) -> bool {
        match self {
            Self::Channels | Self::Rings => number(attributes, attribute - 4).unwrap_or(0) > 0,
            Self::Coalescing | Self::Pause => true,
        }
    }
}

impl LiveRoot {
    /// Values of a network device by name, in a fixed order; those that its driver lacks are left
    /// out. Switches are 0 or 1.
    ///
    /// # Errors
    /// No such device, or its driver does not tell.
    pub fn ethtool_values(&self, nic: &str, what: EthtoolValues) -> Fact<Vec<(&'static str, u32)>> {
        let answer = match ethtool::ask(interface(nic)?, what.get()) {
            Err(errno) if is_missing(errno) => return words::values(nic, what),
            answer => answer.map_err(super::why)?,
        };
        let bytes = answer.get(ethtool::GENERIC_HEADER..).ok_or(Why::NotSupported)?;
        Ok(values(what, Attributes(bytes)))
    }

    /// Sets values of a network device by name; those not named stay.
    ///
    /// # Errors
    /// The kernel's own word; EINVAL for a name that there is not.
    pub fn set_ethtool_values(
        &self,
        nic: &str,
        what: EthtoolValues,
        values: &[(String, u32)],
    ) -> Result<(), Errno> {
        match tell(nic, what.get() + 1, &payload(what, values)?) {
            Err(errno) if is_missing(errno) => words::set(nic, what, values),
            told => told,
        }
    }

    /// Asks for features of a network device to be on or off; others stay as asked for before.
    ///
    /// # Errors
    /// The kernel's own word.
    pub fn set_features(&self, nic: &str, features: &[(String, bool)]) -> Result<(), Errno> {
        match tell(nic, FEATURES_SET, &wanted(features)) {
            Err(errno) if is_missing(errno) => words::set_features(nic, features),
            told => told,
        }
    }

    /// How many rules steer flows to queues (`ethtool -n`).
    ///
    /// # Errors
    /// No such device, or its driver has no such rules.
    pub fn flow_rules(&self, nic: &str) -> Fact<u32> {
        ioctl::flow_rules(nic)
    }

    /// How packets are spread over the receive queues (`ethtool -x`).
    ///
    /// # Errors
    /// No such device, or its driver has no such table.
    pub fn receive_spread(&self, nic: &str) -> Fact<ReceiveSpread> {
        ethtool::receive_spread(nic)
    }

    /// Sets the receive queue of each hash value (`ethtool -X`). A table that is the kernel's own
    /// for the queues of now is made by the kernel, so that it follows the channels again: nobody
    /// tells whether somebody had set the same.
    ///
    /// # Errors
    /// The kernel's own word.
    pub fn set_receive_spread(&self, nic: &str, table: &[u32]) -> Result<(), Errno> {
        let nic = interface(nic).map_err(|_| Errno::NODEV)?;
        let queues = ioctl::receive_queues(nic).ok();
        let wanted = ReceiveSpread { queues, table: table.to_vec() };
        match wanted.is_default() {
            true => ioctl::set_receive_spread(nic, &[]),
            false if table.is_empty() => Err(Errno::INVAL),
            false => ioctl::set_receive_spread(nic, table),
        }
    }

    /// Makes the spread the kernel's own again (`ethtool -X NIC default`).
    ///
    /// # Errors
    /// The kernel's own word.
    pub fn reset_receive_spread(&self, nic: &str) -> Result<(), Errno> {
        ioctl::set_receive_spread(interface(nic).map_err(|_| Errno::NODEV)?, &[])
    }
}

/// Whether the kernel may lack the message: no such family (`CTRL_CMD_GETFAMILY` answers ENOENT), no
/// such command (`genl_family_rcv_msg`), or no netlink here at all.
fn is_missing(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::OPNOTSUPP | Errno::AFNOSUPPORT | Errno::PROTONOSUPPORT)
}

fn values(what: EthtoolValues, attributes: Attributes<'_>) -> Vec<(&'static str, u32)> {
    let value = |(name, attribute, _): &Key| {
        let value = number(attributes, *attribute)?;
        what.is_there(attributes, *attribute).then_some((*name, value))
    };
    what.keys().iter().filter_map(value).collect()
}

fn payload(what: EthtoolValues, values: &[(String, u32)]) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    for (name, value) in values {
        let key = what.keys().iter().find(|(known, ..)| known == name).ok_or(Errno::INVAL)?;
        match key.2 {
            1 => {
                let byte = u8::try_from(*value).map_err(|_| Errno::INVAL)?;
                netlink::put(&mut bytes, key.1, &[byte]);
            }
            _ => netlink::put(&mut bytes, key.1, &value.to_ne_bytes()),
        }
    }
    Ok(bytes)
}

/// A bit set in its long form. One without `ETHTOOL_A_BITSET_NOMASK` touches only the bits that it
/// names.
fn wanted(features: &[(String, bool)]) -> Vec<u8> {
    let mut bits = Vec::new();
    for (name, is_on) in features {
        let mut bit = Vec::new();
        netlink::put(&mut bit, BIT_NAME, &netlink::text(name));
        if *is_on {
            netlink::put(&mut bit, BIT_VALUE, &[]);
        }
        netlink::put_nested(&mut bits, BIT, &bit);
    }
    let mut set = Vec::new();
    netlink::put_nested(&mut set, BITS, &bits);
    let mut bytes = Vec::new();
    netlink::put_nested(&mut bytes, WANTED, &set);
    bytes
}

fn tell(nic: &str, command: u8, attributes: &[u8]) -> Result<(), Errno> {
    let nic = interface(nic).map_err(|_| Errno::NODEV)?;
    let mut payload = ethtool::head(nic, command);
    payload.extend(attributes);
    netlink::tell(Some(GENERIC), ethtool::family()?, &payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_what_is_told() {
        for what in [EthtoolValues::Coalescing, EthtoolValues::Pause] {
            let all: Vec<(String, u32)> =
                what.keys().iter().map(|(name, ..)| ((*name).to_owned(), 1)).collect();
            let bytes = payload(what, &all).unwrap();
            let told: Vec<_> = values(what, Attributes(&bytes))
                .into_iter()
                .map(|(n, v)| (n.to_owned(), v))
                .collect();
            assert_eq!(told, all);
        }
        let odd = [("colour".to_owned(), 1)];
        assert_eq!(payload(EthtoolValues::Rings, &odd), Err(Errno::INVAL));
        assert_eq!(payload(EthtoolValues::Pause, &[("rx".to_owned(), 256)]), Err(Errno::INVAL));
    }

    #[test]
    fn kinds_of_channels_that_a_driver_lacks_are_no_values() {
        let mut bytes = Vec::new();
        for (attribute, value) in [(5, 63_u32), (9, 8), (6, 0)] {
            netlink::put(&mut bytes, attribute, &value.to_ne_bytes());
        }
        assert_eq!(values(EthtoolValues::Channels, Attributes(&bytes)), [("combined", 8)]);
    }

    #[test]
    fn features_that_are_off_have_no_value() {
        let bytes = wanted(&[("rx-gro".to_owned(), true), ("rx-lro".to_owned(), false)]);
        let set = Attributes(&bytes).find(WANTED).unwrap().inside();
        let bits = set.find(BITS).unwrap().inside();
        let told = bits.map(|bit| {
            let name = bit.inside().find(BIT_NAME).unwrap().text().unwrap().to_owned();
            (name, bit.inside().find(BIT_VALUE).is_some())
        });
        assert_eq!(
            told.collect::<Vec<_>>(),
            [("rx-gro".to_owned(), true), ("rx-lro".to_owned(), false)]
        );
        assert_eq!(set.find(1), None);
    }
}
