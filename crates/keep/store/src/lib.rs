// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keeps records of runs.
//!
//! ```text
//! STORE/runs/202603/20260301-120000-1f0c8e.json    one a run: the truth
//! STORE/index.sqlite                               for lists: made again whenever it is in doubt
//! ```
//!
//! A run's file is written beside its place, brought to disk and then given its name, so that a
//! crash at any byte loses at most the run that was being written. It is never changed after. The
//! index holds what lists show; removing it loses nothing. A run that failed has no number, in the
//! files by its type and in the index by its nulls.

#![forbid(unsafe_code)]

mod bundle;
mod disk;
mod entry;
mod error;
mod files;
mod index;
mod metrics;
mod store;
mod tidy;

#[cfg(test)]
mod tests;

pub use bundle::{Bundle, bundle, read_bundle};
pub use entry::Entry;
pub use error::Error;
pub use index::Wanted;
pub use metrics::open_metrics;
pub use store::{Added, Store, Unread};
pub use tidy::csv;
