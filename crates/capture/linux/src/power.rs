// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frequency, idle states and uncore.

use machine::Power;
use root::Root;

use crate::Troubles;

pub(crate) fn read(_root: &dyn Root, _troubles: &mut Troubles) -> Power {
    Power::default()
}
