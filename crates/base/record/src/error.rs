// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a workload or a record.

/// Why a text is no record of a run.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// Not JSON, or a value of the wrong shape.
    #[error("no record of a run: {0}")]
    Shape(#[from] serde_json::Error),
    /// Another document.
    #[error("a document of the schema {found:?}, not run/1")]
    Other {
        /// What it says that it is.
        found: String,
    },
    /// Written by a later nearside.
    #[error("{found} is newer than what this nearside reads, run/1")]
    Newer {
        /// What it says that it is.
        found: String,
    },
    /// Numbers that contradict each other.
    #[error("no record of a run: {0}")]
    Contradiction(String),
    /// A workload that its hash does not belong to.
    #[error("the workload's hash is {told}, and it should be {computed}")]
    Hash {
        /// The hash in the record.
        told: String,
        /// The hash of the workload in the record.
        computed: String,
    },
}

/// Why a workload cannot be carried out, whatever the machine.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WorkloadError {
    /// Nothing to work on.
    #[error("no target")]
    NoTarget,
    /// The same target twice.
    #[error("target {0} is named twice")]
    TargetTwice(String),
    /// Shares of directions that do not add up.
    #[error("reads, writes and trims add up to {0} percent, not 100")]
    Mix(u32),
    /// A number outside what it may be.
    #[error("{what} is {value}, and must be {wanted}")]
    Range {
        /// Of what.
        what: &'static str,
        /// What it is.
        value: String,
        /// What it may be.
        wanted: &'static str,
    },
    /// No end.
    #[error("it has no end: neither a time nor an amount")]
    Endless,
    /// Two things that exclude each other.
    #[error("{one} and {other} exclude each other: {why}")]
    Excludes {
        /// One.
        one: &'static str,
        /// The other.
        other: &'static str,
        /// Why.
        why: &'static str,
    },
}
