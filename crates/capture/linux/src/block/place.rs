// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions by address, and the ways above them.

use std::collections::BTreeMap;

use machine::{Function, HiddenBy};
use units::PciAddress;

/// Functions by address.
#[derive(Debug)]
pub(super) struct Functions<'a>(BTreeMap<PciAddress, &'a Function>);

impl<'a> Functions<'a> {
    /// All of a machine's.
    pub(super) fn new(functions: &'a [Function]) -> Self {
        Self(functions.iter().map(|function| (function.address, function)).collect())
    }

    /// The one at an address.
    pub(super) fn get(&self, address: PciAddress) -> Option<&'a Function> {
        self.0.get(&address).copied()
    }

    /// Intel VMD takes root ports out of the machine's tree into a domain of its own, above 0xffff.
    pub(super) fn behind_vmd(&self, address: PciAddress) -> Option<HiddenBy> {
        if address.domain <= 0xffff {
            return None;
        }
        let parent = |function: &&'a Function| function.parent.and_then(|above| self.get(above));
        let way = std::iter::successors(self.get(address), parent).take(64);
        let vmd = way.into_iter().find(|function| function.driver.as_deref() == Some("vmd"))?;
        let likely = "NVMe drive in the domain of Intel VMD".to_owned();
        Some(HiddenBy { driver: "vmd".to_owned(), function: vmd.address, likely })
    }
}
