// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of the machine: `/sys/class/dmi/id`, which anybody may read, else types 0 and 1.

use machine::{Fact, Why};
use root::{Dir, Root};

/// What firmware calls the machine and itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// `sys_vendor`.
    pub(crate) vendor: Fact<String>,
    /// `product_name`.
    pub(crate) product: Fact<String>,
    /// `bios_vendor`, which in a guest often tells more than `sys_vendor`.
    pub(crate) bios_vendor: Fact<String>,
    /// `bios_version`, then the date in brackets.
    pub(crate) firmware: Fact<String>,
}

/// Reads them; `/sys/class/dmi/id` is a link to `/sys/devices/virtual/dmi/id`, which a copied tree
/// may hold without the link.
pub(crate) fn identity(root: &dyn Root) -> Identity {
    let folders = ["/sys/class/dmi/id", "/sys/devices/virtual/dmi/id"];
    let text = |name: &str| {
        let mut texts = folders.iter().map(|folder| Dir::new(root, *folder).text(name));
        texts.find_map(Result::ok).filter(|text| !text.is_empty()).ok_or(Why::Absent)
    };
    let found = Identity {
        vendor: text("sys_vendor"),
        product: text("product_name"),
        bios_vendor: text("bios_vendor"),
        firmware: text("bios_version").map(|version| with_date(&version, text("bios_date").ok())),
    };
    if found.vendor.is_ok() || found.product.is_ok() || found.firmware.is_ok() {
        return found;
    }
    from_table(root).unwrap_or(found)
}

fn with_date(version: &str, date: Option<String>) -> String {
    date.map_or_else(|| version.to_owned(), |date| format!("{version} ({date})"))
}

/// Type 0: vendor at 4, version at 5, date at 8; type 1: manufacturer at 4, product at 5.
fn from_table(root: &dyn Root) -> Option<Identity> {
    let table = super::table(root).ok()?;
    let first = |kind| super::structures(&table).find(|structure| structure.kind == kind);
    let (bios, system) = (first(0)?, first(1)?);
    let version = bios.string(5).ok_or(Why::Absent);
    Some(Identity {
        vendor: system.string(4).ok_or(Why::Absent),
        product: system.string(5).ok_or(Why::Absent),
        bios_vendor: bios.string(4).ok_or(Why::Absent),
        firmware: version.map(|version| with_date(&version, bios.string(8))),
    })
}

#[cfg(test)]
mod tests {
    use super::super::structure::tests::structure;
    use super::*;
    use root::MemoryRoot;

    #[test]
    fn folder_and_table_say_the_same() {
        let mut folder = MemoryRoot::new();
        for (name, text) in [
            ("sys_vendor", "Dell Inc.\n"),
            ("product_name", "PowerEdge R740xd\n"),
            ("bios_vendor", "Dell Inc.\n"),
            ("bios_version", "2.10.2\n"),
            ("bios_date", "02/24/2021\n"),
        ] {
            folder.file(&format!("/sys/devices/virtual/dmi/id/{name}"), text);
        }
        let mut table = MemoryRoot::new();
        let bios = structure(0, &[1, 2, 0, 0, 3], &["Dell Inc.", "2.10.2", "02/24/2021"]);
        let system = structure(1, &[1, 2], &["Dell Inc.", "PowerEdge R740xd"]);
        table.file("/sys/firmware/dmi/tables/DMI", [bios, system].concat());
        for root in [folder, table] {
            let identity = identity(&root);
            assert_eq!(identity.vendor.as_deref(), Ok("Dell Inc."));
            assert_eq!(identity.product.as_deref(), Ok("PowerEdge R740xd"));
            assert_eq!(identity.firmware.as_deref(), Ok("2.10.2 (02/24/2021)"));
        }
        assert_eq!(identity(&MemoryRoot::new()).vendor, Err(Why::Absent));
    }
}
