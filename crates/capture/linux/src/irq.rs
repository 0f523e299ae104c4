// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupts.

use machine::{Function, Irq, Nic};
use root::Root;

use crate::Troubles;

pub(crate) fn read(
    _root: &dyn Root,
    _functions: &[Function],
    _nics: &[Nic],
    _troubles: &mut Troubles,
) -> Vec<Irq> {
    Vec::new()
}
