// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPU sets, packages, dies, cores and threads.

use machine::{Cpus, Node};
use root::Root;

use crate::Troubles;

pub(crate) fn read(_root: &dyn Root, _troubles: &mut Troubles) -> Cpus {
    Cpus::default()
}

pub(crate) fn place_on_nodes(_cpus: &mut Cpus, _nodes: &[Node]) {}
