// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a function sits in the tree, by the text of its link alone.
//!
//! The text says all of it, also where the link leads nowhere: a copied tree may hold the links of
//! functions whose folders it lacks.

use units::PciAddress;

/// The folder of links.
pub(super) const DEVICES: &str = "/sys/bus/pci/devices";

/// A function's place: the function above it, and the root bus.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(super) path: String,
    pub(super) parent: Option<PciAddress>,
    pub(super) root: String,
}

/// The place that a link in [`DEVICES`] names:
/// `../../../devices/pci0000:85/0000:85:00.0/0000:86:00.0`.
pub(crate) fn parse(target: &str) -> Place {
    let path = follow(DEVICES, target);
    let above: Vec<&str> = path.split('/').rev().skip(1).collect();
    let parent = above.iter().find_map(|part| part.parse().ok());
    let root = above.iter().find(|part| is_root_bus(part)).map_or("", |part| *part).to_owned();
    Place { path, parent, root }
}

/// The path that a link in `folder` names, by its text alone. The folders of sysfs that links lead
/// to are none themselves, so that the text is the path.
pub(crate) fn follow(folder: &str, target: &str) -> String {
    let start = if target.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = start.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

/// `pci0000:17`, `pci10000:00`.
fn is_root_bus(part: &str) -> bool {
    let digits = |text: &str| {
        (2..=8).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let numbers = part.strip_prefix("pci").and_then(|rest| rest.split_once(':'));
    numbers.is_some_and(|(domain, bus)| digits(domain) && digits(bus))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_text_of_a_link_names_the_place() {
        let place = parse("../../../devices/pci0000:85/0000:85:00.0/0000:86:00.0");
        assert_eq!(place.path, "/sys/devices/pci0000:85/0000:85:00.0/0000:86:00.0");
        assert_eq!(place.parent, "0000:85:00.0".parse().ok());
        assert_eq!(place.root, "pci0000:85");
        let place = parse("../../../devices/pci0000:85/0000:85:00.0");
        assert_eq!((place.parent, &*place.root), (None, "pci0000:85"));
    }

    #[test]
    fn a_vmd_domain_hangs_from_its_controller() {
        let root_port = parse("../../../devices/pci0000:b0/0000:b0:05.5/pci10000:00/10000:00:02.0");
        assert_eq!(root_port.parent, "0000:b0:05.5".parse().ok());
        assert_eq!(root_port.root, "pci10000:00");
    }

    proptest! {
        #[test]
        fn any_text_is_a_place(text in "[./a-z0-9:]{0,80}") {
            prop_assert!(parse(&text).path.starts_with('/'));
        }
    }
}
