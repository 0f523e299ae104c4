// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which interface the way to an address leaves by: the main routing table, as /proc prints it.
//!
//! Rules that choose another table (`ip rule`) are not seen, so that an answer is only likely.

// The types alone: `std::net` would be a way out of the process.
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use root::{Root, text};

/// `RTF_UP` and `RTF_REJECT` (include/uapi/linux/route.h).
const UP: u32 = 0x0001;
const REJECT: u32 = 0x0200;

/// A route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    network: IpAddr,
    /// 0 to 32 or 128.
    length: u32,
    metric: u32,
    interface: String,
}

/// The interface that the way to an address leaves by: the longest prefix, then the lowest metric.
pub(super) fn interface(root: &dyn Root, address: IpAddr) -> Option<String> {
    let routes: Vec<Route> = match address {
        IpAddr::V4(_) => text(root, "/proc/net/route").ok()?.lines().filter_map(parse_v4).collect(),
        IpAddr::V6(_) => {
            text(root, "/proc/net/ipv6_route").ok()?.lines().filter_map(parse_v6).collect()
        }
    };
    let leads = routes.into_iter().filter(|route| route.holds(address));
    let best = leads.max_by_key(|route| (route.length, std::cmp::Reverse(route.metric)))?;
    Some(best.interface)
}

impl Route {
    fn holds(&self, address: IpAddr) -> bool {
        match (self.network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(self.length)).unwrap_or(0);
                network.to_bits() & mask == address.to_bits() & mask
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(self.length)).unwrap_or(0);
                network.to_bits() & mask == address.to_bits() & mask
            }
            _ => false,
        }
    }
}

/// Numbers are of network order printed as the processor's own; all that nearside is built for
/// have the lowest byte first.
///
/// ```text
/// Iface   Destination     Gateway         Flags   RefCnt  Use     Metric  Mask  MTU  Window  IRTT
/// eth0    0014A8C0        00000000        0001    0       0       100     00FFFFFF  0  0  0
/// ```
pub(crate) fn parse_v4(line: &str) -> Option<Route> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |index: usize| u32::from_str_radix(words.get(index)?, 16).ok();
    let flags = number(3)?;
    let metric = words.get(6)?.parse().ok()?;
    let network = Ipv4Addr::from_bits(number(1)?.swap_bytes());
    let mask = number(7)?.swap_bytes();
    let is_prefix = mask.leading_ones() + mask.trailing_zeros() == 32;
    let is_used = flags & UP != 0 && flags & REJECT == 0 && is_prefix;
    let route = || Route {
        network: network.into(),
        length: mask.leading_ones(),
        metric,
        interface: words.first().copied().unwrap_or_default().to_owned(),
    };
    is_used.then(route)
}

/// ```text
/// fd000020000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0
/// ```
pub(crate) fn parse_v6(line: &str) -> Option<Route> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |index: usize| u32::from_str_radix(words.get(index)?, 16).ok();
    let network = words.first().filter(|text| text.len() == 32)?;
    let network = Ipv6Addr::from_bits(u128::from_str_radix(network, 16).ok()?);
    let (length, metric, flags) = (number(1)?, number(5)?, number(8)?);
    let interface = words.get(9).filter(|name| **name != "lo")?;
    let is_used = flags & UP != 0 && flags & REJECT == 0 && length <= 128;
    let route =
        || Route { network: network.into(), length, metric, interface: (*interface).to_owned() };
    is_used.then(route)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use root::MemoryRoot;

    const V4: &str = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
        eth0\t00000000\t0102A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
        eth20\t0014A8C0\t00000000\t0001\t0\t0\t200\t00FFFFFF\t0\t0\t0\n\
        eth21\t0014A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n\
        *\t0015A8C0\t00000000\t0201\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
    const V6: &str = "fd000020000000000000000000000000 40 00000000000000000000000000000000 00 \
        00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth20\n\
        00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
        00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n";

    #[test]
    fn the_longest_prefix_and_the_lowest_metric_win() {
        let mut root = MemoryRoot::new();
        root.file("/proc/net/route", V4).file("/proc/net/ipv6_route", V6);
        for (address, wanted) in [
            ("192.168.20.2", Some("eth21")),
            ("192.168.21.2", Some("eth0")),
            ("10.0.0.1", Some("eth0")),
            ("fd00:20::7", Some("eth20")),
            ("fd00:21::7", None),
        ] {
            let found = interface(&root, address.parse().unwrap());
            assert_eq!(found.as_deref(), wanted, "{address}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_a_route_or_none(line in "([0-9a-fA-F]{0,33}[ \t]|\\PC){0,14}") {
            let probes = ["1.2.3.4", "::1"].map(|text| text.parse::<IpAddr>().unwrap());
            for route in [parse_v4(&line), parse_v6(&line)].into_iter().flatten() {
                let _ = probes.map(|address| route.holds(address));
            }
        }
    }
}
