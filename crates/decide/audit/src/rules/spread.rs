// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices counted by package: shared by the rules on drives and network cards.

use std::collections::BTreeMap;

use units::{NodeId, PackageId};

use crate::context::Context;
use crate::words;

/// Devices of one kind by package, packages without any included.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spread {
    packages: BTreeMap<PackageId, Vec<String>>,
}

impl Spread {
    /// Sorts devices by the package of their node; those of unknown node are left out.
    pub(crate) fn of(
        context: &Context<'_>,
        devices: impl IntoIterator<Item = (String, Option<NodeId>)>,
    ) -> Self {
        let mut packages: BTreeMap<PackageId, Vec<String>> =
            context.places.packages().keys().map(|package| (*package, Vec::new())).collect();
        for (name, node) in devices {
            if let Some(package) = node.and_then(|node| context.places.package(node)) {
                packages.entry(package).or_default().push(name);
            }
        }
        Self { packages }
    }

    /// How many devices there are.
    pub(crate) fn total(&self) -> usize {
        self.packages.values().map(Vec::len).sum()
    }

    /// The most and the fewest that a package has.
    pub(crate) fn extremes(&self) -> (usize, usize) {
        let counts = || self.packages.values().map(Vec::len);
        (counts().max().unwrap_or(0), counts().min().unwrap_or(0))
    }

    /// Packages that have some.
    pub(crate) fn used(&self) -> Vec<PackageId> {
        let used = self.packages.iter().filter(|(_, names)| !names.is_empty());
        used.map(|(package, _)| *package).collect()
    }

    /// `8 on package 0, none on package 1`.
    pub(crate) fn text(&self) -> String {
        let part = |(package, names): (&PackageId, &Vec<String>)| match names.len() {
            0 => format!("none on package {package}"),
            count => format!("{count} on package {package}"),
        };
        self.packages.iter().map(part).collect::<Vec<_>>().join(", ")
    }

    /// Packages that have none.
    pub(crate) fn empty(&self) -> Vec<PackageId> {
        let empty = self.packages.iter().filter(|(_, names)| names.is_empty());
        empty.map(|(package, _)| *package).collect()
    }

    /// What an even spread would be: `4 on each package`, `1 or 2 on each package`.
    pub(crate) fn even(&self) -> String {
        let packages = self.packages.len().max(1);
        match (self.total() / packages, self.total() % packages) {
            (each, 0) => format!("{each} on each package"),
            (0, _) => "at most 1 on a package".to_owned(),
            (each, _) => format!("{each} or {} on each package", each + 1),
        }
    }

    /// `8/0`: the counts alone.
    pub(crate) fn counts(&self) -> String {
        let counts = self.packages.values().map(|names| names.len().to_string());
        counts.collect::<Vec<_>>().join("/")
    }

    /// The names on the packages, natural order.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.packages.values().flatten().cloned().collect();
        names.sort_by(|a, b| words::natural(a, b));
        names
    }
}
