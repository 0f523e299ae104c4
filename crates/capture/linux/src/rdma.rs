// SPDX-License-Identifier: MIT OR Apache-2.0
//! RDMA devices.

use machine::{Function, Nic, RdmaDevice};
use root::Root;

pub(crate) fn read(_root: &dyn Root, _functions: &[Function], _nics: &[Nic]) -> Vec<RdmaDevice> {
    Vec::new()
}
