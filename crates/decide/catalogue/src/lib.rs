// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads and lints the catalogue of settings, which is data: one TOML file a setting, in
//! `catalogue/` grouped by owner.
//!
//! ```text
//! catalogue/*/ID.toml ──┐
//!                       ├─ Catalogue ── lint() ── complaints
//! a user's own folder ──┤
//! vendors/*.toml ───────┘ (attribute names, added to the settings they name)
//! ```
//!
//! The files are compiled into the binary; a user's own folder adds entries and overrides ours by
//! id, with no code. A setting without a source or a trade-off does not pass the lint. This crate
//! reads no file at run time (its caller hands the texts over) and judges no machine (`audit` does).

#![forbid(unsafe_code)]

mod catalogue;
mod complaint;
mod entry;
mod lint;
mod sysctl;

pub use catalogue::{Catalogue, nearest};
pub use complaint::{Complaint, Complaints};
pub use sysctl::file_of_sysctl;
