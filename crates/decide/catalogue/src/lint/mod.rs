// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an entry must have before anybody relies on it.
//!
//! Each rule is a small function that pushes complaints; none looks at a machine.

mod links;
mod observe;
mod options;
mod text;
mod wish;

use setting::Setting;

use crate::Complaint;
use crate::entry::Origin;

pub(crate) use links::{links, vendor};
pub(crate) use options::options;

/// Lints one entry by itself.
pub(crate) fn entry(setting: &Setting, origin: &Origin, out: &mut Vec<Complaint>) {
    text::check(setting, origin, out);
    observe::check(setting, origin, out);
    wish::check(setting, origin, out);
}
