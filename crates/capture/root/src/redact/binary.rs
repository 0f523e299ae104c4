// SPDX-License-Identifier: MIT OR Apache-2.0
//! Secrets in binary tables: DMI, PCI vital product data and configuration space, SCSI inquiry
//! pages, NVMe identify pages. Of DMI nothing stays behind what does not parse; elsewhere it stays.

use std::ops::Range;

use super::known::{Known, run};
use super::map::Map;
use super::place::{Role, nqn, runs, scan, serial, trimmed, whole};
use super::scan::{Form, hex_bytes, put_hex};

/// One structure of a DMI table.
struct Structure {
    kind: u8,
    formatted: Range<usize>,
    strings: Vec<Range<usize>>,
}

/// The structures of a table: four bytes or more of fields, then strings, each ended by a NUL, and
/// another NUL (DMTF DSP0134, 6.1); and where what follows is none.
fn structures(bytes: &[u8]) -> (Vec<Structure>, usize) {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&[kind, len, ..]) = bytes.get(at..) {
        let formatted = at..at + usize::from(len);
        if len < 4 || formatted.end > bytes.len() {
            break;
        }
        let mut strings = Vec::new();
        let start = at;
        at = formatted.end;
        loop {
            let end = bytes.get(at..).and_then(|rest| rest.iter().position(|&byte| byte == 0));
            let Some(len) = end else { return (found, start) };
            if len > 0 {
                strings.push(at..at + len);
            }
            at += len + 1;
            if len == 0 || bytes.get(at) == Some(&0) {
                break;
            }
        }
        // No strings are two NULs; after strings comes one more.
        if bytes.get(at) == Some(&0) {
            at += 1;
        }
        found.push(Structure { kind, formatted, strings });
    }
    (found, at)
}

/// Fields that hold the number of a secret string: serials and asset tags (DSP0134, chapter 7).
fn secret_fields(kind: u8) -> &'static [usize] {
    match kind {
        1 => &[0x07],
        2 | 3 => &[0x07, 0x08],
        4 => &[0x20, 0x21],
        17 => &[0x18, 0x19],
        22 => &[0x07],
        39 => &[0x08, 0x09],
        _ => &[],
    }
}

impl Structure {
    fn secrets(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let fields = bytes.get(self.formatted.clone()).unwrap_or_default();
        let string = |&field: &usize| {
            let number = usize::from(*fields.get(field)?);
            self.strings.get(number.checked_sub(1)?).cloned()
        };
        secret_fields(self.kind).iter().filter_map(string).collect()
    }

    /// Vendors' own structures, and the management controller's (42, with its addresses): nothing
    /// is known of where their secrets are.
    fn is_opaque(&self) -> bool {
        self.kind >= 128 || self.kind == 42
    }
}

/// Learns a DMI table's serials.
pub(super) fn learn_dmi(bytes: &[u8], known: &mut Known, map: &mut Map) {
    for structure in structures(bytes).0 {
        for secret in structure.secrets(bytes) {
            let text = bytes.get(secret).unwrap_or_default();
            known.add_serial(&String::from_utf8_lossy(text), map);
        }
    }
}

/// Replaces a DMI table's serials, asset tags and UUID. Nobody knows what is behind a structure that
/// is none: it is blanked.
pub(super) fn redact_dmi(bytes: &mut [u8], map: &mut Map, known: &Known) {
    let (structures, end) = structures(bytes);
    bytes.iter_mut().skip(end).for_each(|byte| *byte = 0);
    for structure in structures {
        for secret in structure.secrets(bytes) {
            whole(trimmed(&mut bytes[secret]), |text| serial(text, map));
        }
        if structure.kind == 1
            && let Some(uuid) = bytes[structure.formatted.clone()].get_mut(8..24)
        {
            redact_uuid(uuid, map);
        }
        if structure.is_opaque() {
            bytes[structure.formatted.clone()].iter_mut().skip(4).for_each(|byte| *byte = 0);
        }
        for string in &structure.strings {
            let string = &mut bytes[string.clone()];
            if structure.kind == OEM_STRINGS {
                oem(string, map, known);
            }
            scan(string, Form::Text, map, known);
            if structure.is_opaque() {
                words(string, map);
            }
        }
    }
}

