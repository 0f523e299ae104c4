// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells which network devices are in use: those with an address or a route, and what carries them.

use std::collections::BTreeSet;

use machine::Nic;
use root::{Root, text};

/// Scopes of `/proc/net/if_inet6` that every interface which is up has: link and host.
const OWN_SCOPES: [&str; 2] = ["20", "10"];

/// Marks devices with an address, a route, or such a device above them.
pub(super) fn mark(root: &dyn Root, nics: &mut [Nic]) {
    let mut used: BTreeSet<String> = BTreeSet::new();
    let content = |path: &str| text(root, path).unwrap_or_default();
    used.extend(routes(&content("/proc/net/route")).map(str::to_owned));
    used.extend(addresses(&content("/proc/net/if_inet6")).map(str::to_owned));
    used.remove("lo");
    // A bond's ports carry its address. Stacks are a few devices high; a loop of links ends, too.
    for _ in 0..nics.len().min(8) {
        let carrying = |nic: &&Nic| {
            let above = nic.master.iter().chain(&nic.upper);
            !used.contains(&nic.name) && above.into_iter().any(|name| used.contains(name))
        };
        let more: Vec<String> = nics.iter().filter(carrying).map(|nic| nic.name.clone()).collect();
        if more.is_empty() {
            break;
        }
        used.extend(more);
    }
    nics.iter_mut().for_each(|nic| nic.in_use = used.contains(&nic.name));
}

/// Interfaces that a route goes through. An address always brings the route of its network.
///
/// ```text
/// Iface   Destination     Gateway         Flags   RefCnt  Use     Metric  Mask  MTU  Window  IRTT
/// eth0    00000000        0102A8C0        0003    0       0       100     00000000  0  0  0
/// ```
pub(crate) fn routes(text: &str) -> impl Iterator<Item = &str> {
    let row = |line: &'_ str| line.split_whitespace().nth(1).is_some();
    text.lines()
        .skip(1)
        .filter(move |line| row(line))
        .filter_map(|line| line.split_whitespace().next())
}

/// Interfaces with an IPv6 address that someone gave them.
///
/// ```text
/// fe80000000000000505400fffe11001a 02 40 20 80     eth0
/// ```
pub(crate) fn addresses(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (scope, name) = (words.get(3)?, words.get(5)?);
        (!OWN_SCOPES.contains(scope)).then_some(*name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_and_addresses_name_interfaces() {
        let route = "Iface\tDestination\tGateway \tFlags\n\
                     eth0\t00000000\t0102A8C0\t0003\nbond0.7\t0002A8C0\t00000000\t0001\n";
        assert_eq!(routes(route).collect::<Vec<_>>(), ["eth0", "bond0.7"]);
        let inet6 = "fe80000000000000505400fffe11001a 02 40 20 80     eth0\n\
                     20010db8000000000000000000000001 03 40 00 80     eth1\n\
                     00000000000000000000000000000001 01 80 10 80       lo\n";
        assert_eq!(addresses(inet6).collect::<Vec<_>>(), ["eth1"]);
    }
}
