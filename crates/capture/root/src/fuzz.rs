// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every parser of this crate under one signature, for fuzzing; not part of the interface.

use std::io::Read;

use crate::archive::{self, Limits};
use crate::{Redactor, Root, capture, live};

/// A parser: any bytes are read or refused.
#[derive(Debug, Clone, Copy)]
pub struct Parser {
    /// What it reads, in words.
    pub name: &'static str,
    /// Something that it reads, as the kernel wrote it.
    pub example: &'static [u8],
    /// Reads or refuses, and drops what was read.
    pub parse: fn(&[u8]),
}

/// All of them.
pub const PARSERS: &[Parser] = &[
    Parser { name: "netlink answer", example: ANSWER, parse: live::parse_all },
    Parser { name: "archive", example: b"", parse: archive },
    Parser {
        name: "redaction",
        example: b"serial S4EVNF0M123456 at 02:00:5e:10:00:01, 10.1.2.3, fe80::1 on db1.example",
        parse: redact,
    },
];

/// The parser of that name.
pub fn parser(name: &str) -> Option<&'static Parser> {
    PARSERS.iter().find(|parser| parser.name == name)
}

/// A message of 28 bytes for sequence 1, with one attribute.
const ANSWER: &[u8] = b"\x1c\0\0\0\x14\0\0\0\x01\0\0\0\0\0\0\0\x11\x01\0\0\x08\0\x02\0\x40\0\0\0";

/// An archive, packed or not, is unpacked within limits that a small input must not need, and
/// what came out is asked; a capture is restored first.
fn archive(bytes: &[u8]) {
    let limits =
        Limits { bytes: 8 << 20, kept_bytes: 8 << 20, entries: 10_000, ..Limits::default() };
    let Ok(unpacked) = archive::read(bytes, &limits) else { return };
    let Ok((root, _)) = capture::restore(unpacked.root) else { return };
    let mut folders = vec![String::new()];
    for _ in 0..1000 {
        let Some(folder) = folders.pop() else { break };
        for name in root.list(&format!("{folder}/")).unwrap_or_default() {
            let path = format!("{folder}/{name}");
            let _ = (root.read(&path), root.link(&path), root.resolve(&path), root.mode(&path));
            if let Ok(stream) = root.stream(&path) {
                let _ = stream.take(1 << 16).read_to_end(&mut Vec::new());
            }
            folders.push(path);
        }
    }
}

/// Redaction keeps the length of what it changes, and a second pass changes nothing more.
fn redact(bytes: &[u8]) {
    for path in PLACES {
        let mut redactor = Redactor::new([7; 32]);
        redactor.add_secret("db1.example");
        redactor.teach(path, bytes);
        let mut content = bytes.to_vec();
        redactor.content(path, &mut content);
        assert_eq!(content.len(), bytes.len(), "redaction changed a length");
    }
    let text = String::from_utf8_lossy(bytes);
    let _ = Redactor::new([7; 32]).name(&text);
}

/// One place of each kind that redaction tells apart.
const PLACES: [&str; 7] = [
    "/sys/class/net/eth0/address",
    "/sys/class/nvme/nvme0/serial",
    "/sys/firmware/dmi/tables/DMI",
    "/sys/block/sda/device/vpd_pg80",
    "/sys/block/sda/device/vpd_pg83",
    "/proc/sys/kernel/hostname",
    "/proc/interrupts",
];
