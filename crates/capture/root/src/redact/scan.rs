// SPDX-License-Identifier: MIT OR Apache-2.0
//! Secrets in running text: known ones, and those whose form gives them away.
//!
//! Everything is replaced in place and keeps its length. Nothing is replaced inside a word: a
//! match begins where letters and digits begin, and ends where they end.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::known::{Distinct, Known, run};
use super::map::Map;

/// Where the text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A file's name: no IP addresses, UUIDs (those of firmware variables and WMI are names of
    /// kinds of things), or secrets that could be words.
    Name,
    /// Any content: no IP addresses, which versions look like.
    Text,
    /// Where addresses are written.
    Addresses,
}

/// A column of `/proc/interrupts` that counted nothing, and the blanks of the next one. A large
/// machine has some sixty million bytes of them.
const ZERO: &[u8; 11] = b"0          ";

/// One pass over a text.
pub(super) struct Scan<'a> {
    pub(super) map: &'a mut Map,
    pub(super) known: &'a Known,
    pub(super) form: Form,
}

impl Scan<'_> {
    /// Replaces what is found.
    pub(super) fn run(&mut self, bytes: &mut [u8]) {
        let mut at = 0;
        let zero_is_none = !self.known.has_start_of(1);
        while at < bytes.len() {
            if zero_is_none && bytes[at..].starts_with(ZERO) {
                at += ZERO.len();
                continue;
            }
            let start = run(&bytes[at..]).len();
            if start == 0 {
                at += self.colons(bytes, at).max(1);
                continue;
            }
            at += self.found(bytes, at, start).unwrap_or(start);
        }
    }

    /// Bytes replaced from the start of a word on.
    fn found(&mut self, bytes: &mut [u8], at: usize, start: usize) -> Option<usize> {
        let distinct = if self.form == Form::Name { Distinct::Only } else { Distinct::NotOnly };
        if let Some(mapped) = self.known.at(&bytes[at..], start, distinct) {
            return put(bytes, at, mapped);
        }
        let found = self.octets(bytes, at, start).or_else(|| self.prefixed(bytes, at, start));
        let found = found.or_else(|| self.interface(bytes, at, start));
        match self.form {
            Form::Name => found,
            Form::Text => found.or_else(|| self.uuid(bytes, at, start)),
            Form::Addresses => found
                .or_else(|| self.uuid(bytes, at, start))
                .or_else(|| self.ipv4(bytes, at, start))
                .or_else(|| self.ipv6(bytes, at)),
        }
    }

    /// An IPv6 address that begins with colons.
    fn colons(&mut self, bytes: &mut [u8], at: usize) -> usize {
        let begins = bytes[at..].starts_with(b"::") && self.form == Form::Addresses;
        let after = at.checked_sub(1).and_then(|before| bytes.get(before));
        if begins && !after.is_some_and(u8::is_ascii_hexdigit) {
            return self.ipv6(bytes, at).unwrap_or(0);
        }
        0
    }

    /// `02:ec:ef:01:02:03`, the same with dashes, `BOOTIF=01-02-ec-...` (the 01 is the hardware
    /// type), identifiers of 8 bytes, and InfiniBand's addresses of 20 (RFC 4391, 9.1.1).
    fn octets(&mut self, bytes: &mut [u8], at: usize, start: usize) -> Option<usize> {
        let separator = *bytes.get(at + start)?;
        if start != 2 || !matches!(separator, b':' | b'-') {
            return None;
        }
        let octets = octets(&bytes[at..], separator)?;
        let len = 3 * octets.len() - 1;
        let mapped = match (octets.len(), separator) {
            (6, _) => self.map.mac(octets.try_into().ok()?).to_vec(),
            (7, b'-') if octets[0] == 1 => {
                [&[1], &self.map.mac(octets[1..].try_into().ok()?)[..]].concat()
            }
            (8, b':') => self.map.eui64(octets.try_into().ok()?).to_vec(),
            (20, b':') => {
                let port = self.map.eui64(octets[12..].try_into().ok()?);
                [&octets[..12], &port[..]].concat()
            }
            _ => return None,
        };
        put_hex(&mut bytes[at..at + len], &mapped);
        Some(len)
    }

    /// `eui.0025380a0b0c0d0e`, `naa.5000c500a1b2c3d4`, `wwn-0x5000...`.
    fn prefixed(&mut self, bytes: &mut [u8], at: usize, start: usize) -> Option<usize> {
        let word = &bytes[at..];
        let skip = match &word[..start] {
            b"eui" | b"naa" | b"uuid" if word.get(start) == Some(&b'.') => start + 1,
            // `nn-` and `pn-`: a Fibre Channel node and port in an NVMe controller's address.
            b"wwn" | b"nn" | b"pn" if word[start..].starts_with(b"-0x") => start + 3,
            _ => return None,
        };
        let len = run(&word[skip..]).len();
        self.hex(&mut bytes[at + skip..at + skip + len])?;
        Some(skip + len)
    }

    /// Hexadecimal digits of 8 or 16 bytes.
    pub(super) fn hex(&mut self, digits: &mut [u8]) -> Option<()> {
        let value = hex_bytes(digits)?;
        let mapped = match value.len() {
            8 => self.map.eui64(value.try_into().ok()?).to_vec(),
            6..=32 => self.map.bytes(&value),
            _ => return None,
        };
        put_hex(digits, &mapped);
        Some(())
    }

    /// systemd's name for an interface by its MAC: `enx3cecef010203`.
    fn interface(&mut self, bytes: &mut [u8], at: usize, start: usize) -> Option<usize> {
        let name = &mut bytes[at..at + start];
        let kind = name.get(..3)?;
        if start != 15 || !matches!(kind, b"enx" | b"wlx" | b"wwx" | b"ibx") {
            return None;
        }
        let mac: [u8; 6] = hex_bytes(&name[3..])?.try_into().ok()?;
        put_hex(&mut name[3..], &self.map.mac(mac));
        Some(start)
    }

    fn uuid(&mut self, bytes: &mut [u8], at: usize, start: usize) -> Option<usize> {
        const LEN: usize = 36;
        let text = bytes.get_mut(at..at + LEN)?;
        let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
        let fits = |(at, byte): (usize, &u8)| {
            if is_dash(at) { *byte == b'-' } else { byte.is_ascii_hexdigit() }
        };
        if start != 8 || !text.iter().enumerate().all(fits) {
            return None;
        }
        let digits: Vec<u8> = text.iter().copied().filter(|&byte| byte != b'-').collect();
        let mapped = self.map.bytes(&hex_bytes(&digits)?);
        if bytes.get(at + LEN).is_some_and(u8::is_ascii_alphanumeric) {
            return None;
        }
        put_hex(&mut bytes[at..at + LEN], &mapped);
        Some(LEN)
    }

    fn ipv4(&mut self, bytes: &mut [u8], at: usize, start: usize) -> Option<usize> {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        if start > 3 || before.is_some_and(|byte| matches!(byte, b'.' | b'-' | b'_')) {
            return None;
        }
        let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
        let len = bytes[at..].iter().position(|byte| !is_part(byte)).unwrap_or(bytes.len() - at);
        let text = std::str::from_utf8(&bytes[at..at + len]).ok()?;
        let address: Ipv4Addr = text.trim_end_matches('.').parse().ok()?;
        let next = bytes.get(at + len);
        if next.is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_')) {
            return None;
        }
        let mapped = self.map.ipv4(address.octets());
        put(bytes, at, mapped.as_bytes())
    }

    fn ipv6(&mut self, bytes: &mut [u8], at: usize) -> Option<usize> {
        let is_part = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b':';
        let len = bytes[at..].iter().position(|byte| !is_part(byte)).unwrap_or(bytes.len() - at);
        let text = std::str::from_utf8(&bytes[at..at + len.min(39)]).ok()?;
        let address: Ipv6Addr = text.parse().ok()?;
        if text.len() != len || bytes.get(at + len).is_some_and(u8::is_ascii_alphanumeric) {
            return None;
        }
        let mapped = ipv6_like(text, self.map.ipv6(address))?;
        put(bytes, at, mapped.as_bytes())
    }
}

