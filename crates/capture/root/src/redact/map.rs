// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a secret to what stands for it: a keyed hash in the secret's own shape.

use std::collections::{HashMap, HashSet};
use std::net::Ipv6Addr;

/// What kind of value is mapped; equal bytes of two kinds have nothing to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    Text,
    Mac,
    Bytes,
    Ipv4,
    Ipv6,
}

/// Tries at a replacement that nothing else has yet. Short values run out of them.
const TRIES: u8 = 32;

/// Replacements by kind and original.
pub(super) struct Map {
    key: [u8; 32],
    made: HashMap<(Kind, Vec<u8>), Vec<u8>>,
    taken: HashSet<(Kind, Vec<u8>)>,
}

impl std::fmt::Debug for Map {
    /// Neither the key nor an original may reach a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Map").field("made", &self.made.len()).finish_non_exhaustive()
    }
}

impl Map {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self { key, made: HashMap::new(), taken: HashSet::new() }
    }

    /// Letters become letters and digits digits, each in its case; hexadecimal stays so.
    pub(super) fn text(&mut self, original: &str) -> String {
        let is_hex = original.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        let letters = if is_hex { 6 } else { 26 };
        let mapped = self.map(Kind::Text, original.as_bytes(), |bytes, noise| {
            for (byte, noise) in bytes.iter_mut().zip(noise) {
                match byte {
                    b'0'..=b'9' => *byte = b'0' + noise % 10,
                    b'a'..=b'z' => *byte = b'a' + noise % letters,
                    b'A'..=b'Z' => *byte = b'A' + noise % letters,
                    _ => {}
                }
            }
        });
        String::from_utf8(mapped).unwrap_or_else(|_| "x".repeat(original.len()))
    }

    /// A locally administered unicast address (IEEE 802, bit 1 of the first octet). Those that all
    /// machines share stay: zero, broadcast and groups.
    pub(super) fn mac(&mut self, mac: [u8; 6]) -> [u8; 6] {
        if mac == [0; 6] || mac[0] & 1 == 1 {
            return mac;
        }
        let mapped = self.map(Kind::Mac, &mac, |bytes, noise| {
            bytes.copy_from_slice(&noise[..bytes.len()]);
            bytes[0] = bytes[0] & 0xfc | 2;
        });
        mapped.try_into().unwrap_or(mac)
    }

    /// An identifier of 8 bytes. One made of a MAC, by the rule of IPv6 (RFC 4291, appendix A) or
    /// as InfiniBand adapters do, is made of that MAC's replacement.
    pub(super) fn eui64(&mut self, eui: [u8; 8]) -> [u8; 8] {
        let [a, b, c, d, e, f, g, h] = eui;
        match (d, e) {
            _ if eui == [0; 8] || eui == [0xff; 8] => eui,
            // A group's address is no port's: such an identifier is any number.
            (0xff, 0xfe) if (a ^ 2) & 1 == 0 => {
                let [a, b, c, f, g, h] = self.mac([a ^ 2, b, c, f, g, h]);
                [a ^ 2, b, c, d, e, f, g, h]
            }
            (0x03, 0x00) if a & 1 == 0 => {
                let [a, b, c, f, g, h] = self.mac([a, b, c, f, g, h]);
                [a, b, c, d, e, f, g, h]
            }
            _ => self.bytes(&eui).try_into().unwrap_or(eui),
        }
    }

    /// Any other identifier. The first nibble stays (it is the type of a world-wide name), and of
    /// 16 bytes also version and variant, where a UUID has them. All equal bytes are no secret.
    pub(super) fn bytes(&mut self, original: &[u8]) -> Vec<u8> {
        if original.windows(2).all(|pair| pair[0] == pair[1]) {
            return original.to_vec();
        }
        self.map(Kind::Bytes, original, |bytes, noise| {
            for (at, (byte, noise)) in bytes.iter_mut().zip(noise).enumerate() {
                let keep = match (at, original.len()) {
                    (0, _) | (6, 16) => 0xf0,
                    (8, 16) => 0xc0,
                    _ => 0,
                };
                *byte = *byte & keep | noise & !keep;
            }
        })
    }

    /// An address as text of the same length, in a private range: 10.0.0.0/8, 192.168.0.0/16 where
    /// that is too short, and 0.0.0.0/8 for addresses of seven characters. Those that name no host
    /// stay.
    pub(super) fn ipv4(&mut self, address: [u8; 4]) -> String {
        let text = address.map(|octet| octet.to_string()).join(".");
        if matches!(address[0], 0 | 127 | 224..) {
            return text;
        }
        let mapped = self.map(Kind::Ipv4, text.as_bytes(), |bytes, noise| {
            let made = ipv4_of_length(bytes.len(), noise);
            bytes.copy_from_slice(made.as_bytes());
        });
        String::from_utf8(mapped).unwrap_or_default()
    }

    /// An address whose every group has as many hexadecimal digits as before. Link-local ones stay
    /// so; the host's part made of a MAC is made of that MAC's replacement where lengths allow.
    pub(super) fn ipv6(&mut self, address: Ipv6Addr) -> Ipv6Addr {
        if address.is_loopback() || address.is_unspecified() || address.is_multicast() {
            return address;
        }
        if let Some(v4) = address.to_ipv4_mapped() {
            let mapped = self.ipv4(v4.octets()).parse().unwrap_or(v4);
            return mapped.to_ipv6_mapped();
        }
        let octets = self.map(Kind::Ipv6, &address.octets(), |bytes, noise| {
            for (pair, noise) in bytes.chunks_exact_mut(2).zip(noise.chunks_exact(2)) {
                pair.copy_from_slice(&same_digits([pair[0], pair[1]], [noise[0], noise[1]]));
            }
            if address.segments()[0] & 0xffc0 == 0xfe80 {
                bytes[..8].copy_from_slice(&address.octets()[..8]);
            } else if bytes[0] >= 0x10 {
                bytes[0] = 0xfd;
            }
        });
        <[u8; 16]>::try_from(octets).map_or(address, Ipv6Addr::from)
    }

    /// An RDMA port's address in full: an IPv6 one, or a prefix and the port's identifier.
    pub(super) fn gid(&mut self, gid: [u8; 16]) -> [u8; 16] {
        let (Some(prefix), Some(port)) = (gid.first_chunk::<8>(), gid.last_chunk::<8>()) else {
            return gid;
        };
        let is_local = *prefix == [0xfe, 0x80, 0, 0, 0, 0, 0, 0];
        if gid == [0; 16] || !is_local {
            return self.ipv6(Ipv6Addr::from(gid)).octets();
        }
        let port = self.eui64(*port);
        let mut mapped = gid;
        mapped[8..].copy_from_slice(&port);
        mapped
    }

    fn map(&mut self, kind: Kind, original: &[u8], make: impl Fn(&mut [u8], &[u8])) -> Vec<u8> {
        let key = (kind, original.to_vec());
        if let Some(made) = self.made.get(&key) {
            return made.clone();
        }
        let mut candidate = original.to_vec();
        for attempt in 0..TRIES {
            candidate.copy_from_slice(original);
            make(&mut candidate, &self.noise(kind, attempt, original));
            if candidate != original && !self.taken.contains(&(kind, candidate.clone())) {
                break;
            }
        }
        self.taken.insert((kind, candidate.clone()));
        self.made.insert(key, candidate.clone());
        candidate
    }

    fn noise(&self, kind: Kind, attempt: u8, original: &[u8]) -> Vec<u8> {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&[kind as u8, attempt]).update(original);
        let mut noise = vec![0; original.len().max(16)];
        hasher.finalize_xof().fill(&mut noise);
        noise
    }
}

