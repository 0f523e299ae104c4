// SPDX-License-Identifier: MIT OR Apache-2.0
//! Serials, addresses and names of a machine, replaced when a capture is written.
//!
//! A replacement is a keyed hash in the shape of what it stands for: equal things stay equal, a
//! MAC stays a MAC, a serial keeps its length and its kinds of letters, and nothing changes its
//! length, so that binary tables keep their offsets and printed columns their width. Without the
//! key nobody can try values out; the key is not kept.
//!
//! What is known to be secret by the file that holds it is replaced wherever else it stands, in
//! contents, names, links and answers. MACs, UUIDs and world-wide names are known by their form;
//! IP addresses only where addresses are written, because versions look the same. Models, part
//! numbers, firmware versions, PCI ids and the addresses that every machine has stay.

mod binary;
mod by_id;
mod group;
mod known;
mod line;
mod map;
mod place;
mod scan;
mod stream;

use std::io::{self, BufRead, Read};

use machine::{Fact, Why};

use crate::recorder::{Shape, Tree};
use crate::{Question, Record};
use known::Known;
use map::Map;
use place::Role;

/// Bytes of a file that are looked at when secrets are learned; the files that hold them are
/// small, and DMI's table is at most 64 KiB.
const LEARN: usize = 64 << 10;

/// Files up to this size are replaced in one piece.
pub(crate) const WHOLE: u64 = 4 << 20;

/// Where control groups are folders.
const CONTROL_GROUPS: [&str; 3] = ["/sys/fs/cgroup", "/dev/cpuset", "/cgroup"];

/// Replaces what tells one machine from another of its kind.
#[derive(Debug)]
pub struct Redactor {
    map: Map,
    known: Known,
}

impl Redactor {
    /// With a key: the same key gives the same replacements, so that two captures compare.
    pub fn new(key: [u8; 32]) -> Self {
        Self { map: Map::new(key), known: Known::default() }
    }

    /// With a key that nobody knows.
    ///
    /// # Errors
    /// The kernel has no randomness yet.
    pub fn random() -> io::Result<Self> {
        let mut key = [0; 32];
        let mut filled = 0;
        while filled < key.len() {
            let rest = &mut key[filled..];
            filled += rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty())?;
        }
        Ok(Self::new(key))
    }

    /// Adds a value that is secret wherever it stands, such as the host's name.
    pub fn add_secret(&mut self, secret: &str) {
        self.known.add_host(secret, &mut self.map);
    }

    /// Learns the secrets that a record holds.
    pub(crate) fn learn(&mut self, record: &Record, tree: &Tree) {
        self.learn_below(record, tree, 0, &mut String::new());
        if !self.known.groups.is_empty() {
            self.spare_below(record, tree, 0, &mut String::new());
        }
        for (question, answer) in record.answers() {
            if let (Question::NvmeIdentify(_), Ok(hex)) = (question, answer) {
                binary::learn_identify(hex, &mut self.known, &mut self.map);
            }
        }
    }

    fn learn_below(&mut self, record: &Record, tree: &Tree, node: u32, path: &mut String) {
        if tree.shape(node) == Shape::File
            && let Some(Ok(kept)) = record.said(node).file.as_deref()
            && place::teaches(path)
            && let Ok(bytes) = kept.content.head(record.arena(), LEARN)
        {
            self.learn_file(path, &bytes);
        }
        let end = path.len();
        for &child in tree.children(node) {
            path.push('/');
            path.push_str(record.family().name(record.name(child)));
            self.learn_below(record, tree, child, path);
            path.truncate(end);
        }
    }

    /// Names of control groups that stand outside of their folders too are somebody else's.
    fn spare_below(&mut self, record: &Record, tree: &Tree, node: u32, path: &mut String) {
        let end = path.len();
        for &child in tree.children(node) {
            let name = record.family().name(record.name(child));
            path.push('/');
            path.push_str(name);
            if !CONTROL_GROUPS.contains(&path.as_str()) {
                self.known.groups.spare(name);
                self.spare_below(record, tree, child, path);
            }
            path.truncate(end);
        }
    }

    /// Learns the secrets of one file.
    pub(crate) fn teach(&mut self, path: &str, bytes: &[u8]) {
        if place::teaches(path) {
            self.learn_file(path, bytes);
        }
    }

    fn learn_file(&mut self, path: &str, bytes: &[u8]) {
        let (known, map) = (&mut self.known, &mut self.map);
        match place::role(path) {
            Role::DmiTable => binary::learn_dmi(bytes, known, map),
            Role::Vpd => binary::learn_vpd(bytes, known, map),
            role => {
                let Ok(text) = std::str::from_utf8(bytes) else { return };
                let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
                match role {
                    Role::Host => known.add_host(text, map),
                    Role::Serial => known.add_serial(text, map),
                    Role::Address => known.add_mac(text, map),
                    Role::ControlGroups => known.groups.learn(text, map),
                    _ => {}
                }
            }
        }
    }

    /// A file's or folder's name, or one part of a link's target.
    pub(crate) fn name(&mut self, name: &str) -> String {
        if let Some(shown) = self.known.groups.name(name) {
            return shown.to_owned();
        }
        let mut bytes = name.as_bytes().to_vec();
        scan::Scan { map: &mut self.map, known: &self.known, form: scan::Form::Name }
            .run(&mut bytes);
        String::from_utf8(bytes).unwrap_or_else(|_| name.to_owned())
    }

    /// The content of a file, in place.
    pub(crate) fn content(&mut self, path: &str, bytes: &mut [u8]) {
        place::redact(path, bytes, &mut self.map, &self.known);
    }

    /// The content of a large file as it is read, of the same length.
    pub(crate) fn pieces<'a>(
        &'a mut self,
        path: &str,
        from: Box<dyn BufRead + 'a>,
    ) -> impl Read + 'a {
        stream::Pieces::new(self, path, from)
    }

    /// A question's device name and the answer.
    pub(crate) fn answer(&mut self, (question, answer): &mut (Question, Fact<String>)) {
        if let Some(renamed) = self.question(question) {
            *question = renamed;
        }
        match answer {
            Ok(text) => {
                if matches!(question, Question::NvmeIdentify(_)) {
                    binary::redact_identify(text, &mut self.map);
                }
                *text = self.text(text);
            }
            Err(Why::Unparsed(text) | Why::Failed(text)) => *text = self.text(text),
            Err(_) => {}
        }
    }

    /// The question with its device's name replaced, whatever kind of question it is.
    fn question(&mut self, question: &Question) -> Option<Question> {
        let mut value = serde_json::to_value(question).ok()?;
        for (_, device) in value.as_object_mut()? {
            let name = self.name(device.as_str()?);
            *device = name.into();
        }
        serde_json::from_value(value).ok()
    }

    fn text(&mut self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        scan::Scan { map: &mut self.map, known: &self.known, form: scan::Form::Text }
            .run(&mut bytes);
        String::from_utf8(bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
