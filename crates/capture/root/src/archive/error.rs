// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why an archive was refused.

use std::fmt;
use std::io;

/// Why an archive was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Its first bytes are those of no format that is read.
    #[error("it is no archive: neither tar, nor tar packed with gzip, xz or zstd")]
    Unknown,
    /// It ends in the middle.
    #[error("the archive is cut {0}")]
    Cut(Place),
    /// What it holds cannot be unpacked or is no tar.
    #[error("the archive is damaged {place}: {source}")]
    Damaged {
        /// Where.
        place: Place,
        /// What the unpacker or the header says.
        source: io::Error,
    },
    /// It unpacks to more bytes than allowed.
    #[error("the archive unpacks to more than {limit} bytes ({place})")]
    TooLarge {
        /// The limit.
        limit: u64,
        /// Where it was reached.
        place: Place,
    },
    /// It unpacks to far more than it is: a bomb.
    #[error(
        "the archive unpacks to more than {limit} times its size, as no machine's facts do ({place})"
    )]
    Ratio {
        /// The limit.
        limit: u64,
        /// Where it was reached.
        place: Place,
    },
    /// It holds more than can be kept.
    #[error("the archive needs more than {limit} bytes of memory ({place})")]
    TooMuch {
        /// The limit.
        limit: u64,
        /// Where it was reached.
        place: Place,
    },
    /// It holds too many entries.
    #[error("the archive holds more than {limit} entries ({place})")]
    TooMany {
        /// The limit.
        limit: u64,
        /// Where it was reached.
        place: Place,
    },
    /// Something other than zeros follows its end.
    #[error("the archive goes on behind its end ({0})")]
    GoesOn(Place),
    /// It holds an entry that has no place in a machine's tree.
    #[error("entry {entry:?} {fault}")]
    Refused {
        /// Its name, cut if long.
        entry: String,
        /// What is wrong with it.
        fault: Fault,
    },
}

impl ArchiveError {
    /// What to do next.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Unknown => "give a folder, or an archive made by `nearside capture` or by tar",
            Self::Cut(_) => "copy it again, and compare its size and checksum with the original's",
            Self::GoesOn(_) => {
                "it may be several in one: unpack it with `tar -xif`, and give the folder"
            }
            Self::Damaged { .. } => "try `tar -tvf` on it; copy or make it again",
            Self::TooLarge { .. } | Self::TooMuch { .. } | Self::TooMany { .. } => {
                "make an archive of sys and proc alone, or unpack it and give the folder"
            }
            Self::Ratio { .. } => "do not trust where it came from; unpack nothing of it",
            Self::Refused { fault, .. } => fault.help(),
        }
    }
}

/// What is wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// `..` in its path.
    Climbs,
    /// Its path begins with a slash.
    Absolute,
    /// A link stands where its path needs a folder; the link.
    ThroughLink(String),
    /// A hard link to what is no file in the archive; the target.
    HardLink(String),
    /// A link in sys or proc that leads out of the archive; the target.
    LinkOut(String),
    /// A character device, block device or FIFO; which.
    Device(&'static str),
    /// A sparse file.
    Sparse,
    /// A path or link's target of so many bytes.
    LongPath(usize),
    /// So many folders in its path.
    Deep(usize),
    /// An extended header of so many bytes.
    LongHeader(u64),
    /// A name that holds a NUL, or is empty.
    Name,
    /// The extended header cannot be read, or contradicts the plain one.
    Header,
    /// A type of entry that is unknown; its letter.
    Type(char),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Climbs => f.write_str("climbs out with \"..\""),
            Self::Absolute => f.write_str("has an absolute path"),
            Self::ThroughLink(link) => write!(f, "leads through the link {link:?}"),
            Self::HardLink(target) => {
                write!(f, "is a hard link to {target:?}, which is no file before it in the archive")
            }
            Self::LinkOut(target) => write!(f, "is a link to {target:?}, out of the machine"),
            Self::Device(kind) => write!(f, "is a {kind}"),
            Self::Sparse => f.write_str("is a sparse file"),
            Self::LongPath(bytes) => write!(f, "has a path of {bytes} bytes"),
            Self::Deep(depth) => write!(f, "lies {depth} folders deep"),
            Self::LongHeader(bytes) => write!(f, "has an extended header of {bytes} bytes"),
            Self::Name => f.write_str("has a name that no file can have"),
            Self::Header => f.write_str("has an extended header that contradicts itself"),
            Self::Type(letter) => write!(f, "is of the unknown type {letter:?}"),
        }
    }
}

impl Fault {
    fn help(&self) -> &'static str {
        match self {
            Self::Absolute => "make it with relative paths: `tar -C / -cf FILE sys proc`",
            Self::Sparse => "make it without tar's option --sparse",
            Self::Device(_) => "make it of sys and proc alone, which hold plain files only",
            Self::HardLink(_) => "make it with tar's option --hard-dereference",
            Self::LinkOut(_) => "do not trust where it came from: the kernel makes no such link",
            _ => "do not trust where it came from, or make it again with tar",
        }
    }
}

/// How far reading came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The entry that was begun last, cut if long.
    pub last: Option<String>,
    /// Entries begun.
    pub entries: u64,
    /// Bytes unpacked.
    pub bytes: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.last {
            None => f.write_str("before its first entry"),
            Some(last) => write!(
                f,
                "at or after entry {last:?}, number {}, {} bytes unpacked",
                self.entries, self.bytes
            ),
        }
    }
}
