// SPDX-License-Identifier: MIT OR Apache-2.0
//! What drawings ask of the machine, in the shape in which they need the answer.

use std::collections::BTreeMap;

use machine::{Function, LimitedBy, Machine};
use units::{NodeId, PackageId, Transfers};

/// A link as it is, against the best that its card could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkView {
    pub(crate) speed: Option<Transfers>,
    pub(crate) width: Option<u8>,
    pub(crate) best_speed: Option<Transfers>,
    pub(crate) best_width: Option<u8>,
    /// What holds it below that best; none when it runs at it.
    pub(crate) limit: Option<LimitedBy>,
}

impl LinkView {
    /// Whether only the speed is low: graphics cards slow their link while idle.
    pub(crate) fn is_only_slow(&self) -> bool {
        self.width.is_some() && self.width == self.best_width
    }
}

/// The link above a function.
pub(crate) fn link(function: &Function) -> Option<LinkView> {
    let link = function.link.as_ref()?;
    let view = LinkView {
        speed: link.speed.as_ref().ok().copied(),
        width: link.width.as_ref().ok().copied(),
        best_speed: link.own.speed.as_ref().ok().copied(),
        best_width: link.own.width.as_ref().ok().copied(),
        limit: None,
    };
    let slower = matches!((view.speed, view.best_speed), (Some(now), Some(best)) if now < best);
    let narrower = matches!((view.width, view.best_width), (Some(now), Some(best)) if now < best);
    let limit = if slower || narrower { link.limited_by() } else { None };
    Some(LinkView { limit, ..view })
}

/// The packages that the CPUs of a node sit in.
pub(crate) fn packages_of_nodes(machine: &Machine) -> BTreeMap<NodeId, Vec<PackageId>> {
    let mut packages: BTreeMap<NodeId, Vec<PackageId>> = BTreeMap::new();
    for thread in &machine.cpus.threads {
        if let (Some(node), Ok(package)) = (thread.node, &thread.package) {
            let known = packages.entry(node).or_default();
            if !known.contains(package) {
                known.push(*package);
            }
        }
    }
    for known in packages.values_mut() {
        known.sort_unstable();
    }
    packages
}
