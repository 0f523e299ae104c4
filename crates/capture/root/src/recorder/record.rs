// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answers that a recorder kept, by where things really are.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use foldhash::HashMap;
use machine::{Fact, Why};

use super::split;
use crate::content::{Arena, Content, Packer};
use crate::family::Family;
use crate::memory::{Broken, failed, parts};
use crate::{Question, SMALL};

/// The answers that a [`crate::Recorder`] kept.
#[derive(Debug)]
pub struct Record {
    nodes: Vec<Node>,
    family: Family,
    arena: Arena,
    /// What `resolve` said of a path, by the path as it was asked.
    places: HashMap<Box<str>, Fact<u32>>,
    answers: BTreeMap<Question, Fact<String>>,
}

/// Something at a path without links.
#[derive(Debug)]
struct Node {
    parent: u32,
    /// The number of its name.
    name: u32,
    /// In the order in which they were asked for.
    children: Vec<u32>,
    said: Said,
}

/// What was said of it; nothing where it was not asked.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) file: Option<Box<Fact<Kept>>>,
    pub(crate) list: Option<Box<Fact<Vec<Arc<str>>>>>,
    pub(crate) link: Option<Box<Fact<Arc<str>>>>,
    pub(crate) mode: Option<Box<Fact<u32>>>,
    /// Why a path that ends here led nowhere.
    pub(crate) refusal: Option<Box<Why>>,
    /// Why `..` led nowhere from here.
    pub(crate) climb: Option<Box<Why>>,
    /// Whether `resolve` found it.
    pub(crate) is_there: bool,
}

/// A file's content as far as it was read.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) content: Content,
    /// Whether it ends there: what `read` cut does not.
    pub(crate) whole: bool,
    /// Why a stream ended before its end.
    pub(crate) broken: Option<Why>,
}

/// What a node is in the tree of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    File,
    Folder,
    Link,
    Nothing,
}

impl Said {
    /// What a node is, by all that was said of it and of what is below.
    fn shape(&self, holds_any: impl FnOnce() -> bool) -> Shape {
        if self.is_link() {
            Shape::Link
        } else if matches!(self.file.as_deref(), Some(Ok(_))) {
            Shape::File
        } else if self.is_there || matches!(self.list.as_deref(), Some(Ok(_))) || holds_any() {
            Shape::Folder
        } else {
            Shape::Nothing
        }
    }

    fn is_link(&self) -> bool {
        matches!(self.link.as_deref(), Some(Ok(_)))
    }
}

/// The tree of a record.
#[derive(Debug)]
pub(crate) struct Tree {
    children: Vec<Vec<u32>>,
    shapes: Vec<Shape>,
}

impl Tree {
    /// What is in a folder, sorted by name.
    pub(crate) fn children(&self, node: u32) -> &[u32] {
        self.children.get(node as usize).map_or(&[], Vec::as_slice)
    }

    /// Sorts what is in each folder by what stands for the number of a name.
    pub(crate) fn sort_by_name<'a>(&mut self, record: &Record, shown: impl Fn(u32) -> &'a str) {
        for children in &mut self.children {
            children.sort_by_key(|&child| shown(record.name(child)));
        }
    }

    pub(crate) fn shape(&self, node: u32) -> Shape {
        self.shapes.get(node as usize).copied().unwrap_or(Shape::Nothing)
    }
}

impl Default for Record {
    fn default() -> Self {
        let said = Said { is_there: true, ..Said::default() };
        let mut family = Family::default();
        let name = family.number("");
        Self {
            nodes: vec![Node { parent: 0, name, children: Vec::new(), said }],
            family,
            arena: Arena::default(),
            places: HashMap::default(),
            answers: BTreeMap::new(),
        }
    }
}

