// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one error of this crate: a text that is not what it should be.

/// Text that could not be read as `what`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no {what}")]
pub struct ParseError {
    /// What was looked for, such as `CPU list`.
    pub what: &'static str,
    /// The text as found, cut to 80 characters.
    pub text: String,
}

impl ParseError {
    /// An error for `text`, which should have been a `what`.
    pub fn new(what: &'static str, text: &str) -> Self {
        Self { what, text: text.chars().take(80).collect() }
    }
}
