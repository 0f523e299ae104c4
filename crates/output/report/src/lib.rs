// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drawings, tables, SVG and the JSON documents: a machine, and what is wrong with it, as text.
//!
//! ```text
//! Machine ──┬── topology, tree, lanes, irqs, near, path ──> text for a terminal
//!           ├── svg ──────────────────────────────────────> one picture
//!           └── json ─────────────────────────────────────> topology/1, audit/1
//! findings ─┴── findings, screen ─────────────────────────> text for a terminal
//! Plan ──────── plan ─────────────────────────────────────> text for a terminal, plan/1
//! Run ───────── runs ─────────────────────────────────────> text for a terminal, run-list/1
//! Sweep ─────── sweep ────────────────────────────────────> text for a terminal, one picture
//! ```
//!
//! Every function here is pure: it is given what was read and what was found, and returns text. It
//! reads nothing, prints nothing, decides nothing. Names and models come from trees that anybody may
//! have written; whatever could steer a terminal or break out of a document is taken out of them.

#![forbid(unsafe_code)]

mod ask;
pub mod change;
mod error;
mod explain;
pub mod findings;
mod frame;
pub mod irqs;
pub mod json;
pub mod lanes;
mod layout;
mod marks;
mod names;
pub mod near;
pub mod path;
pub mod placement;
pub mod plan;
pub mod runs;
pub mod screen;
mod style;
pub mod svg;
pub mod sweep;
mod text;
pub mod topology;
pub mod tree;
mod words;

pub use error::UnknownDevice;
pub use explain::{explain, explain_list};
pub use style::Style;
