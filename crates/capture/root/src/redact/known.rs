// SPDX-License-Identifier: MIT OR Apache-2.0
//! Secrets known by the file that held them, found again elsewhere.

use std::collections::{BTreeSet, HashMap};

use super::group::Groups;
use super::map::Map;

/// Words that firmware writes where a serial should be.
const PLACEHOLDERS: [&str; 14] = [
    "none",
    "n/a",
    "na",
    "unknown",
    "not specified",
    "not available",
    "default string",
    "serial",
    "to be filled by o.e.m.",
    "system serial number",
    "chassis serial number",
    "base board serial number",
    "no asset tag",
    "no asset information",
];

/// Names that a host can have and that the kernel's tree has too.
const COMMON: [&str; 30] = [
    "localhost",
    "localdomain",
    "cpu",
    "node",
    "memory",
    "system",
    "pci",
    "nvme",
    "block",
    "net",
    "devices",
    "class",
    "bus",
    "host",
    "server",
    "linux",
    "debian",
    "ubuntu",
    "fedora",
    "none",
    "kernel",
    "virtual",
    "power",
    "root",
    "proc",
    "sys",
    "dev",
    "name",
    "gpu",
    "storage",
];

/// A serial shorter than this stands in many texts by chance.
const SHORTEST: usize = 4;

/// Secrets and what stands for them.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// By the letters and digits they begin with; longest first.
    by_start: HashMap<Box<[u8]>, Vec<Secret>>,
    /// Serials, those too that could be words.
    serials: BTreeSet<String>,
    /// Names of containers and virtual machines.
    pub(super) groups: Groups,
    /// Letters and digits that the shortest of them begins with.
    shortest: usize,
}

struct Secret {
    text: Box<[u8]>,
    mapped: Box<[u8]>,
    /// Whether it is so distinct that it may be replaced in file names too.
    is_distinct: bool,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Whether a text stands where a serial should and is none.
pub(super) fn is_placeholder(text: &str) -> bool {
    let lower = text.trim().to_ascii_lowercase();
    let bytes = lower.as_bytes();
    let same = bytes.windows(2).all(|pair| pair[0] == pair[1]);
    same || PLACEHOLDERS.contains(&lower.as_str())
        || "0123456789abcdef".starts_with(&*lower)
        || "123456789".starts_with(&*lower)
        || !bytes.iter().any(u8::is_ascii_alphanumeric)
}

impl Known {
    /// A serial. One that could be a word or a number like others is replaced at its own place only.
    pub(super) fn add_serial(&mut self, serial: &str, map: &mut Map) {
        let serial = serial.trim();
        if is_placeholder(serial) {
            return;
        }
        if serial.len() >= SHORTEST {
            self.serials.insert(serial.to_owned());
        }
        if is_distinct(serial) {
            let mapped = map.text(serial);
            self.add(serial, mapped);
        }
    }

    /// Serials that stand anywhere in a text, inside of words too, each with its place.
    pub(super) fn serials_in(&self, text: &[u8]) -> Vec<(usize, &str)> {
        let mut found = Vec::new();
        for serial in &self.serials {
            let windows = text.windows(serial.len()).enumerate();
            let same = windows.filter(|(_, at)| at.eq_ignore_ascii_case(serial.as_bytes()));
            found.extend(same.map(|(at, _)| (at, serial.as_str())));
        }
        found
    }

    /// A host's name, whole, without its domain, and the domain; in the cases that people write
    /// it, and as device-mapper does in the names of volumes, with its dashes doubled.
    pub(super) fn add_host(&mut self, host: &str, map: &mut Map) {
        let host = host.trim();
        let (short, domain) = host.split_once('.').unwrap_or((host, ""));
        // One label is a top level, which everybody has.
        let domain = if domain.contains('.') { domain } else { "" };
        for name in [host, short, domain] {
            let is_common = COMMON.contains(&name.to_ascii_lowercase().as_str());
            if name.len() >= 3 && !is_common && name != "(none)" {
                for name in [name, &name.to_ascii_lowercase(), &name.to_ascii_uppercase()] {
                    let mapped = host_name(name, map);
                    self.add(&name.replace('-', "--"), mapped.replace('-', "--"));
                    self.add(name, mapped);
                }
            }
        }
    }