impl Record {
    /// How many files, folders and links were asked for.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing was asked.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() <= 1 && self.answers.is_empty()
    }

    /// Answers to questions that are no files.
    pub(crate) fn answers(&self) -> &BTreeMap<Question, Fact<String>> {
        &self.answers
    }

    pub(crate) fn said(&self, node: u32) -> &Said {
        &self.nodes[node as usize].said
    }

    pub(crate) fn arena(&self) -> &Arena {
        &self.arena
    }

    /// The number of a node's name, the same for the same name.
    pub(crate) fn name(&self, node: u32) -> u32 {
        self.nodes[node as usize].name
    }

    pub(crate) fn family(&self) -> &Family {
        &self.family
    }

    /// The tree that was recorded, as it is now.
    pub(crate) fn tree(&self) -> Tree {
        let sorted = |node: &Node| {
            let mut children = node.children.clone();
            children.sort_unstable_by_key(|&child| self.family.name(self.name(child)));
            children
        };
        let children: Vec<Vec<u32>> = self.nodes.iter().map(sorted).collect();
        let mut shapes = vec![Shape::Nothing; self.nodes.len()];
        // A child comes after its folder.
        for (node, own) in self.nodes.iter().enumerate().rev() {
            let holds = |child: &u32| shapes[*child as usize] != Shape::Nothing;
            shapes[node] = own.said.shape(|| own.children.iter().any(holds));
        }
        Tree { children, shapes }
    }

    /// What a path names, where its folder's place is known and no link stands there.
    pub(super) fn target(&mut self, path: &str) -> Option<Fact<u32>> {
        let (above, name) = split(path)?;
        let spot = match self.places.get(above)? {
            Ok(above) => self.child(*above, name),
            Err(why) => return Some(Err(why.clone())),
        };
        (!self.is_link(spot)).then_some(Ok(spot))
    }

    pub(super) fn place(&self, path: &str) -> Option<Fact<u32>> {
        self.places.get(path).cloned()
    }

    /// A path with its folder's own path in place of how it was asked, where that is known.
    pub(super) fn shortened(&self, path: &str) -> Option<String> {
        let (above, name) = split(path)?;
        let above = *self.places.get(above)?.as_ref().ok()?;
        Some(format!("{}/{name}", self.path(above).trim_end_matches('/')))
    }

    pub(super) fn keep_place(&mut self, path: &str, place: Fact<u32>) -> Fact<u32> {
        if let Ok(node) = place {
            self.said_mut(node).is_there = true;
        }
        self.places.entry(path.into()).or_insert(place).clone()
    }

    /// The node at a path that has no links.
    pub(super) fn node(&mut self, path: &str) -> u32 {
        parts(path).fold(0, |node, name| self.child(node, name))
    }

    pub(super) fn child(&mut self, node: u32, name: &str) -> u32 {
        if let Some(child) = self.family.child(node, name) {
            return child;
        }
        let child = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let name = self.family.add(node, name, child);
        self.nodes[node as usize].children.push(child);
        let said = Said::default();
        self.nodes.push(Node { parent: node, name, children: Vec::new(), said });
        child
    }

    /// The path of a node.
    pub(crate) fn path(&self, mut node: u32) -> String {
        let mut names = Vec::new();
        while node != 0 {
            let at = &self.nodes[node as usize];
            names.push(self.family.name(at.name));
            node = at.parent;
        }
        names.reverse();
        format!("/{}", names.join("/"))
    }

    fn said_mut(&mut self, node: u32) -> &mut Said {
        &mut self.nodes[node as usize].said
    }

    pub(super) fn is_link(&self, node: u32) -> bool {
        self.said(node).is_link()
    }

    /// The first `most` bytes of a file, where they are known.
    pub(super) fn file_head(&self, node: u32, most: usize) -> Option<Fact<Vec<u8>>> {
        Some(match self.said(node).file.as_deref()? {
            Err(why) => Err(why.clone()),
            Ok(Kept { content, broken: Some(why), .. }) if content.bytes() < most as u64 => {
                Err(why.clone())
            }
            Ok(Kept { content, whole: false, .. }) if content.bytes() < most as u64 => return None,
            Ok(kept) => kept.content.head(&self.arena, most).map_err(failed),
        })
    }

    /// What `read_with_mode` answers, where both are known.
    pub(super) fn file_with_mode(&self, node: u32) -> Option<(Fact<Vec<u8>>, Fact<u32>)> {
        Some((self.file_head(node, SMALL)?, self.mode(node)?))
    }

    /// What `stream` answers, where it is known to the end.
    pub(super) fn file_whole(&self, node: u32) -> Option<Fact<Box<dyn BufRead + 'static>>> {
        let kept = match self.said(node).file.as_deref()? {
            Err(why) => return Some(Err(why.clone())),
            Ok(kept) if !kept.whole => return None,
            Ok(kept) => kept,
        };
        let reader = kept.content.open_owned(&self.arena).map_err(failed);
        Some(reader.map(|reader| match &kept.broken {
            None => reader,
            Some(why) => Box::new(reader.chain(io::BufReader::new(Broken(why.clone())))) as _,
        }))
    }

    /// Keeps the first `most` bytes of a file, unless as many are known, and gives what is kept.
    pub(super) fn keep_file(
        &mut self,
        node: u32,
        bytes: Fact<Vec<u8>>,
        most: usize,
    ) -> Fact<Vec<u8>> {
        if let Some(said) = self.file_head(node, most) {
            return said;
        }
        let arena = &mut self.arena;
        let kept = bytes.as_ref().map_err(Why::clone).map(|bytes| Kept {
            content: Content::new(bytes, arena),
            whole: bytes.len() < most,
            broken: None,
        });
        self.said_mut(node).file = Some(Box::new(kept));
        bytes
    }

    /// Keeps what a stream gave, unless the whole is known.
    pub(super) fn keep_stream(&mut self, node: u32, packer: Packer, broken: Option<Why>) {
        let known = self.said(node).file.as_deref();
        if matches!(known, Some(Ok(kept)) if kept.whole) {
            return;
        }
        if let Ok(content) = packer.finish(&mut self.arena) {
            let kept = Kept { content, whole: true, broken };
            self.said_mut(node).file = Some(Box::new(Ok(kept)));
        }
    }

    /// Moves what was kept of a file from a link to what the link leads to.
    pub(super) fn move_file(&mut self, from: u32, to: Option<u32>) {
        let (file, mode) = {
            let said = self.said_mut(from);
            (said.file.take(), said.mode.take())
        };
        let Some(to) = to.filter(|&to| to != from) else { return };
        let said = self.said_mut(to);
        said.file = said.file.take().or(file);
        said.mode = said.mode.take().or(mode);
    }

    pub(super) fn list(&self, node: u32) -> Option<Fact<Vec<String>>> {
        let names = self.said(node).list.as_deref()?;
        let text = |names: &Vec<Arc<str>>| names.iter().map(ToString::to_string).collect();
        Some(names.as_ref().map(text).map_err(Why::clone))
    }

    pub(super) fn keep_list(&mut self, node: u32, names: Fact<Vec<String>>) -> Fact<Vec<String>> {
        if let Some(said) = self.list(node) {
            return said;
        }
        let kept = names
            .as_ref()
            .map_err(Why::clone)
            .map(|names| names.iter().map(|name| self.family.shared(name)).collect());
        self.said_mut(node).list = Some(Box::new(kept));
        names
    }

    pub(super) fn link(&self, node: u32) -> Option<Fact<String>> {
        let target = self.said(node).link.as_deref()?;
        Some(target.as_ref().map(ToString::to_string).map_err(Why::clone))
    }

    pub(super) fn keep_link(&mut self, node: u32, target: Fact<Arc<str>>) -> Fact<String> {
        let said = self.said_mut(node);
        let kept = said.link.get_or_insert_with(|| Box::new(target));
        kept.as_ref().as_ref().map(ToString::to_string).map_err(Why::clone)
    }

    /// Keeps why a path that ends here, and that is no link, led nowhere.
    pub(super) fn keep_refusal(&mut self, node: u32, why: Option<&Why>) {
        if let Some(why) = why.filter(|why| **why != Why::Absent) {
            self.said_mut(node).refusal.get_or_insert_with(|| Box::new(why.clone()));
        }
    }

    /// Keeps why `..` led nowhere from here.
    pub(super) fn keep_climb(&mut self, node: u32, why: &Why) {
        self.said_mut(node).climb.get_or_insert_with(|| Box::new(why.clone()));
    }

    pub(super) fn mode(&self, node: u32) -> Option<Fact<u32>> {
        self.said(node).mode.as_deref().cloned()
    }

    pub(super) fn keep_mode(&mut self, node: u32, mode: Fact<u32>) -> Fact<u32> {
        (**self.said_mut(node).mode.get_or_insert_with(|| Box::new(mode))).clone()
    }

    pub(super) fn answer(&self, question: &Question) -> Option<Fact<String>> {
        self.answers.get(question).cloned()
    }

    pub(super) fn keep_answer(&mut self, of: &Question, answer: Fact<String>) -> Fact<String> {
        self.answers.entry(of.clone()).or_insert(answer).clone()
    }
}
