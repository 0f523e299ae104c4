// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network devices.

use machine::{Function, Nic};
use root::Root;

use crate::Troubles;

pub(crate) fn read(
    _root: &dyn Root,
    _functions: &[Function],
    _troubles: &mut Troubles,
) -> Vec<Nic> {
    Vec::new()
}
