// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells what a network device is.

use machine::NicKind;
use root::Dir;

use super::stack::Vlans;

/// `ARPHRD_LOOPBACK` (include/uapi/linux/if_arp.h).
const LOOPBACK: u32 = 772;

/// Drivers of devices that a hypervisor or a cloud makes up.
const PARAVIRTUAL: &[&str] = &[
    "ena",
    "gve",
    "hv_netvsc",
    "mana",
    "netfront",
    "vif",
    "virtio_net",
    "vmxnet3",
    "xen_netfront",
    "xen-netfront",
];

/// What the device in `dir` is, by the names in its folder and by its driver.
pub(super) fn of(
    dir: &Dir<'_>,
    entries: &[String],
    driver: Option<&str>,
    vlans: &Vlans,
) -> NicKind {
    let has = |name: &str| entries.iter().any(|entry| entry == name);
    let name = dir.path().rsplit('/').next().unwrap_or_default();
    if dir.parse::<u32>("type").map_or(name == "lo", |kind| kind == LOOPBACK) {
        return NicKind::Loopback;
    }
    if has("bonding") || has("team") {
        return NicKind::Bond;
    }
    if has("bridge") {
        return NicKind::Bridge;
    }
    match driver {
        Some(driver) if PARAVIRTUAL.contains(&driver) => return NicKind::Paravirtual,
        _ => {}
    }
    if has("device") {
        let is_virtual_function = dir.root().link(&dir.join("device/physfn")).is_ok();
        return if is_virtual_function { NicKind::VirtualFunction } else { NicKind::Physical };
    }
    match device_type(&dir.text("uevent").unwrap_or_default()) {
        Some("vlan") => NicKind::Vlan,
        Some("bond") => NicKind::Bond,
        Some("bridge") => NicKind::Bridge,
        _ if vlans.contains_key(name) => NicKind::Vlan,
        _ if name == "ovs-system" => NicKind::Bridge,
        _ => NicKind::Virtual,
    }
}

/// Whether a driver of a card or of a hypervisor's device answers for it.
pub(super) fn has_hardware(kind: NicKind) -> bool {
    matches!(kind, NicKind::Physical | NicKind::VirtualFunction | NicKind::Paravirtual)
}

/// `DEVTYPE=vlan`, a line of `uevent`.
pub(crate) fn device_type(uevent: &str) -> Option<&str> {
    uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE="))
}
