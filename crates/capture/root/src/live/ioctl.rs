// SPDX-License-Identifier: MIT OR Apache-2.0
//! `SIOCETHTOOL`: the driver's name, and the rest for kernels before their netlink messages.
//!
//! Structures are those of include/uapi/linux/ethtool.h, taken as arrays of 32-bit words: all
//! their fields but the texts are that wide.

use std::ffi::c_void;
use std::os::fd::OwnedFd;

use machine::{Channels, Coalescing, Fact, Feature, Rings, Why};
use rustix::io::Errno;
use rustix::ioctl::{Updater, ioctl};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use serde::Serialize;

use super::{interface, why};

const SIOCETHTOOL: rustix::ioctl::Opcode = 0x8946;

/// `ETHTOOL_G*` commands with the words that the kernel writes for them.
const DRIVER: (u32, usize) = (0x03, 49);
const COALESCE: (u32, usize) = (0x0e, 23);
const RINGS: (u32, usize) = (0x10, 9);
const PAUSE: (u32, usize) = (0x12, 4);
const STRINGS: u32 = 0x1b;
const SET_SIZE: (u32, usize) = (0x37, 5);
const FEATURES: u32 = 0x3a;
const CHANNELS: (u32, usize) = (0x3c, 9);
/// `ETHTOOL_GRXRINGS` and the words of `struct ethtool_rxnfc`.
const QUEUES: (u32, usize) = (0x2d, 48);
/// `ETHTOOL_GRXCLSRLCNT`: the same structure, in which `rule_cnt` is the word before the last.
const RULES: (u32, usize) = (0x2e, 48);
const RULE_COUNT: usize = 46;
/// `ETHTOOL_GRXFHINDIR` and `ETHTOOL_SRXFHINDIR`.
const SPREAD: u32 = 0x38;
const SET_SPREAD: u32 = 0x39;
/// Devices have 128 to 2048 entries.
const MAX_SPREAD: usize = 65_536;

/// `ETH_SS_FEATURES`.
const FEATURE_NAMES: u32 = 4;
/// `ETH_GSTRING_LEN`, in words.
const NAME_WORDS: usize = 8;
/// `netdev_features_t` has 64 bits; room for four times as many names.
const MAX_FEATURES: usize = 256;

/// `struct ifreq` of 64-bit kernels.
#[repr(C)]
struct Request {
    name: [u8; 16],
    data: *mut c_void,
    rest: [u8; 16],
}

/// The driver of an interface, as `ethtool -i` prints it.
#[derive(Debug, Serialize)]
pub(super) struct Driver {
    driver: String,
    version: String,
    firmware: String,
    bus: String,
}

pub(super) fn driver(name: &str) -> Fact<Driver> {
    let words = ask(name, DRIVER)?;
    let text = |at: usize| text(words.get(at..at + NAME_WORDS).unwrap_or_default());
    Ok(Driver { driver: text(1), version: text(9), firmware: text(17), bus: text(25) })
}

pub(super) fn channels(name: &str) -> Fact<Channels> {
    let words = ask(name, CHANNELS)?;
    let pair = |at| pair(&words, at);
    Ok(Channels { rx: pair(1), tx: pair(2), other: pair(3), combined: pair(4) })
}

pub(super) fn rings(name: &str) -> Fact<Rings> {
    let words = ask(name, RINGS)?;
    let pair = |at| pair(&words, at);
    Ok(Rings { rx: pair(1), rx_mini: pair(2), rx_jumbo: pair(3), tx: pair(4) })
}

/// What a driver can at most stands four words before what it has.
fn pair(words: &[u32], most: usize) -> Option<(u32, u32)> {
    let now = *words.get(most + 4)?;
    words.get(most).filter(|most| **most > 0).map(|most| (now, *most))
}

pub(super) fn coalescing(name: &str) -> Fact<Coalescing> {
    let words = ask(name, COALESCE)?;
    let word = |at: usize| words.get(at).copied();
    Ok(Coalescing {
        adaptive_rx: word(10).map(|on| on != 0),
        adaptive_tx: word(11).map(|on| on != 0),
        rx_usecs: word(1),
        rx_frames: word(2),
        tx_usecs: word(5),
        tx_frames: word(6),
    })
}

pub(super) fn pause(name: &str) -> Fact<(bool, bool)> {
    let words = ask(name, PAUSE)?;
    let on = |at: usize| words.get(at).is_some_and(|on| *on != 0);
    Ok((on(2), on(3)))
}