/// An address written as another one was: as many digits a group, zeros left out where it did.
fn ipv6_like(text: &str, address: Ipv6Addr) -> Option<String> {
    let segments = address.segments();
    let (head, tail) = text.split_once("::").unwrap_or((text, ""));
    let groups = |part: &str| if part.is_empty() { 0 } else { part.split(':').count() };
    let write = |part: &str, from: usize| -> Option<String> {
        let mut written = Vec::new();
        for (group, segment) in part.split(':').zip(segments.get(from..)?) {
            written.push(format!("{segment:0width$x}", width = group.len()));
        }
        Some(written.join(":"))
    };
    let first = if head.is_empty() { String::new() } else { write(head, 0)? };
    if !text.contains("::") {
        return Some(first);
    }
    let last = if tail.is_empty() { String::new() } else { write(tail, 8 - groups(tail))? };
    Some(format!("{first}::{last}"))
}

/// The run of octets at the start of a text; none where a group has not two digits.
fn octets(text: &[u8], separator: u8) -> Option<Vec<u8>> {
    let mut octets = Vec::new();
    let mut rest = text;
    loop {
        let (pair, after) = rest.split_at_checked(2)?;
        octets.push(*hex_bytes(pair)?.first()?);
        match after {
            [next, after @ ..] if *next == separator => rest = after,
            [next, ..] if next.is_ascii_alphanumeric() => return None,
            _ => return Some(octets),
        }
        if octets.len() > 20 {
            return None;
        }
    }
}

/// The bytes that hexadecimal digits say.
pub(super) fn hex_bytes(digits: &[u8]) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let value = |digit: u8| char::from(digit).to_digit(16).and_then(|v| u8::try_from(v).ok());
    digits.chunks_exact(2).map(|pair| Some(value(pair[0])? << 4 | value(pair[1])?)).collect()
}