/// Free texts of the vendor (DSP0134, 7.12), in which Dell and others repeat the service tag.
const OEM_STRINGS: u8 = 11;

/// Known serials, those too that are letters only or stand inside of a word, and service tags.
fn oem(text: &mut [u8], map: &mut Map, known: &Known) {
    for (at, serial) in known.serials_in(text) {
        let mapped = map.text(serial);
        if let Some(place) = text.get_mut(at..at + mapped.len()) {
            place.copy_from_slice(mapped.as_bytes());
        }
    }
    runs(text, SERVICE_TAG, |word| {
        if is_service_tag(word) {
            whole(word, |word| map.text(word));
        }
    });
}

/// Letters and digits of a service tag.
const SERVICE_TAG: usize = 7;

/// Capitals and digits; of letters alone, none that is a vowel: those words are.
fn is_service_tag(word: &[u8]) -> bool {
    let is_vowel = |byte: &u8| matches!(byte, b'A' | b'E' | b'I' | b'O' | b'U');
    let has_digit = word.iter().any(u8::is_ascii_digit);
    let has_letter = word.iter().any(u8::is_ascii_uppercase);
    let is_capital = word.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    word.len() == SERVICE_TAG
        && is_capital
        && has_letter
        && (has_digit || !word.iter().any(is_vowel))
}

/// DMI stores a UUID's first three fields with the low byte first (DSP0134, 7.2.1), and the kernel
/// prints it with the high byte first.
fn redact_uuid(uuid: &mut [u8], map: &mut Map) {
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let printed: Vec<u8> = ORDER.iter().filter_map(|&at| uuid.get(at).copied()).collect();
    let mapped = map.bytes(&printed);
    for (at, byte) in ORDER.iter().zip(mapped) {
        if let Some(place) = uuid.get_mut(*at) {
            *place = byte;
        }
    }
}

/// Words that could be serials: long, with digits.
fn words(text: &mut [u8], map: &mut Map) {
    let mut at = 0;
    while at < text.len() {
        let len = run(&text[at..]).len();
        let word = &mut text[at..at + len];
        if len >= 6 && word.iter().any(u8::is_ascii_digit) {
            whole(word, |word| map.text(word));
        }
        at += len.max(1);
    }
}

/// A PCI device's vital product data: large resources with keywords (PCI 3.0, appendix I). Calls
/// `each` with a keyword and where its value is.
fn vpd_fields(bytes: &[u8]) -> Vec<([u8; 2], Range<usize>)> {
    let mut fields = Vec::new();
    let mut at = 0;
    while let Some(&[tag, low, high, ..]) = bytes.get(at..) {
        let len = usize::from(u16::from_le_bytes([low, high]));
        let end = at + 3 + len;
        if tag & 0x80 == 0 || end > bytes.len() {
            break;
        }
        let mut field = at + 3;
        while matches!(tag, 0x90 | 0x91) && field + 3 <= end {
            let Some(&[first, second, len, ..]) = bytes.get(field..) else { break };
            let value = field + 3..field + 3 + usize::from(len);
            field = value.end;
            if value.end <= end {
                fields.push(([first, second], value));
            }
        }
        at = end;
    }
    fields
}

/// Learns vital product data's serial.
pub(super) fn learn_vpd(bytes: &[u8], known: &mut Known, map: &mut Map) {
    for (keyword, value) in vpd_fields(bytes) {
        if keyword == *b"SN" {
            known.add_serial(&String::from_utf8_lossy(&bytes[value]), map);
        }
    }
}

/// Replaces vital product data's serial, asset tag and vendor's fields, and mends its checksum.
pub(super) fn redact_vpd(bytes: &mut [u8], map: &mut Map, known: &Known) {
    for (keyword, value) in vpd_fields(bytes) {
        match &keyword {
            b"SN" => whole(trimmed(&mut bytes[value]), |text| serial(text, map)),
            b"RV" => {
                // The bytes up to and with the first of RV add up to zero.
                let sum =
                    bytes[..value.start].iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
                if let Some(checksum) = bytes.get_mut(value.start) {
                    *checksum = sum.wrapping_neg();
                }
            }
            [b'V' | b'Y', _] => {
                scan(&mut bytes[value.clone()], Form::Text, map, known);
                words(&mut bytes[value], map);
            }
            _ => scan(&mut bytes[value], Form::Text, map, known),
        }
    }
}

