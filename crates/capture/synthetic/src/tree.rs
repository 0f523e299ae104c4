// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tree of files while it is being made: every path with what stands there.

use std::collections::BTreeMap;
use std::fmt::Display;

use machine::Why;
use root::{MemoryRoot, Question};

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A file with its permission bits.
    File {
        /// Content.
        bytes: Vec<u8>,
        /// Permission bits.
        mode: u32,
    },
    /// A folder that may be empty.
    Folder,
    /// A symbolic link and its text.
    Link(String),
    /// Something that is there and answers with an error.
    Refused(Why),
}

/// A whole /sys and /proc under construction. Paths begin with `/`; folders above a file need not
/// be named.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tree {
    /// Every path and what stands there, sorted by byte.
    pub entries: BTreeMap<String, Entry>,
    /// Answers that are no files, as JSON.
    pub answers: BTreeMap<Question, String>,
}

impl Tree {
    /// A file of one line: the kernel ends nearly every attribute with a line feed.
    pub(crate) fn line(&mut self, path: impl Into<String>, value: impl Display) {
        self.text(path, format!("{value}\n"));
    }

    /// A file of any text.
    pub(crate) fn text(&mut self, path: impl Into<String>, text: impl Into<Vec<u8>>) {
        self.text_with_mode(path, text, 0o644);
    }

    /// A file that only root may read, or that nobody may write.
    pub(crate) fn text_with_mode(
        &mut self,
        path: impl Into<String>,
        text: impl Into<Vec<u8>>,
        mode: u32,
    ) {
        self.entries.insert(path.into(), Entry::File { bytes: text.into(), mode });
    }

    /// Many one-line files of one folder.
    pub(crate) fn lines<const N: usize>(&mut self, folder: &str, lines: [(&str, String); N]) {
        for (name, value) in lines {
            self.line(format!("{folder}/{name}"), value);
        }
    }

    /// An empty folder.
    pub(crate) fn folder(&mut self, path: impl Into<String>) {
        self.entries.entry(path.into()).or_insert(Entry::Folder);
    }

    /// A relative link from one absolute path to another, as sysfs makes them.
    pub(crate) fn link(&mut self, path: impl Into<String>, target: &str) {
        let path = path.into();
        let text = relative(&path, target);
        self.entries.insert(path, Entry::Link(text));
    }

    /// The tree as a root that readers can ask.
    pub fn into_root(self) -> MemoryRoot {
        let mut root = MemoryRoot::new();
        for (path, entry) in self.entries {
            match entry {
                Entry::File { bytes, mode } => root.file_with_mode(&path, bytes, mode),
                Entry::Folder => root.folder(&path),
                Entry::Link(target) => root.symlink(&path, &target),
                Entry::Refused(why) => root.refuse(&path, why),
            };
        }
        for (question, answer) in self.answers {
            root.answer(question, Ok(answer));
        }
        root
    }
}

/// The text of a link at `path` that leads to `target`: both absolute.
fn relative(path: &str, target: &str) -> String {
    let from: Vec<&str> = path.trim_matches('/').split('/').collect();
    let to: Vec<&str> = target.trim_matches('/').split('/').collect();
    let above = from.len().saturating_sub(1);
    // The kernel keeps the target's own name in the text even where `..` alone would do
    // (fs/kernfs/symlink.c), and readers take that name for the device's.
    let shared = above.min(to.len().saturating_sub(1));
    let same = from.iter().zip(&to).take(shared).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", above - same);
    up.chain(to.into_iter().skip(same)).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_relative_as_in_sysfs() {
        let cases = [
            (
                "/sys/block/sda",
                "/sys/devices/pci0000:00/block/sda",
                "../devices/pci0000:00/block/sda",
            ),
            (
                "/sys/devices/a/b/driver",
                "/sys/bus/pci/drivers/nvme",
                "../../../bus/pci/drivers/nvme",
            ),
            ("/sys/devices/a/nvme0n1/device", "/sys/devices/a", "../../a"),
        ];
        for (path, target, text) in cases {
            assert_eq!(relative(path, target), text);
        }
    }
}