/// The features that have names.
pub(super) fn features(name: &str) -> Fact<Vec<Feature>> {
    let mut all = features_by_bit(name)?;
    all.retain(|feature| !feature.name.is_empty());
    Ok(all)
}

/// Names and bits of features are two questions; the names come first. Each stands at its bit; bits
/// without a meaning have no name.
pub(super) fn features_by_bit(name: &str) -> Fact<Vec<Feature>> {
    let socket = socket()?;
    let name = interface(name)?;
    let mut size = [SET_SIZE.0, 0, 1 << FEATURE_NAMES, 0, 0];
    call(&socket, name, &mut size).map_err(why)?;
    let count = usize::try_from(size[4]).unwrap_or(usize::MAX);
    if count == 0 || count > MAX_FEATURES {
        return Err(Why::NotSupported);
    }
    let mut names = vec![0; 3 + NAME_WORDS * MAX_FEATURES];
    names[..2].copy_from_slice(&[STRINGS, FEATURE_NAMES]);
    call(&socket, name, &mut names).map_err(why)?;
    let blocks = count.div_ceil(32);
    let mut bits = vec![0; 2 + 4 * blocks];
    bits[..2].copy_from_slice(&[FEATURES, u32::try_from(blocks).unwrap_or(0)]);
    call(&socket, name, &mut bits).map_err(why)?;
    Ok(join_features(count, &names, &bits))
}

/// Each block of 32 features has four words: available, requested, active, never changed.
fn join_features(count: usize, names: &[u32], bits: &[u32]) -> Vec<Feature> {
    let bit = |index: usize, word: usize| {
        let word = bits.get(2 + index / 32 * 4 + word).copied().unwrap_or(0);
        word >> (index % 32) & 1 == 1
    };
    let feature = |index: usize| {
        let at = 3 + NAME_WORDS * index;
        Feature {
            name: text(names.get(at..at + NAME_WORDS).unwrap_or_default()),
            active: bit(index, 2),
            wanted: bit(index, 1),
            fixed: !bit(index, 0) || bit(index, 3),
        }
    };
    (0..count).map(feature).collect()
}

/// The table that maps a packet's hash to its receive queue: asked for its size, then whole.
pub(super) fn receive_spread(name: &str) -> Fact<Vec<u32>> {
    let size = usize::try_from(ask(name, (SPREAD, 2))?[1]).unwrap_or(usize::MAX);
    if size == 0 || size > MAX_SPREAD {
        return Err(Why::NotSupported);
    }
    let mut words = vec![0; 2 + size];
    words[..2].copy_from_slice(&[SPREAD, u32::try_from(size).unwrap_or(0)]);
    call(&socket()?, interface(name)?, &mut words).map_err(why)?;
    Ok(words.split_off(2))
}

/// The receive queues that it may name.
pub(super) fn receive_queues(name: &str) -> Fact<u32> {
    let words = ask(name, QUEUES)?;
    // `data` has 64 bits and is the second half of 16 bytes.
    let bytes: Vec<u8> = words.iter().skip(2).take(2).flat_map(|word| word.to_ne_bytes()).collect();
    let number = <[u8; 8]>::try_from(bytes).ok().map(u64::from_ne_bytes);
    number.and_then(|number| u32::try_from(number).ok()).ok_or(Why::NotSupported)
}

/// How many rules steer flows.
pub(super) fn flow_rules(name: &str) -> Fact<u32> {
    ask(name, RULES)?.get(RULE_COUNT).copied().ok_or(Why::NotSupported)
}

/// Sets that table. An empty one makes the kernel's own again, which follows the channels
/// (`ethtool_set_rxfh_indir`, net/ethtool/ioctl.c, clears `IFF_RXFH_CONFIGURED`).
pub(super) fn set_receive_spread(name: &str, queues: &[u32]) -> Result<(), Errno> {
    let size = u32::try_from(queues.len()).map_err(|_| Errno::INVAL)?;
    if queues.len() > MAX_SPREAD {
        return Err(Errno::INVAL);
    }
    let mut words = vec![SET_SPREAD, size];
    words.extend(queues);
    call(&socket().map_err(|_| Errno::NETDOWN)?, name, &mut words)
}

/// Bytes of words, up to the first NUL.
fn text(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).trim().to_owned()
}

fn socket() -> Fact<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    // A network namespace may lack any one of these families; all lead to the same devices.
    socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)
        .or_else(|_| socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None))
        .map_err(why)
}

