// SPDX-License-Identifier: MIT OR Apache-2.0
//! A line of what was read, that a finding or an observation rests on.
//!
//! Who concludes names the line; who holds the machine's root quotes it. So what is printed as
//! evidence is always what the kernel said, never what somebody made of it.

/// A line of the log of what was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The kernel's file or folder; `ethtool -l eth0` and the like for answers that are no file.
    pub path: String,
    /// Where else it stands, on kernels that lack the first path.
    pub or: Option<String>,
    /// Which part of it counts.
    pub part: Part,
    /// What it said, cut. Bytes are `0x98: 2f 59`, names are split by spaces. None until quoted.
    pub content: Option<String>,
    /// What that means, where nobody can tell by looking: registers, tables; why there is no
    /// content, where there is none.
    pub means: Option<String>,
}

/// A part of what was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The beginning of a text.
    Start,
    /// The first line of a text that holds these words; the beginning where none does.
    Line(String),
    /// The names in a folder.
    Names,
    /// This name in a folder.
    Name(String),
    /// Where a symbolic link leads.
    Target,
    /// The answer to a question that is no file.
    Answer,
    /// The item of that name in an answer that is a list.
    Item(String),
    /// Bytes of a binary file.
    Bytes(Span),
    /// Bytes of the PCI Express capability in configuration space, counted from its head.
    Express(Span),
    /// Bytes of an extended capability in configuration space, counted from its head.
    Extended(u16, Span),
    /// The SMBIOS structure of the memory module with this slot and bank.
    Module(String, String),
}

/// A run of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub at: u16,
    /// How many.
    pub length: u16,
}

impl Evidence {
    /// The part `part` of `path`.
    pub fn new(path: impl Into<String>, part: Part) -> Self {
        Self { path: path.into(), or: None, part, content: None, means: None }
    }

    /// The beginning of a file.
    pub fn file(path: impl Into<String>) -> Self {
        Self::new(path, Part::Start)
    }

    /// The line of a file that holds `words`.
    pub fn line(path: impl Into<String>, words: impl Into<String>) -> Self {
        Self::new(path, Part::Line(words.into()))
    }

    /// A file that was quoted when it was read.
    pub fn quoted(path: impl Into<String>, content: impl Into<String>) -> Self {
        Self { content: Some(content.into()), ..Self::file(path) }
    }

    /// The same in another file, on kernels that lack the first.
    #[must_use]
    pub fn or(self, path: impl Into<String>) -> Self {
        Self { or: Some(path.into()), ..self }
    }

    /// What it means.
    #[must_use]
    pub fn meaning(self, words: impl Into<String>) -> Self {
        Self { means: Some(words.into()), ..self }
    }
}

impl Span {
    /// `length` bytes from `at`.
    pub const fn new(at: u16, length: u16) -> Self {
        Self { at, length }
    }
}
