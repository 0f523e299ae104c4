// SPDX-License-Identifier: MIT OR Apache-2.0
//! NUMA nodes.

use machine::{Cpus, Node};
use root::Root;

use crate::Troubles;

pub(crate) fn read(_root: &dyn Root, _cpus: &Cpus, _troubles: &mut Troubles) -> Vec<Node> {
    Vec::new()
}
