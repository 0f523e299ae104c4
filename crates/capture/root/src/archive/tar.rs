// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entries of a tar, one after another.
//!
//! The `tar` crate decodes a header's fields. The walk from header to header is here, because that
//! crate takes the end of input for the end of the archive, and extended headers of any size.

use std::io::{self, Read};

use ::tar::{EntryType, Header, PaxExtensions};

use super::codec::{Stop, Unpacking};
use super::error::{ArchiveError, Fault, Place};
use super::{Limits, Unpacked};
use crate::MemoryRoot;
use crate::capture::HEADER;
use crate::content::Packer;
use crate::memory::{Kind, parts};

const BLOCK: usize = 512;

/// Whether a block is a tar header: its checksum tells.
pub(super) fn is_header(block: &[u8]) -> bool {
    let Ok(block) = <&[u8; BLOCK]>::try_from(block) else { return false };
    let said = Header::from_byte_slice(block).cksum().ok();
    checksum(block).is_some_and(|sum| Some(sum) == said)
}

/// The sum of all bytes, those of the checksum itself taken as blanks (POSIX pax, ustar). An empty
/// block has none.
fn checksum(block: &[u8; BLOCK]) -> Option<u32> {
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u32::from(byte)).sum::<u32>();
    let whole = sum(block);
    (whole != 0).then(|| whole - sum(&block[148..156]) + 8 * u32::from(b' '))
}

/// Reads all entries.
pub(super) fn read(input: Unpacking<'_>, limits: &Limits) -> Result<Unpacked, ArchiveError> {
    let mut walk = Walk {
        input,
        limits,
        root: MemoryRoot::new(),
        place: Place::default(),
        skipped: 0,
        extra: Extra::default(),
        is_capture: false,
    };
    while let Some(block) = walk.header()? {
        walk.entry(&block)?;
    }
    walk.drain()?;
    let (entries, bytes) = (walk.place.entries, walk.input.unpacked());
    Ok(Unpacked { root: walk.root, entries, bytes, skipped: walk.skipped })
}

struct Walk<'a> {
    input: Unpacking<'a>,
    limits: &'a Limits,
    root: MemoryRoot,
    place: Place,
    skipped: u64,
    extra: Extra,
    /// A capture holds the links that the readers asked for, those of a spoilt tree as well.
    is_capture: bool,
}

/// What extended headers say of the entry that follows them.
#[derive(Default)]
struct Extra {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    sparse: bool,
}

