// SPDX-License-Identifier: MIT OR Apache-2.0
//! A record becomes a capture file.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use machine::Why;

use super::pack::{Input, pack};
use super::{About, FORMAT, HEADER, Header, OddText};
use crate::Record;
use crate::recorder::{Said, Shape};
use crate::redact::Redactor;

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
        if let Some(redactor) = redactor.as_deref_mut() {
            redactor.learn(self);
        }
        pack(out, |input| self.write_tar(input, about, redactor))
    }

    fn write_tar(
        &self,
        input: Input,
        about: &About,
        redactor: Option<&mut Redactor>,
    ) -> io::Result<Written> {
        let (tar, written) = (tar::Builder::new(input), Written::default());
        let mut writer = Writer { record: self, tar, redactor, written };
        let header = writer.header(about)?;
        writer.file(HEADER, 0o644, header.len() as u64, &mut header.as_slice())?;
        writer.folder(0, "")?;
        writer.tar.into_inner()?.flush()?;
        Ok(writer.written)
    }
}

struct Writer<'a> {
    record: &'a Record,
    tar: tar::Builder<Input>,
    redactor: Option<&'a mut Redactor>,
    written: Written,
}

impl Writer<'_> {
    fn header(&mut self, about: &About) -> io::Result<Vec<u8>> {
        let redacted = about.redacted || self.redactor.is_some();
        let about = About { redacted, ..about.clone() };
        let mut header = Header { format: FORMAT.to_owned(), about, ..Header::default() };
        self.say(0, "", &mut header);
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
        match self.redactor.as_deref_mut() {
            None => name.to_owned(),
            Some(redactor) => redactor.name(name),
        }
    }

    /// Gathers what the tree cannot say, of a node and all below.
    fn say(&mut self, node: u32, path: &str, header: &mut Header) {
        let said = self.record.said(node);
        let shape = self.record.shape(node);
        let key = || if path.is_empty() { "/".to_owned() } else { path.to_owned() };
        if let Some(Ok(names)) = said.list.as_deref() {
            let names: Vec<String> = names.iter().map(|name| self.name(name)).collect();
            let same = shape == Shape::Folder && names == self.shown(node);
            header.lists.insert(key(), (!same).then_some(names));
        }
        let odd = odd(said, shape);
        if odd != OddText::default() {
            header.odd.insert(key(), odd);
        }
        for (name, child) in self.sorted(node) {
            self.say(child, &format!("{path}/{name}"), header);
        }
    }

    /// Children by the names they get, in their order.
    fn sorted(&mut self, node: u32) -> Vec<(String, u32)> {
        let record = self.record;
        let mut children: Vec<_> =
            record.children(node).map(|(name, child)| (self.name(name), child)).collect();
        children.sort();
        children
    }

    /// Names that a folder of the tree will have.
    fn shown(&mut self, node: u32) -> Vec<String> {
        let children = self.sorted(node);
        let shown = |&(_, child): &(String, u32)| self.record.shape(child) != Shape::Nothing;
        children.into_iter().filter(shown).map(|(name, _)| name).collect()
    }

    fn folder(&mut self, node: u32, path: &str) -> io::Result<()> {
        for (name, child) in self.sorted(node) {
            let path = if path.is_empty() { name } else { format!("{path}/{name}") };
            let said = self.record.said(child);
            let mode = said.mode.as_deref().and_then(|mode| mode.as_ref().ok()).copied();
            match self.record.shape(child) {
                Shape::Nothing => {}
                Shape::Link => self.link(&path, said)?,
                Shape::File => self.content(child, &path, mode.unwrap_or(0o644))?,
                Shape::Folder => {
                    let mut header = entry(tar::EntryType::Directory, mode.unwrap_or(0o755));
                    self.tar.append_data(&mut header, &path, io::empty())?;
                    self.written.entries += 1;
                    self.folder(child, &path)?;
                }
            }
        }
        Ok(())
    }

    fn link(&mut self, path: &str, said: &Said) -> io::Result<()> {
        let Some(Ok(target)) = said.link.as_deref() else { return Ok(()) };
        let parts: Vec<String> = target.split('/').map(|part| self.name(part)).collect();
        let mut header = entry(tar::EntryType::Symlink, 0o777);
        self.written.entries += 1;
        self.tar.append_link(&mut header, path, parts.join("/"))
    }

    fn content(&mut self, node: u32, path: &str, mode: u32) -> io::Result<()> {
        let Some(Ok(kept)) = self.record.said(node).file.as_deref() else { return Ok(()) };
        let size = kept.content.bytes();
        let reader = kept.content.open(self.record.arena())?;
        match self.redactor.take() {
            None => self.file(path, mode, size, &mut { reader }),
            Some(redactor) => {
                let place = self.record.path(node);
                let done = {
                    let mut reader = redactor.reader(&place, size, reader)?;
                    self.file(path, mode, size, &mut reader)
                };
                self.redactor = Some(redactor);
                done
            }
        }
    }

    fn file(&mut self, path: &str, mode: u32, size: u64, from: &mut dyn Read) -> io::Result<()> {
        let mut header = entry(tar::EntryType::Regular, mode & 0o7777);
        header.set_size(size);
        self.written.entries += 1;
        self.written.bytes += size;
        self.tar.append_data(&mut header, path, from)
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

/// Nothing in an entry depends on when or by whom it was made.
fn entry(kind: tar::EntryType, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode & 0o7777);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    header
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
