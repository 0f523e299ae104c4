// SPDX-License-Identifier: MIT OR Apache-2.0
//! File contents in memory: small ones side by side and only once, large ones compressed.
//!
//! A whole /sys of a large server is some hundred thousand files of a few bytes, most of them
//! equal to another, and one or two of many megabytes (/proc/interrupts). One allocation a file
//! would cost more than the bytes themselves.

use std::hash::BuildHasher;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;

use foldhash::HashMap;
use foldhash::fast::RandomState;

/// Files above this many bytes are kept compressed.
pub(crate) const PACK_ABOVE: usize = 256 << 10;

/// Bytes that one chunk of the arena holds.
const CHUNK: usize = 256 << 10;

/// The fastest level: /proc/interrupts shrinks a hundredfold even so.
const LEVEL: i32 = 1;

/// Where bytes lie in an [`Arena`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    chunk: u32,
    start: u32,
    len: u32,
}

/// Small byte strings, each kept once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arena {
    chunks: Vec<Vec<u8>>,
    /// By hash. Two different strings with one hash are both kept; only one of them is shared.
    seen: HashMap<u64, Span>,
    hasher: RandomState,
    /// Bytes in the chunks, and compressed ones that [`Packer::finish`] made for this arena.
    kept: u64,
}

impl Arena {
    fn store(&mut self, bytes: &[u8]) -> Span {
        let hash = self.hasher.hash_one(bytes);
        if let Some(&span) = self.seen.get(&hash)
            && self.get(span) == bytes
        {
            return span;
        }
        let span = self.append(bytes);
        self.seen.entry(hash).or_insert(span);
        span
    }

    pub(crate) fn kept(&self) -> u64 {
        self.kept
    }

    fn append(&mut self, bytes: &[u8]) -> Span {
        let fits = |chunk: &Vec<u8>| chunk.capacity() - chunk.len() >= bytes.len();
        if !self.chunks.last().is_some_and(fits) {
            self.chunks.push(Vec::with_capacity(CHUNK.max(bytes.len())));
        }
        let last = self.chunks.len() - 1;
        let chunk = &mut self.chunks[last];
        let start = chunk.len();
        chunk.extend_from_slice(bytes);
        self.kept += bytes.len() as u64;
        Span { chunk: small(last), start: small(start), len: small(bytes.len()) }
    }

    fn get(&self, span: Span) -> &[u8] {
        let chunk = self.chunks.get(span.chunk as usize).map_or(&[][..], Vec::as_slice);
        let start = span.start as usize;
        chunk.get(start..start + span.len as usize).unwrap_or_default()
    }
}

/// Chunks and what is in them are far below 4 GiB, so this never cuts.
fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A file's bytes.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Plain(Span),
    Packed(Arc<Packed>),
}

/// A large file's bytes, compressed.
#[derive(Debug)]
pub(crate) struct Packed {
    zstd: Vec<u8>,
    bytes: u64,
}

impl Content {
    pub(crate) fn new(bytes: &[u8], arena: &mut Arena) -> Self {
        if bytes.len() <= PACK_ABOVE {
            return Self::Plain(arena.store(bytes));
        }
        let mut packer = Packer::default();
        match packer.write_all(bytes).and_then(|()| packer.finish(arena)) {
            Ok(content) => content,
            // The compressor fails for want of memory only; the arena takes any length.
            Err(_) => Self::Plain(arena.append(bytes)),
        }
    }

