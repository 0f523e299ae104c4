// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ethtool sets, by ioctl: for kernels before the netlink messages of Linux 5.6 to 5.8.
//!
//! A structure is read, some of its words are changed, and it is written back whole: the ioctl knows
//! no values that are left as they are. Structures are those of include/uapi/linux/ethtool.h, whose
//! fields are 32-bit words.

use machine::{Fact, Feature};
use rustix::io::Errno;

use super::ioctl::{self, SET_FEATURES};
use super::set::EthtoolValues;

/// A value: its name, its word, and the word with what the driver can have at most.
type Key = (&'static str, usize, Option<usize>);

/// Commands that read and write, and how many words the structure has.
fn commands(what: EthtoolValues) -> (u32, u32, usize) {
    match what {
        EthtoolValues::Channels => (0x3c, 0x3d, 9),
        EthtoolValues::Rings => (0x10, 0x11, 9),
        EthtoolValues::Coalescing => (0x0e, 0x0f, 23),
        EthtoolValues::Pause => (0x12, 0x13, 4),
    }
}

fn keys(what: EthtoolValues) -> &'static [Key] {
    match what {
        EthtoolValues::Channels => &[
            ("rx", 5, Some(1)),
            ("tx", 6, Some(2)),
            ("other", 7, Some(3)),
            ("combined", 8, Some(4)),
        ],
        EthtoolValues::Rings => &[
            ("rx", 5, Some(1)),
            ("rx-mini", 6, Some(2)),
            ("rx-jumbo", 7, Some(3)),
            ("tx", 8, Some(4)),
        ],
        EthtoolValues::Coalescing => &[
            ("adaptive-rx", 10, None),
            ("adaptive-tx", 11, None),
            ("rx-usecs", 1, None),
            ("rx-frames", 2, None),
            ("rx-usecs-irq", 3, None),
            ("rx-frames-irq", 4, None),
            ("tx-usecs", 5, None),
            ("tx-frames", 6, None),
            ("tx-usecs-irq", 7, None),
            ("tx-frames-irq", 8, None),
        ],
        EthtoolValues::Pause => &[("autoneg", 1, None), ("rx", 2, None), ("tx", 3, None)],
    }
}

/// Values of a device by name; those of which its driver can have none are left out.
pub(super) fn values(nic: &str, what: EthtoolValues) -> Fact<Vec<(&'static str, u32)>> {
    let (read, _, size) = commands(what);
    let mut words = vec![0; size];
    put(&mut words, 0, read).and_then(|()| ioctl::exchange(nic, &mut words)).map_err(super::why)?;
    Ok(told(what, &words))
}

fn told(what: EthtoolValues, words: &[u32]) -> Vec<(&'static str, u32)> {
    let word = |at: usize| words.get(at).copied().unwrap_or(0);
    let is_there = |(_, _, most): &&Key| most.is_none_or(|most| word(most) > 0);
    keys(what).iter().filter(is_there).map(|(name, at, _)| (*name, word(*at))).collect()
}

/// Sets values of a device by name.
pub(super) fn set(nic: &str, what: EthtoolValues, values: &[(String, u32)]) -> Result<(), Errno> {
    let (read, write, size) = commands(what);
    let mut words = vec![0; size];
    put(&mut words, 0, read)?;
    ioctl::exchange(nic, &mut words)?;
    change(what, &mut words, values)?;
    put(&mut words, 0, write)?;
    ioctl::exchange(nic, &mut words)
}

fn change(what: EthtoolValues, words: &mut [u32], values: &[(String, u32)]) -> Result<(), Errno> {
    for (name, value) in values {
        let key = keys(what).iter().find(|(known, ..)| known == name).ok_or(Errno::INVAL)?;
        put(words, key.1, *value)?;
    }
    Ok(())
}

fn put(words: &mut [u32], at: usize, value: u32) -> Result<(), Errno> {
    *words.get_mut(at).ok_or(Errno::INVAL)? = value;
    Ok(())
}

/// Asks for features to be on or off.
pub(super) fn set_features(nic: &str, wanted: &[(String, bool)]) -> Result<(), Errno> {
    let known = ioctl::features_by_bit(nic).map_err(|_| Errno::OPNOTSUPP)?;
    let mut words = asked(&known, wanted)?;
    ioctl::exchange(nic, &mut words)
}

