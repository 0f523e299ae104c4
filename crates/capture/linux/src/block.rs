// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drives and what is stacked on them.

use machine::{Drive, Function, Volume};
use root::Root;

use crate::Troubles;

pub(crate) fn read(
    _root: &dyn Root,
    _functions: &[Function],
    _troubles: &mut Troubles,
) -> (Vec<Drive>, Vec<Volume>) {
    (Vec::new(), Vec::new())
}