/// Writes bytes over the hexadecimal digits of a text, each in the case of the text's letters;
/// what is no digit stays.
pub(super) fn put_hex(text: &mut [u8], bytes: &[u8]) {
    let is_upper = text.iter().any(|byte| (b'A'..=b'F').contains(byte));
    let nibbles = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = text.iter_mut().filter(|byte| byte.is_ascii_hexdigit());
    for (digit, nibble) in digits.zip(nibbles) {
        let letter = if is_upper { b'A' } else { b'a' };
        *digit = if nibble < 10 { b'0' + nibble } else { letter + nibble - 10 };
    }
}

fn put(bytes: &mut [u8], at: usize, mapped: &[u8]) -> Option<usize> {
    bytes.get_mut(at..at + mapped.len())?.copy_from_slice(mapped);
    Some(mapped.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(form: Form, text: &str) -> String {
        let mut map = Map::new([3; 32]);
        let mut known = Known::default();
        known.add_serial("S6XYNA0R123456", &mut map);
        known.add_host("db01.example.com", &mut map);
        known.add_host("alpha", &mut map);
        let mut bytes = text.as_bytes().to_vec();
        Scan { map: &mut map, known: &known, form }.run(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn secrets_are_found_by_form() {
        for text in [
            concat!("3c:ec:ef", ":01:02:03"),
            concat!("HWADDR=3C:EC:EF", ":01:02:03;"),
            "BOOTIF=01-3c-ec-ef-01-02-03 quiet",
            "80:00:00:48:fe:80:00:00:00:00:00:00:7c:fe:90:03:00:01:02:03",
            "root=UUID=11112222-3333-4444-5555-444400000002 ro",
            "eui.0025380a0b0c0d0e",
            "naa.5000c500a1b2c3d4",
            "wwn-0x5000c500a1b2c3d4",
            "traddr=nn-0x200000109b5e1234:",
            "host_traddr=pn-0x100000109b5e1235",
            "DB01.Example.COM",
            "/dev/mapper/vg_db01-root",
            "x.example.com",
            "enx3cecef010203",
            "md0 : host db01:0",
            "nvme-SAMSUNG_S6XYNA0R123456_1",
            "alpha",
        ] {
            let scanned = scan(Form::Text, text);
            assert_ne!(scanned, text);
            assert_eq!(scanned.len(), text.len());
        }
    }

    #[test]
    fn addresses_are_found_where_they_are_written() {
        for text in [
            "ip=203.0.113.80::203.0.113.1:255.255.255.0:host:eth0:none",
            "traddr=203.0.113.80,trsvcid=4420",
            "traddr=2001:db8:0:1::abcd,trsvcid=4420",
            "inet fe80::1ff:fe23:4567",
        ] {
            let scanned = scan(Form::Addresses, text);
            assert_ne!(scanned, text);
            assert_eq!(scanned.len(), text.len());
            assert_eq!(scan(Form::Text, text), text);
        }
        let kept = scan(Form::Addresses, "ip=203.0.113.80:255.255.255.0");
        assert!(kept.ends_with(":255.255.255.0"), "{kept}");
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "6.1.192.1",
            "BOOT_IMAGE=/vmlinuz-6.1.192.1-amd64",
            "5.8.3.1-k",
            "0000:00:02.0 0x010802",
            "12:34:56",
            "00:00:00:00:00:00",
            "ff:ff:ff:ff:ff:ff",
            "127.0.0.1 ::1",
            "00-11,22-33",
            "pci:v00008086d00001572sv00001028",
            "alphabet",
            "00:11:22:33:44",
            "cafe:babe",
        ] {
            assert_eq!(scan(Form::Text, text), text);
        }
        assert_eq!(scan(Form::Addresses, "vmlinuz-6.1.192.1-amd64"), "vmlinuz-6.1.192.1-amd64");
        assert_eq!(
            scan(Form::Addresses, "a 127.0.0.1 ::1 :: 0.0.0.0"),
            "a 127.0.0.1 ::1 :: 0.0.0.0"
        );
        assert_eq!(scan(Form::Name, "alpha"), "alpha");
        assert_eq!(
            scan(Form::Name, "8be4df61-93ca-11d2-aa0d-00e098032b8c"),
            "8be4df61-93ca-11d2-aa0d-00e098032b8c"
        );
    }

    #[test]
    fn one_thing_in_two_forms_stays_one_thing() {
        let colons = scan(Form::Text, concat!("3c:ec:ef", ":01:02:03")).replace(':', "");
        assert_eq!(scan(Form::Text, "enx3cecef010203")[3..], colons);
        assert_eq!(
            scan(Form::Text, "01-3C-EC-EF-01-02-03")[3..].replace('-', ""),
            colons.to_uppercase()
        );
        let uuid = scan(Form::Text, "11112222-3333-4444-5555-444400000001").replace('-', "");
        assert_eq!(scan(Form::Text, "eui.11112222333344445555444400000001")[4..], uuid);
    }

    mod property {
        use proptest::prelude::*;

        use super::*;

        proptest! {
            #[test]
            fn any_text_keeps_its_length(text in r"[0-9a-fA-F:.\-x S=,\n]{0,80}|\PC{0,60}") {
                for form in [Form::Name, Form::Text, Form::Addresses] {
                    prop_assert_eq!(scan(form, &text).len(), text.len());
                }
            }
        }
    }
}
