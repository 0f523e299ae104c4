// SPDX-License-Identifier: MIT OR Apache-2.0
//! The PCI tree.

use machine::{Function, Node};
use root::Root;

use crate::Troubles;

pub(crate) fn read(_root: &dyn Root, _nodes: &[Node], _troubles: &mut Troubles) -> Vec<Function> {
    Vec::new()
}
