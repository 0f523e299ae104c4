// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an archive is packed with, by its first bytes; unpacking under limits.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::rc::Rc;

use super::error::Place;
use super::{ArchiveError, Limits};

/// Memory that an xz stream may ask for: `xz -9` asks for 65 MiB.
const XZ_MEMORY: u64 = 128 << 20;

/// The largest window of a zstd frame, as a power of two: what `zstd` itself takes unasked.
const ZSTD_WINDOW: u32 = 27;

/// As many bytes as tell the formats apart: a tar block.
const MAGIC: usize = 512;

/// Unpacked bytes, counted and limited.
pub(super) struct Unpacking<'a> {
    reader: Box<dyn Read + 'a>,
    packed: Rc<Cell<u64>>,
    bytes: u64,
    limits: &'a Limits,
}

/// A limit that was reached, carried through `io::Error`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stop {
    Bytes,
    Ratio,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a limit was reached")
    }
}

impl std::error::Error for Stop {}

/// Finds out what the input is packed with.
pub(super) fn open<'a>(
    mut input: impl BufRead + 'a,
    limits: &'a Limits,
) -> Result<Unpacking<'a>, ArchiveError> {
    let start = start(&mut input)
        .map_err(|source| ArchiveError::Damaged { place: Place::default(), source })?;
    let packed = Rc::new(Cell::new(0));
    let format = Format::of(&start).ok_or(ArchiveError::Unknown)?;
    let counted = Counted { inner: Cursor::new(start).chain(input), count: Rc::clone(&packed) };
    let reader = format
        .reader(BufReader::with_capacity(1 << 15, counted))
        .map_err(|source| ArchiveError::Damaged { place: Place::default(), source })?;
    Ok(Unpacking { reader, packed, bytes: 0, limits })
}

fn start(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::with_capacity(MAGIC);
    input.take(MAGIC as u64).read_to_end(&mut start)?;
    Ok(start)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Tar,
    Gzip,
    Xz,
    Zstd,
}

impl Format {
    fn of(start: &[u8]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            // RFC 8878: a frame, or a skippable frame before it.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            block if super::tar::is_header(block) => Some(Self::Tar),
            _ => None,
        }
    }

    fn reader<'a>(self, input: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Self::Tar => Box::new(input),
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
            Self::Xz => {
                let flags = liblzma::stream::CONCATENATED;
                let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, flags)?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(input, stream))
            }
            Self::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(input)?;
                decoder.window_log_max(ZSTD_WINDOW)?;
                Box::new(decoder)
            }
        })
    }
}

impl Unpacking<'_> {
    pub(super) fn unpacked(&self) -> u64 {
        self.bytes
    }

    fn stop(&self) -> Option<Stop> {
        let most = self.packed.get().max(1).saturating_mul(self.limits.ratio);
        if self.bytes > self.limits.bytes {
            Some(Stop::Bytes)
        } else if self.bytes > self.limits.ratio_after && self.bytes > most {
            Some(Stop::Ratio)
        } else {
            None
        }
    }
}

impl Read for Unpacking<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.bytes += count as u64;
        match self.stop() {
            None => Ok(count),
            Some(stop) => Err(io::Error::other(stop)),
        }
    }
}

struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}
