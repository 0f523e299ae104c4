// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drawings, tables, SVG and the JSON documents.

mod explain;

pub use explain::{explain, explain_list};
