// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network interfaces, what they are stacked on, and the ones that carry a way elsewhere.

use core::net::IpAddr;

use super::Addresses;
use super::find::Finder;
use super::route;
use crate::net::function_in;
use crate::net::stack::{parse_vlans, words};

const NET: &str = "/sys/class/net";

impl Finder<'_> {
    /// An interface by name; whether there is one.
    pub(super) fn nic(&mut self, name: &str) -> bool {
        let Some(path) = self.entry(&[NET], name) else { return false };
        if !self.enter("net", name) {
            return true;
        }
        let device = || self.root.link(&format!("{NET}/{name}/device")).ok();
        let linked =
            || device().map(|target| crate::pci::follow(&format!("{NET}/{name}"), &target));
        if function_in(&path).is_some() {
            self.end(name, path);
        } else if let Some(path) = linked() {
            self.end(name, path);
        } else {
            self.stacked(name);
        }
        true
    }

    /// The interfaces below a bond, bridge, VLAN or team.
    fn stacked(&mut self, name: &str) {
        let below = self.below(name);
        if below.is_empty() {
            let what = if name == "lo" { "the loopback" } else { "a virtual interface" };
            return self.dead_end(format!("{name} is {what}: no hardware is below it"));
        }
        self.step(format!("{name} lies over {}", below.join(", ")));
        for lower in &below {
            self.deeper(|finder| {
                let _ = finder.nic(lower);
            });
        }
    }

    /// By the links `lower_eth0`; where a kernel or a copied tree lacks them, by older signs.
    fn below(&self, name: &str) -> Vec<String> {
        let folder = format!("{NET}/{name}");
        let entries = self.list(&folder);
        let lower = entries.iter().filter_map(|entry| entry.strip_prefix("lower_"));
        let lower: Vec<String> = lower.map(str::to_owned).collect();
        if !lower.is_empty() {
            return lower;
        }
        let bonded = self.text(&format!("{folder}/bonding/slaves"));
        let bonded = bonded.map(|text| words(&text)).unwrap_or_default();
        if !bonded.is_empty() {
            return bonded;
        }
        let bridged = self.list(&format!("{folder}/brif"));
        if !bridged.is_empty() {
            return bridged;
        }
        let vlans = self.text("/proc/net/vlan/config").unwrap_or_default();
        parse_vlans(&vlans).remove(name).into_iter().collect()
    }

    /// The interface that carries the way to an address.
    pub(super) fn address(&mut self, text: &str) {
        // `fe80::1%eth0`: a link-local address names its interface.
        let (bare, scope) = text.split_once('%').map_or((text, None), |(a, b)| (a, Some(b)));
        if let Some(scope) = scope {
            if !self.nic(scope) {
                self.dead_end(format!("this machine has no interface called {scope}"));
            }
            return;
        }
        let Ok(address) = bare.trim_matches(['[', ']']).parse::<IpAddr>() else {
            return self.dead_end(format!("{text:?} is no address that a route could be told of"));
        };
        if address.is_loopback() {
            return self.dead_end(format!("{address} is this machine itself"));
        }
        if self.addresses == Addresses::Redacted {
            return self.dead_end(
                "the addresses of this capture are redacted: no route can be told from them",
            );
        }
        match route::interface(self.root, address) {
            Some(nic) => {
                let why = format!("{nic} is where the main routing table leads to {address} now");
                self.likely(why, |finder| {
                    if !finder.nic(&nic) {
                        finder.dead_end(format!("this machine has no interface called {nic}"));
                    }
                });
            }
            None => self.dead_end(format!("no route to {address} is known")),
        }
    }
}
