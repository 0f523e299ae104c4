// SPDX-License-Identifier: MIT OR Apache-2.0
//! The only door to a machine's facts.
//!
//! Every reader asks a [`Root`], never the file system: a live machine, a folder, an archive made
//! elsewhere, or a tree in memory answer the same questions in the same way. Paths are the
//! kernel's own, from the root: `/sys/class/net/eth0/mtu`. Links are followed inside the root and
//! never out of it. Answers that are no files (ethtool, scheduler affinity) are typed questions.
//!
//! ```text
//! LiveRoot ─┐                       ┌─> linux readers
//! DirRoot  ─┼─ dyn Root ── Recorder ┤
//! Archive  ─┤                       └─> the log, which is the capture
//! Memory   ─┘
//! ```
//!
//! It does not know what any file means.

pub mod archive;
mod bounded;
mod capture;
mod content;
mod dir;
mod directory;
mod error;
mod family;
pub mod fault;
#[doc(hidden)]
pub mod fuzz;
mod live;
mod memory;
mod open;
mod question;
mod recorder;
mod redact;
mod root;
mod said;

pub use capture::{About, FormatError, Overwrite, Written};
pub use dir::{Dir, text};
pub use directory::{DirRoot, LiveRoot};
pub use error::{ArchiveOpenError, OpenError};
pub use live::EthtoolValues;
pub use memory::MemoryRoot;
pub use open::{Opened, open, open_archive};
pub use question::Question;
pub use recorder::{Record, Recorder};
pub use redact::Redactor;
pub use root::{Root, SMALL};