    /// How many bytes the file has.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Plain(span) => u64::from(span.len),
            Self::Packed(packed) => packed.bytes,
        }
    }

    /// The first `most` bytes.
    pub(crate) fn head(&self, arena: &Arena, most: usize) -> io::Result<Vec<u8>> {
        match self {
            Self::Plain(span) => {
                let bytes = arena.get(*span);
                Ok(bytes[..bytes.len().min(most)].to_vec())
            }
            Self::Packed(packed) => {
                let mut bytes = Vec::new();
                packed.open()?.take(most as u64).read_to_end(&mut bytes)?;
                Ok(bytes)
            }
        }
    }

    /// A reader over the whole, borrowing from the arena.
    pub(crate) fn open<'a>(&'a self, arena: &'a Arena) -> io::Result<Box<dyn BufRead + 'a>> {
        Ok(match self {
            Self::Plain(span) => Box::new(arena.get(*span)),
            Self::Packed(packed) => Box::new(BufReader::with_capacity(1 << 16, packed.open()?)),
        })
    }

    /// A reader over the whole that owns what it reads.
    pub(crate) fn open_owned(&self, arena: &Arena) -> io::Result<Box<dyn BufRead + 'static>> {
        Ok(match self {
            Self::Plain(span) => Box::new(io::Cursor::new(arena.get(*span).to_vec())),
            Self::Packed(packed) => {
                let bytes = io::Cursor::new(Shared(Arc::clone(packed)));
                let decoder = zstd::Decoder::with_buffer(bytes)?;
                Box::new(BufReader::with_capacity(1 << 16, decoder))
            }
        })
    }
}

impl Packed {
    fn open(&self) -> io::Result<zstd::Decoder<'static, &[u8]>> {
        zstd::Decoder::with_buffer(self.zstd.as_slice())
    }
}

/// Packed bytes behind a shared pointer, for a cursor.
struct Shared(Arc<Packed>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0.zstd
    }
}

/// Takes a file a piece at a time; what grows large is compressed on the way.
#[derive(Default)]
pub(crate) struct Packer {
    plain: Vec<u8>,
    encoder: Option<zstd::Encoder<'static, Vec<u8>>>,
    bytes: u64,
}

impl Packer {
    /// The content, once everything is written.
    pub(crate) fn finish(self, arena: &mut Arena) -> io::Result<Content> {
        match self.encoder {
            None => Ok(Content::Plain(arena.store(&self.plain))),
            Some(encoder) => {
                let mut zstd = encoder.finish()?;
                zstd.shrink_to_fit();
                arena.kept += zstd.len() as u64;
                Ok(Content::Packed(Arc::new(Packed { zstd, bytes: self.bytes })))
            }
        }
    }

    /// Bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Write for Packer {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.encoder.is_none() && self.plain.len() + piece.len() > PACK_ABOVE {
            let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
            encoder.write_all(&self.plain)?;
            self.plain = Vec::new();
            self.encoder = Some(encoder);
        }
        match &mut self.encoder {
            None => self.plain.extend_from_slice(piece),
            Some(encoder) => encoder.write_all(piece)?,
        }
        self.bytes += piece.len() as u64;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_come_back_as_they_were_put_in() {
        let mut arena = Arena::default();
        for len in [0, 1, 300, PACK_ABOVE, PACK_ABOVE + 1, 3_000_000] {
            let bytes: Vec<u8> = (0..len).map(|i| u8::try_from(i % 251).unwrap()).collect();
            let content = Content::new(&bytes, &mut arena);
            assert_eq!(matches!(content, Content::Packed(_)), len > PACK_ABOVE);
            assert_eq!(content.bytes(), len as u64);
            assert_eq!(content.head(&arena, 100).unwrap(), &bytes[..len.min(100)]);
            let mut read = Vec::new();
            content.open(&arena).unwrap().read_to_end(&mut read).unwrap();
            assert_eq!(read, bytes);
            read.clear();
            content.open_owned(&arena).unwrap().read_to_end(&mut read).unwrap();
            assert_eq!(read, bytes);
        }
    }

    #[test]
    fn equal_contents_are_kept_once() {
        let mut arena = Arena::default();
        for _ in 0..100_000 {
            Content::new(b"0\n", &mut arena);
        }
        assert_eq!(arena.chunks.iter().map(Vec::len).sum::<usize>(), 2);
    }
}
