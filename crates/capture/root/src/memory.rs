// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tree in memory: what archives and synthetic machines become, and what tests write down.

use std::collections::BTreeMap;
use std::io::BufRead;

use machine::{Fact, Why};

use crate::{Question, Root, SMALL};

/// As many links as Linux follows in one path.
const MAX_LINKS: usize = 40;

/// A tree in memory.
#[derive(Debug, Clone)]
pub struct MemoryRoot {
    /// Entry 0 is the root folder; folders name their children by index.
    entries: Vec<Entry>,
    answers: BTreeMap<Question, Fact<String>>,
}

#[derive(Debug, Clone)]
enum Entry {
    File { bytes: Vec<u8>, mode: u32 },
    Folder(BTreeMap<Box<str>, usize>),
    Link(Box<str>),
    Refused(Why),
}

/// Whether a link at the end of a path is followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Follow,
    Keep,
}

impl Default for MemoryRoot {
    fn default() -> Self {
        Self { entries: vec![Entry::Folder(BTreeMap::new())], answers: BTreeMap::new() }
    }
}

impl MemoryRoot {
    /// An empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file, and the folders above it.
    pub fn file(&mut self, path: &str, content: impl Into<Vec<u8>>) -> &mut Self {
        self.file_with_mode(path, content, 0o644)
    }

    /// Adds a file with permission bits.
    pub fn file_with_mode(
        &mut self,
        path: &str,
        content: impl Into<Vec<u8>>,
        mode: u32,
    ) -> &mut Self {
        self.put(path, Entry::File { bytes: content.into(), mode })
    }

    /// Adds a symbolic link.
    pub fn symlink(&mut self, path: &str, target: &str) -> &mut Self {
        self.put(path, Entry::Link(target.into()))
    }

    /// Adds an empty folder; one that is there stays.
    pub fn folder(&mut self, path: &str) -> &mut Self {
        self.folder_index(path);
        self
    }

    /// Adds something that is there and answers with an error.
    pub fn refuse(&mut self, path: &str, why: Why) -> &mut Self {
        self.put(path, Entry::Refused(why))
    }

    /// Records the answer to a question.
    pub fn answer(&mut self, question: Question, answer: Fact<String>) -> &mut Self {
        self.answers.insert(question, answer);
        self
    }

    /// Puts an entry at a literal path: links in the path are not followed, and whatever stood in
    /// the way of a folder is replaced.
    fn put(&mut self, path: &str, entry: Entry) -> &mut Self {
        let path = path.trim_matches('/');
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        if !name.is_empty() {
            let parent = self.folder_index(parent);
            let index = self.child(parent, name);
            self.entries[index] = entry;
        }
        self
    }

    fn folder_index(&mut self, path: &str) -> usize {
        parts(path).fold(0, |folder, name| {
            let index = self.child(folder, name);
            if !matches!(self.entries[index], Entry::Folder(_)) {
                self.entries[index] = Entry::Folder(BTreeMap::new());
            }
            index
        })
    }

    /// The index of a child, made as a placeholder where it is missing.
    fn child(&mut self, folder: usize, name: &str) -> usize {
        let next = self.entries.len();
        let Entry::Folder(children) = &mut self.entries[folder] else { return folder };
        if let Some(index) = children.get(name) {
            return *index;
        }
        children.insert(name.into(), next);
        self.entries.push(Entry::Refused(Why::Absent));
        next
    }