fn ipv4_of_length(length: usize, noise: &[u8]) -> String {
    let octet = |digits: usize, noise: u8| match digits {
        1 => 1 + noise % 9,
        2 => 10 + noise % 90,
        _ => 100 + noise % 155,
    };
    match length {
        ..=7 => format!("0.{}.{}.{}", octet(1, noise[0]), octet(1, noise[1]), octet(1, noise[2])),
        8..=14 => {
            // "10." and two dots take five characters.
            let spare = length - 8;
            let last = 1 + spare.min(2);
            let third = 1 + (spare.saturating_sub(2)).min(2);
            let second = 1 + spare.saturating_sub(4).min(2);
            let (a, b, c) = (noise[0], noise[1], noise[2]);
            format!("10.{}.{}.{}", octet(second, a), octet(third, b), octet(last, c))
        }
        _ => format!("192.168.{}.{}", octet(3, noise[0]), octet(3, noise[1])),
    }
}

/// Noise with as many significant hexadecimal digits as the original.
fn same_digits(original: [u8; 2], noise: [u8; 2]) -> [u8; 2] {
    let (original, noise) = (u16::from_be_bytes(original), u16::from_be_bytes(noise));
    let digits = (16 - original.leading_zeros()).div_ceil(4);
    let mapped = match digits {
        0 => 0,
        4 => noise | 0x1000,
        digits => noise & ((1 << (4 * digits)) - 1) | 1 << (4 * (digits - 1)),
    };
    mapped.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_kept() {
        let mut map = Map::new([7; 32]);
        let serial = map.text("S6XYNA0R-12 3456b");
        assert_eq!(serial.len(), 17);
        assert!(serial.as_bytes()[0].is_ascii_uppercase() && serial.as_bytes()[8] == b'-');
        assert!(map.text("deadbeef").bytes().all(|byte| byte.is_ascii_hexdigit()));
        let mac = map.mac([0x3c, 0xec, 0xef, 1, 2, 3]);
        assert_eq!(mac[0] & 3, 2);
        let eui = map.eui64([0x3e, 0xec, 0xef, 0xff, 0xfe, 1, 2, 3]);
        assert_eq!([eui[0] ^ 2, eui[1], eui[2], eui[5], eui[6], eui[7]], mac);
        let addresses =
            [[8, 8, 8, 8], [9, 10, 11, 1], [10, 1, 2, 3], [203, 0, 113, 80], [203, 113, 130, 131]];
        for octets in addresses {
            let text = std::net::Ipv4Addr::from(octets).to_string();
            let mapped = map.ipv4(octets);
            assert_eq!(mapped.len(), text.len(), "{text} became {mapped}");
            let parsed: std::net::Ipv4Addr = mapped.parse().unwrap();
            assert!(parsed.is_private() || parsed.octets()[0] == 0, "{text} became {mapped}");
        }
        for text in ["2001:db8::1", "fe80::1:2ff:fe03:405", "2001:db8:0:1::abcd"] {
            let address: Ipv6Addr = text.parse().unwrap();
            let mapped = map.ipv6(address);
            assert_eq!(mapped.to_string().len(), text.len(), "{text} became {mapped}");
            assert_ne!(mapped, address);
        }
    }

    #[test]
    fn what_all_machines_share_stays() {
        let mut map = Map::new([7; 32]);
        for mac in [[0; 6], [0xff; 6], [1, 0x80, 0xc2, 0, 0, 14], [0x33, 0x33, 0, 0, 0, 1]] {
            assert_eq!(map.mac(mac), mac);
        }
        assert_eq!(map.ipv4([127, 0, 0, 1]), "127.0.0.1");
        assert_eq!(map.ipv4([255, 255, 255, 0]), "255.255.255.0");
        assert_eq!(map.ipv4([0; 4]), "0.0.0.0");
        assert_eq!(map.bytes(&[0; 16]), [0; 16]);
    }

    #[test]
    fn different_things_stay_different() {
        let mut map = Map::new([7; 32]);
        let made: HashSet<String> = (0..2000).map(|i| map.text(&format!("{i:06}"))).collect();
        assert_eq!(made.len(), 2000);
        let other = Map::new([8; 32]).text("000001");
        assert_ne!(map.text("000001"), other);
    }
}
