// SPDX-License-Identifier: MIT OR Apache-2.0
//! A record becomes a capture file.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use machine::Why;

use super::entries::Entries;
use super::names::Names;
use super::pack::pack;
use super::{About, FORMAT, HEADER, Header, OddText};
use crate::Record;
use crate::recorder::{Said, Shape, Tree};
use crate::redact::{Redactor, WHOLE};

/// Whether a file that is there may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// Refuse.
    Never,
    /// Replace it, whole or not at all.
    Replace,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Files, folders and links.
    pub entries: u64,
    /// Bytes of the files before packing.
    pub bytes: u64,
}

impl Record {
    /// Writes a capture beside `path` and moves it there once it is complete. Only its owner may
    /// read it.
    ///
    /// # Errors
    /// The file is there and may not be replaced, or the file system refuses. Nothing but a plain
    /// file is ever replaced: a move over `/dev/null` would take it from everybody.
    pub fn save(
        &self,
        path: &Path,
        about: &About,
        redactor: Option<&mut Redactor>,
        overwrite: Overwrite,
    ) -> io::Result<Written> {
        may_write(path, overwrite)?;
        let mut draft = Draft::new(path)?;
        let written = self.write(BufWriter::new(&mut draft.file), about, redactor)?;
        draft.publish(path, overwrite)?;
        Ok(written)
    }

    /// Writes a capture.
    ///
    /// # Errors
    /// The writer refuses.
    pub fn write(
        &self,
        out: impl Write + Send,
        about: &About,
        mut redactor: Option<&mut Redactor>,
    ) -> io::Result<Written> {
        let mut tree = self.tree();
        if let Some(redactor) = redactor.as_deref_mut() {
            redactor.learn(self, &tree);
        }
        let names = Names::new(self, redactor.as_deref_mut());
        tree.sort_by_name(self, |number| names.shown(number));
        pack(out, |input| {
            let entries = Entries::new(input);
            let written = Written::default();
            let (own, bytes) = (String::new(), Vec::new());
            Writer { record: self, tree, names, entries, redactor, written, own, bytes }.all(about)
        })
    }
}

struct Writer<'a> {
    record: &'a Record,
    tree: Tree,
    names: Names<'a>,
    entries: Entries,
    redactor: Option<&'a mut Redactor>,
    written: Written,
    /// The machine's own path of what is being written.
    own: String,
    /// The content that is being written.
    bytes: Vec<u8>,
}

impl Writer<'_> {
    fn all(mut self, about: &About) -> io::Result<Written> {
        let header = self.header(about)?;
        self.count(header.len() as u64);
        self.entries.file(HEADER, 0o644, &header)?;
        self.folder(0, &mut String::new())?;
        self.entries.finish()?;
        Ok(self.written)
    }

    fn header(&mut self, about: &About) -> io::Result<Vec<u8>> {
        let redacted = about.redacted || self.redactor.is_some();
        let about = About { redacted, ..about.clone() };
        let mut header = Header { format: FORMAT.to_owned(), about, ..Header::default() };
        self.say(0, &mut String::new(), &mut header);
        for (question, answer) in self.record.answers() {
            let mut pair = (question.clone(), answer.clone());
            if let Some(redactor) = self.redactor.as_deref_mut() {
                redactor.answer(&mut pair);
            }
            header.answers.push(serde_json::to_value(pair)?);
        }
        Ok(serde_json::to_vec(&header)?)
    }

    fn name(&mut self, name: &str) -> String {
        self.names.of(name, self.redactor.as_deref_mut())
    }

    /// Gathers what the tree cannot say, of a node and all below.
    fn say(&mut self, node: u32, path: &mut String, header: &mut Header) {
        let said = self.record.said(node);
        let shape = self.tree.shape(node);
        let key = || if path.is_empty() { "/".to_owned() } else { path.clone() };
        if let Some(Ok(names)) = said.list.as_deref() {
            let names: Vec<String> = names.iter().map(|name| self.name(name)).collect();
            let same = shape == Shape::Folder && self.shown(node).eq(names.iter());
            header.lists.insert(key(), (!same).then_some(names));
        }
        let odd = odd(said, shape);
        if odd != OddText::default() {
            header.odd.insert(key(), odd);
        }
        let end = path.len();
        for at in 0.. {
            let Some(child) = self.tree.children(node).get(at).copied() else { break };
            path.push('/');
            path.push_str(self.names.shown(self.record.name(child)));
            self.say(child, path, header);
            path.truncate(end);
        }
    }

    /// Names that a folder of the tree will have.
    fn shown(&self, node: u32) -> impl Iterator<Item = &str> {
        let children = self.tree.children(node).iter();
        let shown = children.filter(|&&child| self.tree.shape(child) != Shape::Nothing);
        shown.map(|&child| self.names.shown(self.record.name(child)))
    }

    fn folder(&mut self, node: u32, path: &mut String) -> io::Result<()> {
        let (end, own_end) = (path.len(), self.own.len());
        for at in 0.. {
            let Some(child) = self.tree.children(node).get(at).copied() else { break };
            let name = self.record.name(child);
            if end > 0 {
                path.push('/');
            }
            path.push_str(self.names.shown(name));
            self.own.push('/');
            self.own.push_str(self.record.family().name(name));
            self.node(child, path)?;
            path.truncate(end);
            self.own.truncate(own_end);
        }
        Ok(())
    }

    fn node(&mut self, node: u32, path: &mut String) -> io::Result<()> {
        let said = self.record.said(node);
        let mode = said.mode.as_deref().and_then(|mode| mode.as_ref().ok()).copied();
        match self.tree.shape(node) {
            Shape::Nothing => Ok(()),
            Shape::Link => self.link(path, said),
            Shape::File => self.content(said, path, mode.unwrap_or(0o644)),
            Shape::Folder => {
                self.count(0);
                self.entries.folder(path, mode.unwrap_or(0o755))?;
                self.folder(node, path)
            }
        }
    }

    fn link(&mut self, path: &str, said: &Said) -> io::Result<()> {
        let Some(Ok(target)) = said.link.as_deref() else { return Ok(()) };
        let parts: Vec<String> = target.split('/').map(|part| self.name(part)).collect();
        self.count(0);
        self.entries.link(path, &parts.join("/"))
    }

    fn content(&mut self, said: &Said, path: &str, mode: u32) -> io::Result<()> {
        let Some(Ok(kept)) = said.file.as_deref() else { return Ok(()) };
        let size = kept.content.bytes();
        self.count(size);
        let mut reader = kept.content.open(self.record.arena())?;
        match self.redactor.as_deref_mut() {
            None => self.entries.stream(path, mode, size, reader),
            Some(redactor) if size > WHOLE => {
                let pieces = redactor.pieces(&self.own, reader);
                self.entries.stream(path, mode, size, pieces)
            }
            Some(redactor) => {
                self.bytes.clear();
                reader.read_to_end(&mut self.bytes)?;
                redactor.content(&self.own, &mut self.bytes);
                self.entries.file(path, mode, &self.bytes)
            }
        }
    }

    fn count(&mut self, bytes: u64) {
        self.written.entries += 1;
        self.written.bytes += bytes;
    }
}