impl Walk<'_> {
    /// The next header; none at the end of the archive, which is a block of zeros.
    fn header(&mut self) -> Result<Option<[u8; BLOCK]>, ArchiveError> {
        let mut block = [0; BLOCK];
        self.fill(&mut block)?;
        if block.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        if !is_header(&block) {
            let source = io::Error::other("a tar header's checksum is wrong");
            return Err(ArchiveError::Damaged { place: self.here(), source });
        }
        Ok(Some(block))
    }

    fn entry(&mut self, block: &[u8; BLOCK]) -> Result<(), ArchiveError> {
        let header = Header::from_byte_slice(block);
        let extra_type = matches!(header.entry_type().as_byte(), b'x' | b'g' | b'L' | b'K');
        let name = match (&self.extra.path, extra_type) {
            (Some(path), false) => path.clone(),
            _ => header.path_bytes().into_owned(),
        };
        let shown: String = String::from_utf8_lossy(&name).chars().take(200).collect();
        self.place.last = Some(shown);
        self.place.entries += 1;
        if self.place.entries > self.limits.entries {
            return Err(ArchiveError::TooMany { limit: self.limits.entries, place: self.here() });
        }
        let size = header
            .entry_size()
            .map_err(|source| ArchiveError::Damaged { place: self.here(), source })?;
        if extra_type {
            return self.extra(header, size);
        }
        let extra = std::mem::take(&mut self.extra);
        self.named(header, &name, size, &extra)
    }

    /// An extended header: it speaks of the next entry, or (`g`) of all, and says nothing that
    /// matters there.
    fn extra(&mut self, header: &Header, size: u64) -> Result<(), ArchiveError> {
        if size > self.limits.extra_bytes {
            return Err(self.refused(Fault::LongHeader(size)));
        }
        let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
        self.fill(&mut bytes)?;
        self.padding(size)?;
        let until_nul = |bytes: &[u8]| bytes.split(|&byte| byte == 0).next().map(<[u8]>::to_vec);
        match header.entry_type().as_byte() {
            b'L' => self.extra.path = until_nul(&bytes),
            b'K' => self.extra.link = until_nul(&bytes),
            b'x' => self.pax(&bytes)?,
            _ => {}
        }
        Ok(())
    }

    fn pax(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        for record in PaxExtensions::new(bytes) {
            let record = record.map_err(|_| self.refused(Fault::Header))?;
            let value = record.value_bytes();
            match record.key_bytes() {
                b"path" => self.extra.path = Some(value.to_vec()),
                b"linkpath" => self.extra.link = Some(value.to_vec()),
                b"size" => {
                    let size = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                    self.extra.size = Some(size.ok_or_else(|| self.refused(Fault::Header))?);
                }
                key if key.starts_with(b"GNU.sparse.") => self.extra.sparse = true,
                _ => {}
            }
        }
        Ok(())
    }

    fn named(
        &mut self,
        header: &Header,
        name: &[u8],
        size: u64,
        extra: &Extra,
    ) -> Result<(), ArchiveError> {
        if extra.sparse {
            return Err(self.refused(Fault::Sparse));
        }
        if extra.size.is_some_and(|said| said != size) {
            return Err(self.refused(Fault::Header));
        }
        let Ok(path) = std::str::from_utf8(name) else {
            self.skipped += 1;
            return self.skip(size);
        };
        self.check(path)?;
        self.is_capture |= path == HEADER;
        let mode = header.mode().unwrap_or(0o644) & 0o7777;
        match header.entry_type() {
            EntryType::Directory => self.folder(path, mode, size),
            EntryType::Regular | EntryType::Continuous if path.ends_with('/') => {
                self.folder(path, mode, size)
            }
            EntryType::Regular | EntryType::Continuous => self.file(path, mode, size),
            EntryType::Symlink => {
                if let Some(target) = self.target(header, extra, size)? {
                    if !self.is_capture && leads_out(path, &target) {
                        return Err(self.refused(Fault::LinkOut(target)));
                    }
                    self.root.symlink(path, &target);
                }
                Ok(())
            }
            EntryType::Link => self.hard_link(header, path, extra, size),
            other => Err(self.refused(strange(other))),
        }
    }

    /// Refuses a path that leads out, is longer than any of the kernel's, or goes through a link.
    fn check(&self, path: &str) -> Result<(), ArchiveError> {
        if path.is_empty() || path.contains('\0') {
            return Err(self.refused(Fault::Name));
        }
        if path.len() > self.limits.path_bytes {
            return Err(self.refused(Fault::LongPath(path.len())));
        }
        if path.starts_with('/') {
            return Err(self.refused(Fault::Absolute));
        }
        if path.split('/').any(|part| part == "..") {
            return Err(self.refused(Fault::Climbs));
        }
        let depth = parts(path).count();
        if depth > self.limits.depth {
            return Err(self.refused(Fault::Deep(depth)));
        }
        self.check_links(path)
    }

    fn check_links(&self, path: &str) -> Result<(), ArchiveError> {
        let path = path.trim_end_matches('/');
        let above = path.rsplit_once('/').map_or("", |(above, _)| above);
        if matches!(self.root.kind(above), Some(Kind::Folder)) {
            return Ok(());
        }
        let ends = above.match_indices('/').map(|(end, _)| end).chain([above.len()]);
        for link in ends.map(|end| &above[..end]) {
            if self.root.kind(link) == Some(Kind::Link) {
                return Err(self.refused(Fault::ThroughLink(link.to_owned())));
            }
        }
        Ok(())
    }

    fn folder(&mut self, path: &str, mode: u32, size: u64) -> Result<(), ArchiveError> {
        self.root.folder_with_mode(path, mode);
        self.skip(size)
    }

    fn file(&mut self, path: &str, mode: u32, size: u64) -> Result<(), ArchiveError> {
        if size > self.limits.bytes {
            let (limit, place) = (self.limits.bytes, self.here());
            return Err(ArchiveError::TooLarge { limit, place });
        }
        let mut packer = Packer::default();
        let copied = io::copy(&mut (&mut self.input).take(size), &mut packer);
        if copied.map_err(|error| self.trouble(error))? < size {
            return Err(ArchiveError::Cut(self.here()));
        }
        self.padding(size)?;
        let content = packer.finish(self.root.arena()).map_err(|error| self.trouble(error))?;
        self.root.put_content(path, content, mode);
        if self.root.kept() > self.limits.kept_bytes {
            let (limit, place) = (self.limits.kept_bytes, self.here());
            return Err(ArchiveError::TooMuch { limit, place });
        }
        Ok(())
    }

    fn hard_link(
        &mut self,
        header: &Header,
        path: &str,
        extra: &Extra,
        size: u64,
    ) -> Result<(), ArchiveError> {
        let Some(target) = self.target(header, extra, size)? else { return Ok(()) };
        let climbs = target.starts_with('/') || target.split('/').any(|part| part == "..");
        if climbs || !self.root.hard_link(path, &target) {
            return Err(self.refused(Fault::HardLink(target)));
        }
        Ok(())
    }

    /// A link's target; none where it is no UTF-8.
    fn target(
        &mut self,
        header: &Header,
        extra: &Extra,
        size: u64,
    ) -> Result<Option<String>, ArchiveError> {
        self.skip(size)?;
        let target = match &extra.link {
            Some(link) => link.clone(),
            None => header.link_name_bytes().unwrap_or_default().into_owned(),
        };
        if target.len() > self.limits.path_bytes {
            return Err(self.refused(Fault::LongPath(target.len())));
        }
        let Ok(target) = String::from_utf8(target) else {
            self.skipped += 1;
            return Ok(None);
        };
        if target.is_empty() || target.contains('\0') {
            return Err(self.refused(Fault::Name));
        }
        Ok(Some(target))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), ArchiveError> {
        self.input.read_exact(buffer).map_err(|error| self.trouble(error))
    }

    /// Reads over a content that is not kept, and the padding behind it.
    fn skip(&mut self, size: u64) -> Result<(), ArchiveError> {
        let skipped = io::copy(&mut (&mut self.input).take(size), &mut io::sink());
        if skipped.map_err(|error| self.trouble(error))? < size {
            return Err(ArchiveError::Cut(self.here()));
        }
        self.padding(size)
    }

    fn padding(&mut self, size: u64) -> Result<(), ArchiveError> {
        let over = usize::try_from(size % BLOCK as u64).unwrap_or_default();
        let mut block = [0; BLOCK];
        let padding = if over == 0 { 0 } else { BLOCK - over };
        self.fill(&mut block[..padding])
    }

    /// Reads what follows the end, so that the packer's checksum is compared. Nothing but zeros
    /// may stand there: two archives in one would be half a machine.
    fn drain(&mut self) -> Result<(), ArchiveError> {
        let mut piece = [0; 64 * BLOCK];
        loop {
            match self.input.read(&mut piece).map_err(|error| self.trouble(error))? {
                0 => return Ok(()),
                count if piece[..count].iter().any(|&byte| byte != 0) => {
                    return Err(ArchiveError::GoesOn(self.here()));
                }
                _ => {}
            }
        }
    }

    fn trouble(&self, source: io::Error) -> ArchiveError {
        let place = self.here();
        match source.get_ref().and_then(|inner| inner.downcast_ref::<Stop>()) {
            Some(Stop::Bytes) => ArchiveError::TooLarge { limit: self.limits.bytes, place },
            Some(Stop::Ratio) => ArchiveError::Ratio { limit: self.limits.ratio, place },
            None if source.kind() == io::ErrorKind::UnexpectedEof => ArchiveError::Cut(place),
            None => ArchiveError::Damaged { place, source },
        }
    }

    fn here(&self) -> Place {
        Place { bytes: self.input.unpacked(), ..self.place.clone() }
    }

    fn refused(&self, fault: Fault) -> ArchiveError {
        ArchiveError::Refused { entry: self.place.last.clone().unwrap_or_default(), fault }
    }
}

