// SPDX-License-Identifier: MIT OR Apache-2.0
//! A value, or the reason why there is none.

use serde::{Deserialize, Serialize};

/// Why a value is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The kernel has no such file: hardware or kernel lacks the feature.
    #[default]
    Absent,
    /// The file is there and may not be read (root, container).
    Denied,
    /// The kernel answers that the device does not support it (EOPNOTSUPP, EINVAL on read, -1).
    NotSupported,
    /// The text is not what it should be; the text, cut: made by [`Why::unparsed`].
    Unparsed(String),
    /// The medium failed or gave up: EIO, a cut archive, a loop of links.
    Failed(String),
}

impl Why {
    /// Text that is not what it should be, cut to 80 characters: a file can be endless.
    pub fn unparsed(text: &str) -> Self {
        Self::Unparsed(text.chars().take(80).collect())
    }
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent => f.write_str("absent"),
            Self::Denied => f.write_str("permission denied"),
            Self::NotSupported => f.write_str("not supported"),
            Self::Unparsed(text) => write!(f, "unreadable text {text:?}"),
            Self::Failed(text) => write!(f, "failed: {text}"),
        }
    }
}

/// A value, or why there is none. `Result` itself, so that `?`, `map` and `ok` work on it.
pub type Fact<T> = Result<T, Why>;

/// Something that could not be read and that a person should know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What is unknown for it, in words: `PCI config space beyond 64 bytes`.
    pub what: String,
    /// Why.
    pub why: Why,
    /// The file or folder that refused, or the first of them.
    pub path: String,
}
