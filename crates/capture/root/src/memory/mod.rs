// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tree in memory: what archives, captures and synthetic machines become, and what tests write.

mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use machine::{Fact, Why};

use crate::content::{Arena, Content};
use crate::family::Family;
use crate::{Question, Root, SMALL};

/// As many links as Linux follows in one path (`MAXSYMLINKS`, include/linux/namei.h).
const MAX_LINKS: usize = 40;

/// A tree in memory.
#[derive(Debug, Clone)]
pub struct MemoryRoot {
    /// Folders hold their children as they came: the number of the name, and the index.
    entries: Vec<Entry>,
    /// The entry that is `/`: not the first where an archive holds several machines.
    top: u32,
    family: Family,
    /// The literal path of the folder that was filled last, and its index: an archive brings the
    /// files of a folder one after another.
    last: Option<(String, u32)>,
    arena: Arena,
    answers: BTreeMap<Question, Fact<String>>,
    odd: BTreeMap<u32, Odd>,
    /// Folders that may be listed; none where all may. A capture holds the files that were asked
    /// for, and a listing of those alone would be a wrong number.
    listed: Option<BTreeSet<u32>>,
}

#[derive(Debug, Clone)]
enum Entry {
    File { content: Content, mode: u32 },
    Folder { children: Vec<(u32, u32)>, mode: u32 },
    Link(Arc<str>),
    Refused(Why),
}

/// What an entry answers instead of what the tree says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Odd {
    pub(crate) read: Option<Why>,
    /// A stream that fails after its content.
    pub(crate) broken: Option<Why>,
    pub(crate) list: Option<Fact<Vec<String>>>,
    pub(crate) link: Option<Why>,
    pub(crate) resolve: Option<Why>,
    /// Why `..` leads nowhere from here.
    pub(crate) climb: Option<Why>,
    pub(crate) mode: Option<Fact<u32>>,
}

/// What stands at a literal path, no link followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    Refused,
}

/// Whether a link at the end of a path is followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Follow,
    Keep,
}

impl Default for MemoryRoot {
    fn default() -> Self {
        Self {
            entries: vec![Entry::folder()],
            top: 0,
            family: Family::default(),
            last: None,
            arena: Arena::default(),
            answers: BTreeMap::new(),
            odd: BTreeMap::new(),
            listed: None,
        }
    }
}

impl Entry {
    fn folder() -> Self {
        Self::Folder { children: Vec::new(), mode: 0o755 }
    }
}

impl MemoryRoot {
    /// An empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file, and the folders above it.
    pub fn file(&mut self, path: &str, content: impl AsRef<[u8]>) -> &mut Self {
        self.file_with_mode(path, content, 0o644)
    }

