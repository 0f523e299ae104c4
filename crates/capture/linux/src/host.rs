// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maker, firmware, kernel and surroundings.

use machine::Host;
use root::Root;

use crate::Troubles;

pub(crate) fn read(_root: &dyn Root, _troubles: &mut Troubles) -> Host {
    Host::default()
}
