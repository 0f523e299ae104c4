// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network devices as `ip -json -details link` and ethtool print them.

use serde_json::Value;
use support::{Failed, failed};

use crate::document::{Document, plain};
use crate::facts::Facts;

pub(crate) fn ip_said(text: &str) -> Result<Facts, Failed> {
    let mut facts = Facts::default();
    let links: Vec<Value> = serde_json::from_str(text).map_err(failed)?;
    for link in &links {
        let name = plain(&link["ifname"]);
        facts.say(format!("{name} mtu"), plain(&link["mtu"]));
        facts.say(format!("{name} queues"), plain(&link["num_rx_queues"]));
        facts.say(format!("{name} master"), plain(&link["master"]));
        let function =
            if link["parentbus"] == "pci" { plain(&link["parentdev"]) } else { "-".into() };
        facts.say(format!("{name} function"), function);
    }
    Ok(facts)
}

pub(crate) fn ip_ours(document: &Document) -> Facts {
    let mut facts = Facts::default();
    for nic in document.list("nics") {
        for what in ["mtu", "queues", "master", "function"] {
            facts.say(format!("{} {what}", plain(&nic["name"])), plain(&nic[what]));
        }
    }
    facts
}

/// `== ethtool -i eth0` and the like, each followed by what it prints.
fn sections(text: &str) -> impl Iterator<Item = (char, &str, &str)> {
    text.split("== ethtool -").skip(1).filter_map(|section| {
        let (head, body) = section.split_once('\n')?;
        let (option, name) = head.split_once(' ')?;
        Some((option.chars().next()?, name.trim(), body))
    })
}

/// A function's driver by `ethtool -i`, and the queues by `ethtool -l`. A driver on the virtio bus
/// is not the driver of the PCI function.
pub(crate) fn ethtool_said(text: &str) -> Facts {
    let mut facts = Facts::default();
    for (option, name, body) in sections(text) {
        let field = |key: &str| {
            body.lines()
                .filter_map(|l| l.split_once(':'))
                .filter(move |(k, _)| *k == key)
                .map(|p| p.1.trim())
                .next_back()
        };
        match (option, field("driver"), field("bus-info"), field("Combined")) {
            ('i', Some(driver), Some(bus), _) if bus.starts_with("0000:") => {
                let driver = if driver == "virtio_net" { "virtio-pci" } else { driver };
                facts.say(format!("{name} function"), bus);
                facts.say(format!("{name} driver"), driver);
            }
            ('l', _, _, Some(combined)) if combined != "n/a" => {
                facts.say(format!("{name} queues"), combined);
            }
            _ => {}
        }
    }
    facts
}

/// The same of the document; queues only where ethtool tells channels.
pub(crate) fn ethtool_ours(document: &Document, text: &str) -> Facts {
    let mut facts = Facts::default();
    for nic in document.list("nics").iter().filter(|nic| !nic["function"].is_null()) {
        let (name, function) = (plain(&nic["name"]), plain(&nic["function"]));
        let driver = plain(&document.find("functions", "address", &function)["driver"]);
        let channels = sections(text)
            .any(|(option, of, body)| option == 'l' && of == name && body.contains("Combined:"));
        facts.say(format!("{name} function"), function);
        facts.say(format!("{name} driver"), driver);
        if channels {
            facts.say(format!("{name} queues"), plain(&nic["queues"]));
        }
    }
    facts
}