    /// Adds a file with permission bits.
    pub fn file_with_mode(
        &mut self,
        path: &str,
        content: impl AsRef<[u8]>,
        mode: u32,
    ) -> &mut Self {
        let content = Content::new(content.as_ref(), &mut self.arena);
        self.put(path, Entry::File { content, mode })
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

    /// Where contents made outside go before [`Self::put_content`] takes them.
    pub(crate) fn arena(&mut self) -> &mut Arena {
        &mut self.arena
    }

    pub(crate) fn put_content(&mut self, path: &str, content: Content, mode: u32) {
        self.put(path, Entry::File { content, mode });
    }

    pub(crate) fn folder_with_mode(&mut self, path: &str, mode: u32) {
        let index = self.folder_index(path);
        if let Some(Entry::Folder { mode: old, .. }) = self.entries.get_mut(index as usize) {
            *old = mode;
        }
    }

    /// Bytes that contents and names occupy.
    pub(crate) fn kept(&self) -> u64 {
        self.arena.kept()
    }

    /// Makes `path` a second name of the file `of`; false where that is no file.
    pub(crate) fn hard_link(&mut self, path: &str, of: &str) -> bool {
        let Ok(Entry::File { content, mode }) = self.entry(of, Last::Keep) else { return false };
        let entry = Entry::File { content: content.clone(), mode: *mode };
        self.put(path, entry);
        true
    }

    /// What stands at a literal path.
    pub(crate) fn kind(&self, path: &str) -> Option<Kind> {
        let walk = || parts(path).try_fold(self.top, |folder, name| self.child(folder, name));
        let index = self.filled_last(path).or_else(walk)?;
        Some(match self.at(index) {
            Entry::File { .. } => Kind::File,
            Entry::Folder { .. } => Kind::Folder,
            Entry::Link(_) => Kind::Link,
            Entry::Refused(_) => Kind::Refused,
        })
    }

    /// Only folders told by [`Self::set_odd`] or [`Self::set_listed`] may be listed from now on.
    pub(crate) fn list_only_what_was_listed(&mut self) {
        self.listed.get_or_insert_default();
    }

    pub(crate) fn set_listed(&mut self, path: &str) {
        let index = self.folder_index(path);
        self.listed.get_or_insert_default().insert(index);
    }

    pub(crate) fn set_odd(&mut self, path: &str, odd: Odd) {
        let index = parts(path).try_fold(self.top, |folder, name| match self.at(folder) {
            Entry::Folder { .. } => Some(self.child_made(folder, name)),
            Entry::Refused(_) => {
                self.set(folder, Entry::folder());
                Some(self.child_made(folder, name))
            }
            // A header that contradicts its tree.
            _ => None,
        });
        if let Some(index) = index {
            self.odd.insert(index, odd);
        }
    }

    /// Makes a folder where nothing is.
    pub(crate) fn folder_if_nothing(&mut self, path: &str) {
        if matches!(self.kind(path), None | Some(Kind::Refused)) {
            self.folder(path);
        }
    }

    /// Takes an entry at the top away.
    pub(crate) fn remove(&mut self, name: &str) {
        self.last = None;
        let Some(index) = self.child(self.top, name) else { return };
        if let Some(Entry::Folder { children, .. }) = self.entries.get_mut(self.top as usize) {
            children.retain(|(_, child)| *child != index);
            let number = self.family.number(name);
            self.family.remove(self.top, number);
        }
    }

    /// The same tree seen from a folder below: that is `/` then.
    pub(crate) fn below(mut self, path: &str) -> Fact<Self> {
        self.top = self.index(path, Last::Keep)?;
        self.last = None;
        Ok(self)
    }

    /// Puts an entry at a literal path: links in the path are not followed, and whatever stood in
    /// the way of a folder is replaced.
    fn put(&mut self, path: &str, entry: Entry) -> &mut Self {
        let path = path.trim_matches('/');
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        if !matches!(name, "" | "." | "..") {
            let parent = self.folder_index(parent);
            let index = self.child_made(parent, name);
            self.set(index, entry);
        }
        self
    }

    fn folder_index(&mut self, path: &str) -> u32 {
        if let Some(known) = self.filled_last(path) {
            return known;
        }
        let index = parts(path).fold(self.top, |folder, name| {
            let index = self.child_made(folder, name);
            if !matches!(self.at(index), Entry::Folder { .. }) {
                self.set(index, Entry::folder());
            }
            index
        });
        self.last = Some((path.to_owned(), index));
        index
    }

    fn filled_last(&self, path: &str) -> Option<u32> {
        self.last.as_ref().filter(|(known, _)| known == path).map(|(_, index)| *index)
    }

    fn at(&self, index: u32) -> &Entry {
        &self.entries[index as usize]
    }

    fn set(&mut self, index: u32, entry: Entry) {
        let old = std::mem::replace(&mut self.entries[index as usize], entry);
        if let Entry::Folder { children, .. } = old {
            children.iter().for_each(|(name, _)| self.family.remove(index, *name));
            // It may be the folder that was filled last, or one above it.
            self.last = None;
        }
    }

    fn child(&self, folder: u32, name: &str) -> Option<u32> {
        self.family.child(folder, name)
    }

    /// The index of a child, made as a placeholder where it is missing.
    fn child_made(&mut self, folder: u32, name: &str) -> u32 {
        if let Some(index) = self.child(folder, name) {
            return index;
        }
        let next = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let Some(Entry::Folder { children, .. }) = self.entries.get_mut(folder as usize) else {
            return folder;
        };
        children.push((self.family.add(folder, name, next), next));
        self.entries.push(Entry::Refused(Why::Absent));
        next
    }

    /// Walks a path as the kernel does: links are followed inside the tree, `..` stays below `/`.
    fn walk<'a>(&'a self, path: &'a str, last: Last) -> Fact<Vec<(&'a str, u32)>> {
        let mut pending: Vec<&str> = parts(path).rev().collect();
        let mut done: Vec<(&str, u32)> = Vec::with_capacity(pending.len());
        let mut links = 0;
        while let Some(name) = pending.pop() {
            let here = done.last().map_or(self.top, |(_, index)| *index);
            if name == ".." {
                if let Some(why) = self.odd(here, |odd| odd.climb.as_ref()) {
                    return Err(why.clone());
                }
                match self.at(here) {
                    Entry::Folder { .. } => done.pop(),
                    Entry::Refused(why) => return Err(why.clone()),
                    _ => return Err(Why::Absent),
                };
                continue;
            }
            let index = self.step(here, name)?;
            let follows = last == Last::Follow || !pending.is_empty();
            if let (true, Some(why)) = (follows, self.odd(index, |odd| odd.resolve.as_ref())) {
                return Err(why.clone());
            }
            match self.at(index) {
                Entry::Link(target) if follows => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(Why::Failed("too many links".to_owned()));
                    }
                    if target.starts_with('/') {
                        done.clear();
                    }
                    pending.extend(parts(target).rev());
                }
                _ => done.push((name, index)),
            }
        }
        Ok(done)
    }

    fn step(&self, here: u32, name: &str) -> Fact<u32> {
        match self.at(here) {
            Entry::Folder { .. } => self.child(here, name).ok_or(Why::Absent),
            Entry::Refused(why) => Err(why.clone()),
            _ => Err(Why::Absent),
        }
    }

    /// Names of the children that are there, sorted.
    fn shown(&self, children: &[(u32, u32)]) -> Vec<String> {
        let is_there = |child: u32| !matches!(self.at(child), Entry::Refused(Why::Absent));
        let there = children.iter().filter(|(_, child)| is_there(*child));
        let mut names: Vec<String> =
            there.map(|(name, _)| self.family.name(*name).to_owned()).collect();
        names.sort_unstable();
        names
    }

    fn odd<T>(&self, index: u32, of: impl FnOnce(&Odd) -> Option<&T>) -> Option<&T> {
        self.odd.get(&index).and_then(of)
    }

    fn index(&self, path: &str, last: Last) -> Fact<u32> {
        Ok(self.walk(path, last)?.last().map_or(self.top, |(_, index)| *index))
    }

    fn entry(&self, path: &str, last: Last) -> Fact<&Entry> {
        match self.at(self.index(path, last)?) {
            Entry::Refused(why) => Err(why.clone()),
            entry => Ok(entry),
        }
    }

    fn content(&self, path: &str) -> Fact<(&Content, Option<Why>)> {
        let index = self.index(path, Last::Follow)?;
        if let Some(why) = self.odd(index, |odd| odd.read.as_ref()) {
            return Err(why.clone());
        }
        match self.at(index) {
            Entry::File { content, .. } => {
                Ok((content, self.odd(index, |odd| odd.broken.as_ref()).cloned()))
            }
            Entry::Refused(why) => Err(why.clone()),
            _ => Err(Why::Absent),
        }
    }
}