    /// A MAC, which also stands without colons (`enx`, port ids).
    pub(super) fn add_mac(&mut self, text: &str, map: &mut Map) {
        let bytes: Option<Vec<u8>> =
            text.split(':').map(|octet| u8::from_str_radix(octet, 16).ok()).collect();
        let Some(mac) = bytes.and_then(|bytes| <[u8; 6]>::try_from(bytes).ok()) else { return };
        let hex = |mac: [u8; 6]| mac.map(|octet| format!("{octet:02x}")).concat();
        let mapped = map.mac(mac);
        if mapped != mac {
            self.add(&hex(mac), hex(mapped));
        }
    }

    fn add(&mut self, text: &str, mapped: String) {
        let start = run(text.as_bytes());
        if start.is_empty() {
            return;
        }
        self.shortest =
            if self.shortest == 0 { start.len() } else { self.shortest.min(start.len()) };
        let secrets = self.by_start.entry(start.into()).or_default();
        if secrets.iter().any(|secret| *secret.text == *text.as_bytes()) {
            return;
        }
        secrets.push(Secret {
            text: text.as_bytes().into(),
            mapped: mapped.into_bytes().into(),
            is_distinct: is_distinct(text),
        });
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.text.len()));
    }

    /// Whether a secret may begin with no more than so many letters and digits.
    pub(super) fn has_start_of(&self, length: usize) -> bool {
        (1..=length).contains(&self.shortest)
    }

    /// What stands for the secret that begins at the start of `rest`, whose first letters and
    /// digits are `start` long.
    pub(super) fn at(&self, rest: &[u8], start: usize, distinct: Distinct) -> Option<&[u8]> {
        if !self.has_start_of(start) {
            return None;
        }
        let ends = |secret: &&Secret| {
            let next = rest.get(secret.text.len());
            rest.starts_with(&secret.text) && !next.is_some_and(u8::is_ascii_alphanumeric)
        };
        let fits = |secret: &&Secret| secret.is_distinct || distinct == Distinct::NotOnly;
        let secrets = self.by_start.get(&rest[..start])?;
        secrets.iter().filter(fits).find(ends).map(|secret| &*secret.mapped)
    }
}

/// Which secrets are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Distinct {
    /// Those that cannot be a common word.
    Only,
    /// All.
    NotOnly,
}

/// A host's name in its own shape; each label by itself, so that `a.b` and `a` stay related. Names
/// that differ in case only are one host's.
pub(super) fn host_name(name: &str, map: &mut Map) -> String {
    let mut labels = name.split('.').map(|label| map.text(&label.to_ascii_lowercase()));
    let mut mapped = labels.next().unwrap_or_default();
    labels.for_each(|label| mapped = format!("{mapped}.{label}"));
    let in_case = |(old, new): (char, char)| match old.is_ascii_uppercase() {
        true => new.to_ascii_uppercase(),
        false => new,
    };
    let cased: String = name.chars().zip(mapped.chars()).map(in_case).collect();
    if cased.len() == name.len() { cased } else { mapped }
}

/// Long enough, and mixed enough, not to be a word of the kernel or a count.
fn is_distinct(text: &str) -> bool {
    let bytes = text.as_bytes();
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    let has_letter = bytes.iter().any(u8::is_ascii_alphabetic);
    (bytes.len() >= 6 && has_digit && has_letter) || (bytes.len() >= 10 && has_digit)
}

/// The letters and digits that a text begins with.
pub(super) fn run(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_firmware_are_no_serials() {
        for text in
            ["", "0", "None", "To Be Filled By O.E.M.", "0123456789", "........", "123456789"]
        {
            assert!(is_placeholder(text), "{text}");
        }
        for text in ["S6XYNA0R", "7F3KJ03", "PHLN1234"] {
            assert!(!is_placeholder(text), "{text}");
        }
    }
}
