// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies above and below a network device: bonds, bridges, VLANs.

use std::collections::BTreeMap;

use machine::{Nic, NicKind};
use root::{Dir, Root, text};

use super::NET;

/// Parent of each VLAN by `/proc/net/vlan/config`.
pub(crate) type Vlans = BTreeMap<String, String>;

/// Reads the VLAN table, which kernels without `lower_*` links have too.
pub(super) fn vlans(root: &dyn Root) -> Vlans {
    text(root, "/proc/net/vlan/config").map(|text| parse_vlans(&text)).unwrap_or_default()
}

/// ```text
/// VLAN Dev name    | VLAN ID
/// Name-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD
/// eth0.1015      | 1015  | eth0
/// ```
pub(crate) fn parse_vlans(text: &str) -> Vlans {
    let row = |line: &str| {
        let mut cells = line.split('|').map(str::trim);
        let (name, _, parent) = (cells.next()?, cells.next()?, cells.next()?);
        Some((name.to_owned(), parent.to_owned()))
    };
    text.lines().filter_map(row).collect()
}

/// Devices below and above, from the links `lower_eth0` and `upper_bond0`.
pub(super) fn neighbours(entries: &[String]) -> (Vec<String>, Vec<String>) {
    let names = |prefix: &str| {
        entries.iter().filter_map(|entry| entry.strip_prefix(prefix)).map(str::to_owned).collect()
    };
    (names("lower_"), names("upper_"))
}

/// Fills in what kernels without those links tell elsewhere, and the other direction of both.
pub(super) fn fill_ports(root: &dyn Root, nics: &mut [Nic]) {
    let vlans = vlans(root);
    for nic in nics.iter_mut().filter(|nic| nic.lower.is_empty()) {
        nic.lower = match nic.kind {
            NicKind::Bond => ports(root, &nic.name),
            NicKind::Bridge => root.list(&format!("{NET}/{}/brif", nic.name)).unwrap_or_default(),
            NicKind::Vlan => vlans.get(&nic.name).cloned().into_iter().collect(),
            _ => Vec::new(),
        };
    }
    let pairs: Vec<(String, String)> = nics
        .iter()
        .flat_map(|nic| nic.lower.iter().map(|lower| (lower.clone(), nic.name.clone())))
        .collect();
    for nic in nics.iter_mut() {
        let above = pairs.iter().filter(|(lower, _)| *lower == nic.name).map(|(_, upper)| upper);
        nic.upper.extend(above.cloned());
        nic.upper.sort_unstable();
        nic.upper.dedup();
    }
}

/// Ports of a bond: `bonding/slaves`, else the report in `/proc/net/bonding`.
fn ports(root: &dyn Root, name: &str) -> Vec<String> {
    let dir = Dir::new(root, format!("{NET}/{name}"));
    let listed = dir.text("bonding/slaves").map(|text| words(&text)).unwrap_or_default();
    if !listed.is_empty() {
        return listed;
    }
    let report = text(root, &format!("/proc/net/bonding/{name}")).unwrap_or_default();
    let port =
        |line: &str| line.strip_prefix("Slave Interface:").map(|name| name.trim().to_owned());
    report.lines().filter_map(port).collect()
}

pub(crate) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vlan_table_names_parents() {
        let text = "VLAN Dev name    | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n\
                    eth0.1015      | 1015  | eth0\nstorage        | 7  | bond0\n";
        let vlans = parse_vlans(text);
        assert_eq!(vlans.len(), 2);
        assert_eq!(vlans["eth0.1015"], "eth0");
        assert_eq!(vlans["storage"], "bond0");
    }
}
