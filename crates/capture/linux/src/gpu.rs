// SPDX-License-Identifier: MIT OR Apache-2.0
//! GPUs and accelerators.

use machine::{Function, Gpu, Node};
use root::Root;

pub(crate) fn read(_root: &dyn Root, _functions: &[Function], _nodes: &[Node]) -> Vec<Gpu> {
    Vec::new()
}