impl Root for MemoryRoot {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        let (content, broken) = self.content(path)?;
        match broken {
            Some(why) if content.bytes() < SMALL as u64 => Err(why),
            _ => content.head(&self.arena, SMALL).map_err(failed),
        }
    }

    fn stream(&self, path: &str) -> Fact<Box<dyn BufRead + '_>> {
        let (content, broken) = self.content(path)?;
        let reader = content.open(&self.arena).map_err(failed)?;
        Ok(match broken {
            Some(why) => Box::new(reader.chain(io::BufReader::new(Broken(why)))),
            None => reader,
        })
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        let index = self.index(path, Last::Follow)?;
        if let Some(said) = self.odd(index, |odd| odd.list.as_ref()) {
            return said.clone();
        }
        if self.listed.as_ref().is_some_and(|listed| !listed.contains(&index)) {
            return Err(Why::Absent);
        }
        match self.at(index) {
            Entry::Folder { children, .. } => Ok(self.shown(children)),
            Entry::Refused(why) => Err(why.clone()),
            _ => Err(Why::Absent),
        }
    }

    fn link(&self, path: &str) -> Fact<String> {
        let index = self.index(path, Last::Keep)?;
        if let Some(why) = self.odd(index, |odd| odd.link.as_ref()) {
            return Err(why.clone());
        }
        match self.at(index) {
            Entry::Link(target) => Ok(target.to_string()),
            Entry::Refused(why) => Err(why.clone()),
            _ => Err(Why::NotSupported),
        }
    }

    fn resolve(&self, path: &str) -> Fact<String> {
        let walked = self.walk(path, Last::Follow)?;
        if let Some(Entry::Refused(why @ Why::Absent)) =
            walked.last().map(|(_, index)| self.at(*index))
        {
            return Err(why.clone());
        }
        let names: Vec<&str> = walked.iter().map(|(name, _)| *name).collect();
        Ok(format!("/{}", names.join("/")))
    }

    fn mode(&self, path: &str) -> Fact<u32> {
        let index = self.index(path, Last::Follow)?;
        if let Some(said) = self.odd(index, |odd| odd.mode.as_ref()) {
            return said.clone();
        }
        match self.at(index) {
            Entry::File { mode, .. } | Entry::Folder { mode, .. } => Ok(*mode),
            Entry::Link(_) => Err(Why::Absent),
            Entry::Refused(why) => Err(why.clone()),
        }
    }

    fn ask(&self, question: &Question) -> Fact<String> {
        self.answers.get(question).cloned().unwrap_or(Err(Why::Absent))
    }
}