/// For each 32 features two words: which are asked for, and whether on. Names stand at their bits.
fn asked(known: &[Feature], wanted: &[(String, bool)]) -> Result<Vec<u32>, Errno> {
    let blocks = known.len().div_ceil(32);
    let mut words = vec![SET_FEATURES, u32::try_from(blocks).map_err(|_| Errno::INVAL)?];
    words.resize(2 + 2 * blocks, 0);
    for (name, is_on) in wanted {
        let bit = known.iter().position(|feature| feature.name == *name).ok_or(Errno::INVAL)?;
        let (at, mask) = (2 + bit / 32 * 2, 1_u32 << (bit % 32));
        let valid = words.get(at).copied().unwrap_or(0) | mask;
        put(&mut words, at, valid)?;
        if *is_on {
            let on = words.get(at + 1).copied().unwrap_or(0) | mask;
            put(&mut words, at + 1, on)?;
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pairs: &[(&str, u32)]) -> Vec<(String, u32)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn only_what_is_named_changes() {
        let mut words = vec![0x3c, 0, 0, 1, 63, 0, 0, 1, 8];
        assert_eq!(told(EthtoolValues::Channels, &words), [("other", 1), ("combined", 8)]);
        change(EthtoolValues::Channels, &mut words, &named(&[("combined", 4)])).unwrap();
        assert_eq!(words, [0x3c, 0, 0, 1, 63, 0, 0, 1, 4]);
        let mut words: Vec<u32> = (0..23).collect();
        let values = named(&[("adaptive-rx", 0), ("rx-usecs", 80)]);
        change(EthtoolValues::Coalescing, &mut words, &values).unwrap();
        assert_eq!((words[10], words[1], words[11], words[22]), (0, 80, 11, 22));
        let odd = named(&[("colour", 1)]);
        assert_eq!(change(EthtoolValues::Rings, &mut words, &odd), Err(Errno::INVAL));
        assert_eq!(change(EthtoolValues::Pause, &mut [0], &named(&[("tx", 1)])), Err(Errno::INVAL));
    }

    #[test]
    fn each_value_has_the_word_of_the_kernels_structure() {
        for what in [
            EthtoolValues::Channels,
            EthtoolValues::Rings,
            EthtoolValues::Coalescing,
            EthtoolValues::Pause,
        ] {
            let (read, write, size) = commands(what);
            assert_eq!(write, read + 1, "{what:?}");
            assert!(
                keys(what).iter().all(|(_, at, most)| *at < size && most.is_none_or(|m| m < *at))
            );
        }
    }

    /// On the kernel below: every network namespace has a loopback device.
    #[test]
    fn the_ioctl_tells_what_netlink_tells() {
        let (old, new) = (ioctl::features("lo"), super::super::ethtool::features("lo"));
        if let (Ok(old), Ok(new)) = (&old, &new) {
            let active = |all: &[Feature]| {
                let on = all.iter().filter(|feature| feature.active);
                on.map(|feature| feature.name.clone()).collect::<std::collections::BTreeSet<_>>()
            };
            assert_eq!(active(old), active(new));
        }
        // A device without channels refuses both ways.
        assert!(values("lo", EthtoolValues::Channels).is_err());
        let none = set("lo", EthtoolValues::Channels, &named(&[("combined", 1)]));
        assert!(none.is_err(), "{none:?}");
    }

    #[test]
    fn features_are_asked_for_by_their_bits() {
        let feature = |name: &str| Feature {
            name: name.to_owned(),
            active: false,
            wanted: false,
            fixed: false,
        };
        let known: Vec<Feature> = (0..40).map(|bit| feature(&format!("f{bit}"))).collect();
        let wanted = [("f1".to_owned(), true), ("f33".to_owned(), false), ("f34".to_owned(), true)];
        assert_eq!(asked(&known, &wanted).unwrap(), [SET_FEATURES, 2, 2, 2, 0b110, 0b100]);
        assert_eq!(asked(&known, &[("x".to_owned(), true)]), Err(Errno::INVAL));
    }
}