/// Whether a link in /sys or /proc leads out of both. The kernel makes relative ones that stay
/// inside (`sysfs_create_link`, fs/sysfs/symlink.c), but for those of a process: its `exe`, `cwd`
/// and `root`. Elsewhere in a copied machine a link to `/usr/bin/x` is ordinary, and means the copy.
fn leads_out(path: &str, target: &str) -> bool {
    let mut folders: Vec<&str> = parts(path).collect();
    folders.pop();
    let Some(top) = folders.iter().position(|folder| matches!(*folder, "sys" | "proc")) else {
        return false;
    };
    let of_process = |name: &&str| name.ends_with("self") || name.parse::<u32>().is_ok();
    if folders[top] == "proc" && folders.get(top + 1).is_some_and(of_process) {
        return false;
    }
    if target.starts_with('/') {
        return !matches!(parts(target).next(), Some("sys" | "proc"));
    }
    parts(target).any(|part| match part {
        ".." => folders.pop().is_none(),
        name => {
            folders.push(name);
            false
        }
    })
}

fn strange(kind: EntryType) -> Fault {
    match kind {
        EntryType::Char => Fault::Device("character device"),
        EntryType::Block => Fault::Device("block device"),
        EntryType::Fifo => Fault::Device("FIFO"),
        EntryType::GNUSparse => Fault::Sparse,
        other => Fault::Type(char::from(other.as_byte())),
    }
}