/// The end of a stream that failed when it was recorded.
pub(crate) struct Broken(pub(crate) Why);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other(self.0.to_string()))
    }
}

pub(crate) fn failed(error: io::Error) -> Why {
    Why::Failed(error.to_string())
}

pub(crate) fn parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
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
        assert_eq!(root.read("/sys/secret/below"), Err(Why::Denied));
        assert_eq!(root.read("/sys/none"), Err(Why::Absent));
        assert_eq!(root.read("/sys/loop"), Err(Why::Failed("too many links".to_owned())));
        assert_eq!(root.link("/sys/devices"), Err(Why::NotSupported));
        assert_eq!(root.link("/sys/loop").unwrap(), "loop");
    }

    #[test]
    fn a_folder_below_can_be_the_root() {
        let mut root = MemoryRoot::new();
        root.file("/a/sys/x", "1").file("/b/sys/x", "2").symlink("/b/sys/up", "../../../a/sys/x");
        let below = root.below("/b").unwrap();
        assert_eq!(below.read("/sys/x").unwrap(), b"2");
        assert_eq!(below.list("/").unwrap(), ["sys"]);
        assert_eq!(below.read("/sys/up"), Err(Why::Absent));
    }

    #[test]
    fn a_tree_is_made_as_files() {
        let folder = tempfile::tempdir().unwrap();
        tree().write_to(folder.path()).unwrap();
        let root = crate::DirRoot::open(folder.path()).unwrap();
        assert_eq!(root.read("/sys/bus/pci/devices/0000:00:02.0/class").unwrap(), b"0x010802\n");
        assert_eq!(root.link("/sys/loop").unwrap(), "loop");
    }
}
