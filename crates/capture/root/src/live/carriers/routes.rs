// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which interface the kernel sends to an address by, from its main routing tables.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    interface: String,
    to: IpAddr,
    /// Bits of `to` that count.
    length: u32,
    metric: u32,
}

/// `RTF_UP` and `RTF_REJECT` (include/uapi/linux/route.h).
const UP: u32 = 0x0001;
const REJECT: u32 = 0x0200;

impl Route {
    fn is_default(&self) -> bool {
        self.length == 0
    }

    fn covers(&self, address: IpAddr) -> bool {
        match (self.to, address) {
            (IpAddr::V4(to), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - self.length).unwrap_or(0);
                u32::from(to) & mask == u32::from(address) & mask
            }
            (IpAddr::V6(to), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - self.length).unwrap_or(0);
                u128::from(to) & mask == u128::from(address) & mask
            }
            _ => false,
        }
    }
}

/// Interfaces of default routes.
pub(super) fn defaults(routes: &[Route]) -> impl Iterator<Item = &str> {
    routes.iter().filter(|route| route.is_default()).map(|route| route.interface.as_str())
}

/// The interface towards an address: the longest route that covers it, then the cheapest.
pub(super) fn towards(routes: &[Route], address: IpAddr) -> Option<&str> {
    let covering = routes.iter().filter(|route| route.covers(address));
    let best = covering.min_by_key(|route| (std::cmp::Reverse(route.length), route.metric))?;
    Some(&best.interface)
}

/// `/proc/net/route`; addresses are hexadecimal in the processor's own order (net/ipv4/fib_trie.c).
///
/// ```text
/// Iface   Destination Gateway  Flags RefCnt Use Metric Mask     MTU Window IRTT
/// eth0    00000000    0102A8C0 0003  0      0   100    00000000 0   0      0
/// ```
pub(super) fn parse_v4(text: &str) -> Vec<Route> {
    text.lines().skip(1).filter_map(line_v4).collect()
}

fn line_v4(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [interface, to, _, flags, _, _, metric, mask, ..] = fields.as_slice() else { return None };
    let hexadecimal = |text: &str| u32::from_str_radix(text, 16).ok();
    let address = |text: &str| hexadecimal(text).map(|bits| Ipv4Addr::from(bits.to_ne_bytes()));
    is_used(hexadecimal(flags)?).then_some(())?;
    Some(Route {
        interface: (*interface).to_owned(),
        to: IpAddr::V4(address(to)?),
        length: u32::from(address(mask)?).leading_ones(),
        metric: metric.parse().ok()?,
    })
}

/// `/proc/net/ipv6_route`; all numbers are hexadecimal (net/ipv6/route.c). Routes by way of `lo`
/// are the machine's own addresses.
///
/// ```text
/// fe80000000000000 0000000000000000 40 0…0 00 0…0 00000100 00000001 00000000 00000001     eth0
/// ```
pub(super) fn parse_v6(text: &str) -> Vec<Route> {
    text.lines().filter_map(line_v6).filter(|route| route.interface != "lo").collect()
}

fn line_v6(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [to, length, _, _, _, metric, _, _, flags, interface] = fields.as_slice() else {
        return None;
    };
    let hexadecimal = |text: &str| u32::from_str_radix(text, 16).ok();
    is_used(hexadecimal(flags)?).then_some(())?;
    Some(Route {
        interface: (*interface).to_owned(),
        to: IpAddr::V6(Ipv6Addr::from(u128::from_str_radix(to, 16).ok()?)),
        length: hexadecimal(length).filter(|length| *length <= 128)?,
        metric: hexadecimal(metric)?,
    })
}

fn is_used(flags: u32) -> bool {
    flags & UP != 0 && flags & REJECT == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: &str = "\
Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth1\t00000000\t0101000A\t0003\t0\t0\t200\t00000000\t0\t0\t0
eth0\t0000000A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
eth2\t0005A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
dead\t0006A8C0\t00000000\t0200\t0\t0\t0\t00FFFFFF\t0\t0\t0
";

    #[test]
    fn the_longest_then_the_cheapest_route_carries() {
        let routes = parse_v4(V4);
        let to = |address: &str| towards(&routes, address.parse().unwrap());
        assert_eq!(to("10.0.0.77"), Some("eth0"));
        assert_eq!(to("192.168.5.9"), Some("eth2"));
        assert_eq!(to("192.168.6.9"), Some("eth0"), "the rejected route does not count");
        assert_eq!(to("203.0.113.8"), Some("eth0"));
        assert_eq!(to("fe80::1"), None);
        assert_eq!(defaults(&routes).collect::<Vec<_>>(), ["eth0", "eth1"]);
    }

    #[test]
    fn version_six_is_read_in_its_own_form() {
        let zero = "0".repeat(32);
        let text = format!(
            "fe80{0} 40 {zero} 00 {zero} 00000100 00000001 00000000 00000001     eth3\n\
             {zero} 00 {zero} 00 fe80{1} 00000400 00000001 00000000 00000003     eth4\n\
             {zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200       lo\n",
            "0".repeat(28),
            "0".repeat(27) + "1",
        );
        let routes = parse_v6(&text);
        assert_eq!(towards(&routes, "fe80::9".parse().unwrap()), Some("eth3"));
        assert_eq!(towards(&routes, "2001:db8::1".parse().unwrap()), Some("eth4"));
        assert_eq!(defaults(&routes).collect::<Vec<_>>(), ["eth4"]);
    }

    #[test]
    fn what_is_no_route_is_left_out() {
        for text in ["", "x", "h\neth0", "h\neth0 0 0 zz 0 0 0 0 0", "h\ne 0 0 3 0 0 -1 0"] {
            assert_eq!(parse_v4(text), []);
            assert_eq!(parse_v6(text), []);
        }
    }
}
