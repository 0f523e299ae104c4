// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network devices: the card behind them, their state, what is stacked on them.
//!
//! Everything comes from `/sys/class/net`, but for what the kernel tells by ethtool only (channels,
//! rings, coalescing, pause, features, RSS): those are questions to the root, asked of devices with
//! hardware below them, and absent on a tree that was copied without answers.

mod answer;
pub(crate) mod kind;
mod queue;
pub(crate) mod stack;
pub(crate) mod usage;

use std::collections::{BTreeMap, BTreeSet};

use machine::{Carries, Fact, Function, Nic, Pause, VirtualFunctions, Why};
use root::{Dir, Question, Root};
use units::{BitRate, PciAddress};

use self::answer::Driver;
use self::stack::Vlans;
use crate::Troubles;

const NET: &str = "/sys/class/net";

pub(crate) fn read(root: &dyn Root, functions: &[Function], troubles: &mut Troubles) -> Vec<Nic> {
    let names = root.list(NET);
    let names = troubles.keep("network devices", NET, names).unwrap_or_default();
    let vlans = stack::vlans(root);
    let device = |name: &String| {
        let path = path(root, name)?;
        Some(device(root, name, &path, functions, &vlans))
    };
    let mut nics: Vec<Nic> = names.iter().filter_map(device).collect();
    stack::fill_ports(root, &mut nics);
    usage::mark(root, &mut nics);
    nics
}

/// What interfaces carry that must not stop; empty where the root cannot tell. It is no part of
/// [`crate::read`]: the kernel walks all its sockets for it, and only who plans a change must know.
pub fn carriers(root: &dyn Root) -> BTreeMap<String, BTreeSet<Carries>> {
    answer::json(root, &Question::Carriers).unwrap_or_default()
}

/// Where a device lies in `/sys/devices`. `bonding_masters` lies in the same folder and is a file.
fn path(root: &dyn Root, name: &str) -> Option<String> {
    let link = format!("{NET}/{name}");
    match root.link(&link) {
        Ok(target) => Some(target),
        Err(_) => root.list(&link).ok().map(|_| link),
    }
}

fn device(root: &dyn Root, name: &str, path: &str, functions: &[Function], vlans: &Vlans) -> Nic {
    let dir = Dir::new(root, format!("{NET}/{name}"));
    let behind = function_in(path).or_else(|| function_in(&root.link(&dir.join("device")).ok()?));
    let node = functions.iter().find(|f| Some(f.address) == behind).and_then(|f| f.node);
    // A USB adapter has the node of its host controller, whose function it is not.
    let function = behind.filter(|_| !is_usb(path));
    let driver = dir.link_name("device/driver").ok();
    let entries = dir.list().unwrap_or_default();
    let kind = kind::of(&dir, &entries, driver.as_deref(), vlans);
    let (lower, upper) = stack::neighbours(&entries);
    let (rx_queues, tx_queues) = queue::read(&dir);
    let has_hardware = kind::has_hardware(kind);
    let told = if has_hardware { answer::driver(root, name) } else { Err(Why::Absent) };
    let Driver { driver: told_driver, firmware } = told.unwrap_or_default();
    let ask = Ask { root, has_hardware };
    Nic {
        name: name.to_owned(),
        kind,
        mac: dir.text("address"),
        function,
        node,
        driver: driver.or(told_driver.filter(|_| has_hardware)),
        firmware,
        speed: dir.text("speed").and_then(|text| speed(&text)),
        state: dir.text("operstate").unwrap_or_else(|_| "unknown".to_owned()),
        mtu: dir.parse("mtu"),
        master: dir.link_name("master").ok(),
        lower,
        upper,
        virtual_functions: virtual_functions(&dir),
        rx_queues,
        tx_queues,
        channels: ask.json(&Question::Channels(name.to_owned())),
        rings: ask.json(&Question::Rings(name.to_owned())),
        coalescing: ask.json(&Question::Coalescing(name.to_owned())),
        pause: ask
            .json(&Question::Pause(name.to_owned()))
            .map(|(receive, transmit)| Pause { receive, transmit }),
        features: ask.json(&Question::Features(name.to_owned())),
        receive_spread: ask.json(&Question::ReceiveSpread(name.to_owned())),
        port: port(&dir),
        in_use: false,
    }
}

/// Asks only of devices with hardware: a host with a thousand containers has as many veths.
struct Ask<'a> {
    root: &'a dyn Root,
    has_hardware: bool,
}

impl Ask<'_> {
    fn json<T: serde::de::DeserializeOwned>(&self, question: &Question) -> Fact<T> {
        if self.has_hardware { answer::json(self.root, question) } else { Err(Why::Absent) }
    }
}

/// The lowest PCI function in a path of `/sys/devices`. A virtio device lies below its function.
pub(crate) fn function_in(path: &str) -> Option<PciAddress> {
    let full = |part: &&str| part.len() >= "0000:00:00.0".len();
    path.rsplit('/').filter(full).find_map(|part| part.parse().ok())
}

fn is_usb(path: &str) -> bool {
    path.split('/')
        .any(|part| part.strip_prefix("usb").is_some_and(|digits| digits.parse::<u32>().is_ok()))
}

/// `speed` in Mb/s: `10000`. Unknown is -1, which old kernels print as a 32-bit or 16-bit number.
/// A device that is down refuses to be read, which leaves an empty file in a copied tree.
pub(crate) fn speed(text: &str) -> Fact<BitRate> {
    if text.is_empty() {
        return Err(Why::NotSupported);
    }
    let speed: i64 = text.parse().map_err(|_| Why::unparsed(text))?;
    match speed {
        i64::MIN..=0 | 65_535 | 4_294_967_295 => Err(Why::NotSupported),
        _ => u64::try_from(speed)
            .ok()
            .and_then(|speed| speed.checked_mul(1_000_000))
            .map(BitRate)
            .ok_or_else(|| Why::unparsed(text)),
    }
}

fn virtual_functions(dir: &Dir<'_>) -> Option<VirtualFunctions> {
    let most = dir.parse("device/sriov_totalvfs").ok()?;
    Some(VirtualFunctions { now: dir.parse("device/sriov_numvfs").ok()?, most })
}

/// `p0`, or the number of the port on a card whose ports share a function (mlx4).
fn port(dir: &Dir<'_>) -> Option<String> {
    let name = dir.text("phys_port_name").ok().filter(|name| !name.is_empty());
    name.or_else(|| dir.text("dev_port").ok().filter(|port| port != "0"))
}

#[cfg(test)]
mod tests;
