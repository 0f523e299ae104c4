// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entries of a capture's tar, written one after another.
//!
//! The `tar` crate makes headers. It would make each anew and copy each content through a buffer
//! of its own; a capture is a hundred thousand entries that differ in little.

use std::io::{self, Read, Write};

use tar::{Builder, EntryType, Header};

use super::pack::Input;

/// A block of a tar (POSIX pax, ustar); contents are padded to whole ones.
const BLOCK: usize = 512;

/// What writes entries.
pub(super) struct Entries {
    tar: Builder<Input>,
    file: Header,
    folder: Header,
    link: Header,
}

impl Entries {
    pub(super) fn new(out: Input) -> Self {
        let (file, folder) = (template(EntryType::Regular), template(EntryType::Directory));
        Self { tar: Builder::new(out), file, folder, link: template(EntryType::Symlink) }
    }

    pub(super) fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        let mut header = self.file.clone();
        header.set_mode(mode & 0o7777);
        header.set_size(content.len() as u64);
        self.put(header, path, content)
    }

    /// A file of `size` bytes that is not in memory.
    pub(super) fn stream(
        &mut self,
        path: &str,
        mode: u32,
        size: u64,
        content: impl Read,
    ) -> io::Result<()> {
        let mut header = self.file.clone();
        header.set_mode(mode & 0o7777);
        header.set_size(size);
        self.tar.append_data(&mut header, path, content)
    }

    pub(super) fn folder(&mut self, path: &str, mode: u32) -> io::Result<()> {
        let mut header = self.folder.clone();
        header.set_mode(mode & 0o7777);
        self.put(header, path, &[])
    }

    pub(super) fn link(&mut self, path: &str, target: &str) -> io::Result<()> {
        self.tar.append_link(&mut self.link.clone(), path, target)
    }

    pub(super) fn finish(self) -> io::Result<()> {
        self.tar.into_inner()?.flush()
    }

    fn put(&mut self, mut header: Header, path: &str, content: &[u8]) -> io::Result<()> {
        let name = header.as_old_mut().name.get_mut(..path.len());
        let Some(name) = name else {
            // A longer one needs an entry of its own before it.
            return self.tar.append_data(&mut header, path, content);
        };
        name.copy_from_slice(path.as_bytes());
        header.set_cksum();
        let padding = content.len().next_multiple_of(BLOCK) - content.len();
        let out = self.tar.get_mut();
        out.write_all(header.as_bytes())?;
        out.write_all(content)?;
        out.write_all([0; BLOCK].get(..padding).unwrap_or_default())
    }
}

/// Nothing in an entry depends on when or by whom it was made.
fn template(kind: EntryType) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o777);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    header
}

#[cfg(test)]
mod tests {
    use super::super::pack::pack;
    use super::*;

    #[test]
    fn other_readers_of_tar_find_every_entry() {
        let long = format!("sys/{}/x", "0123456789/".repeat(20).trim_end_matches('/'));
        let edge = "e".repeat(100);
        let whole = vec![7; 3 * BLOCK];
        let mut packed = Vec::new();
        pack(&mut packed, |input| {
            let mut entries = Entries::new(input);
            entries.folder("sys", 0o750)?;
            entries.file(&long, 0o444, b"a")?;
            entries.file(&edge, 0o600, b"")?;
            entries.file("whole", 0o644, &whole)?;
            entries.stream("stream", 0o644, 3, &b"abc"[..])?;
            entries.link("link", "../sys")?;
            entries.finish()
        })
        .unwrap();
        let tar = zstd::decode_all(packed.as_slice()).unwrap();
        let mut seen = Vec::new();
        for entry in tar::Archive::new(tar.as_slice()).entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            let mode = entry.header().mode().unwrap();
            seen.push((entry.path().unwrap().display().to_string(), mode, content));
        }
        let expected = [
            ("sys".to_owned(), 0o750, Vec::new()),
            (long, 0o444, b"a".to_vec()),
            (edge, 0o600, Vec::new()),
            ("whole".to_owned(), 0o644, whole),
            ("stream".to_owned(), 0o644, b"abc".to_vec()),
            ("link".to_owned(), 0o777, Vec::new()),
        ];
        assert_eq!(seen, expected);
    }
}
