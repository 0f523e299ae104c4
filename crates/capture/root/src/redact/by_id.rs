// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of drives below /dev/disk/by-id, which hold their serials.
//!
//! A serial that a file of the drive tells is known, and is replaced wherever it stands. One of a
//! drive that is gone, or whose files root alone may read, is known by its place in the name
//! (rules.d/60-persistent-storage.rules of systemd).

use super::known::Known;
use super::map::Map;
use super::place::{digits, host, mapper_uuid, serial, whole, world_wide_name};

const FOLDER: &[u8] = b"/dev/disk/by-id/";

/// Beginnings of a name whose last part, after `_`, is a serial.
const SERIALS: [&[u8]; 7] = [b"nvme-", b"ata-", b"scsi-S", b"scsi-0", b"usb-", b"virtio-", b"mmc-"];

/// Replaces the serials in such names anywhere in a word.
pub(super) fn redact(word: &mut [u8], map: &mut Map, known: &Known) {
    let mut rest = word;
    while let Some(at) = rest.windows(FOLDER.len()).position(|part| part == FOLDER) {
        let (_, after) = rest.split_at_mut(at + FOLDER.len());
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b",;\"'/".contains(byte);
        let end = after.iter().position(ends).unwrap_or(after.len());
        let (name, behind) = after.split_at_mut(end);
        redact_name(name, map, known);
        rest = behind;
    }
}

fn redact_name(name: &mut [u8], map: &mut Map, known: &Known) {
    let end = without_part(name);
    let (name, _) = name.split_at_mut(end);
    if !known.serials_in(name).is_empty() {
        let found: Vec<(usize, String)> =
            known.serials_in(name).into_iter().map(|(at, text)| (at, map.text(text))).collect();
        for (at, shown) in found {
            if let Some(own) = name.get_mut(at..at + shown.len()) {
                whole(own, |_| shown);
            }
        }
        return;
    }
    let behind = |head: &[u8]| name.starts_with(head).then_some(head.len());
    if let Some(at) = behind(b"nvme-nvme.") {
        world_wide_name(&mut name[at - b"nvme.".len()..], map, known);
    } else if let Some(at) = behind(b"dm-uuid-").or_else(|| behind(b"scsi-3").map(|at| at - 1)) {
        mapper_uuid(&mut name[at..], map, known);
    } else if let Some(at) = behind(b"md-uuid-") {
        digits(&mut name[at..], map, known);
    } else if let Some(at) = behind(b"lvm-pv-uuid-") {
        whole(&mut name[at..], |text| map.text(text));
    } else if let Some(at) = behind(b"md-name-") {
        let own = name[at..].split_mut(|&byte| byte == b':').next().unwrap_or_default();
        whole(own, |name| host(name, map));
    } else if let Some(at) = SERIALS.iter().find_map(|head| behind(head)) {
        last_part(&mut name[at..], map);
    }
}

/// Where `-part2` begins.
fn without_part(name: &[u8]) -> usize {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let head = name.len() - digits;
    let is_part = digits > 0 && name[..head].ends_with(b"-part");
    if is_part { head - b"-part".len() } else { name.len() }
}

/// `MODEL_SERIAL`, `MODEL_SERIAL_1` with an NVMe namespace, `VENDOR_MODEL_SERIAL-0:0` on USB.
fn last_part(name: &mut [u8], map: &mut Map) {
    if name.starts_with(b"eui.") || name.starts_with(b"uuid.") {
        // Known by its form.
        return;
    }
    let unit = name.windows(2).rposition(|part| part == b"-0").filter(|at| name.len() - at == 4);
    let (name, _) = name.split_at_mut(unit.unwrap_or(name.len()));
    let mut parts: Vec<&mut [u8]> = name.split_mut(|&byte| byte == b'_').collect();
    let is_namespace =
        |part: &[u8]| part.len() <= 3 && part.iter().all(u8::is_ascii_digit) && !part.is_empty();
    if parts.len() > 2 && parts.last().is_some_and(|part| is_namespace(part)) {
        parts.pop();
    }
    if let Some(own) = parts.pop() {
        whole(own, |text| serial(text, map));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(text: &str, known: &Known, map: &mut Map) -> String {
        let mut bytes = text.as_bytes().to_vec();
        redact(&mut bytes, map, known);
        assert_eq!(bytes.len(), text.len());
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_serial_in_a_name_is_the_token_that_it_is_elsewhere() {
        let (mut map, mut known) = (Map::new([5; 32]), Known::default());
        let serial = "S4EVNX0R123456";
        let shown = map.text(serial);
        for (name, left) in [
            ("nvme-Samsung_SSD_{}", true),
            ("nvme-Samsung_SSD_{}_1-part3", true),
            ("ata-QEMU_HARDDISK_{}", true),
            ("usb-SanDisk_Ultra_{}-0:0-part1", true),
            ("virtio-{}", true),
            ("wwn-{}", false),
        ] {
            let text = format!("root=/dev/disk/by-id/{}", name.replace("{}", serial));
            let expected = text.replace(serial, if left { &shown } else { serial });
            assert_eq!(redacted(&text, &known, &mut map), expected);
        }
        known.add_serial(serial, &mut map);
        let text = format!("/dev/disk/by-id/x-{serial}_ab");
        assert_eq!(redacted(&text, &known, &mut map), text.replace(serial, &shown));
    }

    #[test]
    fn names_without_serials_are_told_by_their_kind() {
        let (mut map, known) = (Map::new([5; 32]), Known::default());
        for (text, secret) in [
            ("/dev/disk/by-id/scsi-36001405a1b2c3d4e5f60718293a4b5c6", "6001405a1b2c"),
            ("/dev/disk/by-id/dm-uuid-CRYPT-LUKS2-aabbccdd111122223333444455556666-x", "aabbccdd"),
            ("/dev/disk/by-id/md-uuid-aabbccdd:11112222:33334444:55556666", "aabbccdd"),
            ("/dev/disk/by-id/md-name-acmehost:0", "acmehost"),
            ("/dev/disk/by-id/lvm-pv-uuid-Abc123-de45", "Abc123"),
            ("/dev/disk/by-id/nvme-nvme.144d-533445564e58-53-00000001", "533445564e58"),
        ] {
            let shown = redacted(text, &known, &mut map);
            assert!(!shown.contains(secret), "{shown}");
        }
        for text in ["/dev/disk/by-id/", "/dev/disk/by-uuid/x", "/dev/disk/by-id/-part1"] {
            assert_eq!(redacted(text, &known, &mut map), text);
        }
    }
}