fn may_write(path: &Path, overwrite: Overwrite) -> io::Result<()> {
    match (path.symlink_metadata(), overwrite) {
        (Err(_), _) => Ok(()),
        (Ok(_), Overwrite::Never) => Err(io::ErrorKind::AlreadyExists.into()),
        (Ok(there), Overwrite::Replace) if there.is_file() => Ok(()),
        // A link is none either: /dev/stdout is one.
        (Ok(_), Overwrite::Replace) => Err(io::Error::other("it is no plain file")),
    }
}

/// What a node answers otherwise than its entry in the tree does.
fn odd(said: &Said, shape: Shape) -> OddText {
    let unless_absent = |why: &Why| (*why != Why::Absent).then(|| why.clone());
    let file = said.file.as_deref();
    let mode = said.mode.as_deref();
    let shows_mode = matches!(shape, Shape::File | Shape::Folder);
    OddText {
        read: file.and_then(|file| file.as_ref().err()).and_then(unless_absent),
        broken: file.and_then(|file| file.as_ref().ok()).and_then(|kept| kept.broken.clone()),
        list: said.list.as_deref().and_then(|list| list.as_ref().err()).and_then(unless_absent),
        link: match said.link.as_deref() {
            Some(Err(Why::NotSupported)) if shows_mode => None,
            Some(Err(why)) => unless_absent(why),
            _ => None,
        },
        resolve: said.refusal.as_deref().cloned(),
        climb: said.climb.as_deref().cloned(),
        mode: match mode {
            Some(Ok(_)) if shows_mode => None,
            Some(Err(Why::Absent)) if !shows_mode => None,
            other => other.cloned(),
        },
    }
}

/// A file that is being written beside its place, and gone unless it is published.
struct Draft {
    file: File,
    path: PathBuf,
    is_published: bool,
}

impl Draft {
    fn new(beside: &Path) -> io::Result<Self> {
        let name = beside.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let name = format!(".{}.{}.part", name.to_string_lossy(), std::process::id());
        let path = beside.with_file_name(name);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self { file, path, is_published: false })
    }

    fn publish(mut self, at: &Path, overwrite: Overwrite) -> io::Result<()> {
        self.file.sync_all()?;
        match overwrite {
            Overwrite::Replace => std::fs::rename(&self.path, at)?,
            // A second name fails where the first exists; a rename would not.
            Overwrite::Never => match std::fs::hard_link(&self.path, at) {
                Ok(()) => std::fs::remove_file(&self.path)?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                // File systems without hard links; whether it exists was looked at before.
                Err(_) => std::fs::rename(&self.path, at)?,
            },
        }
        self.is_published = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_published {
            // Nothing to be done about a draft that cannot be removed.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
