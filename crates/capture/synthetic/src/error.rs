// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a description was refused.

/// Why a description of a machine was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No TOML, or a key or value that the description does not know; names line and key.
    #[error("line {line}: {message}")]
    Text {
        /// Line of the description, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// A machine that cannot be.
    #[error("{key}: {message}")]
    Impossible {
        /// The key that asks for it: `cpu.packages`.
        key: String,
        /// Why it cannot be.
        message: String,
    },
}

impl Error {
    pub(crate) fn impossible(key: &str, message: impl Into<String>) -> Self {
        Self::Impossible { key: key.to_owned(), message: message.into() }
    }

    /// The parser's error, with the line counted from the offset it names.
    pub(crate) fn from_toml(text: &str, error: &toml::de::Error) -> Self {
        let end = error.span().map_or(0, |span| span.start).min(text.len());
        let line = text.bytes().take(end).filter(|byte| *byte == b'\n').count() + 1;
        Self::Text { line, message: error.message().to_owned() }
    }
}