    /// Walks a path as the kernel does: links are followed inside the tree, `..` stays below `/`.
    fn walk(&self, path: &str, last: Last) -> Fact<Vec<(Box<str>, usize)>> {
        let mut pending: Vec<Box<str>> = parts(path).rev().map(Box::from).collect();
        let mut done: Vec<(Box<str>, usize)> = Vec::new();
        let mut links = 0;
        while let Some(name) = pending.pop() {
            if &*name == ".." {
                done.pop();
                continue;
            }
            let here = done.last().map_or(0, |(_, index)| *index);
            let Entry::Folder(children) = &self.entries[here] else { return Err(Why::Absent) };
            let index = *children.get(&name).ok_or(Why::Absent)?;
            match &self.entries[index] {
                Entry::Link(target) if last == Last::Follow || !pending.is_empty() => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(Why::Failed("too many links".to_owned()));
                    }
                    if target.starts_with('/') {
                        done.clear();
                    }
                    pending.extend(parts(target).rev().map(Box::from));
                }
                _ => done.push((name, index)),
            }
        }
        Ok(done)
    }

    fn entry(&self, path: &str, last: Last) -> Fact<&Entry> {
        let index = self.walk(path, last)?.last().map_or(0, |(_, index)| *index);
        match &self.entries[index] {
            Entry::Refused(why) => Err(why.clone()),
            entry => Ok(entry),
        }
    }

    fn bytes(&self, path: &str) -> Fact<&[u8]> {
        match self.entry(path, Last::Follow)? {
            Entry::File { bytes, .. } => Ok(bytes),
            _ => Err(Why::Absent),
        }
    }
}

impl Root for MemoryRoot {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        self.bytes(path).map(|bytes| bytes[..bytes.len().min(SMALL)].to_vec())
    }

    fn stream(&self, path: &str) -> Fact<Box<dyn BufRead + '_>> {
        self.bytes(path).map(|bytes| Box::new(bytes) as Box<dyn BufRead>)
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        match self.entry(path, Last::Follow)? {
            Entry::Folder(children) => Ok(children.keys().map(ToString::to_string).collect()),
            _ => Err(Why::Absent),
        }
    }

    fn link(&self, path: &str) -> Fact<String> {
        match self.entry(path, Last::Keep)? {
            Entry::Link(target) => Ok(target.to_string()),
            _ => Err(Why::NotSupported),
        }
    }

    fn resolve(&self, path: &str) -> Fact<String> {
        let walked = self.walk(path, Last::Follow)?;
        let names: Vec<&str> = walked.iter().map(|(name, _)| &**name).collect();
        Ok(format!("/{}", names.join("/")))
    }

    fn mode(&self, path: &str) -> Fact<u32> {
        match self.entry(path, Last::Follow)? {
            Entry::File { mode, .. } => Ok(*mode),
            _ => Ok(0o755),
        }
    }

    fn ask(&self, question: &Question) -> Fact<String> {
        self.answers.get(question).cloned().unwrap_or(Err(Why::Absent))
    }
}

fn parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> MemoryRoot {
        let mut root = MemoryRoot::new();
        root.file("/sys/devices/pci0000:00/0000:00:02.0/class", "0x010802\n")
            .symlink(
                "/sys/bus/pci/devices/0000:00:02.0",
                "../../../devices/pci0000:00/0000:00:02.0",
            )
            .symlink("/sys/loop", "loop")
            .symlink("/sys/out", "../../../../sys/devices")
            .symlink("/sys/absolute", "/sys/devices/pci0000:00")
            .refuse("/sys/secret", Why::Denied);
        root
    }

    #[test]
    fn links_are_followed_inside_the_tree() {
        let root = tree();
        let read = |path| root.read(path).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(read("/sys/bus/pci/devices/0000:00:02.0/class").unwrap(), "0x010802\n");
        assert_eq!(read("/sys/absolute/0000:00:02.0/class").unwrap(), "0x010802\n");
        assert_eq!(root.list("/sys/out").unwrap(), ["pci0000:00"]);
        assert_eq!(
            root.resolve("/sys/bus/pci/devices/0000:00:02.0").unwrap(),
            "/sys/devices/pci0000:00/0000:00:02.0"
        );
    }

    #[test]
    fn what_is_wrong_is_told_apart() {
        let root = tree();
        assert_eq!(root.read("/sys/secret"), Err(Why::Denied));
        assert_eq!(root.read("/sys/none"), Err(Why::Absent));
        assert_eq!(root.read("/sys/loop"), Err(Why::Failed("too many links".to_owned())));
        assert_eq!(root.link("/sys/devices"), Err(Why::NotSupported));
        assert_eq!(root.link("/sys/loop").unwrap(), "loop");
    }
}
