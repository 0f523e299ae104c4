// SPDX-License-Identifier: MIT OR Apache-2.0
//! Synthetic machines: the document against the description.

use support::Trial;

pub(crate) fn trials() -> Vec<Trial> {
    Vec::new()
}