/// Replaces the serial number of a function's configuration space, which many NICs make of their
/// MAC: extended capability 3 (PCIe 4.0, 7.9.3).
pub(super) fn redact_config(bytes: &mut [u8], map: &mut Map) {
    let mut at = 0x100;
    // As many capabilities of eight bytes as fit; a longer chain is a loop.
    for _ in 0..(4096 - 256) / 8 {
        let Some(&[id_low, id_high, next_low, next_high, ..]) = bytes.get(at..) else { return };
        let next = usize::from(u16::from_le_bytes([next_low, next_high]) >> 4);
        if u16::from_le_bytes([id_low, id_high]) == 3
            && let Some(number) = bytes.get_mut(at + 4..at + 12)
        {
            number.reverse();
            if let Ok(eui) = <[u8; 8]>::try_from(&*number) {
                number.copy_from_slice(&map.eui64(eui));
            }
            number.reverse();
        }
        if next < 0x100 {
            return;
        }
        at = next;
    }
}

/// Replaces the vendor's own bytes of a SCSI inquiry, where drives put serials (SPC-4, 6.6.2).
pub(super) fn redact_inquiry(bytes: &mut [u8], map: &mut Map) {
    if let Some(own) = bytes.get_mut(36..56.min(bytes.len())) {
        whole(trimmed(own), |text| serial(text, map));
    }
    bytes.iter_mut().skip(96).for_each(|byte| *byte = 0);
}

/// Replaces a SCSI unit's serial: page 80h, four bytes of header before it.
pub(super) fn redact_page80(bytes: &mut [u8], map: &mut Map) {
    if let Some(text) = bytes.get_mut(4..) {
        whole(trimmed(text), |text| serial(text, map));
    }
}

/// Replaces a SCSI unit's identifiers: page 83h (SPC-4, 7.8.6).
pub(super) fn redact_page83(bytes: &mut [u8], map: &mut Map, known: &Known) {
    let mut at = 4;
    while let Some(&[code, kind, _, len, ..]) = bytes.get(at..) {
        let start = at + 4;
        at = start + usize::from(len);
        let Some(value) = bytes.get_mut(start..at) else { return };
        match (code & 15, kind & 15) {
            (1, 2 | 3) => {
                let mapped = match <[u8; 8]>::try_from(&*value) {
                    Ok(eui) => map.eui64(eui).to_vec(),
                    Err(_) => map.bytes(value),
                };
                value.copy_from_slice(&mapped);
            }
            (1, 4..=7) => {}
            (1, _) => value.copy_from_slice(&map.bytes(value)),
            _ => {
                scan(value, Form::Text, map, known);
                // A vendor's eight letters, then model and serial.
                words(value.get_mut(8..).unwrap_or_default(), map);
            }
        }
    }
}

/// Learns the serial of an identify-controller page, given as hexadecimal text.
pub(super) fn learn_identify(hex: &str, known: &mut Known, map: &mut Map) {
    let page = hex_bytes(digits_of(hex)).unwrap_or_default();
    if let Some(number) = page.get(4..24) {
        known.add_serial(&String::from_utf8_lossy(number), map);
    }
}

/// Replaces serial, FRU identifier and subsystem name of an identify-controller page (NVMe base
/// specification, figure 275).
pub(super) fn redact_identify(hex: &mut String, map: &mut Map) {
    let Some(mut page) = hex_bytes(digits_of(hex)) else { return };
    if let Some(number) = page.get_mut(4..24) {
        whole(trimmed(number), |text| serial(text, map));
    }
    if let Some(fru) = page.get_mut(112..128) {
        fru.copy_from_slice(&map.bytes(fru));
    }
    if let Some(name) = page.get_mut(768..1024) {
        nqn(trimmed(name), Role::Nqn, map, &Known::default());
    }
    let quoted = hex.len() - digits_of(hex).len();
    let mut text = std::mem::take(hex).into_bytes();
    let start = quoted / 2;
    let end = text.len() - quoted / 2;
    put_hex(&mut text[start..end], &page);
    *hex = String::from_utf8(text).unwrap_or_default();
}

/// The digits of an answer, which JSON may have put in quotes.
fn digits_of(answer: &str) -> &[u8] {
    let inner = answer.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(answer).as_bytes()
}