fn ask(name: &str, (command, words): (u32, usize)) -> Fact<Vec<u32>> {
    let name = interface(name)?;
    let mut buffer = vec![0; words];
    buffer[0] = command;
    call(&socket()?, name, &mut buffer).map_err(why)?;
    Ok(buffer)
}

/// Commands that read and set values, and the words of their structures.
const EXCHANGED: [(u32, usize); 8] =
    [(0x3c, 9), (0x3d, 9), (0x10, 9), (0x11, 9), (0x0e, 23), (0x0f, 23), (0x12, 4), (0x13, 4)];
/// `ETHTOOL_SFEATURES`: the number of blocks, and two words for each.
pub(super) const SET_FEATURES: u32 = 0x3b;

/// Sends words whose first is a command that sets or reads values, and that are all of its structure.
pub(super) fn exchange(name: &str, words: &mut [u32]) -> Result<(), Errno> {
    let is_whole = match *words {
        [SET_FEATURES, blocks, ref rest @ ..] => rest.len() / 2 == blocks as usize,
        [command, ..] => EXCHANGED.contains(&(command, words.len())),
        [] => false,
    };
    if !is_whole {
        return Err(Errno::INVAL);
    }
    let name = interface(name).map_err(|_| Errno::NODEV)?;
    call(&socket().map_err(|_| Errno::NETDOWN)?, name, words)
}

/// One call. `words` holds the command and has room for the kernel's whole answer to it.
fn call(socket: &OwnedFd, name: &str, words: &mut [u32]) -> Result<(), Errno> {
    let mut request = Request { name: [0; 16], data: words.as_mut_ptr().cast(), rest: [0; 16] };
    request.name.iter_mut().zip(name.bytes().take(15)).for_each(|(to, from)| *to = from);
    // SAFETY: `SIOCETHTOOL` takes a `struct ifreq`, whose layout `Request` has, with a NUL-ended
    // name: at most 15 of its 16 bytes are filled. Its pointer leads to `words`, which is borrowed
    // mutably for the whole call and aligned for 32-bit fields. How much the kernel writes there
    // depends on the command in its first word: the fixed sizes above are those of its structures;
    // for the names of features it writes 3 words and 8 for each of `NETDEV_FEATURE_COUNT`, which
    // was checked to be at most `MAX_FEATURES`; for their bits no more blocks than the second word
    // says; for the numbers of receive queues and of rules the whole of `struct ethtool_rxnfc`, 192 bytes, which is
    // read and written; for the spread of receive queues no more entries than the second word says
    // (`ethtool_get_rxfh_indir` refuses a size below the device's), and setting it reads as many;
    // the commands that set read the structure of those that get, and for features two words for
    // each of the blocks that the second word says: `exchange` checks both.
    // The kernel keeps neither pointer.
    unsafe { ioctl(socket, Updater::<SIOCETHTOOL, Request>::new(&mut request)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_size_of_the_kernels() {
        assert_eq!(size_of::<Request>(), 40);
        assert_eq!(std::mem::offset_of!(Request, data), 16);
    }

    #[test]
    fn words_that_are_no_whole_structure_are_not_sent() {
        for words in [&[][..], &[0x3c], &[STRINGS, 4, 0], &[SPREAD, 9], &[SET_FEATURES, 2, 0, 0]] {
            assert_eq!(exchange("lo", &mut words.to_vec()), Err(Errno::INVAL), "{words:?}");
        }
        let mut channels = [0x3c, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_ne!(exchange("lo", &mut channels), Err(Errno::INVAL));
        assert_eq!(exchange("no such nic", &mut channels), Err(Errno::NODEV));
    }

    #[test]
    fn features_take_name_and_bits_by_index() {
        let mut names = vec![0_u32; 3 + NAME_WORDS * 40];
        names[3] = u32::from_ne_bytes(*b"rx-g");
        names[4] = u32::from_ne_bytes(*b"ro\0\0");
        let last = 3 + NAME_WORDS * 33;
        names[last] = u32::from_ne_bytes(*b"lro\0");
        let bits = [0, 2, 1, 0, 1, 0, 0b10, 0b10, 0, 0b10];
        let mut found = join_features(40, &names, &bits);
        assert_eq!((found.len(), found[33].name.as_str()), (40, "lro"));
        found.retain(|feature| !feature.name.is_empty());
        let feature = |name: &str, active, wanted, fixed| Feature {
            name: name.to_owned(),
            active,
            wanted,
            fixed,
        };
        assert_eq!(
            found,
            [feature("rx-gro", true, false, false), feature("lro", false, true, true)].to_vec()
        );
    }
}
