// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes as they were, in a form that JSON can hold.

use serde::{Deserialize, Serialize};

/// Raw bytes of a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Raw {
    /// UTF-8 text, as nearly all of the kernel's files are.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
    /// There was nothing: no such file, no such queue.
    Absent,
}

impl Raw {
    /// Bytes as text where they are text.
    pub fn new(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Self::Bytes(error.into_bytes()), Self::Text)
    }

    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The bytes; none where there was nothing.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text.as_bytes()),
            Self::Bytes(bytes) => Some(bytes),
            Self::Absent => None,
        }
    }

    /// The text, trimmed; empty where it is none.
    pub fn trimmed(&self) -> &str {
        match self {
            Self::Text(text) => text.trim_matches(|c: char| c.is_whitespace() || c == '\0'),
            Self::Bytes(_) | Self::Absent => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_survive(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let raw = Raw::new(bytes.clone());
            let text = serde_json::to_string(&raw).unwrap();
            let back: Raw = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(back.bytes(), Some(bytes.as_slice()));
        }
    }
}
